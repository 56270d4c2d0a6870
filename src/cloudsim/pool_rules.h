// What GKE refuses at once in a request for a node pool, and what a pool will consist of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cloudsim/cloud.h"
#include "model/tpu.h"

namespace falcon::cloudsim {

struct PoolPlan {
  const model::TpuGeneration* generation = nullptr;
  std::uint32_t chips_per_host = 0;
  std::string topology;
  std::uint32_t hosts = 0;  // of a full slice
  // The request was accepted, but its machines can never be had: the operation will say so.
  std::optional<Error> fails_later;
};

// kInvalid with Google's kind of words.
Result<PoolPlan> plan_pool(const PoolRequest& request);

}  // namespace falcon::cloudsim
