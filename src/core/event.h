// What the core is told. Every event may be lost, late or repeated without changing the end.
//
// Order of a start: the shell makes a new Core, delivers the rows of Falcon's own state in one
// StateLoaded, all clusters (ClusterObserved..., ClustersListed), all jobs that are not terminal or
// whose clean-up is not done (JobObserved..., JobsListed), and then whatever it observes. The core
// changes nothing outside before the three lists are complete, nor on a cluster before that
// cluster's pools were listed and its Kubernetes lists are in sync.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/views.h"
#include "model/attempt.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/pool.h"
#include "model/state_change.h"

namespace falcon::core {

// Both clocks at the instant the event is handed in, and 64 random bits for jitter.
struct Now {
  MonoTime mono{};
  WallTime wall{};
  std::uint64_t entropy = 0;
};

// Falcon's own rows, read in one consistent snapshot. Attempts: those that are open or whose pool
// row exists.
using StateLoaded = model::OwnState;

struct ClusterObserved {
  model::ClusterRow row;
};
struct ClusterVanished {
  model::ClusterId id;
};
struct ClustersListed {};

struct JobObserved {
  model::JobRow row;
};
struct JobVanished {
  model::JobId id;
};
// The row is there and cannot be read. What serves the job is left alone until it can be.
struct JobUnreadable {
  model::JobId id;
};
struct JobsListed {};

// Kubernetes, one stream a GKE cluster. In sync: all lists (jobs, pods, nodes) have been delivered
// completely since the last loss; a relist ends with synthetic Vanished events for what is gone.
struct KubernetesSynced {
  model::GkeCluster gke;
  bool in_sync = false;
};
struct NodeSeen {
  model::GkeCluster gke;
  NodeView node;
};
struct NodeVanished {
  model::GkeCluster gke;
  model::NodeName name;
};
struct WorkloadSeen {
  model::GkeCluster gke;
  WorkloadView workload;
};
struct WorkloadVanished {
  model::GkeCluster gke;
  model::WorkloadName name;
  model::Uid uid;
};
struct PodSeen {
  model::GkeCluster gke;
  PodView pod;
};
struct PodVanished {
  model::GkeCluster gke;
  model::PodName name;
  model::Uid uid;
};

// The local clock and the API server's agree within 30 s (Settings::clock_skew_max), or not: then
// nothing is timed out, given up or swept.
struct ClockCompared {
  bool trusted = false;
};

// Time passed. The shell sends one no later than Core::wake_at().
struct Tick {};

// What a finished command brought back. Each command that left gets exactly one of these while the
// process lives; a command's deadline is the executor's.
struct JobWritten {
  std::uint64_t version = 0;  // the row's new one
};
struct PoolAccepted {
  model::OperationName operation;
};
struct PoolListing {
  std::vector<PoolView> pools;  // complete
};
struct WorkloadCreated {
  model::Uid uid;
};
using Payload = std::variant<std::monostate, JobWritten, model::JobRow, PoolAccepted, PoolListing,
                             OperationView, ReservationView, WorkloadCreated, WorkloadLook>;
struct CommandDone {
  std::uint64_t command = 0;
  std::optional<Error> error;  // empty: done, and payload is the one of that command
  Payload payload;
};

using Event = std::variant<StateLoaded, ClusterObserved, ClusterVanished, ClustersListed,
                           JobObserved, JobVanished, JobUnreadable, JobsListed, KubernetesSynced,
                           NodeSeen, NodeVanished, WorkloadSeen, WorkloadVanished, PodSeen,
                           PodVanished, ClockCompared, Tick, CommandDone>;

}  // namespace falcon::core
