// A call and its answer, as the faces of the simulated cloud see them: no sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace falcon::simserver {

struct Call {
  std::string method;
  std::vector<std::string> path;  // decoded segments
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  std::string_view parameter(std::string_view name) const { return value_of(query, name); }
  std::string_view header(std::string_view name) const { return value_of(headers, name); }
  bool has(std::string_view name) const {
    for (const auto& [key, value] : query)
      if (key == name) return true;
    return false;
  }

 private:
  static std::string_view value_of(const std::vector<std::pair<std::string, std::string>>& pairs,
                                   std::string_view name) {
    for (const auto& [key, value] : pairs)
      if (key == name) return value;
    return {};
  }
};

struct Answer {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Turns the world's clock into dates: its zero is this instant.
struct Calendar {
  WallTime zero{};
  WallTime at(MonoTime time) const { return zero + time.time_since_epoch(); }
};

}  // namespace falcon::simserver
