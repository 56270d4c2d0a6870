#include "store/schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace falcon::store {
namespace {

// Times are milliseconds since 1970 in UTC; lists and maps are JSON. Rows of Falcon's own state
// name jobs and clusters without foreign keys: jobs may live in another database one day.
constexpr const char* kFirst = R"sql(
CREATE TABLE jobs (
  n INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of acceptance
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  actor TEXT NOT NULL,
  priority INTEGER NOT NULL,
  labels TEXT NOT NULL,
  spec TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  aborting_at INTEGER,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  message_code TEXT NOT NULL,
  message_arguments TEXT NOT NULL,
  cluster TEXT NOT NULL,
  node_pool_name TEXT NOT NULL,
  job_uid TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  provision INTEGER NOT NULL,
  exit_code INTEGER,
  dispatched_at INTEGER,
  started_at INTEGER,
  finished_at INTEGER,
  aborted_at INTEGER,
  cleanup TEXT NOT NULL,
  cleanup_error TEXT NOT NULL,
  is_terminal INTEGER NOT NULL AS (status IN ('Succeeded', 'Failed', 'Aborted')) VIRTUAL,
  is_open INTEGER NOT NULL AS (status NOT IN ('Succeeded', 'Failed', 'Aborted')
                               OR cleanup IN ('pending', 'failed')) VIRTUAL
);
CREATE INDEX jobs_by_status ON jobs (status, n);
CREATE INDEX jobs_by_actor ON jobs (actor, n);
CREATE INDEX jobs_by_name ON jobs (name, is_terminal, n);
CREATE INDEX jobs_by_cluster ON jobs (cluster, n);
CREATE INDEX jobs_open ON jobs (n) WHERE is_open = 1;

CREATE TABLE job_events (
  n INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES jobs (n),
  at INTEGER NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  message_code TEXT NOT NULL,
  message_arguments TEXT NOT NULL
);
CREATE INDEX job_events_by_job ON job_events (job, n);

CREATE TABLE clusters (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  project TEXT NOT NULL,
  location TEXT NOT NULL,
  zone TEXT NOT NULL,
  tpu_type TEXT NOT NULL,
  gcs_bucket TEXT NOT NULL,
  default_reservation TEXT NOT NULL,
  kubernetes_namespace TEXT NOT NULL,
  service_account TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  UNIQUE (project, location, name, tpu_type)
) WITHOUT ROWID;

CREATE TABLE pools (
  name TEXT NOT NULL PRIMARY KEY,
  gke_project TEXT NOT NULL,
  gke_location TEXT NOT NULL,
  gke_name TEXT NOT NULL,
  cluster TEXT NOT NULL,
  shape_type TEXT NOT NULL,
  shape_topology TEXT NOT NULL,
  supply TEXT NOT NULL,
  reservation_project TEXT NOT NULL,
  reservation_zone TEXT NOT NULL,
  reservation_name TEXT NOT NULL,
  owner TEXT NOT NULL,
  provision INTEGER NOT NULL,
  phase TEXT NOT NULL,
  serves TEXT NOT NULL,
  serves_attempt INTEGER NOT NULL,
  intent_at INTEGER NOT NULL,
  phase_since INTEGER NOT NULL,
  accepted_at INTEGER,
  usable_until INTEGER,
  last_error TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX pools_by_cluster ON pools (cluster);

CREATE TABLE attempts (
  job TEXT NOT NULL,
  number INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  pool TEXT NOT NULL,
  uid TEXT NOT NULL,
  intent_at INTEGER NOT NULL,
  dispatched_at INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  outcome TEXT NOT NULL,
  exit_code INTEGER,
  PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE INDEX attempts_open ON attempts (job, number) WHERE outcome = 'open';
CREATE INDEX attempts_by_pool ON attempts (pool);

CREATE TABLE turns (
  cluster TEXT NOT NULL,
  shape_type TEXT NOT NULL,
  shape_topology TEXT NOT NULL,
  actor TEXT NOT NULL,
  turn INTEGER NOT NULL,
  job TEXT NOT NULL,
  PRIMARY KEY (cluster, shape_type, shape_topology, actor)
) WITHOUT ROWID;

CREATE TABLE backoffs (
  job TEXT NOT NULL PRIMARY KEY,
  failures INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  words TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE queues (
  cluster TEXT NOT NULL,
  shape_type TEXT NOT NULL,
  shape_topology TEXT NOT NULL,
  term INTEGER NOT NULL,
  version INTEGER NOT NULL,
  jobs TEXT NOT NULL,
  published_at INTEGER NOT NULL,
  PRIMARY KEY (cluster, shape_type, shape_topology)
) WITHOUT ROWID;

CREATE TABLE terms (
  term INTEGER PRIMARY KEY AUTOINCREMENT,
  holder TEXT NOT NULL,
  lease_ms INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,  -- 0: given back
  last_number INTEGER NOT NULL  -- of the last write of Falcon's own state
);

-- A job's spec and name never change, so a change of it holds what may change only.
CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,    -- job, cluster, cluster-removed
  object TEXT NOT NULL,  -- the id
  body TEXT NOT NULL
);
)sql";

// What a restart must still know of calls whose answers were lost, and when a turn was taken.
constexpr const char* kLateCalls = R"sql(
ALTER TABLE pools ADD COLUMN late_create_until INTEGER;
ALTER TABLE attempts ADD COLUMN late_create_until INTEGER;
ALTER TABLE attempts ADD COLUMN node_lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX attempts_late ON attempts (late_create_until) WHERE late_create_until IS NOT NULL;
)sql";

// What the controller last found of each cluster (model/condition.h).
constexpr const char* kConditions = R"sql(
CREATE TABLE cluster_conditions (
  cluster TEXT NOT NULL PRIMARY KEY,
  health TEXT NOT NULL,
  words TEXT NOT NULL,
  since INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Attempts that are over while the job goes on, by what ended them; pools that were free once.
constexpr const char* kRetries = R"sql(
ALTER TABLE jobs ADD COLUMN attempts_over INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN disruptions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr std::array kSteps{kFirst, kLateCalls, kConditions, kRetries};

Error invalid(std::string what) { return {ErrorKind::kInvalid, std::move(what)}; }

std::string words_of(int system_error) {
  return std::error_code(system_error, std::generic_category()).message();
}

// Makes the file if need be; says in plain words why it cannot be had.
Result<std::monostate> have_file(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    return std::unexpected(invalid(fmt::format(
        "database {}: the folder {} does not exist; create it first", path, folder.string())));
  if (std::filesystem::is_directory(path, ignored))
    return std::unexpected(
        invalid(fmt::format("database {}: this is a folder; name a file in it", path)));
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return std::unexpected(
        invalid(fmt::format("database {}: cannot be opened for writing: {}; give this user write "
                            "permission on the file and on {}, or choose another data folder",
                            path, words_of(errno), folder.string())));
  ::close(file);
  // The log and its index stand beside the file.
  if (::eaccess(folder.c_str(), W_OK | X_OK) != 0)
    return std::unexpected(invalid(
        fmt::format("database {}: the folder {} has no write permission for this user ({}); "
                    "grant it or choose another data folder",
                    path, folder.string(), words_of(errno))));
  return std::monostate{};
}

Error open_error(const std::string& path, const SqlError& error) {
  switch (error.code() & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return invalid(
          fmt::format("database {}: the file is no database ({}); name another file, or "
                      "move this one away and restore a backup",
                      path, error.what()));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return invalid(
          fmt::format("database {}: no permission to write ({}{}{}); grant it on the "
                      "file and its folder, or choose another data folder",
                      path, error.what(), error.system_error() != 0 ? ": " : "",
                      error.system_error() != 0 ? words_of(error.system_error()) : ""));
    default: {
      Error plain = to_error(error);
      plain.what = fmt::format("database {}: {}", path, plain.what);
      return plain;
    }
  }
}

bool exists(Connection& connection, std::string_view table) {
  return connection.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table)
      .next();
}

std::uint32_t schema_of(Connection& connection) {
  Cursor row = connection.query("SELECT COALESCE(MAX(version), 0) FROM schema_version");
  return row.next() ? row.natural32(0) : 0;
}

Result<std::monostate> migrate(Connection& connection, const std::string& path, WallTime now) {
  connection.script("BEGIN IMMEDIATE");
  if (!exists(connection, "schema_version")) {
    if (connection.query("SELECT 1 FROM sqlite_master WHERE type = 'table'").next())
      return std::unexpected(invalid(fmt::format(
          "database {}: it belongs to another program (tables, but none of Falcon's); name "
          "another file",
          path)));
    connection.script(
        "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)");
  }
  const std::uint32_t have = schema_of(connection);
  if (have > newest_schema())
    return std::unexpected(invalid(
        fmt::format("database {}: its schema is version {}, this program knows version {} at "
                    "most; run the newer Falcon that made it, or restore an older backup",
                    path, have, newest_schema())));
  for (std::uint32_t step = have; step < newest_schema(); ++step) {
    connection.script(kSteps.at(step));
    connection.run("INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", step + 1, now);
  }
  connection.script("COMMIT");
  return std::monostate{};
}

// Readers beside the writer, and commits that are durable and cheap, rest on it. SQLite answers
// with the mode that it has, which is another one where files cannot be mapped by several
// connections.
Result<std::monostate> use_write_ahead_log(Connection& connection, const std::string& path) {
  Cursor row = connection.query("PRAGMA journal_mode = WAL");
  const std::string mode = row.next() ? row.text(0) : std::string();
  if (mode == "wal") return std::monostate{};
  return std::unexpected(invalid(
      fmt::format("database {}: its file system does not carry a write-ahead log (SQLite stays in "
                  "mode \"{}\"); put the data folder on a local disk, not on a network share",
                  path, mode)));
}

}  // namespace

std::uint32_t newest_schema() { return static_cast<std::uint32_t>(kSteps.size()); }

std::unique_ptr<Connection> connect(const std::string& path, Duration busy_wait) {
  auto connection = std::make_unique<Connection>(path, busy_wait);
  connection->script(
      "PRAGMA foreign_keys = ON;"
      "PRAGMA synchronous = FULL;"   // a commit is on the disk before it is answered
      "PRAGMA cache_size = -16000;"  // 16 MB
      "PRAGMA temp_store = MEMORY;");
  return connection;
}

Result<std::unique_ptr<Connection>> open_database(const std::string& path, Duration busy_wait,
                                                  WallTime now) {
  FALCON_TRY(there, have_file(path));
  static_cast<void>(there);
  try {
    auto connection = connect(path, busy_wait);
    FALCON_TRY(migrated, migrate(*connection, path, now));
    static_cast<void>(migrated);
    FALCON_TRY(logged, use_write_ahead_log(*connection, path));
    static_cast<void>(logged);
    return connection;
  } catch (const SqlError& error) {
    return std::unexpected(open_error(path, error));
  }
}

}  // namespace falcon::store
