// Threads that carry requests to the store, which blocks. Several, so that writes that arrive
// together share one commit.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace falcon::api {

class Workers {
 public:
  explicit Workers(std::size_t count);
  ~Workers();  // finishes what was handed over
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  void run(std::function<void()> work);  // any thread; never blocks

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace falcon::api
