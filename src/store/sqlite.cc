#include "store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/check.h"

namespace falcon::store {
namespace {

[[noreturn]] void throw_error(sqlite3* database, int code) {
  const int extended = database != nullptr ? sqlite3_extended_errcode(database) : code;
  const int system_error = database != nullptr ? sqlite3_system_errno(database) : 0;
  const char* words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  throw SqlError(extended, system_error, words);
}

}  // namespace

Error to_error(const SqlError& error) {
  switch (error.code() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorKind::kUnavailable,
              "the database is locked by another process; nothing was stored, try again"};
    case SQLITE_FULL:
      return {ErrorKind::kUnavailable,
              "the disk under the database is full; nothing was stored, "
              "make room and try again"};
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
      return {ErrorKind::kUnavailable,
              fmt::format("the database cannot be used: {}; nothing was stored", error.what())};
    default:
      return {ErrorKind::kInternal, fmt::format("database: {}", error.what())};
  }
}

Cursor::Cursor(sqlite3* database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

Cursor::Cursor(Cursor&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      parameter_(other.parameter_) {}

Cursor::~Cursor() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Cursor::check(int code) const {
  if (code != SQLITE_OK) throw_error(database_, code);
}

bool Cursor::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) throw_error(database_, code);
  return false;
}

std::string Cursor::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_, column);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::int64_t Cursor::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<std::int64_t> Cursor::maybe_integer(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

std::optional<WallTime> Cursor::maybe_time(int column) const {
  const auto value = maybe_integer(column);
  if (!value) return std::nullopt;
  return wall_time_from_unix_ms(*value);
}

void Cursor::bind(std::string_view value) {
  // An empty view may have no address, which SQLite would take for NULL.
  const char* bytes = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(statement_, parameter_++, bytes, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Cursor::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_, parameter_++, value));
}

Connection::Connection(const std::string& path, Duration busy_wait) {
  const int code = sqlite3_open_v2(path.c_str(), &database_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const int system_error = database_ != nullptr ? sqlite3_system_errno(database_) : 0;
    const std::string words =
        database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
    sqlite3_close(database_);
    throw SqlError(code, system_error, words);
  }
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_busy_timeout(database_, static_cast<int>(busy_wait.count()));
}

Connection::~Connection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

void Connection::script(const std::string& sql) {
  const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_error(database_, code);
}

sqlite3_stmt* Connection::prepared(std::string_view sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) {
    FALCON_CHECK(sqlite3_stmt_busy(known->second) == 0);
    return known->second;
  }
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw_error(database_, code);
  statements_.emplace(sql, statement);
  return statement;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }
void Connection::roll_back() {
  if (in_transaction()) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t Connection::last_row() const { return sqlite3_last_insert_rowid(database_); }

}  // namespace falcon::store
