// A thin, owning face of SQLite's C interface: a connection with its prepared statements.
//
// Private to this folder. Errors of SQL are thrown as SqlError here, since every statement can fail
// and each of them fails the whole transaction; they are caught in two places (the writer's and the
// readers' transaction) and never leave the folder. One thread at a time may use a connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong_id.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace falcon::store {

class SqlError : public std::runtime_error {
 public:
  SqlError(int code, int system_error, const std::string& what)
      : std::runtime_error(what), code_(code), system_error_(system_error) {}
  int code() const { return code_; }                  // SQLite's extended result code
  int system_error() const { return system_error_; }  // errno behind it, or 0

 private:
  int code_;
  int system_error_;
};
// Before a commit was tried: kUnavailable (locked, full, unreadable) or kInternal.
Error to_error(const SqlError& error);

// A prepared statement in use; gives it back when it goes. Columns are numbered from 0.
class Cursor {
 public:
  Cursor(sqlite3* database, sqlite3_stmt* statement);
  Cursor(Cursor&& other) noexcept;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor();

  bool next();  // true while there is a row
  std::string text(int column) const;
  std::int64_t integer(int column) const;
  std::uint64_t natural(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::uint32_t natural32(int column) const { return static_cast<std::uint32_t>(integer(column)); }
  WallTime time(int column) const { return wall_time_from_unix_ms(integer(column)); }
  std::optional<std::int64_t> maybe_integer(int column) const;
  std::optional<WallTime> maybe_time(int column) const;

  // Parameters in the order of the "?"s.
  void bind(std::string_view value);
  void bind(const char* value) { bind(std::string_view(value)); }
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(std::int64_t value);
  void bind(std::int32_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(std::uint32_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(std::uint64_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(WallTime value) { bind(to_unix_ms(value)); }
  template <class Tag>
  void bind(const StrongId<Tag>& id) {
    bind(std::string_view(id.value()));
  }
  template <class T>
  void bind(const std::optional<T>& value) {
    if (value)
      bind(*value);
    else
      ++parameter_;  // unbound is NULL
  }

 private:
  void check(int code) const;
  sqlite3* database_;
  sqlite3_stmt* statement_;
  int parameter_ = 1;
};

class Connection {
 public:
  // The file must exist. Throws SqlError.
  Connection(const std::string& path, Duration busy_wait);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Several statements without parameters.
  void script(const std::string& sql);
  // Prepared once, kept. A statement must not be asked for again while its cursor lives.
  template <class... Values>
  Cursor query(std::string_view sql, const Values&... values) {
    Cursor cursor(database_, prepared(sql));
    (cursor.bind(values), ...);
    return cursor;
  }
  template <class... Values>
  void run(std::string_view sql, const Values&... values) {
    Cursor cursor(database_, prepared(sql));
    (cursor.bind(values), ...);
    while (cursor.next()) continue;
  }
  bool in_transaction() const;
  // Ends a transaction without it, if there is one. Should that fail, the next BEGIN says why.
  void roll_back();
  std::int64_t last_row() const;  // rowid of the last insert

 private:
  sqlite3_stmt* prepared(std::string_view sql);
  sqlite3* database_ = nullptr;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

}  // namespace falcon::store
