// Store on a SQLite file. Internal to src/store; made by open_sqlite().
//
// One writer thread: writes queued meanwhile run in one transaction, a savepoint each, and are
// answered after its commit. Readers use a second connection (WAL: they never wait for the writer).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(SqliteSettings settings);  // throws SqliteError
  ~SqliteStore() override;

  Result<model::JobRow> submit(model::JobRow job) override;
  Result<model::JobRow> job(const model::JobId& id) override;
  Result<std::vector<model::JobRow>> jobs_named(const std::string& name) override;
  Result<JobPage> jobs(const JobFilter& filter) override;
  Result<std::vector<JobEvent>> job_events(const model::JobId& id) override;
  Result<model::JobRow> abort(const model::JobId& id) override;
  Result<std::uint64_t> write_job(std::uint64_t term, const model::JobId& id, std::uint64_t version,
                                  const model::JobState& state) override;
  Result<model::ClusterRow> add_cluster(model::ClusterRow cluster) override;
  Result<model::ClusterRow> set_cluster(const model::ClusterRow& cluster) override;
  Result<std::monostate> remove_cluster(const model::ClusterId& id) override;
  Result<ClusterList> clusters() override;
  Result<std::monostate> write_state(std::uint64_t term, std::uint64_t number,
                                     const std::vector<model::StateChange>& changes) override;
  Result<model::OwnState> own_state() override;
  Result<std::monostate> publish_queue(std::uint64_t term, const model::QueueOrder& order) override;
  Result<std::vector<PublishedQueue>> queues() override;
  Result<Term> acquire_term(const std::string& holder, Duration lease) override;
  Result<Term> renew_term(std::uint64_t term, Duration lease) override;
  Result<std::monostate> release_term(std::uint64_t term) override;
  Result<Changes> changes(std::uint64_t since, std::size_t limit) override;
  void on_change(OnChange callback) override;
  std::uint32_t schema_version() const override;
  Result<std::monostate> ping() override;

 private:
  // One queued write: runs inside the transaction, then hears how the commit went.
  struct Task {
    std::function<bool(Connection&)> run;  // false: roll this one back
    std::function<void(std::optional<Error>)> answer;
  };
  template <class T>
  Result<T> write(const std::function<Result<T>(Connection&)>& work);
  template <class T>
  Result<T> read(const std::function<Result<T>(Connection&)>& work);
  void run_writer();
  void commit(std::deque<Task>& batch);
  std::uint64_t record(Connection& connection, std::string_view kind, const std::string& id,
                       bool removed);
  void record_event(Connection& connection, const model::JobRow& row);
  static std::optional<Error> fenced(Connection& connection, std::uint64_t term);
  static std::uint64_t sequence(Connection& connection);
  WallTime now() const { return settings_.now(); }

  SqliteSettings settings_;
  std::unique_ptr<Connection> writer_;
  std::mutex reader_mutex_;
  std::unique_ptr<Connection> reader_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::deque<Task> tasks_;
  OnChange on_change_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace falcon::store
