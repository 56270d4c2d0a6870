// The tables, as numbered steps; each database says which of them it has had.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite.h"

namespace falcon::store {

// What this program knows; a database that has had more steps is refused.
std::uint32_t newest_schema();

// Makes the file when it is missing (mode 0600: job specs are nobody else's business), checks that
// it is ours and may be written, and brings its schema up to date. kInvalid: see store.h;
// kUnavailable: another process holds its lock.
Result<std::unique_ptr<Connection>> open_database(const std::string& path, Duration busy_wait,
                                                  WallTime now);
// One more connection to a database that open_database has opened. Throws SqlError.
std::unique_ptr<Connection> connect(const std::string& path, Duration busy_wait);

}  // namespace falcon::store
