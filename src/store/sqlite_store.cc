#include "store/sqlite_store.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <chrono>
#include <future>

#include "base/check.h"
#include "base/digest.h"
#include "store/rows.h"
#include "store/schema.h"

namespace falcon::store {
namespace {

using model::JobRow;
using model::JobStatus;

// UUID version 7 (RFC 9562): 48 bits of milliseconds, the rest random.
std::string new_uuid(WallTime now) {
  std::array<std::uint8_t, 16> bytes{};
  FALCON_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  const auto ms = static_cast<std::uint64_t>(to_unix_ms(now));
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x70U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  const std::string hex = hex_lower(bytes);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

// What an error inside a transaction means before anything was committed.
Error before_commit(const SqliteError& error) {
  switch (error.code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {ErrorKind::kUnavailable, "the database is busy"};
    case SQLITE_FULL: return {ErrorKind::kUnavailable, "the database's disk is full"};
    case SQLITE_READONLY: return {ErrorKind::kUnavailable, "the database is read-only"};
    case SQLITE_IOERR: return {ErrorKind::kUnavailable, "the database's disk answers with errors"};
    default: return {ErrorKind::kInternal, std::string("database: ") + error.what()};
  }
}

bool edge_exists(JobStatus from, JobStatus to) {
  if (model::is_terminal(from)) return from == to;
  if (from == JobStatus::kAborting) return to == JobStatus::kAborting || model::is_terminal(to);
  return to != JobStatus::kAborting;  // asked for by people, never by a state write
}

}  // namespace

SqliteStore::SqliteStore(SqliteSettings settings) : settings_(std::move(settings)) {
  if (!settings_.now)
    settings_.now = [] {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      return WallTime(std::chrono::duration_cast<Duration>(now));
    };
  writer_ = std::make_unique<Connection>(settings_.path, Connection::Mode::kReadWrite,
                                         settings_.busy_wait);
  migrate(*writer_);
  reader_ = std::make_unique<Connection>(settings_.path, Connection::Mode::kReadOnly,
                                         settings_.busy_wait);
  thread_ = std::thread([this] { run_writer(); });
}

SqliteStore::~SqliteStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

template <class T>
Result<T> SqliteStore::write(const std::function<Result<T>(Connection&)>& work) {
  Result<T> result = fail(ErrorKind::kUnavailable, "the store is stopping");
  std::promise<void> done;
  Task task;
  task.run = [&](Connection& connection) {
    try {
      result = work(connection);
    } catch (const SqliteError& error) {
      result = std::unexpected(before_commit(error));
    } catch (const std::exception& error) {
      result = fail(ErrorKind::kInternal, error.what());
    }
    return result.has_value();
  };
  task.answer = [&](std::optional<Error> error) {
    if (error && result) result = std::unexpected(*std::move(error));
    done.set_value();
  };
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return result;
    tasks_.push_back(std::move(task));
  }
  arrived_.notify_one();
  done.get_future().wait();
  return result;
}

template <class T>
Result<T> SqliteStore::read(const std::function<Result<T>(Connection&)>& work) {
  const std::lock_guard lock(reader_mutex_);
  try {
    reader_->execute("BEGIN");  // one snapshot for all that `work` reads
    Result<T> result = work(*reader_);
    reader_->execute("COMMIT");
    return result;
  } catch (const std::exception& error) {
    try {
      reader_->execute("ROLLBACK");
    } catch (const SqliteError&) {  // there was no transaction
    }
    const auto* of_sqlite = dynamic_cast<const SqliteError*>(&error);
    if (of_sqlite != nullptr) return std::unexpected(before_commit(*of_sqlite));
    return fail(ErrorKind::kInternal, error.what());
  }
}

void SqliteStore::run_writer() {
  while (true) {
    std::deque<Task> batch;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      batch.swap(tasks_);
    }
    commit(batch);
  }
}

