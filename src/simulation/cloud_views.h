// Between the core's language and the simulated cloud's: requests out, views in. Pure.
#pragma once

#include "cloudsim/world.h"
#include "core/command.h"
#include "core/event.h"
#include "model/job.h"

namespace falcon::simulation {

cloudsim::PoolRequest pool_request(const model::PoolRow& row,
                                   const model::Installation& installation,
                                   bool has_consolidation_delay);
core::PoolView pool_view(const cloudsim::PoolRecord& record);
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
