// Google's side as values: clusters, node pools, operations, reservations, resource policies.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/supply.h"

namespace falcon::cloudsim {

using Labels = std::map<std::string, std::string, std::less<>>;

struct ClusterSetup {
  model::GkeCluster gke{};
  std::string zone{};  // the only one in which its pools can be
  std::set<std::string> namespaces{"default", "kube-system"};
  bool has_consolidation_delay = true;  // its version knows it, from 1.34.1-gke.2364000 on
};

// What decides about a node pool. Wrong combinations are refused as Google refuses them.
struct PoolRequest {
  model::PoolName name{};
  std::string machine_type{};  // "ct6e-standard-4t"
  std::string zone{};          // empty: the cluster's
  std::string disk_type{};     // empty: a fitting one
  std::uint32_t initial_nodes = 0;
  bool compact = false;              // placementPolicy.type COMPACT
  std::string placement_topology{};  // placementPolicy.tpuTopology; decides how many hosts
  std::string policy_name{};         // placementPolicy.policyName: a workload policy
  model::SupplyMode supply = model::SupplyMode::kOnDemand;
  std::string reservation{};  // NAME or projects/OWNER/reservations/NAME
  bool autoscaled = false;
  std::uint32_t autoscaling_min = 0;
  std::uint32_t autoscaling_max = 0;
  std::optional<Duration> max_run_duration{};
  std::optional<Duration> consolidation_delay{};
  Labels labels{};                            // of its nodes
  std::shared_ptr<const std::string> body{};  // opaque: the request as it came
};

// GKE's NodePool.status.
enum class PoolStatus : std::uint8_t {
  kProvisioning,
  kRunning,
  kRunningWithError,
  kReconciling,
  kStopping,
  kError,
};
constexpr std::string_view to_string(PoolStatus status) {
  switch (status) {
    case PoolStatus::kProvisioning:
      return "PROVISIONING";
    case PoolStatus::kRunning:
      return "RUNNING";
    case PoolStatus::kRunningWithError:
      return "RUNNING_WITH_ERROR";
    case PoolStatus::kReconciling:
      return "RECONCILING";
    case PoolStatus::kStopping:
      return "STOPPING";
    case PoolStatus::kError:
      return "ERROR";
  }
  std::abort();
}

struct PoolRecord {
  model::PoolName name{};
  PoolStatus status = PoolStatus::kProvisioning;
  std::shared_ptr<const PoolRequest> request{};
  std::string topology{};         // of its slice
  std::uint32_t hosts = 0;        // a full slice
  std::uint32_t machines = 0;     // held now
  std::string condition_code{};   // "GCE_STOCKOUT"; empty: none
  std::string condition_words{};  // with it
  MonoTime created_at{};
};

enum class OperationType : std::uint8_t {
  kCreateNodePool,
  kDeleteNodePool,
  kAutoRepairNodes,
  kUpgradeMaster,
};
constexpr std::string_view to_string(OperationType type) {
  switch (type) {
    case OperationType::kCreateNodePool:
      return "CREATE_NODE_POOL";
    case OperationType::kDeleteNodePool:
      return "DELETE_NODE_POOL";
    case OperationType::kAutoRepairNodes:
      return "AUTO_REPAIR_NODES";
    case OperationType::kUpgradeMaster:
      return "UPGRADE_MASTER";
  }
  std::abort();
}

struct OperationRecord {
  model::OperationName name{};
  OperationType type = OperationType::kCreateNodePool;
  model::PoolName pool{};  // empty: of the whole cluster
  bool done = false;
  std::optional<Error> error{};  // DONE alone is not success
  MonoTime started_at{};
  MonoTime ended_at{};
};

// Machines (specific) or chips (aggregate) set aside in one zone for one machine family.
struct ReservationSetup {
  model::Reservation id{};
  std::string machine_type{};  // aggregate: of this type's generation
  bool aggregate = false;
  std::int64_t total = 0;  // machines; aggregate: chips
  std::int64_t used_by_others = 0;
  bool ready = true;
  bool shared = false;  // other projects may use it
};
struct ReservationRecord {
  ReservationSetup setup{};
  std::int64_t in_use = 0;  // others and our pools together, in the reservation's unit
};

struct ResourcePolicy {
  std::string project{};
  std::string region{};
  std::string name{};
  std::string topology{};  // workloadPolicy.acceleratorTopology
  friend bool operator==(const ResourcePolicy&, const ResourcePolicy&) = default;
};

}  // namespace falcon::cloudsim
