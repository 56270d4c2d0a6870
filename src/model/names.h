// Names made from ids, never from clock or chance: after a crash the name tells what to look for,
// and a repeated create says "already exists".
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"

namespace falcon::model {

// "falcon-" and 26 base32 characters (130 bits of SHA-256): 33 of the 40 that GKE allows.
PoolName pool_name(const Installation& installation, const JobId& job, std::uint32_t provision);
// "falcon-" and 26 base32 characters; with "-<index>" of a pod within the 63 of a DNS label.
WorkloadName workload_name(const Installation& installation, const JobId& job,
                           std::uint32_t attempt);

// Labels on everything that Falcon makes. Keys of node labels and Kubernetes labels.
inline constexpr std::string_view kManagedByLabel = "managed-by";  // value "falcon"
inline constexpr std::string_view kInstallationLabel = "falcon-installation";
inline constexpr std::string_view kJobLabel = "falcon-job";
inline constexpr std::string_view kAttemptLabel = "falcon-attempt";
inline constexpr std::string_view kProvisionLabel = "falcon-provision";
inline constexpr std::string_view kPoolPrefix = "falcon-";

}  // namespace falcon::model