// All of the batch in one transaction; a task that fails is taken back alone.
void SqliteStore::commit(std::deque<Task>& batch) {
  std::optional<Error> outcome;
  std::uint64_t newest = 0;
  try {
    writer_->execute("BEGIN IMMEDIATE");
    for (Task& task : batch) {
      writer_->execute("SAVEPOINT task");
      if (!task.run(*writer_)) writer_->execute("ROLLBACK TO task");
      writer_->execute("RELEASE task");
    }
    newest = sequence(*writer_);
    try {
      writer_->execute("COMMIT");
    } catch (const SqliteError& error) {
      const bool not_done = (error.code & 0xFF) == SQLITE_BUSY || (error.code & 0xFF) == SQLITE_FULL;
      outcome = not_done ? before_commit(error)
                         : Error{ErrorKind::kUnknownOutcome,
                                 std::string("the commit's fate is not known: ") + error.what()};
      throw;
    }
  } catch (const SqliteError& error) {
    if (!outcome) outcome = before_commit(error);
    try {
      writer_->execute("ROLLBACK");
    } catch (const SqliteError&) {  // SQLite had rolled back itself
    }
  }
  OnChange on_change;
  {
    const std::lock_guard lock(mutex_);
    on_change = on_change_;
  }
  for (Task& task : batch) task.answer(outcome);
  if (!outcome && on_change) on_change(newest);
}

std::uint64_t SqliteStore::sequence(Connection& connection) {
  Statement& row = connection.prepared("SELECT sequence FROM counters");
  row.step();
  const std::uint64_t value = row.unsigned_number();
  row.fresh();
  return value;
}

// Numbers a change in commit order and forgets those that are too old.
std::uint64_t SqliteStore::record(Connection& connection, std::string_view kind,
                                  const std::string& id, bool removed) {
  const std::uint64_t number = sequence(connection) + 1;
  connection.prepared("UPDATE counters SET sequence = ?").bind(number).run();
  connection.prepared("INSERT INTO changes VALUES (?, ?, ?, ?)")
      .bind(number)
      .bind(kind)
      .bind(id)
      .bind(static_cast<std::int64_t>(removed))
      .run();
  if (number > settings_.changes_kept && number % 64 == 0) {
    const std::uint64_t oldest = number - settings_.changes_kept;
    connection.prepared("DELETE FROM changes WHERE sequence <= ?").bind(oldest).run();
    connection.prepared("UPDATE counters SET compacted = ?").bind(oldest).run();
  }
  return number;
}

