// A row of `clusters`: one GKE cluster offering one TPU type.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/ids.h"

namespace falcon::model {

// active: works. maintenance: nothing new is created; running jobs and clean-up go on.
// offline: no calls at all; jobs there keep their status with a Message that says so.
enum class ClusterStatus : std::uint8_t { kActive, kMaintenance, kOffline };
inline constexpr std::array kAllClusterStatuses{ClusterStatus::kActive, ClusterStatus::kMaintenance,
                                                ClusterStatus::kOffline};
constexpr std::string_view to_string(ClusterStatus status) {
  switch (status) {
    case ClusterStatus::kActive:
      return "active";
    case ClusterStatus::kMaintenance:
      return "maintenance";
    case ClusterStatus::kOffline:
      return "offline";
  }
  std::abort();
}
constexpr std::optional<ClusterStatus> cluster_status_from_string(std::string_view text) {
  for (const ClusterStatus status : kAllClusterStatuses)
    if (to_string(status) == text) return status;
  return std::nullopt;
}

// Unique: id, and (project, location, name, tpu_type).
struct ClusterRow {
  ClusterId id;      // UUID
  std::string name;  // the GKE cluster's name; `falcon` commands take it, too
  std::string project;
  std::string location;  // region or zone of the control plane
  std::string zone;      // where node pools and the reservation are; equals location if zonal
  std::string tpu_type;
  std::string gcs_bucket;
  std::string default_reservation;  // NAME or projects/OWNER/reservations/NAME; empty: flex-start
  std::string kubernetes_namespace = "default";  // where jobs run
  std::string service_account;                   // of the pods; empty: the namespace's default
  ClusterStatus status = ClusterStatus::kActive;
  WallTime created_at{};
  std::uint64_t version = 0;
  friend bool operator==(const ClusterRow&, const ClusterRow&) = default;
};

inline GkeCluster gke_cluster_of(const ClusterRow& row) {
  return GkeCluster{row.project, row.location, row.name};
}
// The default reservation in its owner's project, or an empty one.
Reservation reservation_of(const ClusterRow& row);

}  // namespace falcon::model
