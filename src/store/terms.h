// Leader terms: strictly rising, durable, with a lease. Inside a transaction each.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

// Another holder's lease lives that long still; the transaction is to be kept.
using Acquired = std::variant<Term, Duration>;
Result<Acquired> acquire_term(Connection& connection, const std::string& holder, Duration lease,
                              WallTime now);
Result<Term> renew_term(Connection& connection, std::uint64_t term, Duration lease, WallTime now);
Result<std::monostate> release_term(Connection& connection, std::uint64_t term);
// kFenced unless it is the highest.
Result<std::monostate> check_term(Connection& connection, std::uint64_t term);

}  // namespace falcon::store
