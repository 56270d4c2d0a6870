// Between the core's language and the simulated cloud's: requests out, views in. Pure.
#pragma once

#include <memory>
#include <unordered_map>

#include "cloudsim/world.h"
#include "core/command.h"
#include "core/event.h"
#include "model/job.h"

namespace falcon::simulation {

cloudsim::PoolRequest pool_request(const model::PoolRow& row,
                                   const model::Installation& installation,
                                   bool has_consolidation_delay);
// Views of pools. What a pool was asked to be is read from its labels once.
class PoolViews {
 public:
  core::PoolView of(const cloudsim::PoolRecord& record);

 private:
  struct Asked {
    std::shared_ptr<const cloudsim::PoolRequest> request;  // held: its address is not used again
    core::PoolView view;
  };
  std::unordered_map<const cloudsim::PoolRequest*, Asked> asked_;
};
core::OperationView operation_view(const cloudsim::OperationRecord& record);
core::ReservationView reservation_view(const cloudsim::ReservationRecord& record);
// `epoch` is the wall time at MonoTime{}.
core::NodeView node_view(const cloudsim::Object& object, WallTime epoch);
core::WorkloadView workload_view(const cloudsim::Object& object, WallTime epoch);
core::PodView pod_view(const cloudsim::Object& object, WallTime epoch);

// The value of a label, or empty.
// Empty: no such label. Lives as long as the labels.
std::string_view label_of(const cloudsim::Labels& labels, std::string_view key);
bool is_ours(const cloudsim::Labels& labels, const model::Installation& installation);

}  // namespace falcon::simulation
