// store.h on SQLite: one writer with group commit, a few readers beside it (write-ahead log).
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "store/changes.h"
#include "store/clusters.h"
#include "store/jobs.h"
#include "store/own_state.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/terms.h"
#include "store/writer.h"

namespace falcon::store {
namespace {

// More would wait for a core, not for the disk, on the small machines that SQLite is for.
constexpr std::size_t kReaders = 4;

WallTime system_now() {
  return wall_time_from_unix_ms(std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
}

// What could not be read, told once each; a bounded number, since rows are not.
class Troubles {
 public:
  explicit Troubles(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}
  void note(const std::string& what) {
    constexpr std::size_t kRememberedMax = 10'000;
    if (!tell_) return;
    {
      const std::lock_guard lock(mutex_);
      if (told_.size() >= kRememberedMax) told_.clear();
      if (!told_.insert(what).second) return;
    }
    tell_(what);
  }

 private:
  std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

// Connections for reading; each read sees one snapshot.
class Readers {
 public:
  explicit Readers(const SqliteSettings& settings) {
    for (std::size_t i = 0; i < kReaders; ++i)
      free_.push_back(connect(settings.path, settings.busy_wait));
  }

  template <class Body>
  auto read(Body body) -> decltype(body(std::declval<Connection&>())) {
    std::unique_ptr<Connection> connection = take();
    auto result = read_with(*connection, body);
    give_back(std::move(connection));
    return result;
  }

 private:
  template <class Body>
  static auto read_with(Connection& connection, Body& body) -> decltype(body(connection)) {
    decltype(body(connection)) result = fail(ErrorKind::kInternal, "nothing was read");
    try {
      connection.run("BEGIN");
      result = body(connection);
      connection.run("COMMIT");
      return result;
    } catch (const SqlError& error) {
      result = std::unexpected(to_error(error));
    } catch (const std::exception& error) {  // the connection goes on
      result = fail(ErrorKind::kInternal, std::string("reading the database: ") + error.what());
    }
    connection.roll_back();
    return result;
  }

  std::unique_ptr<Connection> take() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
    std::unique_ptr<Connection> connection = std::move(free_.back());
    free_.pop_back();
    return connection;
  }
  void give_back(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(connection));
    }
    given_back_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Connection>> free_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(SqliteSettings settings, std::unique_ptr<Connection> connection, std::uint64_t newest)
      : settings_(std::move(settings)),
        troubles_(settings_.on_trouble),
        readers_(settings_),
        writer_(
            std::move(connection),
            [kept = settings_.changes_kept](Connection& open) {
              return compact_changes(open, kept);
            },
            newest) {}

  Result<model::JobRow> submit(model::JobRow job) override {
    return writer_.write<model::JobRow>(
        [&](Connection& open) { return submit_job(open, std::move(job), now()); });
  }
  Result<model::JobRow> job(const model::JobId& id) override {
    return readers_.read([&](Connection& open) { return job_by_id(open, id); });
  }
  Result<std::vector<model::JobRow>> jobs_named(const std::string& name) override {
    return readers_.read([&](Connection& open) { return store::jobs_named(open, name); });
  }
  Result<JobPage> jobs(const JobFilter& filter) override {
    auto page = readers_.read([&](Connection& open) { return list_jobs(open, filter); });
    if (page)
      for (const Unreadable& row : page->unreadable) troubles_.note(row.what);
    return page;
  }
  Result<std::vector<JobEvent>> job_events(const model::JobId& id) override {
    return readers_.read([&](Connection& open) { return events_of(open, id); });
  }
  Result<model::JobRow> abort(const model::JobId& id) override {
    return writer_.write<model::JobRow>(
        [&](Connection& open) { return abort_job(open, id, now()); });
  }
  Result<std::uint64_t> write_job(std::uint64_t term, const model::JobId& id, std::uint64_t version,
                                  const model::JobState& state) override {
    return writer_.write<std::uint64_t>(
        [&](Connection& open) { return store::write_job(open, term, id, version, state, now()); });
  }

  Result<model::ClusterRow> add_cluster(model::ClusterRow cluster) override {
    return writer_.write<model::ClusterRow>(
        [&](Connection& open) { return store::add_cluster(open, std::move(cluster), now()); });
  }
  Result<model::ClusterRow> set_cluster(const model::ClusterRow& cluster) override {
    return writer_.write<model::ClusterRow>(
        [&](Connection& open) { return store::set_cluster(open, cluster); });
  }
  Result<std::monostate> remove_cluster(const model::ClusterId& id) override {
    return writer_.write<std::monostate>(
        [&](Connection& open) { return store::remove_cluster(open, id); });
  }
  Result<ClusterList> clusters() override {
    std::vector<std::string> troubles;
    auto list = readers_.read([&](Connection& open) { return list_clusters(open, troubles); });
    for (const std::string& what : troubles) troubles_.note(what);
    return list;
  }

  Result<std::monostate> write_state(std::uint64_t term, std::uint64_t number,
                                     const std::vector<model::StateChange>& changes) override {
    return writer_.write<std::monostate>(
        [&](Connection& open) { return store::write_state(open, term, number, changes); });
  }
  Result<model::OwnState> own_state() override {
    return readers_.read([this](Connection& open) { return read_state(open, now()); });
  }
  Result<std::monostate> publish_queue(std::uint64_t term,
                                       const model::QueueOrder& order) override {
    return writer_.write<std::monostate>(
        [&](Connection& open) { return store::publish_queue(open, term, order, now()); });
  }
  Result<std::monostate> publish_condition(std::uint64_t term,
                                           const model::ClusterCondition& condition) override {
    return writer_.write<std::monostate>(
        [&](Connection& open) { return store::publish_condition(open, term, condition, now()); });
  }
  Result<std::vector<PublishedQueue>> queues() override {
    return readers_.read([](Connection& open) { return read_queues(open); });
  }

  Result<Term> acquire_term(const std::string& holder, Duration lease) override {
    auto acquired = writer_.write<Acquired>(
        [&](Connection& open) { return store::acquire_term(open, holder, lease, now()); });
    if (!acquired) return std::unexpected(std::move(acquired).error());
    if (Term* term = std::get_if<Term>(&*acquired)) return std::move(*term);
    return fail(ErrorKind::kConflict, "another holder's lease lives for " +
                                          std::to_string(std::get<Duration>(*acquired).count()) +
                                          " ms still");
  }
  Result<Term> renew_term(std::uint64_t term, Duration lease) override {
    return writer_.write<Term>(
        [&](Connection& open) { return store::renew_term(open, term, lease, now()); });
  }
  Result<std::monostate> release_term(std::uint64_t term) override {
    return writer_.write<std::monostate>(
        [&](Connection& open) { return store::release_term(open, term); });
  }

  Result<Changes> changes(std::uint64_t since, std::size_t limit) override {
    std::vector<std::string> troubles;
    auto changes = readers_.read(
        [&](Connection& open) { return changes_after(open, since, limit, troubles); });
    for (const std::string& what : troubles) troubles_.note(what);
    return changes;
  }
  void on_change(OnChange callback) override { writer_.on_change(std::move(callback)); }

  std::uint32_t schema_version() const override { return newest_schema(); }
  Result<std::monostate> ping() override {
    return readers_.read([](Connection& open) -> Result<std::monostate> {
      newest_change(open);
      return std::monostate{};
    });
  }

 private:
  WallTime now() const { return settings_.now(); }

  SqliteSettings settings_;
  Troubles troubles_;
  Readers readers_;
  Writer writer_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(SqliteSettings settings) {
  if (!settings.now) settings.now = system_now;
  FALCON_TRY(connection, open_database(settings.path, settings.busy_wait, settings.now()));
  try {
    const std::uint64_t newest = newest_change(*connection);
    return std::make_unique<SqliteStore>(std::move(settings), std::move(connection), newest);
  } catch (const SqlError& error) {
    return std::unexpected(to_error(error));
  }
}

}  // namespace falcon::store
