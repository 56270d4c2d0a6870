// The simulated cloud: GKE, Compute reservations and Kubernetes clusters as one state machine.
//
// Pure: no I/O, no clock, no threads. It is told the time (advance) and asked or commanded as the
// real APIs are; the same calls in the same order with the same seed give the same world. Two faces
// use it: the deterministic simulation calls it under virtual time, `falcon sim` puts it behind
// sockets. Lost, late and repeated messages are the caller's business, not the world's.
//
// Behaviours follow public sources (docs of GKE and Kubernetes, gcloud, Terraform, GKE's
// autoscaler, the Job controller), the unpleasant ones above all:
//   - creates cannot be cancelled and take minutes; a pool under an operation is "busy" for any
//     other change; GKE's own operations lock the whole cluster
//   - a pool that was accepted is a 404 until it becomes visible; its name is taken all the same,
//     also while it is STOPPING
//   - a create that finds no machines holds its lock until it gives up and leaves a pool behind
//   - nodes register one by one, and get Ready after that
//   - a Job ends (Complete, Failed) only after its last pod ended; the verdict comes earlier
//     (SuccessCriteriaMet, FailureTarget)
//   - a pod on a lost node is stuck until the node object goes
//
// Errors are sorted as an adapter would sort Google's and Kubernetes' answers; `what` holds their
// words. Times are of the caller's monotonic clock. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudsim/cloud.h"
#include "cloudsim/objects.h"
#include "cloudsim/settings.h"
#include "model/ids.h"

