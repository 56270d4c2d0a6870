// What a job and a cluster row may say. Checked at submit, where each complaint names the field,
// the value and what is allowed; checked again by the core, since rows may come from elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"

namespace falcon::model {

// Limits, inclusive. The API document and the CLI's help quote these.
inline constexpr std::size_t kNameLengthMax = 63;  // DNS-1123 label
inline constexpr std::size_t kActorLengthMax = 128;
inline constexpr std::size_t kImageLengthMax = 1024;
inline constexpr std::size_t kArgumentsMax = 1000;                 // command and args together
inline constexpr std::size_t kArgumentBytesTotalMax = 128 * 1024;  // well under ARG_MAX of 2 MiB
inline constexpr std::size_t kEnvironmentMax = 500;
inline constexpr std::size_t kLabelsMax = 64;
inline constexpr std::int64_t kTimeoutSecondsMin = 1;
inline constexpr std::int64_t kTimeoutSecondsMax = 30 * 86'400;
inline constexpr std::int64_t kFlexTimeoutSecondsMax =
    7 * 86'400 - 3'600;  // maxRunDuration 7 days,
                         // less start-up and clean-up
inline constexpr std::int64_t kGraceSecondsMin = 0;
inline constexpr std::int64_t kGraceSecondsMax = 3'600;  // what GKE honours on TPU nodes
inline constexpr std::int64_t kRetriesMax = 10;
inline constexpr std::int64_t kWaitSecondsMax = 365 * 86'400;  // 0: no limit
inline constexpr std::int32_t kPriorityMin = -1000;
inline constexpr std::int32_t kPriorityMax = 1000;

struct FieldError {
  std::string field;  // "spec.topology", "spec.env[2].name"
  std::string what;   // the value and what is allowed, one line
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// Empty: all is well. `created_at`, ids and state are not looked at.
std::vector<FieldError> validate_job(const JobRow& job);
std::vector<FieldError> validate_cluster(const ClusterRow& cluster);

// Form only: "us-east5" and "us-east5-a", "us-central1-ai1a".
bool is_region(std::string_view text);
bool is_zone(std::string_view text);

// Why `text` is no supply mode. Ways to get machines that GKE has and Falcon refuses get their
// reason.
std::string wrong_supply_mode(std::string_view text);

// "spec.topology: ...; spec.image: ..." on one line.
std::string join_field_errors(const std::vector<FieldError>& errors);

}  // namespace falcon::model
