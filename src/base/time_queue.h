// What is to be done at which time: earliest first, of one time what was asked first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace falcon {

class TimeQueue {
 public:
  // MonoTime::max() when nothing is to be done.
  MonoTime next() const { return heap_.empty() ? MonoTime::max() : heap_.front().at; }

  void push(MonoTime at, std::function<void()> what) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(whats_.size());
      whats_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      whats_[slot] = std::move(what);
    }
    heap_.push_back({at, ++asked_, slot});
    std::ranges::push_heap(heap_, later);
  }

  // Not when empty.
  std::function<void()> pop() {
    std::ranges::pop_heap(heap_, later);
    const std::uint32_t slot = heap_.back().slot;
    heap_.pop_back();
    free_.push_back(slot);
    return std::exchange(whats_[slot], nullptr);
  }

 private:
  // The heap moves its entries a lot: they are small, and what is to be done stays in its slot.
  struct Entry {
    MonoTime at;
    std::uint64_t asked;
    std::uint32_t slot;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.asked > b.asked;
  }

  std::vector<Entry> heap_;
  std::vector<std::function<void()>> whats_;
  std::vector<std::uint32_t> free_;
  std::uint64_t asked_ = 0;
};

}  // namespace falcon
