// The database's schema and the steps that lead to it.
#pragma once

#include <cstdint>

#include "store/sqlite.h"

namespace falcon::store {

// Brings the file to this program's schema. Throws SqliteError; a newer schema is refused with
// SQLITE_SCHEMA and words that name both versions.
void migrate(Connection& connection);
std::uint32_t newest_schema();

}  // namespace falcon::store
