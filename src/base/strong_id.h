// Ids that do not mix: a JobId is not a PoolName, and neither is a bare string by accident.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace falcon {

template <class Tag>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(std::string value) : value_(std::move(value)) {}
  explicit StrongId(std::string_view value) : value_(value) {}
  explicit StrongId(const char* value) : value_(value) {}
  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }
  friend auto operator<=>(const StrongId&, const StrongId&) = default;
  friend bool operator==(const StrongId&, const StrongId&) = default;

 private:
  std::string value_;
};

}  // namespace falcon

template <class Tag>
struct std::hash<falcon::StrongId<Tag>> {
  std::size_t operator()(const falcon::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value());
  }
};

template <class Tag>
struct fmt::formatter<falcon::StrongId<Tag>> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const falcon::StrongId<Tag>& id, Context& context) const {
    return fmt::formatter<std::string_view>::format(id.value(), context);
  }
};
