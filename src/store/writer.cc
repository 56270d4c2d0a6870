#include "store/writer.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <string>

namespace falcon::store {
namespace {

// Bounds the time that the first of a batch waits for the others, and the log's growth in a
// transaction; a multiple of the callers that a server has at once.
constexpr std::size_t kBatchMax = 1'000;

Error commit_error(const SqlError& error) {
  const int code = error.code() & 0xff;
  if (code == SQLITE_BUSY || code == SQLITE_FULL) return to_error(error);
  return {ErrorKind::kUnknownOutcome,
          fmt::format("the commit failed ({}); whether it is on the disk is not known, look again",
                      error.what())};
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, BeforeCommit before_commit,
               std::uint64_t newest)
    : connection_(std::move(connection)),
      before_commit_(std::move(before_commit)),
      newest_(newest),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

void Writer::on_change(OnChange callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void Writer::enqueue(std::shared_ptr<Task> task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  queued_.notify_one();
}

void Writer::run() {
  for (;;) {
    Batch batch;
    {
      std::unique_lock lock(mutex_);
      queued_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchMax));
      batch.assign(queue_.begin(), queue_.begin() + count);
      queue_.erase(queue_.begin(), queue_.begin() + count);
    }
    carry_out(batch);
    for (const std::shared_ptr<Task>& task : batch) task->done.set_value();
  }
}

void Writer::carry_out(const Batch& batch) {
  try {
    connection_->run("BEGIN IMMEDIATE");
    for (const std::shared_ptr<Task>& task : batch) apply(*task);
  } catch (const SqlError& error) {
    return lose(batch, to_error(error).what);
  } catch (const std::exception& error) {
    return lose(batch, error.what());
  }
  commit(batch);
}

// The whole transaction is lost; nothing was stored for anybody.
void Writer::lose(const Batch& batch, const std::string& why) {
  connection_->roll_back();
  const Error plain{ErrorKind::kUnavailable, why};
  for (const std::shared_ptr<Task>& task : batch) task->refuse(plain);
}

void Writer::apply(Task& task) {
  connection_->run("SAVEPOINT change");
  bool keep = false;
  try {
    keep = task.apply(*connection_);
  } catch (const SqlError& error) {
    if (!connection_->in_transaction()) throw;  // SQLite took all of it back by itself
    task.refuse(to_error(error));
  } catch (const std::exception& error) {
    task.refuse({ErrorKind::kInternal, fmt::format("the change failed: {}", error.what())});
  } catch (...) {
    task.refuse({ErrorKind::kInternal, "the change failed without saying why"});
  }
  if (!keep) connection_->run("ROLLBACK TO change");
  connection_->run("RELEASE change");
}

void Writer::commit(const Batch& batch) {
  std::uint64_t newest = 0;
  try {
    newest = before_commit_(*connection_);
  } catch (const SqlError& error) {
    return lose(batch, to_error(error).what);
  } catch (const std::exception& error) {
    return lose(batch, error.what());
  }
  try {
    connection_->run("COMMIT");
  } catch (const SqlError& error) {
    connection_->roll_back();
    // Answers that rest on what the others wrote are no better than theirs.
    const Error plain = commit_error(error);
    for (const std::shared_ptr<Task>& task : batch) task->refuse(plain);
    return;
  }
  ++commits_;
  tell(newest);
}

void Writer::tell(std::uint64_t newest) {
  if (newest == newest_) return;
  newest_ = newest;
  const std::lock_guard lock(callback_mutex_);
  if (!callback_) return;
  try {
    callback_(newest);
  } catch (const std::exception&) {
    // What was committed is committed; who listens comes again with the next change.
    newest_ = 0;
  }
}

}  // namespace falcon::store
