// A row of `attempts`: one Kubernetes Job made for a job. Written before the create leaves.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "model/ids.h"

namespace falcon::model {

enum class AttemptOutcome : std::uint8_t {
  kOpen,
  kSucceeded,
  kFailed,
  kTimeout,
  kAborted,
  kRefused,
  kDisrupted  // its machines were lost
};
inline constexpr std::array kAllAttemptOutcomes{
    AttemptOutcome::kOpen,     AttemptOutcome::kSucceeded, AttemptOutcome::kFailed,
    AttemptOutcome::kTimeout,  AttemptOutcome::kAborted,   AttemptOutcome::kRefused,
    AttemptOutcome::kDisrupted};
constexpr std::string_view to_string(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kOpen:
      return "open";
    case AttemptOutcome::kSucceeded:
      return "succeeded";
    case AttemptOutcome::kFailed:
      return "failed";
    case AttemptOutcome::kTimeout:
      return "timeout";
    case AttemptOutcome::kAborted:
      return "aborted";
    case AttemptOutcome::kRefused:
      return "refused";
    case AttemptOutcome::kDisrupted:
      return "disrupted";
  }
  std::abort();
}
constexpr std::optional<AttemptOutcome> attempt_outcome_from_string(std::string_view text) {
  for (const AttemptOutcome outcome : kAllAttemptOutcomes)
    if (to_string(outcome) == text) return outcome;
  return std::nullopt;
}

struct AttemptRow {
  JobId job;
  std::uint32_t number =
      0;  // from 1; the Kubernetes Job is workload_name(installation, job, number)
  ClusterId cluster;
  PoolName pool;
  Uid uid;  // of the Kubernetes Job; empty until its create was answered or looked up
  WallTime intent_at{};
  std::optional<WallTime> dispatched_at;
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  AttemptOutcome outcome = AttemptOutcome::kOpen;
  std::optional<std::int32_t> exit_code;
  // A create whose answer was lost may reach the API server until then; empty: none can.
  std::optional<WallTime> late_create_until;
  bool node_lost =
      false;  // a machine vanished under it: only its pool's end proves that it is gone
  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

}  // namespace falcon::model
