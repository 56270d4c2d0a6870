// A process of our own program beside this one; it does not outlive us, however we end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace falcon::up {

class Child {
 public:
  // Runs this very program with other arguments; its output goes where ours goes.
  static Result<Child> start(const std::vector<std::string>& arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child() { stop(); }

  // Empty while it runs; else its exit code, 128 + n for a signal.
  std::optional<int> exit_code();
  // SIGTERM and its end; SIGKILL when that takes more than 15 s.
  void stop();

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1: none, or its end was seen
  int code_ = 0;
};

}  // namespace falcon::up
