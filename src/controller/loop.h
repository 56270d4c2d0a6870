// The one thread that decides: closures in order, and a wake-up time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace falcon::controller {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  // `on_wake` runs on the loop's thread when the time set by wake_at has come.
  explicit Loop(std::function<void()> on_wake) : on_wake_(std::move(on_wake)) {}
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  // What is queued is still run; then the thread ends.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    arrived_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  void post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      calls_.push_back(std::move(call));
    }
    arrived_.notify_one();
  }
  // On the loop's thread only.
  void wake_at(Clock::time_point when) { wake_at_ = when; }

 private:
  void run() {
    while (true) {
      std::function<void()> call;
      {
        std::unique_lock lock(mutex_);
        const auto ready = [this] { return stopping_ || !calls_.empty(); };
        if (wake_at_ == Clock::time_point::max())
          arrived_.wait(lock, ready);
        else
          arrived_.wait_until(lock, wake_at_, ready);
        if (!calls_.empty()) {
          call = std::move(calls_.front());
          calls_.pop_front();
        } else if (stopping_) {
          return;
        }
      }
      if (call)
        call();
      else
        on_wake_();
    }
  }

  std::function<void()> on_wake_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> calls_;
  bool stopping_ = false;
  Clock::time_point wake_at_ = Clock::time_point::max();
  std::thread thread_;
};

}  // namespace falcon::controller
