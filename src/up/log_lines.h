// Where the lines of the log go: to the error stream, one JSON object each. When that is a terminal
// and there is a file to take them, to the file, so that a person sees what is meant for people.
//
// Every line has `time` (RFC 3339, UTC), `severity` (debug, info, warning, error) and `message`;
// what it is about stands in fields of its own: `job`, `cluster`, `request`, ….
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

#include "base/time.h"

namespace falcon::up {

class LogLines {
 public:
  // `file`: where they go instead of a terminal; empty: nowhere else.
  explicit LogLines(const std::string& file);
  ~LogLines();  // spdlog is silent from then on
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;
  // Any thread; lines are kept whole.
  void write(std::string_view line);
  // What is logged by spdlog's default logger comes here from now on.
  void take_spdlog();

 private:
  std::mutex mutex_;
  std::ofstream file_;
  bool has_spdlog_ = false;
};

// One line. A message that begins with "job ID: " or "cluster NAME: " is about that one, which is
// then a field as well.
std::string log_line(WallTime time, std::string_view severity, std::string_view message);

}  // namespace falcon::up
