// What the core asks for. Beside each: the answer's payload and what its errors mean.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/attempt.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/pool.h"
#include "model/state_change.h"

namespace falcon::core {

// Conditional write of the fields that Falcon owns. Answer: JobWritten. kConflict: the row has
// another version now (read it); kUnknownOutcome: read it; kNotFound: the row is gone.
struct WriteJob {
  model::JobId job;
  std::uint64_t version = 0;
  model::JobState state;
};
// Answer: model::JobRow, or kNotFound.
struct ReadJob {
  model::JobId job;
};

// One transaction on Falcon's own rows; repeating it changes nothing. Executed in the order in
// which they were asked for. kUnknownOutcome: the core repeats it.
using model::PutAttempt;
using model::PutBackoff;
using model::PutPool;
using model::PutTurn;
using model::RemoveBackoff;
using model::RemovePool;
using model::StateChange;
struct WriteState {
  std::vector<StateChange> changes;
};

// The order in which a queue will be served, whole; replaces older versions. Best effort.
using PublishQueue = model::QueueOrder;

// Answer: PoolAccepted. kAlreadyExists: the name is taken (the next listing tells whose it is);
// kNotFound: may exist all the same; kBusy, kThrottled, kUnavailable: it did not happen.
struct CreatePool {
  model::PoolRow row;
};
// Success or kNotFound: accepted or gone; only a listing proves that it is gone.
struct DeletePool {
  model::GkeCluster gke;
  model::PoolName name;
};
// Answer: PoolListing, complete or an error.
struct ListPools {
  model::GkeCluster gke;
};
// Answer: OperationView.
struct ReadOperation {
  model::GkeCluster gke;
  model::OperationName operation;
};
// Answer: ReservationView. kNotFound, kDenied: the reservation is not to be had.
struct ReadReservation {
  model::Reservation reservation;
};

// Creates the Kubernetes Job (and the headless service of several hosts). Answer: WorkloadCreated.
// The executor answers kAlreadyExists as success where labels and owner are this attempt's.
struct CreateWorkload {
  model::GkeCluster gke;
  model::ClusterId cluster;
  model::JobId job;
  std::uint32_t attempt = 0;
  model::WorkloadName name;
  model::PoolName pool;
  model::SupplyMode supply = model::SupplyMode::kOnDemand;  // the pool's
};
// Foreground propagation, precondition on uid. Success or kNotFound: accepted or gone; kConflict:
// that uid is gone.
struct DeleteWorkload {
  model::GkeCluster gke;
  std::string kube_namespace;
  model::WorkloadName name;
  model::Uid uid;
};
// Answer: WorkloadLook, read live in this order: the Job, then the pods, then the pool's nodes.
struct LookAtWorkload {
  model::GkeCluster gke;
  std::string kube_namespace;
  model::WorkloadName name;
  model::PoolName pool;
};

using CommandBody =
    std::variant<WriteJob, ReadJob, WriteState, PublishQueue, CreatePool, DeletePool, ListPools,
                 ReadOperation, ReadReservation, CreateWorkload, DeleteWorkload, LookAtWorkload>;

struct Command {
  std::uint64_t id = 0;  // rises; unique within one Core
  CommandBody body;
};

}  // namespace falcon::core
