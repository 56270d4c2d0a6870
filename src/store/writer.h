// The one thread that writes, with group commit: what was queued while the last commit ran is
// carried out in one transaction, a savepoint each, committed once, and then answered together.
//
// Private to this folder. write() blocks; any thread may call it, but not a callback of this class.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace falcon::store {

class Writer {
 public:
  // `before_commit` runs inside each transaction and gives the number of the newest change;
  // on_change hears of it after the commit when it has risen.
  using BeforeCommit = std::function<std::uint64_t(Connection&)>;
  using OnChange = std::function<void(std::uint64_t)>;
  Writer(std::unique_ptr<Connection> connection, BeforeCommit before_commit, std::uint64_t newest);
  ~Writer();  // carries out what is queued
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Runs `change` in a transaction; an error takes back what it wrote, and so does an exception,
  // which is answered with kInternal. The answer comes after the commit: kUnavailable when nothing
  // was stored, kUnknownOutcome when the disk failed during it.
  template <class T>
  Result<T> write(const std::function<Result<T>(Connection&)>& change) {
    Result<T> result = fail(ErrorKind::kInternal, "the change was not carried out");
    auto task = std::make_shared<Task>();
    task->apply = [&](Connection& connection) {
      result = change(connection);
      return result.has_value();
    };
    task->refuse = [&](const Error& error) { result = std::unexpected(error); };
    std::future<void> done = task->done.get_future();
    enqueue(std::move(task));
    done.wait();
    return result;
  }

  void on_change(OnChange callback);
  std::uint64_t commits() const { return commits_; }

 private:
  struct Task {
    std::function<bool(Connection&)> apply;  // false: take back what it wrote
    std::function<void(const Error&)> refuse;
    std::promise<void> done;
  };
  using Batch = std::vector<std::shared_ptr<Task>>;

  void enqueue(std::shared_ptr<Task> task);
  void run();
  void carry_out(const Batch& batch);
  void apply(Task& task);
  void commit(const Batch& batch);
  void lose(const Batch& batch, const std::string& why);
  void tell(std::uint64_t newest);

  std::unique_ptr<Connection> connection_;
  BeforeCommit before_commit_;
  std::uint64_t newest_;  // change that was told last
  std::atomic<std::uint64_t> commits_{0};
  std::mutex callback_mutex_;
  OnChange callback_;
  std::mutex mutex_;
  std::condition_variable queued_;
  std::deque<std::shared_ptr<Task>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace falcon::store
