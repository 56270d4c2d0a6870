// A job: what was asked for (owned by the upper component) and how it stands (written by Falcon).
//
//            +--------------- next attempt ---------------+
//            v                                            |
//   Pending ------------------> Running ------------------+
//     |  |                       |   |  \                                                      .
//     |  +--> Failed <-----------+   |   +--> Succeeded
//     |         ^                    |            ^
//     +---------|------> Aborting <--+            |
//               +------------+--------------------+--> (the Job had ended before our delete)
//                            +--> Aborted
//
// The strings are in the database and in the API: add, never rename.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/message.h"
#include "model/shape.h"
#include "model/supply.h"

namespace falcon::model {

enum class JobStatus : std::uint8_t {
  kPending,
  kRunning,
  kSucceeded,
  kFailed,
  kAborting,
  kAborted
};
inline constexpr std::array kAllJobStatuses{JobStatus::kPending,   JobStatus::kRunning,
                                            JobStatus::kSucceeded, JobStatus::kFailed,
                                            JobStatus::kAborting,  JobStatus::kAborted};

constexpr std::string_view to_string(JobStatus status) {
  switch (status) {
    case JobStatus::kPending:
      return "Pending";
    case JobStatus::kRunning:
      return "Running";
    case JobStatus::kSucceeded:
      return "Succeeded";
    case JobStatus::kFailed:
      return "Failed";
    case JobStatus::kAborting:
      return "Aborting";
    case JobStatus::kAborted:
      return "Aborted";
  }
  std::abort();
}

constexpr bool is_terminal(JobStatus status) {
  return status == JobStatus::kSucceeded || status == JobStatus::kFailed ||
         status == JobStatus::kAborted;
}

constexpr std::optional<JobStatus> job_status_from_string(std::string_view text) {
  for (const JobStatus status : kAllJobStatuses)
    if (to_string(status) == text) return status;
  return std::nullopt;
}

// Set in Pending and Failed only, empty (kNone) elsewhere.
enum class Reason : std::uint8_t {
  kNone,
  // Pending: what is being done
  kWaiting,
  kProvisioning,
  kClusterBusy,
  kWaitingForNode,
  kDispatching,
  // Failed: why
  kNodePoolTimeout,
  kNodePoolFailed,
  kJobSubmitFailed,
  kJobFailed,
  kTimeout,
  // Beyond the first specification:
  kInvalidSpec,  // a row that no check at submit had seen
  kDisrupted,    // its machines were lost once more than the limit allows
  kWaitTimeout,  // it waited longer than its max_wait_seconds
};
inline constexpr std::array kAllReasons{Reason::kNone,
                                        Reason::kWaiting,
                                        Reason::kProvisioning,
                                        Reason::kClusterBusy,
                                        Reason::kWaitingForNode,
                                        Reason::kDispatching,
                                        Reason::kNodePoolTimeout,
                                        Reason::kNodePoolFailed,
                                        Reason::kJobSubmitFailed,
                                        Reason::kJobFailed,
                                        Reason::kTimeout,
                                        Reason::kInvalidSpec,
                                        Reason::kDisrupted,
                                        Reason::kWaitTimeout};

constexpr std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kWaiting:
      return "Waiting";
    case Reason::kProvisioning:
      return "Provisioning";
    case Reason::kClusterBusy:
      return "ClusterBusy";
    case Reason::kWaitingForNode:
      return "WaitingForNode";
    case Reason::kDispatching:
      return "Dispatching";
    case Reason::kNodePoolTimeout:
      return "NodePoolTimeout";
    case Reason::kNodePoolFailed:
      return "NodePoolFailed";
    case Reason::kJobSubmitFailed:
      return "JobSubmitFailed";
    case Reason::kJobFailed:
      return "JobFailed";
    case Reason::kTimeout:
      return "Timeout";
    case Reason::kInvalidSpec:
      return "InvalidSpec";
    case Reason::kDisrupted:
      return "Disrupted";
    case Reason::kWaitTimeout:
      return "WaitTimeout";
  }
  std::abort();
}

