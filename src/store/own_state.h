// Falcon's own rows: pools, attempts, turns, back-offs and published queues. Inside a transaction
// each; errors as in store.h.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/state_change.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

Result<std::monostate> write_state(Connection& connection, std::uint64_t term, std::uint64_t number,
                                   const std::vector<model::StateChange>& changes);
Result<model::OwnState> read_state(Connection& connection, WallTime now);
Result<std::monostate> publish_queue(Connection& connection, std::uint64_t term,
                                     const model::QueueOrder& order, WallTime now);
Result<std::vector<Store::PublishedQueue>> read_queues(Connection& connection);

}  // namespace falcon::store
