// Kubernetes objects of a simulated cluster as typed values.
//
// An object is never changed: a new version replaces it, so a reader may keep what it holds. What
// the world does not interpret travels as an opaque body (the face over HTTP puts JSON there).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "cloudsim/cloud.h"
#include "model/ids.h"

namespace falcon::cloudsim {

enum class Kind : std::uint8_t { kNode, kJob, kPod, kService, kEvent, kLease };
inline constexpr std::size_t kKinds = 6;

// What a program does when nobody runs it for real.
struct ProgramPlan {
  Duration duration{10'000};  // from its start to its end
  std::int32_t exit_code = 0;
  bool out_of_memory = false;  // ends as OOMKilled, 137
  bool never_ends = false;
  bool ignores_sigterm = false;  // then SIGKILL ends it when its grace is over
  Duration sigterm_takes{100};   // from SIGTERM to its end
  std::int32_t sigterm_exit = 143;
  bool needs_peers = false;  // ends with kPeerLost soon after a machine of its Job is lost
};
// How a program ends whose collective operation lost a member: by abort().
inline constexpr std::int32_t kPeerLost = 134;

struct JobRequest {
  std::string kube_namespace = "default";
  std::string name{};
  std::shared_ptr<const Labels> labels{};         // of the Job; null: none
  std::shared_ptr<const Labels> pod_labels{};     // null: none
  std::shared_ptr<const Labels> node_selector{};  // null: none
  std::uint32_t completions = 1;                  // Indexed: one pod an index; = parallelism
  std::uint32_t backoff_limit = 6;
  std::int64_t chips = 0;     // google.com/tpu of each pod
  bool tolerates_tpu = true;  // google.com/tpu=present:NoSchedule
  bool suspended = false;
  bool replace_failed_only = false;  // podReplacementPolicy: Failed
  Duration grace{30'000};            // terminationGracePeriodSeconds
  std::optional<Duration> active_deadline{};
  std::optional<Duration> ttl_after_finished{};
  std::vector<ProgramPlan> programs{};        // by index; the last one serves all further ones
  std::shared_ptr<const std::string> body{};  // opaque
};

struct Condition {
  std::string type{};
  bool status = true;
  std::string reason{};
  std::string message{};
  MonoTime since{};
};

enum class Readiness : std::uint8_t { kTrue, kFalse, kUnknown };

struct NodeObject {
  model::PoolName pool{};
  std::string machine_type{};
  std::string zone{};
  std::int64_t chips = 0;
  Readiness ready = Readiness::kFalse;
  MonoTime ready_since{};
  bool cordoned = false;                     // unschedulable, and impending-node-termination
  bool terminating = false;                  // taint cloud.google.com/impending-node-termination
  std::optional<MonoTime> maintenance_at{};  // label scheduled-maintenance-time
  std::optional<MonoTime> usable_until{};    // annotation machine-termination-datetime
};

struct JobObject {
  std::shared_ptr<const JobRequest> request{};
  std::optional<MonoTime> started_at{};    // status.startTime
  std::optional<MonoTime> completed_at{};  // with Complete only
  std::uint32_t active = 0;
  std::uint32_t ready = 0;
  std::uint32_t terminating = 0;
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;
  std::vector<Condition> conditions{};  // SuccessCriteriaMet, FailureTarget, Complete, Failed
};
const Condition* find_condition(const JobObject& job, std::string_view type);

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };
constexpr std::string_view to_string(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
  }
  std::abort();
}

struct PodObject {
  model::Uid owner{};  // of the Job; empty: orphaned
  std::string owner_name{};
  std::uint32_t index = 0;
  std::shared_ptr<const JobRequest> request{};
  model::NodeName node{};  // empty: not bound
  PodPhase phase = PodPhase::kPending;
  std::string waiting_reason{};  // "ContainerCreating", "ErrImagePull"
  std::string waiting_message{};
  std::string unschedulable{};  // PodScheduled=False: why; empty: bound or not yet tried
  std::string status_reason{};  // pod's status.reason
  std::string status_message{};
  std::optional<std::string> disruption{};  // reason of DisruptionTarget=True
  std::optional<MonoTime> bound_at{};
  std::optional<MonoTime> started_at{};
  std::optional<MonoTime> finished_at{};
  std::optional<std::int32_t> exit_code{};
  std::string terminated_reason{};  // "Completed", "Error", "OOMKilled"
};

// An Event, made by the world (typed) or by a client (opaque body).
struct EventObject {
  Kind about_kind = Kind::kPod;
  std::string about_namespace{};
  std::string about_name{};
  model::Uid about_uid{};
  bool warning = false;
  std::string reason{};
  std::string message{};
  std::string component{};  // "kubelet", "job-controller", ...
};

struct PlainObject {
  std::shared_ptr<const std::string> body{};  // opaque
};

struct Object {
  Kind kind = Kind::kNode;
  std::string kube_namespace{};  // empty: of the cluster
  std::string name{};
  model::Uid uid{};
  std::uint64_t resource_version = 0;
  std::uint64_t generation = 1;
  MonoTime created_at{};
  std::optional<MonoTime> deletion_at{};  // deletionTimestamp: request plus grace
  Duration deletion_grace{0};
  bool foreground_deletion = false;        // the finalizer
  std::shared_ptr<const Labels> labels{};  // never null
  std::variant<NodeObject, JobObject, PodObject, EventObject, PlainObject> body{};

  const NodeObject& node() const { return std::get<NodeObject>(body); }
  const JobObject& job() const { return std::get<JobObject>(body); }
  const PodObject& pod() const { return std::get<PodObject>(body); }
  const EventObject& event() const { return std::get<EventObject>(body); }
  const PlainObject& plain() const { return std::get<PlainObject>(body); }
};
using ObjectPtr = std::shared_ptr<const Object>;

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type = ChangeType::kAdded;
  std::uint64_t resource_version = 0;  // of a deletion: later than the object's last change
  ObjectPtr object;
};

enum class Propagation : std::uint8_t { kOrphan, kBackground, kForeground };

}  // namespace falcon::cloudsim
