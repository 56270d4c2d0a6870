// Changes of Falcon's own rows, as one transaction carries them. Repeating one changes nothing.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "model/attempt.h"
#include "model/pool.h"
#include "model/turn.h"

namespace falcon::model {

struct PutPool {
  PoolRow row;
};
struct RemovePool {
  PoolName name;
};
struct PutAttempt {
  AttemptRow row;
};
struct PutTurn {
  TurnRow row;
};
struct PutBackoff {
  BackoffRow row;
};
struct RemoveBackoff {
  JobId job;
};
using StateChange =
    std::variant<PutPool, RemovePool, PutAttempt, PutTurn, PutBackoff, RemoveBackoff>;

// All of Falcon's own rows that matter to a controller that starts: attempts are those that are
// open, whose pool's row exists, or whose create may still arrive.
struct OwnState {
  std::vector<PoolRow> pools;
  std::vector<AttemptRow> attempts;
  std::vector<TurnRow> turns;
  std::vector<BackoffRow> backoffs;
};

// The order in which a queue will be served, whole; replaces older versions.
struct QueueOrder {
  QueueKey queue;
  std::uint64_t version = 0;
  std::vector<JobId> order;
};

}  // namespace falcon::model
