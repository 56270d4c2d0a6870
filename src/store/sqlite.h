// A thin, safe hold on SQLite's C API: one connection, prepared statements kept by their text.
// Errors are thrown as SqliteError inside this folder and become Result at its edge.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/time.h"

namespace falcon::store {

struct SqliteError : std::runtime_error {
  SqliteError(int code_in, const std::string& what) : std::runtime_error(what), code(code_in) {}
  int code;  // extended result code
};

class Statement {
 public:
  Statement(sqlite3* connection, std::string_view sql);
  // Ready for a new run: bindings cleared, parameters counted from 1.
  Statement& fresh();
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(std::uint64_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::uint32_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::int32_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(WallTime time) { return bind(to_unix_ms(time)); }
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }
  Statement& bind_null();
  // True while there is a row.
  bool step();
  void run();  // to the end

  // Columns of the current row, in order, each read once.
  std::string text();
  std::int64_t number();
  std::uint64_t unsigned_number() { return static_cast<std::uint64_t>(number()); }
  std::uint32_t small_number() { return static_cast<std::uint32_t>(number()); }
  WallTime time() { return wall_time_from_unix_ms(number()); }
  std::optional<WallTime> optional_time();
  std::optional<std::int32_t> optional_number();

 private:
  [[noreturn]] void fail() const;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_parameter_ = 1;
  int next_column_ = 0;
};

class Connection {
 public:
  enum class Mode : std::uint8_t { kReadWrite, kReadOnly };
  Connection(const std::string& path, Mode mode, Duration busy_wait);
  void execute(const std::string& sql);
  Statement& prepared(std::string_view sql);  // fresh
  std::int64_t changes() const { return sqlite3_changes64(connection_.get()); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
  std::map<std::string, Statement, std::less<>> statements_;
};

}  // namespace falcon::store
