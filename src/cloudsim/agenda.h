// What will happen by itself: things to do in order of time, then of asking.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace falcon::cloudsim {

class Agenda {
 public:
  MonoTime now() const { return now_; }
  std::uint64_t done() const { return done_; }
  MonoTime next_due() const { return heap_.empty() ? MonoTime::max() : heap_.front().due; }

  void after(Duration delay, std::function<void()> what) {
    heap_.push_back(Entry{now_ + delay, ++asked_, std::move(what)});
    std::ranges::push_heap(heap_, later);
  }

  void advance(MonoTime now) {
    while (!heap_.empty() && heap_.front().due <= now) {
      std::ranges::pop_heap(heap_, later);
      Entry entry = std::move(heap_.back());
      heap_.pop_back();
      now_ = std::max(now_, entry.due);
      ++done_;
      entry.what();
    }
    now_ = std::max(now_, now);
  }

 private:
  struct Entry {
    MonoTime due;
    std::uint64_t asked;
    std::function<void()> what;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.due != b.due ? a.due > b.due : a.asked > b.asked;
  }

  MonoTime now_{};
  std::uint64_t asked_ = 0;
  std::uint64_t done_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace falcon::cloudsim
