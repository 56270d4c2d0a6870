// Waits for Ctrl-C or SIGTERM in an ordinary thread instead of a signal handler.
#pragma once

#include <optional>

#include "base/time.h"

namespace falcon::up {

// Made in main() before any other thread: those inherit the mask, so that the signal waits for
// wait(). SIGPIPE is ignored from here on: a peer that has gone is an error of one write.
class ShutdownSignals {
 public:
  ShutdownSignals();
  // The signal's number. A second one while the caller still stops ends the process at once.
  int wait();
  // Empty when `limit` has passed without one.
  std::optional<int> wait_for(Duration limit);

 private:
  int give_back(int signal);  // restores the default action
};

}  // namespace falcon::up