void SqliteStore::record_event(Connection& connection, const JobRow& row) {
  connection.prepared("INSERT INTO job_events VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(row.id.value())
      .bind(row.version)
      .bind(now())
      .bind(model::to_string(row.state.status))
      .bind(model::to_string(row.state.reason))
      .bind(model::to_string(row.state.message.code))
      .bind(list_to_column(row.state.message.arguments))
      .run();
}

namespace {

void put_job(Connection& connection, const JobRow& row) {
  static const std::string kSql = fmt::format(
      "INSERT OR REPLACE INTO jobs ({}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      kJobColumns);
  Statement& statement = connection.prepared(kSql);
  bind_job(statement, row);
  statement.run();
}

Result<JobRow> get_job(Connection& connection, const model::JobId& id) {
  static const std::string kSql = fmt::format("SELECT {} FROM jobs WHERE id = ?", kJobColumns);
  Statement& row = connection.prepared(kSql);
  row.bind(id.value());
  if (!row.step())
    return fail(ErrorKind::kNotFound, fmt::format("there is no job \"{}\"", id.value()));
  JobRow job = read_job(row);
  row.fresh();
  return job;
}

}  // namespace

Result<JobRow> SqliteStore::submit(JobRow job) {
  return write<JobRow>([&](Connection& connection) -> Result<JobRow> {
    JobRow row = job;
    row.created_at = now();
    row.id = model::JobId(new_uuid(row.created_at));
    row.aborting_at.reset();
    row.state = {};
    row.state.reason = model::Reason::kWaiting;
    row.state.message = model::make_message(model::MessageCode::kQueued);
    row.version = record(connection, "job", row.id.value(), false);
    put_job(connection, row);
    record_event(connection, row);
    return row;
  });
}

Result<JobRow> SqliteStore::job(const model::JobId& id) {
  return read<JobRow>([&](Connection& connection) { return get_job(connection, id); });
}

Result<std::vector<JobRow>> SqliteStore::jobs_named(const std::string& name) {
  return read<std::vector<JobRow>>([&](Connection& connection) -> Result<std::vector<JobRow>> {
    static const std::string kOpen = fmt::format(
        "SELECT {} FROM jobs WHERE name = ? AND status IN ('Pending', 'Running', 'Aborting') "
        "ORDER BY created_at DESC, id DESC LIMIT 100",
        kJobColumns);
    static const std::string kNewest = fmt::format(
        "SELECT {} FROM jobs WHERE name = ? ORDER BY created_at DESC, id DESC LIMIT 1", kJobColumns);
    std::vector<JobRow> jobs;
    for (const std::string* sql : {&kOpen, &kNewest}) {
      Statement& row = connection.prepared(*sql);
      row.bind(name);
      while (row.step()) jobs.push_back(read_job(row));
      if (!jobs.empty()) return jobs;
    }
    return fail(ErrorKind::kNotFound, fmt::format("there is no job \"{}\"", name));
  });
}

namespace {

struct PageMark {
  std::int64_t created_at = 0;
  std::string id;
};

Result<std::optional<PageMark>> read_page_token(const std::string& token) {
  if (token.empty()) return std::optional<PageMark>();
  const std::size_t dot = token.find('.');
  PageMark mark;
  if (dot != std::string::npos && dot > 0 && dot <= 15 &&
      token.find_first_not_of("0123456789") == dot && token.size() - dot - 1 <= 64) {
    mark.created_at = std::stoll(token.substr(0, dot));
    mark.id = token.substr(dot + 1);
    return std::optional<PageMark>(std::move(mark));
  }
  return fail(ErrorKind::kInvalid,
              "page_token is not one that a list gave; start again without it");
}

}  // namespace

Result<JobPage> SqliteStore::jobs(const JobFilter& filter) {
  FALCON_TRY(mark, read_page_token(filter.page_token));
  std::string where = "1";
  if (filter.open_only)
    where =
        "(status IN ('Pending', 'Running', 'Aborting') OR cleanup IN ('pending', 'failed'))";
  if (filter.status) where += " AND status = ?";
  if (!filter.actor.empty()) where += " AND actor = ?";
  if (!filter.name.empty()) where += " AND name = ?";
  if (!filter.cluster.empty()) where += " AND cluster = ?";
  if (mark)
    where += filter.open_only ? " AND (created_at, id) > (?, ?)" : " AND (created_at, id) < (?, ?)";
  const char* direction = filter.open_only ? "ASC" : "DESC";
  const std::string sql =
      fmt::format("SELECT {} FROM jobs WHERE {} ORDER BY created_at {}, id {} LIMIT ?", kJobColumns,
                  where, direction, direction);
  return read<JobPage>([&](Connection& connection) -> Result<JobPage> {
    Statement& row = connection.prepared(sql);
    if (filter.status) row.bind(model::to_string(*filter.status));
    if (!filter.actor.empty()) row.bind(filter.actor);
    if (!filter.name.empty()) row.bind(filter.name);
    if (!filter.cluster.empty()) row.bind(filter.cluster.value());
    if (mark) row.bind(mark->created_at).bind(mark->id);
    row.bind(static_cast<std::int64_t>(filter.limit) + 1);
    JobPage page;
    while (row.step()) {
      if (page.items.size() == filter.limit) {
        const JobRow& last = page.items.back();
        page.next_page_token =
            fmt::format("{}.{}", to_unix_ms(last.created_at), last.id.value());
        break;
      }
      page.items.push_back(read_job(row));
    }
    row.fresh();
    page.sequence = sequence(connection);
    return page;
  });
}

Result<std::vector<JobEvent>> SqliteStore::job_events(const model::JobId& id) {
  return read<std::vector<JobEvent>>([&](Connection& connection) -> Result<std::vector<JobEvent>> {
    FALCON_TRY(job, get_job(connection, id));
    Statement& row = connection.prepared(
        "SELECT at, status, reason, message_code, message_arguments FROM job_events WHERE job = ? "
        "ORDER BY sequence");
    row.bind(job.id.value());
    std::vector<JobEvent> events;
    while (row.step()) events.push_back(read_event(row));
    return events;
  });
}

Result<JobRow> SqliteStore::abort(const model::JobId& id) {
  return write<JobRow>([&](Connection& connection) -> Result<JobRow> {
    FALCON_TRY(row, get_job(connection, id));
    if (model::is_terminal(row.state.status) || row.state.status == JobStatus::kAborting)
      return row;
    row.state.status = JobStatus::kAborting;
    row.state.reason = model::Reason::kNone;
    row.state.message = model::make_message(model::MessageCode::kAborting);
    row.aborting_at = now();
    row.version = record(connection, "job", row.id.value(), false);
    put_job(connection, row);
    record_event(connection, row);
    return row;
  });
}

std::optional<Error> SqliteStore::fenced(Connection& connection, std::uint64_t term) {
  Statement& row = connection.prepared("SELECT term FROM terms");
  row.step();
  const std::uint64_t highest = row.unsigned_number();
  row.fresh();
  if (term == highest && term != 0) return std::nullopt;
  return Error{ErrorKind::kFenced,
               fmt::format("term {} is not the leader's any more (the highest is {})", term, highest)};
}

Result<std::uint64_t> SqliteStore::write_job(std::uint64_t term, const model::JobId& id,
                                             std::uint64_t version, const model::JobState& state) {
  return write<std::uint64_t>([&](Connection& connection) -> Result<std::uint64_t> {
    if (auto error = fenced(connection, term)) return std::unexpected(*std::move(error));
    FALCON_TRY(row, get_job(connection, id));
    if (row.version != version)
      return fail(ErrorKind::kConflict,
                  fmt::format("job {} has version {}, the write was decided on {}", id.value(),
                              row.version, version));
    if (!edge_exists(row.state.status, state.status))
      return fail(ErrorKind::kConflict,
                  fmt::format("job {} is {} and cannot become {}", id.value(),
                              model::to_string(row.state.status), model::to_string(state.status)));
    if (model::is_terminal(row.state.status)) {
      model::JobState allowed = row.state;
      allowed.message = state.message;
      allowed.cleanup = state.cleanup;
      allowed.cleanup_error = state.cleanup_error;
      if (allowed != state)
        return fail(ErrorKind::kConflict,
                    fmt::format("job {} is {}: only message and clean-up may change", id.value(),
                                model::to_string(row.state.status)));
    }
    const bool tells = row.state.status != state.status || row.state.reason != state.reason ||
                       row.state.message.code != state.message.code;
    row.state = state;
    row.version = record(connection, "job", row.id.value(), false);
    put_job(connection, row);
    if (tells) record_event(connection, row);
    return row.version;
  });
}

Result<model::ClusterRow> SqliteStore::add_cluster(model::ClusterRow cluster) {
  return write<model::ClusterRow>([&](Connection& connection) -> Result<model::ClusterRow> {
    Statement& same = connection.prepared(
        "SELECT id FROM clusters WHERE project = ? AND location = ? AND name = ? AND tpu_type = ?");
    same.bind(cluster.project).bind(cluster.location).bind(cluster.name).bind(cluster.tpu_type);
    if (same.step()) {
      same.fresh();
      return fail(ErrorKind::kAlreadyExists,
                  fmt::format("cluster {} ({}, {}) with {} is there already", cluster.name,
                              cluster.project, cluster.location, cluster.tpu_type));
    }
    model::ClusterRow row = cluster;
    row.created_at = now();
    row.id = model::ClusterId(new_uuid(row.created_at));
    row.version = record(connection, "cluster", row.id.value(), false);
    Statement& statement =
        connection.prepared("INSERT INTO clusters VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
    bind_cluster(statement, row);
    statement.run();
    return row;
  });
}

Result<model::ClusterRow> SqliteStore::set_cluster(const model::ClusterRow& cluster) {
  return write<model::ClusterRow>([&](Connection& connection) -> Result<model::ClusterRow> {
    model::ClusterRow row = cluster;
    row.version = record(connection, "cluster", row.id.value(), false);
    Statement& statement = connection.prepared(
        "UPDATE clusters SET zone = ?, gcs_bucket = ?, default_reservation = ?, "
        "kubernetes_namespace = ?, service_account = ?, status = ?, version = ? WHERE id = ? AND "
        "project = ? AND location = ? AND name = ? AND tpu_type = ?");
    statement.bind(row.zone)
        .bind(row.gcs_bucket)
        .bind(row.default_reservation)
        .bind(row.kubernetes_namespace)
        .bind(row.service_account)
        .bind(model::to_string(row.status))
        .bind(row.version)
        .bind(row.id.value())
        .bind(row.project)
        .bind(row.location)
        .bind(row.name)
        .bind(row.tpu_type)
        .run();
    if (connection.changes() == 0)
      return fail(ErrorKind::kNotFound, fmt::format("there is no cluster {}", row.id.value()));
    return row;
  });
}

Result<std::monostate> SqliteStore::remove_cluster(const model::ClusterId& id) {
  return write<std::monostate>([&](Connection& connection) -> Result<std::monostate> {
    Statement& pools = connection.prepared("SELECT COUNT(*) FROM pools WHERE cluster = ?");
    pools.bind(id.value()).step();
    const std::int64_t count = pools.number();
    pools.fresh();
    if (count > 0)
      return fail(ErrorKind::kConflict,
                  fmt::format("{} node pools of the cluster still exist; set it to maintenance and "
                              "wait until they are gone",
                              count));
    connection.prepared("DELETE FROM clusters WHERE id = ?").bind(id.value()).run();
    if (connection.changes() == 0)
      return fail(ErrorKind::kNotFound, fmt::format("there is no cluster {}", id.value()));
    record(connection, "cluster", id.value(), true);
    return std::monostate{};
  });
}

Result<Store::ClusterList> SqliteStore::clusters() {
  return read<ClusterList>([&](Connection& connection) -> Result<ClusterList> {
    static const std::string kSql =
        fmt::format("SELECT {} FROM clusters ORDER BY name, tpu_type, id", kClusterColumns);
    Statement& row = connection.prepared(kSql);
    ClusterList list;
    while (row.step()) list.items.push_back(read_cluster(row));
    list.sequence = sequence(connection);
    return list;
  });
}

namespace {

struct Apply {
  Connection& connection;
  void operator()(const model::PutPool& change) const {
    Statement& statement = connection.prepared(
        "INSERT OR REPLACE INTO pools VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    bind_pool(statement, change.row);
    statement.run();
  }
  void operator()(const model::RemovePool& change) const {
    connection.prepared("DELETE FROM pools WHERE name = ?").bind(change.name.value()).run();
  }
  void operator()(const model::PutAttempt& change) const {
    Statement& statement =
        connection.prepared("INSERT OR REPLACE INTO attempts VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    bind_attempt(statement, change.row);
    statement.run();
  }
  void operator()(const model::PutTurn& change) const {
    const model::TurnRow& row = change.row;
    connection.prepared("INSERT OR REPLACE INTO turns VALUES (?,?,?,?,?,?)")
        .bind(row.queue.cluster.value())
        .bind(row.queue.shape.type)
        .bind(row.queue.shape.topology)
        .bind(row.actor.value())
        .bind(row.turn)
        .bind(row.job.value())
        .run();
  }
  void operator()(const model::PutBackoff& change) const {
    const model::BackoffRow& row = change.row;
    connection.prepared("INSERT OR REPLACE INTO backoffs VALUES (?,?,?,?)")
        .bind(row.job.value())
        .bind(row.failures)
        .bind(row.not_before)
        .bind(row.words)
        .run();
  }
  void operator()(const model::RemoveBackoff& change) const {
    connection.prepared("DELETE FROM backoffs WHERE job = ?").bind(change.job.value()).run();
  }
};

}  // namespace

Result<std::monostate> SqliteStore::write_state(std::uint64_t term, std::uint64_t number,
                                                const std::vector<model::StateChange>& changes) {
  return write<std::monostate>([&](Connection& connection) -> Result<std::monostate> {
    if (auto error = fenced(connection, term)) return std::unexpected(*std::move(error));
    Statement& last = connection.prepared("SELECT state_number FROM terms");
    last.step();
    const std::uint64_t newest = last.unsigned_number();
    last.fresh();
    if (number < newest)
      return fail(ErrorKind::kConflict,
                  fmt::format("state write {} came after {}; it is not applied", number, newest));
    for (const model::StateChange& change : changes) std::visit(Apply{connection}, change);
    connection.prepared("UPDATE terms SET state_number = ?").bind(number).run();
    return std::monostate{};
  });
}

Result<model::OwnState> SqliteStore::own_state() {
  return read<model::OwnState>([&](Connection& connection) -> Result<model::OwnState> {
    model::OwnState state;
    Statement& pools = connection.prepared("SELECT * FROM pools ORDER BY name");
    while (pools.step()) state.pools.push_back(read_pool(pools));
    Statement& attempts = connection.prepared(
        "SELECT * FROM attempts WHERE outcome = 'open' OR pool IN (SELECT name FROM pools) "
        "ORDER BY job, number");
    while (attempts.step()) state.attempts.push_back(read_attempt(attempts));
    Statement& turns = connection.prepared("SELECT * FROM turns");
    while (turns.step()) state.turns.push_back(read_turn(turns));
    Statement& backoffs = connection.prepared("SELECT * FROM backoffs ORDER BY job");
    while (backoffs.step()) state.backoffs.push_back(read_backoff(backoffs));
    return state;
  });
}

Result<std::monostate> SqliteStore::publish_queue(std::uint64_t term,
                                                  const model::QueueOrder& order) {
  return write<std::monostate>([&](Connection& connection) -> Result<std::monostate> {
    if (auto error = fenced(connection, term)) return std::unexpected(*std::move(error));
    std::vector<std::string> ids;
    ids.reserve(order.order.size());
    for (const model::JobId& id : order.order) ids.push_back(id.value());
    connection
        .prepared("INSERT INTO queues VALUES (?,?,?,?,?,?) ON CONFLICT (cluster, tpu_type, topology) "
                  "DO UPDATE SET version = excluded.version, published_at = excluded.published_at, "
                  "jobs = excluded.jobs WHERE excluded.version > queues.version")
        .bind(order.queue.cluster.value())
        .bind(order.queue.shape.type)
        .bind(order.queue.shape.topology)
        .bind(order.version)
        .bind(now())
        .bind(list_to_column(ids))
        .run();
    return std::monostate{};
  });
}

Result<std::vector<Store::PublishedQueue>> SqliteStore::queues() {
  return read<std::vector<PublishedQueue>>(
      [&](Connection& connection) -> Result<std::vector<PublishedQueue>> {
        Statement& row = connection.prepared("SELECT * FROM queues ORDER BY cluster, tpu_type, topology");
        std::vector<PublishedQueue> queues;
        while (row.step()) {
          PublishedQueue queue;
          queue.order.queue.cluster = model::ClusterId(row.text());
          queue.order.queue.shape.type = row.text();
          queue.order.queue.shape.topology = row.text();
          queue.order.version = row.unsigned_number();
          queue.published_at = row.time();
          for (std::string& id : list_from_column(row.text()))
            queue.order.order.emplace_back(std::move(id));
          queues.push_back(std::move(queue));
        }
        return queues;
      });
}

Result<Term> SqliteStore::acquire_term(const std::string& holder, Duration lease) {
  return write<Term>([&](Connection& connection) -> Result<Term> {
    Statement& row = connection.prepared("SELECT term, holder, lease_until FROM terms");
    row.step();
    const std::uint64_t term = row.unsigned_number();
    const std::string other = row.text();
    const WallTime until = row.time();
    row.fresh();
    // The lease's end is bounded by its length: a clock that was set back cannot lock leaders out.
    const Duration left = std::min(until - now(), std::max(lease, Duration(60'000)));
    if (!other.empty() && other != holder && left > Duration(0))
      return fail(ErrorKind::kConflict,
                  fmt::format("{} leads for another {} ms", other, left.count()));
    connection
        .prepared("UPDATE terms SET term = ?, holder = ?, lease_until = ?, state_number = 0")
        .bind(term + 1)
        .bind(holder)
        .bind(now() + lease)
        .run();
    return Term{term + 1, holder, lease};
  });
}

Result<Term> SqliteStore::renew_term(std::uint64_t term, Duration lease) {
  return write<Term>([&](Connection& connection) -> Result<Term> {
    if (auto error = fenced(connection, term)) return std::unexpected(*std::move(error));
    connection.prepared("UPDATE terms SET lease_until = ?").bind(now() + lease).run();
    return Term{term, {}, lease};
  });
}

Result<std::monostate> SqliteStore::release_term(std::uint64_t term) {
  return write<std::monostate>([&](Connection& connection) -> Result<std::monostate> {
    if (auto error = fenced(connection, term)) return std::unexpected(*std::move(error));
    connection.prepared("UPDATE terms SET lease_until = 0, holder = ''").run();
    return std::monostate{};
  });
}

Result<Store::Changes> SqliteStore::changes(std::uint64_t since, std::size_t limit) {
  return read<Changes>([&](Connection& connection) -> Result<Changes> {
    Statement& counters = connection.prepared("SELECT sequence, compacted FROM counters");
    counters.step();
    const std::uint64_t newest = counters.unsigned_number();
    const std::uint64_t compacted = counters.unsigned_number();
    counters.fresh();
    if (since < compacted || since > newest)
      return fail(ErrorKind::kNotFound,
                  fmt::format("changes after {} are no longer kept; list again", since));
    struct Numbered {
      std::uint64_t sequence;
      std::string kind;
      std::string id;
      bool removed;
    };
    std::vector<Numbered> numbered;
    Statement& row = connection.prepared(
        "SELECT sequence, kind, id, removed FROM changes WHERE sequence > ? ORDER BY sequence LIMIT ?");
    row.bind(since).bind(static_cast<std::int64_t>(limit));
    while (row.step()) {
      Numbered change;
      change.sequence = row.unsigned_number();
      change.kind = row.text();
      change.id = row.text();
      change.removed = row.number() != 0;
      numbered.push_back(std::move(change));
    }
    Changes changes;
    changes.sequence = numbered.size() < limit ? newest : numbered.back().sequence;
    static const std::string kCluster =
        fmt::format("SELECT {} FROM clusters WHERE id = ?", kClusterColumns);
    for (const Numbered& change : numbered) {
      Change item{change.sequence, model::JobId(change.id)};
      if (change.kind == "job") {
        auto job = get_job(connection, model::JobId(change.id));
        if (job) item.object = *std::move(job);
      } else {
        item.object = model::ClusterId(change.id);
        Statement& cluster = connection.prepared(kCluster);
        cluster.bind(change.id);
        if (!change.removed && cluster.step()) item.object = read_cluster(cluster);
        cluster.fresh();
      }
      changes.items.push_back(std::move(item));
    }
    return changes;
  });
}

void SqliteStore::on_change(OnChange callback) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(callback);
}

std::uint32_t SqliteStore::schema_version() const { return newest_schema(); }

Result<std::monostate> SqliteStore::ping() {
  return read<std::monostate>([](Connection& connection) -> Result<std::monostate> {
    (void)sequence(connection);
    return std::monostate{};
  });
}

Result<std::unique_ptr<Store>> open_sqlite(SqliteSettings settings) {
  const std::string path = settings.path;
  try {
    return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(settings)));
  } catch (const SqliteError& error) {
    switch (error.code & 0xFF) {
      case SQLITE_CANTOPEN:
      case SQLITE_READONLY:
      case SQLITE_PERM:
        return fail(ErrorKind::kInvalid,
                    fmt::format("cannot write the database {}: check that the folder exists and "
                                "that this user may write to it",
                                path));
      case SQLITE_NOTADB:
        return fail(ErrorKind::kInvalid,
                    fmt::format("{} is not a database of Falcon's; name another data folder", path));
      case SQLITE_SCHEMA:
        return fail(ErrorKind::kInvalid, fmt::format("{}: {}", path, error.what()));
      default:
        return fail(ErrorKind::kUnavailable, fmt::format("{}: {}", path, error.what()));
    }
  }
}

}  // namespace falcon::store
