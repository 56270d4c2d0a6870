// Inside the wire: one JSON document, and reading the fields of its objects with complaints that
// name them.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/validation.h"

namespace falcon::wire {

using Errors = std::vector<model::FieldError>;

// The only document in `text`, an object. Anything wrong, a key twice included, goes to `errors`.
std::optional<boost::json::object> parse_document(std::string_view text, Errors& errors);

// Strict: unknown fields and null are complaints. Lenient: they are passed over.
enum class Reading : std::uint8_t { kStrict, kLenient };

// The fields of one object. Each reader gives what stands there, or `missing`, and complains about
// what does not fit. Call done() at last: it complains about fields that nobody asked for.
class Fields {
 public:
  Fields(const boost::json::object& object, std::string path, Reading reading, Errors& errors)
      : object_(object), path_(std::move(path)), reading_(reading), errors_(errors) {}

  bool has(std::string_view name);
  std::string text(std::string_view name, std::string_view missing = {});
  std::string required_text(std::string_view name);  // complains when missing or empty
  std::int64_t number(std::string_view name, std::int64_t missing, std::int64_t low,
                      std::int64_t high);
  std::uint64_t count(std::string_view name);                       // required, 0 to 2^63-1
  std::uint32_t small_count(std::string_view name);                 // 0 to 2^32-1, missing: 0
  bool flag(std::string_view name);                                 // true or false, missing: false
  std::optional<std::int32_t> maybe_number(std::string_view name);  // null is fine
  std::optional<WallTime> maybe_time(std::string_view name);        // null is fine
  WallTime required_time(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  // Null when missing (and when it is none: then complains).
  const boost::json::object* object(std::string_view name);
  const boost::json::array* array(std::string_view name);
  // A word of a list: `parse` gives an optional. A missing one is a complaint.
  template <class Parse, class Known>
  auto word(std::string_view name, Parse parse, const Known& known) {
    const std::string given = text(name);
    const auto value = parse(given);
    if (!value && !complained(name)) {
      std::string words;
      for (const auto item : known)
        if (!to_string(item).empty())
          words += (words.empty() ? "" : ", ") + std::string(to_string(item));
      complain(name, (given.empty() ? "is missing" : shown(given) + " is none of them") +
                         std::string("; one of ") + words);
    }
    return value.value_or(known.front());
  }

  void complain(std::string_view name, std::string what);
  bool complained(std::string_view name) const;
  void done();
  std::string path_of(std::string_view name) const;
  Reading reading() const { return reading_; }
  Errors& errors() { return errors_; }

 private:
  const boost::json::value* take(std::string_view name, bool null_is_missing = false);
  static std::string shown(std::string_view value);

  const boost::json::object& object_;
  const std::string path_;
  const Reading reading_;
  Errors& errors_;
  std::vector<std::string_view> known_;  // literals
};

}  // namespace falcon::wire