namespace falcon::cloudsim {

// Where an armed fault strikes, and how often.
struct ArmedFault {
  Fault fault = Fault::kStockOut;
  std::optional<model::GkeCluster> cluster{};  // empty: every one
  std::string machine_type{};                  // empty: every one
  std::uint32_t times = 0;                     // 0: until cleared
  std::uint32_t argument = 0;                  // see Fault
};

// How a watch stands.
enum class WatchState : std::uint8_t {
  kOpen,
  kGone,  // the asked version is no longer in the history: HTTP 410
  kDown,  // the API cannot be reached
};
struct Changes {
  WatchState state = WatchState::kOpen;
  std::span<const Change> changes;  // all kinds, in order; valid until the next non-const call
};
struct Listing {
  std::vector<ObjectPtr> objects{};  // by namespace, then name
  std::uint64_t resource_version = 0;
};

// With WorldSettings::external_programs: what the node agent is to do.
struct PodOrder {
  enum class What : std::uint8_t { kStart, kTerminate, kKill };
  What what = What::kStart;
  model::GkeCluster cluster{};
  ObjectPtr pod;
};

// What exists, for counting leaks.
struct Inventory {
  struct Pool {
    model::GkeCluster cluster;
    PoolRecord record;
  };
  struct Item {
    model::GkeCluster cluster;
    ObjectPtr object;
  };
  std::vector<Pool> pools{};  // visible or not
  std::vector<Item> nodes{};
  std::vector<Item> jobs{};
  std::vector<Item> pods{};
  std::int64_t chips = 0;  // held by pools
};

class World {
 public:
  World(const WorldSettings& settings, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void add_cluster(const ClusterSetup& setup);
  void add_reservation(const ReservationSetup& setup);
  // Machines of one type that a zone has for all clusters together; unlimited unless told.
  void set_capacity(const std::string& zone, const std::string& machine_type,
                    std::int64_t machines);

  // When something happens next by itself; MonoTime::max() for never.
  MonoTime next_due() const;
  // Does all that is due up to and including `now`, in order of time, then of asking.
  void advance(MonoTime now);
  MonoTime now() const;
  std::uint64_t events_done() const;  // how many of them so far, for measuring

  // --- GKE ---------------------------------------------------------------------------------
  // kNotFound (cluster, or "not found" though it happens), kInvalid, kBusy, kAlreadyExists,
  // kThrottled, kUnavailable.
  Result<model::OperationName> create_pool(const model::GkeCluster& gke,
                                           const PoolRequest& request);
  // kNotFound, kBusy (any operation on the pool or its cluster), kThrottled, kUnavailable.
  Result<model::OperationName> delete_pool(const model::GkeCluster& gke,
                                           const model::PoolName& name);
  Result<std::vector<PoolRecord>> list_pools(const model::GkeCluster& gke);  // by name
  Result<void> each_pool(const model::GkeCluster& gke,
                         const std::function<void(const PoolRecord&)>& visit);
  Result<PoolRecord> get_pool(const model::GkeCluster& gke, const model::PoolName& name);
  Result<OperationRecord> operation(const model::GkeCluster& gke, const model::OperationName& name);
  Result<std::vector<OperationRecord>> list_operations(const model::GkeCluster& gke);
  std::vector<ClusterSetup> clusters() const;

  // --- Compute -----------------------------------------------------------------------------
  Result<ReservationRecord> reservation(const model::Reservation& id);
  std::vector<ReservationRecord> reservations(const std::string& project, const std::string& zone);
  Result<ResourcePolicy> create_policy(const ResourcePolicy& policy);  // kAlreadyExists
  std::vector<ResourcePolicy> policies(const std::string& project, const std::string& region) const;

  // --- Kubernetes, one API a cluster -------------------------------------------------------
  // All: kUnavailable (down), kThrottled; kNotFound where the cluster, namespace or object is not.
  Result<ObjectPtr> create_job(const model::GkeCluster& gke, const JobRequest& request);
  // kConflict when `uid` is given and another one has the name. The object, still terminating or
  // as it was last.
  Result<ObjectPtr> delete_job(const model::GkeCluster& gke, const std::string& kube_namespace,
                               const std::string& name, const std::optional<model::Uid>& uid,
                               Propagation propagation);
  Result<ObjectPtr> get(const model::GkeCluster& gke, Kind kind, const std::string& kube_namespace,
                        const std::string& name);
  Result<Listing> list(const model::GkeCluster& gke, Kind kind);
  // The pods that a Job owns, live.
  Result<std::vector<ObjectPtr>> pods_of(const model::GkeCluster& gke, const model::Uid& job);
  Result<ObjectPtr> delete_pod(const model::GkeCluster& gke, const std::string& kube_namespace,
                               const std::string& name, const std::optional<model::Uid>& uid,
                               std::optional<Duration> grace);
  // Services, Events and Leases: kept, listed and watched, not interpreted. A kAlreadyExists as
  // usual; replace bumps the version (kConflict when `expected_version` is another, 0: any).
  Result<ObjectPtr> create_plain(const model::GkeCluster& gke, Kind kind,
                                 const std::string& kube_namespace, const std::string& name,
                                 const Labels& labels, PlainObject object);
  Result<ObjectPtr> replace_plain(const model::GkeCluster& gke, Kind kind,
                                  const std::string& kube_namespace, const std::string& name,
                                  const Labels& labels, PlainObject object,
                                  std::uint64_t expected_version);
  Result<ObjectPtr> delete_plain(const model::GkeCluster& gke, Kind kind,
                                 const std::string& kube_namespace, const std::string& name,
                                 const std::optional<model::Uid>& uid);
  // Sets labels of any object; an empty value removes one.
  Result<ObjectPtr> label(const model::GkeCluster& gke, Kind kind,
                          const std::string& kube_namespace, const std::string& name,
                          const Labels& changes);
  // Everything after `resource_version`. Not a call over the wire: it is never throttled.
  Changes changes_since(const model::GkeCluster& gke, std::uint64_t resource_version) const;
  std::uint64_t resource_version(const model::GkeCluster& gke) const;
  // Of all clusters: equal means that no object of any cluster has changed.
  std::uint64_t object_changes() const;
  bool kubernetes_up(const model::GkeCluster& gke) const;

  // --- Programs that run outside -----------------------------------------------------------
  std::vector<PodOrder> take_pod_orders();
  void pod_started(const model::GkeCluster& gke, const model::Uid& pod);
  // `reason`: "Completed", "Error", "OOMKilled", "StartError". Repeats are ignored.
  void pod_exited(const model::GkeCluster& gke, const model::Uid& pod, std::int32_t exit_code,
                  const std::string& reason, const std::string& message);

  // --- Faults ------------------------------------------------------------------------------
  void arm(const ArmedFault& fault);
  void clear(Fault fault);
  // All that was armed, and all chances: from now on the world is kind.
  void clear_all_faults();
  std::vector<ArmedFault> armed() const;
  // The machine dies at once: its programs end, nobody tells Kubernetes.
  bool lose_node(const model::GkeCluster& gke, const model::NodeName& node);
  // Announced host maintenance: label now; at `in` the node is drained and taken with its slice.
  bool maintain_node(const model::GkeCluster& gke, const model::NodeName& node, Duration in);
  // GKE begins an operation of its own on the whole cluster.
  void begin_cluster_operation(const model::GkeCluster& gke, Duration length);
  void take_from_reservation(const model::Reservation& id, std::int64_t used_by_others);
  void resize_reservation(const model::Reservation& id, std::int64_t total);

  Inventory inventory() const;
  // Compares every index with a recount from what it derives from. Empty: all agree. For tests.
  std::string check() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace falcon::cloudsim
