#include "up/log_lines.h"

#include <unistd.h>

#include <iostream>

namespace falcon::up {

LogLines::LogLines(const std::string& file) {
  if (!file.empty() && ::isatty(STDERR_FILENO) != 0) file_.open(file, std::ios::app);
}

void LogLines::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  std::ostream& out = file_.is_open() ? file_ : std::cerr;
  out << line << std::endl;
}

}  // namespace falcon::up
