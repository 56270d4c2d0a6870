#include "simulation/cloud_views.h"

#include <charconv>

#include "base/check.h"
#include "model/names.h"
#include "model/tpu.h"

namespace falcon::simulation {
namespace {

WallTime wall_of(MonoTime time, WallTime epoch) { return epoch + time.time_since_epoch(); }

// Kubernetes writes its times in whole seconds.
WallTime whole_second(WallTime time) { return std::chrono::floor<std::chrono::seconds>(time); }

std::optional<WallTime> whole_second(const std::optional<WallTime>& time) {
  if (!time) return std::nullopt;
  return whole_second(*time);
}

std::optional<WallTime> wall_of(const std::optional<MonoTime>& time, WallTime epoch) {
  if (!time) return std::nullopt;
  return wall_of(*time, epoch);
}

std::uint32_t number_of(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

core::PoolStatus status_of(cloudsim::PoolStatus status) {
  switch (status) {
    case cloudsim::PoolStatus::kProvisioning:
      return core::PoolStatus::kProvisioning;
    case cloudsim::PoolStatus::kRunning:
      return core::PoolStatus::kRunning;
    case cloudsim::PoolStatus::kRunningWithError:
      return core::PoolStatus::kRunningWithError;
    case cloudsim::PoolStatus::kReconciling:
      return core::PoolStatus::kReconciling;
    case cloudsim::PoolStatus::kStopping:
      return core::PoolStatus::kStopping;
    case cloudsim::PoolStatus::kError:
      return core::PoolStatus::kError;
  }
  return core::PoolStatus::kUnknown;
}

}  // namespace

std::string_view label_of(const cloudsim::Labels& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

bool is_ours(const cloudsim::Labels& labels, const model::Installation& installation) {
  return label_of(labels, model::kManagedByLabel) == "falcon" &&
         label_of(labels, model::kInstallationLabel) == installation.value();
}

cloudsim::PoolRequest pool_request(const model::PoolRow& row,
                                   const model::Installation& installation,
                                   bool has_consolidation_delay) {
  const auto slice = model::find_slice(row.shape.type, row.shape.topology);
  FALCON_CHECK(slice.has_value());
  cloudsim::PoolRequest request;
  request.name = row.name;
  request.machine_type = std::string(slice->machine_type);
  request.disk_type = std::string(slice->generation->disk_type);
  request.initial_nodes = slice->hosts;
  if (slice->multi_host()) {
    request.placement_topology = slice->topology;
    if (slice->generation->placement == model::SlicePlacement::kCompact)
      request.compact = true;
    else
      request.policy_name = "falcon-" + slice->topology;
  }
  request.supply = row.supply;
  if (row.supply == model::SupplyMode::kReservation)
    request.reservation =
        "projects/" + row.reservation.project + "/reservations/" + row.reservation.name;
  if (row.supply == model::SupplyMode::kFlexStart) {
    request.initial_nodes = 0;
    request.max_run_duration = Duration(7 * 24 * 3'600'000LL);
  }
  request.autoscaled = has_consolidation_delay || row.supply == model::SupplyMode::kFlexStart;
  if (request.autoscaled) request.autoscaling_max = slice->hosts;
  if (has_consolidation_delay)
    request.consolidation_delay =
        row.supply == model::SupplyMode::kFlexStart ? Duration(6 * 3'600'000LL) : Duration(600'000);
  request.labels = {{std::string(model::kManagedByLabel), "falcon"},
                    {std::string(model::kInstallationLabel), installation.value()},
                    {std::string(model::kJobLabel), row.owner.value()},
                    {std::string(model::kProvisionLabel), std::to_string(row.provision)}};
  return request;
}

core::PoolView PoolViews::of(const cloudsim::PoolRecord& record) {
  const auto [asked, fresh] = asked_.try_emplace(record.request.get());
  if (fresh) {
    asked->second.request = record.request;
    core::PoolView& made = asked->second.view;
    const cloudsim::Labels& labels = record.request->labels;
    made.name = record.name;
    made.installation = model::Installation(label_of(labels, model::kInstallationLabel));
    made.job = model::JobId(label_of(labels, model::kJobLabel));
    made.autoscaled = record.request->autoscaled;
    made.provision = number_of(label_of(labels, model::kProvisionLabel));
  }
  core::PoolView view = asked->second.view;
  view.status = status_of(record.status);
  view.words = record.condition_words;
  if (record.condition_code.find("STOCKOUT") != std::string::npos)
    view.words_kind = ErrorKind::kOutOfCapacity;
  else if (record.condition_code.find("QUOTA") != std::string::npos)
    view.words_kind = ErrorKind::kQuota;
  return view;
}

core::OperationView operation_view(const cloudsim::OperationRecord& record) {
  return core::OperationView{record.done, record.error};
}

core::ReservationView reservation_view(const cloudsim::ReservationRecord& record) {
  return core::ReservationView{record.setup.ready,
                               record.setup.aggregate ? core::ReservationView::Unit::kChips
                                                      : core::ReservationView::Unit::kMachines,
                               record.setup.total, record.in_use};
}

core::NodeView node_view(const cloudsim::Object& object, WallTime epoch) {
  const cloudsim::NodeObject& node = object.node();
  core::NodeView view;
  view.name = model::NodeName(object.name);
  view.uid = object.uid;
  view.pool = node.pool;
  view.ready = node.ready == cloudsim::Readiness::kTrue && !node.cordoned && !node.terminating;
  view.unreachable = node.ready == cloudsim::Readiness::kUnknown;
  view.maintenance_at = wall_of(node.maintenance_at, epoch);
  view.usable_until = wall_of(node.usable_until, epoch);
  return view;
}

core::WorkloadView workload_view(const cloudsim::Object& object, WallTime epoch) {
  const cloudsim::JobObject& job = object.job();
  core::WorkloadView view;
  view.kube_namespace = object.kube_namespace;
  view.name = model::WorkloadName(object.name);
  view.uid = object.uid;
  view.job = model::JobId(label_of(*object.labels, model::kJobLabel));
  view.attempt = number_of(label_of(*object.labels, model::kAttemptLabel));
  view.deleting = object.deletion_at.has_value();
  view.deletion_at = whole_second(wall_of(object.deletion_at, epoch));
  for (const cloudsim::Condition& condition : job.conditions) {
    if (!condition.status) continue;
    const bool success = condition.type == "Complete" || condition.type == "SuccessCriteriaMet";
    const bool failure = condition.type == "Failed" || condition.type == "FailureTarget";
    if (!success && !failure) continue;
    view.verdict =
        success ? core::WorkloadView::Verdict::kSucceeded : core::WorkloadView::Verdict::kFailed;
    view.words = condition.reason + ": " + condition.message;
    view.finished_at = whole_second(wall_of(condition.since, epoch));
    break;
  }
  return view;
}

core::PodView pod_view(const cloudsim::Object& object, WallTime epoch) {
  const cloudsim::PodObject& pod = object.pod();
  core::PodView view;
  view.name = model::PodName(object.name);
  view.uid = object.uid;
  view.workload = pod.owner;
  view.index = pod.index;
  view.node = pod.node;
  view.deleting = object.deletion_at.has_value();
  view.disrupted = pod.disruption.has_value();
  switch (pod.phase) {
    case cloudsim::PodPhase::kPending:
      view.phase = core::PodView::Phase::kPending;
      break;
    case cloudsim::PodPhase::kRunning:
      view.phase = core::PodView::Phase::kRunning;
      break;
    case cloudsim::PodPhase::kSucceeded:
      view.phase = core::PodView::Phase::kSucceeded;
      break;
    case cloudsim::PodPhase::kFailed:
      view.phase = core::PodView::Phase::kFailed;
      break;
  }
  view.waiting = pod.waiting_message.empty() ? pod.waiting_reason
                                             : pod.waiting_reason + ": " + pod.waiting_message;
  if (view.waiting.empty()) view.waiting = pod.unschedulable;
  view.can_never_start = pod.waiting_reason == "InvalidImageName";
  view.reason = pod.status_reason.empty() ? pod.terminated_reason : pod.status_reason;
  view.words = pod.status_message;
  view.exit_code = pod.exit_code;
  view.finished_at = whole_second(wall_of(pod.finished_at, epoch));
  return view;
}

}  // namespace falcon::simulation
