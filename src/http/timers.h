// Calls that are due later, on one thread of their own. For back-off and periodic work.
// Any thread may ask; what is called must not block. What is pending when this ends is dropped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace falcon::http {

class Timers {
 public:
  Timers();
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;
  void after(Duration delay, std::function<void()> call);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> due_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace falcon::http