constexpr std::optional<Reason> reason_from_string(std::string_view text) {
  for (const Reason reason : kAllReasons)
    if (to_string(reason) == text) return reason;
  return std::nullopt;
}

// The pool's own life after the job's end, as far as the job's reader cares.
enum class Cleanup : std::uint8_t { kNone, kPending, kDone, kFailed };
inline constexpr std::array kAllCleanups{Cleanup::kNone, Cleanup::kPending, Cleanup::kDone,
                                         Cleanup::kFailed};
constexpr std::string_view to_string(Cleanup cleanup) {
  switch (cleanup) {
    case Cleanup::kNone:
      return "";
    case Cleanup::kPending:
      return "pending";
    case Cleanup::kDone:
      return "done";
    case Cleanup::kFailed:
      return "failed";
  }
  std::abort();
}
constexpr std::optional<Cleanup> cleanup_from_string(std::string_view text) {
  for (const Cleanup cleanup : kAllCleanups)
    if (to_string(cleanup) == text) return cleanup;
  return std::nullopt;
}

// One environment variable: a literal value, or a key of a Kubernetes secret by reference.
struct EnvironmentVariable {
  std::string name;
  std::string value;        // literal; empty when a secret is named
  std::string secret_name;  // empty: literal
  std::string secret_key;
  friend bool operator==(const EnvironmentVariable&, const EnvironmentVariable&) = default;
};

// What a job asks for. Ranges and defaults: model/validation.h.
struct JobSpec {
  std::string image;
  std::vector<std::string> command;  // argv of the program, never a shell line
  std::vector<std::string> args;     // appended to command
  std::vector<EnvironmentVariable> env;
  std::string tpu_type;
  std::string topology;
  std::optional<SupplyMode> supply_mode;  // empty: the cluster's default
  std::int64_t timeout_seconds = 86'400;
  std::int64_t termination_grace_seconds = 30;
  std::int64_t max_retries = 0;  // of the job's own failures
  // From its submission until the machines of its first attempt are ready; 0: without end.
  std::int64_t max_wait_seconds = 0;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The fields that Falcon writes; all of them in one conditional write.
struct JobState {
  JobStatus status = JobStatus::kPending;
  Reason reason = Reason::kNone;
  Message message;
  ClusterId cluster;            // chosen cluster; empty while none is
  PoolName node_pool_name;      // pool made or taken for the job; empty while none is
  Uid job_uid;                  // Kubernetes Job of the last attempt
  std::uint32_t attempt = 0;    // Kubernetes Jobs made so far
  std::uint32_t provision = 0;  // node pools asked for so far; goes up before each create
  // Attempts up to this one are over, and the job runs again: their Kubernetes Jobs and pods are
  // cleared away before the next begins. Of them, those that ended by the job's own failure
  // (at most spec.max_retries) and those whose machines were lost.
  std::uint32_t attempts_over = 0;
  std::uint32_t retries = 0;
  std::uint32_t disruptions = 0;
  std::optional<std::int32_t> exit_code;
  std::optional<WallTime> dispatched_at;  // the Job exists and all its nodes are Ready
  std::optional<WallTime> started_at;
  std::optional<WallTime> finished_at;
  std::optional<WallTime> aborted_at;
  Cleanup cleanup = Cleanup::kNone;
  std::string cleanup_error;  // the cloud's words, appended to the Message
  friend bool operator==(const JobState&, const JobState&) = default;
};

struct JobRow {
  JobId id;
  std::string name;
  Actor actor;
  std::int32_t priority = 0;
  std::map<std::string, std::string> labels;
  JobSpec spec;
  WallTime created_at{};
  std::optional<WallTime> aborting_at;
  JobState state;
  std::uint64_t version = 0;  // of this row; a write names the one it was decided on
  friend bool operator==(const JobRow&, const JobRow&) = default;
};

inline Shape shape_of(const JobSpec& spec) {
  return Shape{Accelerator::kTpu, spec.tpu_type, spec.topology};
}

}  // namespace falcon::model
