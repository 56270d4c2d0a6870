#include "store/schema.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace falcon::store {
namespace {

// One step a version, each in one transaction. Steps are never changed once released.
constexpr std::array<std::string_view, 1> kSteps{R"sql(
CREATE TABLE clusters (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, project TEXT NOT NULL, location TEXT NOT NULL,
  zone TEXT NOT NULL, tpu_type TEXT NOT NULL, gcs_bucket TEXT NOT NULL,
  default_reservation TEXT NOT NULL, kubernetes_namespace TEXT NOT NULL,
  service_account TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL,
  version INTEGER NOT NULL, UNIQUE (project, location, name, tpu_type)) WITHOUT ROWID;
CREATE TABLE jobs (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, actor TEXT NOT NULL, priority INTEGER NOT NULL,
  labels TEXT NOT NULL, spec TEXT NOT NULL, created_at INTEGER NOT NULL, aborting_at INTEGER,
  version INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
  message_code TEXT NOT NULL, message_arguments TEXT NOT NULL, cluster TEXT NOT NULL,
  node_pool_name TEXT NOT NULL, job_uid TEXT NOT NULL, attempt INTEGER NOT NULL,
  provision INTEGER NOT NULL, exit_code INTEGER, dispatched_at INTEGER, started_at INTEGER,
  finished_at INTEGER, aborted_at INTEGER, cleanup TEXT NOT NULL, cleanup_error TEXT NOT NULL
  ) WITHOUT ROWID;
CREATE INDEX jobs_by_time ON jobs (created_at, id);
CREATE INDEX jobs_by_status ON jobs (status, created_at, id);
CREATE INDEX jobs_by_actor ON jobs (actor, created_at, id);
CREATE INDEX jobs_by_name ON jobs (name, created_at, id);
CREATE INDEX jobs_open ON jobs (created_at, id)
  WHERE status IN ('Pending', 'Running', 'Aborting') OR cleanup IN ('pending', 'failed');
CREATE TABLE job_events (
  job TEXT NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, status TEXT NOT NULL,
  reason TEXT NOT NULL, message_code TEXT NOT NULL, message_arguments TEXT NOT NULL,
  PRIMARY KEY (job, sequence)) WITHOUT ROWID;
CREATE TABLE attempts (
  job TEXT NOT NULL, number INTEGER NOT NULL, cluster TEXT NOT NULL, pool TEXT NOT NULL,
  uid TEXT NOT NULL, intent_at INTEGER NOT NULL, dispatched_at INTEGER, started_at INTEGER,
  ended_at INTEGER, outcome TEXT NOT NULL, exit_code INTEGER, PRIMARY KEY (job, number)
  ) WITHOUT ROWID;
CREATE INDEX attempts_open ON attempts (job) WHERE outcome = 'open';
CREATE INDEX attempts_by_pool ON attempts (pool);
CREATE TABLE pools (
  name TEXT PRIMARY KEY, project TEXT NOT NULL, location TEXT NOT NULL, gke TEXT NOT NULL,
  cluster TEXT NOT NULL, tpu_type TEXT NOT NULL, topology TEXT NOT NULL, supply TEXT NOT NULL,
  reservation_project TEXT NOT NULL, reservation_zone TEXT NOT NULL, reservation TEXT NOT NULL,
  owner TEXT NOT NULL, provision INTEGER NOT NULL, phase TEXT NOT NULL, serves TEXT NOT NULL,
  serves_attempt INTEGER NOT NULL, intent_at INTEGER NOT NULL, phase_since INTEGER NOT NULL,
  accepted_at INTEGER, usable_until INTEGER, last_error TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE turns (
  cluster TEXT NOT NULL, tpu_type TEXT NOT NULL, topology TEXT NOT NULL, actor TEXT NOT NULL,
  turn INTEGER NOT NULL, job TEXT NOT NULL, PRIMARY KEY (cluster, tpu_type, topology, actor)
  ) WITHOUT ROWID;
CREATE TABLE backoffs (
  job TEXT PRIMARY KEY, failures INTEGER NOT NULL, not_before INTEGER NOT NULL,
  words TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE queues (
  cluster TEXT NOT NULL, tpu_type TEXT NOT NULL, topology TEXT NOT NULL,
  version INTEGER NOT NULL, published_at INTEGER NOT NULL, jobs TEXT NOT NULL,
  PRIMARY KEY (cluster, tpu_type, topology)) WITHOUT ROWID;
CREATE TABLE terms (
  one INTEGER PRIMARY KEY CHECK (one = 1), term INTEGER NOT NULL, holder TEXT NOT NULL,
  lease_until INTEGER NOT NULL, state_number INTEGER NOT NULL);
INSERT INTO terms VALUES (1, 0, '', 0, 0);
CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, removed INTEGER NOT NULL);
CREATE TABLE counters (one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL,
  compacted INTEGER NOT NULL);
INSERT INTO counters VALUES (1, 0, 0);
)sql"};

}  // namespace

std::uint32_t newest_schema() { return static_cast<std::uint32_t>(kSteps.size()); }

void migrate(Connection& connection) {
  connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  // One server at a time: the write lock is taken before the version is read.
  connection.execute("BEGIN IMMEDIATE");
  try {
    Statement& version = connection.prepared("PRAGMA user_version");
    version.step();
    const std::int64_t found = version.number();
    version.fresh();
    if (found > static_cast<std::int64_t>(kSteps.size()))
      throw SqliteError(
          SQLITE_SCHEMA,
          fmt::format("the database has schema {}, this falcon knows up to {}: run a newer falcon, "
                      "or restore the backup made before the upgrade",
                      found, kSteps.size()));
    for (auto step = static_cast<std::size_t>(found); step < kSteps.size(); ++step)
      connection.execute(std::string(kSteps[step]));
    connection.execute(fmt::format("PRAGMA user_version = {}", kSteps.size()));
    connection.execute("COMMIT");
  } catch (...) {
    try {
      connection.execute("ROLLBACK");
    } catch (const SqliteError&) {  // the transaction is already gone
    }
    throw;
  }
}

}  // namespace falcon::store
