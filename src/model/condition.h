// What the controller last found when it looked for a cluster. Observed, never set by people, and
// kept beside the cluster's row: nobody's wish is overwritten, and none hides it.
//
// The strings are in the database and in the API: add, never rename.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace falcon::model {

enum class ClusterHealth : std::uint8_t {
  kReachable,
  kNotFound,     // Google knows no such cluster: the row is wrong, or the cluster was deleted
  kDenied,       // Falcon's account may not see it
  kUnreachable,  // Google or the Kubernetes API does not answer as it should
};
inline constexpr std::array kAllClusterHealths{ClusterHealth::kReachable, ClusterHealth::kNotFound,
                                               ClusterHealth::kDenied, ClusterHealth::kUnreachable};
constexpr std::string_view to_string(ClusterHealth health) {
  switch (health) {
    case ClusterHealth::kReachable:
      return "reachable";
    case ClusterHealth::kNotFound:
      return "not-found";
    case ClusterHealth::kDenied:
      return "denied";
    case ClusterHealth::kUnreachable:
      return "unreachable";
  }
  std::abort();
}
constexpr std::optional<ClusterHealth> cluster_health_from_string(std::string_view text) {
  for (const ClusterHealth health : kAllClusterHealths)
    if (to_string(health) == text) return health;
  return std::nullopt;
}
// What a failed look at the cluster means.
constexpr ClusterHealth cluster_health_of(ErrorKind kind) {
  if (kind == ErrorKind::kNotFound) return ClusterHealth::kNotFound;
  if (kind == ErrorKind::kDenied) return ClusterHealth::kDenied;
  return ClusterHealth::kUnreachable;
}

struct ClusterCondition {
  ClusterId cluster;
  ClusterHealth health = ClusterHealth::kReachable;
  std::string words;  // of Google or Kubernetes; empty when reachable
  WallTime since{};   // when `health` became so; the store gives it
  friend bool operator==(const ClusterCondition&, const ClusterCondition&) = default;
};

}  // namespace falcon::model
