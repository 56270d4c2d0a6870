// Every number and every dice of the simulated cloud.
//
// Defaults are as slow and as nasty as the real cloud is by public report; who wants it faster
// scales or replaces them. Chances default to never: faults are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/time.h"

namespace falcon::cloudsim {

// Drawn evenly from both ends included.
struct Delay {
  Duration min{0};
  Duration max{0};
};

// What can go wrong by itself. Each strikes by chance (WorldSettings::chances), or because it was
// armed (World::arm). What people and machines do to the world at an instant (a node lost, a Job
// deleted by hand) are functions of World instead.
enum class Fault : std::uint8_t {
  kStockOut,              // machines are not to be had while this lasts
  kSlowPool,              // this create takes slow_pool more
  kPartialNodes,          // this pool gets only some of its nodes (argument: how many; 0: drawn)
  kPoolError,             // this create ends in ERROR
  kPoolRunningWithError,  // this create ends with an error, the pool stays and fills up much later
  kQuota,                 // this create ends with a quota's error
  kCreateNotFound,        // this create is answered with 404, and happens
  kBusyWhenTaken,         // a create of a name whose create runs is "busy", not "already exists"
  kDeleteFails,           // this delete's operation ends with an error, the pool stays
  kClusterBusy,           // GKE begins an operation of its own on the cluster
  kThrottled,             // this call to GKE is answered with 429
  kUnavailable,           // this call to GKE is answered with 503
  kKubernetesDown,        // calls to the Kubernetes API are refused while this lasts
  kKubernetesThrottled,   // this call to Kubernetes is answered with 429
  kImagePull,             // this pod's image cannot be pulled, for ever
  kSlowImage,             // this pod's image takes slow_image more
  kSlowReady,             // this pool is RUNNING, and its nodes are not Ready for slow_ready
};
inline constexpr std::array kAllFaults{Fault::kStockOut,
                                       Fault::kSlowPool,
                                       Fault::kPartialNodes,
                                       Fault::kPoolError,
                                       Fault::kPoolRunningWithError,
                                       Fault::kQuota,
                                       Fault::kCreateNotFound,
                                       Fault::kBusyWhenTaken,
                                       Fault::kDeleteFails,
                                       Fault::kClusterBusy,
                                       Fault::kThrottled,
                                       Fault::kUnavailable,
                                       Fault::kKubernetesDown,
                                       Fault::kKubernetesThrottled,
                                       Fault::kImagePull,
                                       Fault::kSlowImage,
                                       Fault::kSlowReady};

constexpr std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::kStockOut:
      return "stock-out";
    case Fault::kSlowPool:
      return "slow-pool";
    case Fault::kPartialNodes:
      return "partial-nodes";
    case Fault::kPoolError:
      return "pool-error";
    case Fault::kPoolRunningWithError:
      return "pool-running-with-error";
    case Fault::kQuota:
      return "quota";
    case Fault::kCreateNotFound:
      return "create-not-found";
    case Fault::kBusyWhenTaken:
      return "busy-when-taken";
    case Fault::kDeleteFails:
      return "delete-fails";
    case Fault::kClusterBusy:
      return "cluster-busy";
    case Fault::kThrottled:
      return "throttled";
    case Fault::kUnavailable:
      return "unavailable";
    case Fault::kKubernetesDown:
      return "kubernetes-down";
    case Fault::kKubernetesThrottled:
      return "kubernetes-throttled";
    case Fault::kImagePull:
      return "image-pull";
    case Fault::kSlowImage:
      return "slow-image";
    case Fault::kSlowReady:
      return "slow-ready";
  }
  std::abort();
}
constexpr std::optional<Fault> fault_from_string(std::string_view text) {
  for (const Fault fault : kAllFaults)
    if (to_string(fault) == text) return fault;
  return std::nullopt;
}

struct WorldSettings {
  // GKE. A create: accepted, visible, machines had, nodes register one by one, each gets Ready.
  Delay pool_visible{0ms, 5s};           // accepted -> in listings; until then the pool is a 404
  Delay machines{40s, 120s};             // accepted -> machines had, when there are any
  Delay empty_pool{5s, 30s};             // accepted -> RUNNING, of a pool without nodes
  Delay node_register{2s, 40s};          // machine -> node object
  Delay node_ready{5s, 30s};             // node object -> Ready
  Delay operation_end{1s, 10s};          // last node registered -> operation DONE
  Delay stock_out_give_up{300s, 2100s};  // no machines: how long the create holds its lock
  Duration machines_retry{30s};          // between two tries to get machines
  Delay partial_give_up{600s, 1200s};    // nodes missing: until the operation ends with an error
  Delay late_refill{1200s, 1200s};       // RUNNING_WITH_ERROR -> its machines come after all
  Delay slow_pool{600s, 1800s};          // what kSlowPool adds
  Delay drain{0ms, 2s};                  // delete accepted -> its pods are evicted
  Delay delete_pool{60s, 240s};          // delete accepted -> gone; nodes go in its second half
  Delay cluster_operation{120s, 600s};   // GKE's own operation on a whole cluster
  // The autoscaler of pools that may be empty.
  Delay scale_up{30s, 90s};            // a pod that selects the pool is pending -> machines
  Duration scale_up_backoff{300s};     // after a stock-out
  Delay scale_down{10s, 60s};          // decided -> nodes gone
  Duration consolidation_delay{600s};  // idle so long -> nodes go; unless the pool says otherwise
  // Nodes.
  Duration node_silence{50s};             // machine lost -> Ready=Unknown (Kubernetes 1.32)
  Delay peer_lost{1s, 40s};               // machine lost -> its Job's other programs give up
  Duration unreachable_toleration{300s};  // Ready=Unknown -> its pods get a deletionTimestamp
  Delay node_removed{240s, 900s};         // machine lost -> node object gone (whole slice at once)
  bool auto_repair = true;                // lost machines are made again
  // Kubernetes.
  Delay job_sync{10ms, 1s};            // the Job controller's reaction to anything
  Delay bind{10ms, 1s};                // the scheduler's
  Delay image_pull{1s, 20s};           // bound -> the program has started
  Delay slow_image{600s, 1500s};       // what kSlowImage adds
  Delay slow_ready{600s, 7'200s};      // what kSlowReady adds
  Delay collect{100ms, 2s};            // owner deleted -> dependents deleted
  Delay kubelet{10ms, 1s};             // the kubelet's reaction to a deletion
  Delay pod_gc{20s, 60s};              // node object gone -> its pods are removed
  Duration replacement_backoff{10s};   // of failed pods where backoffLimit allows more, doubling
  std::size_t history_max = 10'000;    // changes kept a cluster; older watches get 410
  std::size_t operations_max = 1'000;  // finished operations kept a cluster

  // Programs run outside (World::take_pod_orders) instead of by their plan.
  bool external_programs = false;
  // Kubernetes Event objects are made, as kubelets and controllers do.
  bool events = false;
  // Before each uid, and the first resourceVersion: differ from one run of the world to the next
  // where clients outlive it.
  std::string uid_prefix = "u";
  std::uint64_t resource_version = 1;

  // How often each fault strikes where it could; indexed by Fault.
  std::array<Chance, kAllFaults.size()> chances{};
  Chance& chance(Fault fault) { return chances[static_cast<std::size_t>(fault)]; }
  const Chance& chance(Fault fault) const { return chances[static_cast<std::size_t>(fault)]; }
};

// All delays of the cloud divided by `factor`; programs, graces and deadlines are not touched.
WorldSettings sped_up(WorldSettings settings, double factor);

}  // namespace falcon::cloudsim
