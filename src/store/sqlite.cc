#include "store/sqlite.h"

namespace falcon::store {

Statement::Statement(sqlite3* connection, std::string_view sql) : connection_(connection) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) fail();
  statement_.reset(statement);
}

void Statement::fail() const {
  throw SqliteError(sqlite3_extended_errcode(connection_), sqlite3_errmsg(connection_));
}

Statement& Statement::fresh() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  next_parameter_ = 1;
  next_column_ = 0;
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  if (sqlite3_bind_text64(statement_.get(), next_parameter_++, text.data(), text.size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK)
    fail();
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  if (sqlite3_bind_int64(statement_.get(), next_parameter_++, number) != SQLITE_OK) fail();
  return *this;
}

Statement& Statement::bind_null() {
  if (sqlite3_bind_null(statement_.get(), next_parameter_++) != SQLITE_OK) fail();
  return *this;
}

bool Statement::step() {
  next_column_ = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  const SqliteError error(sqlite3_extended_errcode(connection_), sqlite3_errmsg(connection_));
  sqlite3_reset(statement_.get());
  throw error;
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text() {
  const int column = next_column_++;
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return {};
  return std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t Statement::number() {
  return sqlite3_column_int64(statement_.get(), next_column_++);
}

std::optional<WallTime> Statement::optional_time() {
  if (sqlite3_column_type(statement_.get(), next_column_) == SQLITE_NULL) {
    ++next_column_;
    return std::nullopt;
  }
  return time();
}

std::optional<std::int32_t> Statement::optional_number() {
  if (sqlite3_column_type(statement_.get(), next_column_) == SQLITE_NULL) {
    ++next_column_;
    return std::nullopt;
  }
  return static_cast<std::int32_t>(number());
}

Connection::Connection(const std::string& path, Mode mode, Duration busy_wait) {
  sqlite3* connection = nullptr;
  const int flags = mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY
                                            : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code =
      sqlite3_open_v2(path.c_str(), &connection, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) throw SqliteError(code, sqlite3_errmsg(connection));
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, static_cast<int>(busy_wait.count()));
}

void Connection::execute(const std::string& sql) {
  char* message = nullptr;
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, &message);
  if (code == SQLITE_OK) return;
  const std::string what = message != nullptr ? message : sqlite3_errmsg(connection_.get());
  sqlite3_free(message);
  throw SqliteError(code, what);
}

Statement& Connection::prepared(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end())
    found = statements_.emplace(std::string(sql), Statement(connection_.get(), sql)).first;
  return found->second.fresh();
}

}  // namespace falcon::store
