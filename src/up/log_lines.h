// Where the lines of the log go: to the error stream, one JSON object each. When that is a terminal
// and there is a file to take them, to the file, so that a person sees what is meant for people.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace falcon::up {

class LogLines {
 public:
  // `file`: where they go instead of a terminal; empty: nowhere else.
  explicit LogLines(const std::string& file);
  // Any thread; lines are kept whole.
  void write(std::string_view line);

 private:
  std::mutex mutex_;
  std::ofstream file_;
};

}  // namespace falcon::up
