#include "http/timers.h"

namespace falcon::http {

Timers::Timers() : thread_([this] { run(); }) {}

Timers::~Timers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Timers::after(Duration delay, std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    due_.emplace(std::chrono::steady_clock::now() + delay, std::move(call));
  }
  changed_.notify_one();
}

void Timers::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = due_.begin();
    if (first->first > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, first->first);
      continue;
    }
    const std::function<void()> call = std::move(first->second);
    due_.erase(first);
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace falcon::http
