#include "kube/views.h"

#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"
#include "model/names.h"
#include "wire/foreign.h"

namespace falcon::kube {
namespace {

namespace json = boost::json;
using wire::child;
using wire::list;
using wire::number;
using wire::small_number;
using wire::text;
using wire::time;

const json::object kEmpty;

const json::object* condition(const json::object& status, std::string_view type) {
  for (const json::value& item : list(status, "conditions"))
    if (const json::object* found = item.if_object())
      if (text(*found, "type") == type) return found;
  return nullptr;
}

std::string joined(const std::string& reason, const std::string& message) {
  return clean_text(reason + (reason.empty() || message.empty() ? "" : ": ") + message, 1'500);
}

const json::object& container_status(const json::object& status, std::string_view name) {
  for (const json::value& item : list(status, "containerStatuses"))
    if (const json::object* found = item.if_object())
      if (text(*found, "name") == name) return *found;
  return kEmpty;
}

bool never_starts(const std::string& reason) {
  static constexpr std::array<std::string_view, 3> kHopeless{
      "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"};
  for (const std::string_view hopeless : kHopeless)
    if (reason == hopeless) return true;
  return false;
}

}  // namespace

std::string name_of(const json::object& object) { return text(child(object, "metadata"), "name"); }
model::Uid uid_of(const json::object& object) {
  return model::Uid(text(child(object, "metadata"), "uid"));
}
std::string resource_version_of(const json::object& object) {
  return text(child(object, "metadata"), "resourceVersion");
}

bool is_attempt(const json::object& job, const model::Installation& installation,
                const model::JobId& id, std::uint32_t attempt) {
  const json::object& labels = child(child(job, "metadata"), "labels");
  return text(labels, model::kInstallationLabel) == installation.value() &&
         text(labels, model::kJobLabel) == id.value() &&
         text(labels, model::kAttemptLabel) == std::to_string(attempt);
}

core::NodeView node_view(const json::object& node) {
  const json::object& metadata = child(node, "metadata");
  const json::object& labels = child(metadata, "labels");
  core::NodeView view;
  view.name = model::NodeName(text(metadata, "name"));
  view.uid = model::Uid(text(metadata, "uid"));
  view.pool = model::PoolName(text(labels, "cloud.google.com/gke-nodepool"));
  const json::object* ready = condition(child(node, "status"), "Ready");
  const std::string state = ready == nullptr ? "Unknown" : text(*ready, "status");
  view.unreachable = ready != nullptr && state == "Unknown";
  bool leaving = !text(metadata, "deletionTimestamp").empty();
  for (const json::value& item : list(child(node, "spec"), "taints"))
    if (const json::object* taint = item.if_object())
      leaving = leaving || text(*taint, "key") == "cloud.google.com/impending-node-termination";
  view.ready = state == "True" && !leaving;
  const std::string maintenance = text(labels, "cloud.google.com/scheduled-maintenance-time");
  if (!maintenance.empty()) {
    std::int64_t seconds = 0;
    std::from_chars(maintenance.data(), maintenance.data() + maintenance.size(), seconds);
    if (seconds > 0) view.maintenance_at = wall_time_from_unix_ms(seconds * 1'000);
  }
  view.usable_until =
      time(child(metadata, "annotations"), "node.gke.io/machine-termination-datetime");
  return view;
}

core::WorkloadView workload_view(const json::object& job) {
  const json::object& metadata = child(job, "metadata");
  const json::object& labels = child(metadata, "labels");
  core::WorkloadView view;
  view.kube_namespace = text(metadata, "namespace");
  view.name = model::WorkloadName(text(metadata, "name"));
  view.uid = model::Uid(text(metadata, "uid"));
  view.job = model::JobId(text(labels, model::kJobLabel));
  view.attempt = small_number(text(labels, model::kAttemptLabel));
  view.deletion_at = time(metadata, "deletionTimestamp");
  view.deleting = view.deletion_at.has_value();
  const json::object& status = child(job, "status");
  for (const auto& [type, verdict] :
       {std::pair{"Complete", core::WorkloadView::Verdict::kSucceeded},
        std::pair{"Failed", core::WorkloadView::Verdict::kFailed},
        std::pair{"SuccessCriteriaMet", core::WorkloadView::Verdict::kSucceeded},
        std::pair{"FailureTarget", core::WorkloadView::Verdict::kFailed}}) {
    const json::object* found = condition(status, type);
    if (found == nullptr || text(*found, "status") != "True") continue;
    view.verdict = verdict;
    view.words = joined(text(*found, "reason"), text(*found, "message"));
    view.finished_at = time(*found, "lastTransitionTime");
    if (const auto completed = time(status, "completionTime")) view.finished_at = completed;
    break;
  }
  return view;
}

core::PodView pod_view(const json::object& pod) {
  const json::object& metadata = child(pod, "metadata");
  const json::object& status = child(pod, "status");
  core::PodView view;
  view.name = model::PodName(text(metadata, "name"));
  view.uid = model::Uid(text(metadata, "uid"));
  for (const json::value& item : list(metadata, "ownerReferences"))
    if (const json::object* owner = item.if_object())
      if (text(*owner, "kind") == "Job") view.workload = model::Uid(text(*owner, "uid"));
  view.index = small_number(
      text(child(metadata, "annotations"), "batch.kubernetes.io/job-completion-index"));
  view.node = model::NodeName(text(child(pod, "spec"), "nodeName"));
  view.deleting = !text(metadata, "deletionTimestamp").empty();
  if (const json::object* target = condition(status, "DisruptionTarget"))
    view.disrupted = text(*target, "status") == "True";
  const json::object& main = container_status(status, "main");
  const json::object& state = child(main, "state");
  const json::object& terminated = child(state, "terminated");
  const std::string phase = text(status, "phase");
  if (phase == "Succeeded")
    view.phase = core::PodView::Phase::kSucceeded;
  else if (phase == "Failed")
    view.phase = core::PodView::Phase::kFailed;
  else if (state.contains("running") || !terminated.empty())
    view.phase = core::PodView::Phase::kRunning;
  if (view.phase == core::PodView::Phase::kPending) {
    const json::object& waiting = child(state, "waiting");
    view.waiting = joined(text(waiting, "reason"), text(waiting, "message"));
    view.can_never_start = never_starts(text(waiting, "reason"));
    if (view.waiting.empty())
      if (const json::object* scheduled = condition(status, "PodScheduled"))
        if (text(*scheduled, "status") == "False")
          view.waiting = joined(text(*scheduled, "reason"), text(*scheduled, "message"));
  }
  view.reason = text(status, "reason");
  view.words = clean_text(text(status, "message"), 1'500);
  if (!terminated.empty()) {
    if (view.reason.empty()) view.reason = text(terminated, "reason");
    if (view.words.empty()) view.words = clean_text(text(terminated, "message"), 1'500);
    view.exit_code = static_cast<std::int32_t>(number(terminated, "exitCode"));
    view.finished_at = time(terminated, "finishedAt");
  }
  return view;
}

}  // namespace falcon::kube
