// The names of things. Each is a type of its own; none converts into another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "base/strong_id.h"

namespace falcon::model {

using JobId = StrongId<struct JobIdTag>;                // opaque, 1-63 characters of [a-z0-9-]
using ClusterId = StrongId<struct ClusterIdTag>;        // a row of `clusters` (UUID)
using Actor = StrongId<struct ActorTag>;                // the user a job is charged to
using PoolName = StrongId<struct PoolNameTag>;          // a GKE node pool, at most 40 characters
using WorkloadName = StrongId<struct WorkloadNameTag>;  // a Kubernetes Job
using Uid = StrongId<struct UidTag>;                    // identity of a Kubernetes object
using NodeName = StrongId<struct NodeNameTag>;
using PodName = StrongId<struct PodNameTag>;
using OperationName = StrongId<struct OperationNameTag>;
using Installation =
    StrongId<struct InstallationTag>;  // one deployment of Falcon, 1-20 of [a-z0-9-]

// One GKE cluster. Several rows of `clusters` (one per TPU type) may name the same one, and all
// that concerns the cloud (operations, listings, ownership, sweeps) is keyed by it, not by the row.
struct GkeCluster {
  std::string project;
  std::string location;
  std::string name;
  // By name first: that is where most of them differ.
  friend std::strong_ordering operator<=>(const GkeCluster& a, const GkeCluster& b) {
    return std::tie(a.name, a.location, a.project) <=> std::tie(b.name, b.location, b.project);
  }
  friend bool operator==(const GkeCluster& a, const GkeCluster& b) {
    return a.name == b.name && a.location == b.location && a.project == b.project;
  }
};
// "projects/P/locations/L/clusters/C", as Google writes it.
std::string to_string(const GkeCluster& cluster);

// A reservation in its owner's project and zone. Empty name: none.
struct Reservation {
  std::string project;
  std::string zone;
  std::string name;
  bool empty() const { return name.empty(); }
  friend auto operator<=>(const Reservation&, const Reservation&) = default;
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

}  // namespace falcon::model

template <>
struct std::hash<falcon::model::GkeCluster> {
  std::size_t operator()(const falcon::model::GkeCluster& cluster) const noexcept {
    const std::hash<std::string> hash;
    return (hash(cluster.project) * 31 + hash(cluster.location)) * 31 + hash(cluster.name);
  }
};
