// The outside world as the core sees it: plain values, already sorted by the observers.
//
// Observers (src/controller) make these from GKE, Compute and Kubernetes answers; the simulation
// makes them from its world model. Strings of the cloud are verbatim but bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace falcon::core {

// GKE's NodePool.status; kUnknown for a value that we do not know (never treated as gone or good).
enum class PoolStatus : std::uint8_t {
  kUnknown,
  kProvisioning,
  kRunning,
  kRunningWithError,
  kReconciling,
  kStopping,
  kError,
};

// One pool of a complete listing of a GKE cluster, ours or not.
struct PoolView {
  model::PoolName name;
  PoolStatus status = PoolStatus::kUnknown;
  model::Installation installation;  // its ownership label; empty: not of Falcon
  model::JobId job;                  // label; empty unless ours
  std::uint32_t provision = 0;       // label
  std::string words;                 // conditions and statusMessage
  // How the words were sorted where status is kError or kRunningWithError; kInternal: no telling.
  ErrorKind words_kind = ErrorKind::kInternal;
  // GKE takes idle machines back after a while, all of them, and brings them for pending pods.
  bool autoscaled = false;
  friend bool operator==(const PoolView&, const PoolView&) = default;
};

// An operation on a pool. DONE alone is not success: `error` tells.
struct OperationView {
  bool done = false;
  std::optional<Error> error;  // kind sorted from code and text; what: the cloud's words
};

// A complete reading of a READY reservation. Counts are of the reservation's own unit.
struct ReservationView {
  enum class Unit : std::uint8_t { kMachines, kChips };
  bool ready = false;  // any status but READY gives nothing
  Unit unit = Unit::kMachines;
  std::int64_t total = 0;
  std::int64_t in_use = 0;
};

struct NodeView {
  model::NodeName name;
  model::Uid uid;
  model::PoolName pool;      // label cloud.google.com/gke-nodepool; empty: not of a pool
  bool ready = false;        // condition Ready=True and no impending termination
  bool unreachable = false;  // Ready=Unknown: no word from its kubelet
  std::optional<WallTime> maintenance_at;  // label scheduled-maintenance-time
  std::optional<WallTime> usable_until;    // annotation machine-termination-datetime
};

// A Kubernetes Job of ours (label managed-by=falcon and this installation's).
struct WorkloadView {
  enum class Verdict : std::uint8_t {
    kNone,
    kSucceeded,  // Complete or SuccessCriteriaMet
    kFailed,     // Failed or FailureTarget
  };
  std::string kube_namespace;
  model::WorkloadName name;
  model::Uid uid;
  model::JobId job;                     // label
  std::uint32_t attempt = 0;            // label
  bool deleting = false;                // has a deletionTimestamp
  std::optional<WallTime> deletion_at;  // that timestamp: when its deletion was asked for
  Verdict verdict = Verdict::kNone;
  std::string words;                    // reason and message of the deciding condition
  std::optional<WallTime> finished_at;  // of the deciding condition
};

// A pod of such a Job, found by its owner's uid.
struct PodView {
  enum class Phase : std::uint8_t {
    kPending,  // includes a pod whose main container has not started
    kRunning,  // the main container has started
    kSucceeded,
    kFailed,
  };
  model::PodName name;
  model::Uid uid;
  model::Uid workload;  // uid of the owning Job
  std::uint32_t index = 0;
  model::NodeName node;  // empty: not bound
  Phase phase = Phase::kPending;
  bool deleting = false;
  bool disrupted = false;                 // condition DisruptionTarget=True
  bool can_never_start = false;           // InvalidImageName and its like
  std::string waiting;                    // why it does not start, kubelet's words
  std::string reason;                     // container's terminated.reason or pod's status.reason
  std::string words;                      // messages that go with it
  std::optional<std::int32_t> exit_code;  // of the main container
  std::optional<WallTime> finished_at;
};

// A live look (never from a cache) at one Kubernetes Job and the pods that it owns.
struct WorkloadLook {
  std::optional<WorkloadView> workload;  // empty: the API server says 404
  std::uint32_t pods = 0;                // pod objects that still exist (by owner label)
  std::uint32_t pods_left = 0;           // of these: not yet ended
  std::uint32_t machines_ready = 0;      // Ready nodes of the pool
};

}  // namespace falcon::core
