// What will happen by itself: things to do in order of time, then of asking.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/time_queue.h"

namespace falcon::cloudsim {

class Agenda {
 public:
  MonoTime now() const { return now_; }
  std::uint64_t done() const { return done_; }
  MonoTime next_due() const { return queue_.next(); }

  void after(Duration delay, std::function<void()> what) {
    queue_.push(now_ + delay, std::move(what));
  }

  void advance(MonoTime now) {
    while (queue_.next() <= now) {
      now_ = std::max(now_, queue_.next());
      ++done_;
      queue_.pop()();
    }
    now_ = std::max(now_, now);
  }

 private:
  MonoTime now_{};
  std::uint64_t done_ = 0;
  TimeQueue queue_;
};

}  // namespace falcon::cloudsim
