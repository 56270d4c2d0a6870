#include "simserver/kube_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using cloudsim::Kind;
using cloudsim::Object;

constexpr std::array kKindNames{
    KindNames{Kind::kNode, "nodes", "Node", "", "v1", false},
    KindNames{Kind::kJob, "jobs", "Job", "batch", "batch/v1"},
    KindNames{Kind::kPod, "pods", "Pod", "", "v1"},
    KindNames{Kind::kService, "services", "Service", "", "v1"},
    KindNames{Kind::kEvent, "events", "Event", "", "v1"},
    KindNames{Kind::kLease, "leases", "Lease", "coordination.k8s.io", "coordination.k8s.io/v1"}};

// metav1.Time has whole seconds.
std::string time_text(WallTime time) {
  return to_rfc3339(std::chrono::floor<std::chrono::seconds>(time));
}

json::object parsed(const std::shared_ptr<const std::string>& body) {
  if (!body) return {};
  boost::system::error_code error;
  json::value value = json::parse(*body, error);
  return error || !value.is_object() ? json::object{} : std::move(value.as_object());
}

json::object& child(json::object& parent, std::string_view key) {
  json::value& value = parent[key];
  if (!value.is_object()) value.emplace_object();
  return value.as_object();
}

const json::object* find_object(const json::object& parent, std::string_view key) {
  const json::value* value = parent.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

void put_labels(json::object& metadata, const cloudsim::Labels& labels) {
  if (labels.empty()) {
    metadata.erase("labels");
    return;
  }
  json::object& out = child(metadata, "labels");
  out.clear();
  for (const auto& [key, value] : labels) out[key] = value;
}

void put_metadata(json::object& root, const Object& object, const Calendar& calendar) {
  json::object& metadata = child(root, "metadata");
  metadata["name"] = object.name;
  if (!object.kube_namespace.empty()) metadata["namespace"] = object.kube_namespace;
  metadata["uid"] = object.uid.value();
  metadata["resourceVersion"] = std::to_string(object.resource_version);
  metadata["creationTimestamp"] = time_text(calendar.at(object.created_at));
  put_labels(metadata, labels_of(object, calendar));
  if (object.deletion_at) {
    metadata["deletionTimestamp"] = time_text(calendar.at(*object.deletion_at));
    metadata["deletionGracePeriodSeconds"] = object.deletion_grace.count() / 1000;
  }
  if (object.foreground_deletion) metadata["finalizers"] = json::array{"foregroundDeletion"};
}

json::object condition(std::string_view type, std::string_view status, std::string_view reason,
                       std::string_view message, const std::string& since) {
  json::object out{{"type", type}, {"status", status}};
  if (!reason.empty()) out["reason"] = reason;
  if (!message.empty()) out["message"] = message;
  out["lastTransitionTime"] = since;
  out["lastProbeTime"] = nullptr;
  return out;
}

std::string compressed(std::uint32_t count) {
  if (count == 0) return "";
  return count == 1 ? "0" : fmt::format("0-{}", count - 1);
}

json::object render_job(const Object& object, const Calendar& calendar) {
  const cloudsim::JobObject& job = object.job();
  json::object root = parsed(job.request->body);
  root["apiVersion"] = "batch/v1";
  root["kind"] = "Job";
  put_metadata(root, object, calendar);
  child(root, "metadata")["generation"] = object.generation;
  json::object& spec = child(root, "spec");
  if (!spec.contains("completions")) spec["completions"] = job.request->completions;
  if (!spec.contains("parallelism")) spec["parallelism"] = job.request->completions;
  if (!spec.contains("completionMode")) spec["completionMode"] = "NonIndexed";
  if (!spec.contains("backoffLimit")) spec["backoffLimit"] = job.request->backoff_limit;
  if (!spec.contains("suspend")) spec["suspend"] = false;
  child(child(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] =
      object.uid.value();
  json::object& template_labels = child(child(child(spec, "template"), "metadata"), "labels");
  template_labels["batch.kubernetes.io/controller-uid"] = object.uid.value();
  template_labels["batch.kubernetes.io/job-name"] = object.name;
  template_labels["controller-uid"] = object.uid.value();
  template_labels["job-name"] = object.name;
  json::object& status = child(root, "status");
  status.clear();
  if (job.started_at) status["startTime"] = time_text(calendar.at(*job.started_at));
  if (job.completed_at) status["completionTime"] = time_text(calendar.at(*job.completed_at));
  if (job.active > 0) status["active"] = job.active;
  if (job.succeeded > 0) status["succeeded"] = job.succeeded;
  if (job.failed > 0) status["failed"] = job.failed;
  status["ready"] = job.ready;
  status["terminating"] = job.terminating;
  status["uncountedTerminatedPods"] = json::object{};
  if (job.succeeded > 0 && job.succeeded == job.request->completions)
    status["completedIndexes"] = compressed(job.succeeded);
  json::array conditions;
  for (const cloudsim::Condition& each : job.conditions)
    conditions.push_back(condition(each.type, each.status ? "True" : "False", each.reason,
                                   each.message, time_text(calendar.at(each.since))));
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  return root;
}

json::object container_state(const cloudsim::PodObject& pod, const Calendar& calendar) {
  if (pod.exit_code) {
    json::object ended{{"exitCode", *pod.exit_code}, {"reason", pod.terminated_reason}};
    if (!pod.status_message.empty()) ended["message"] = pod.status_message;
    if (pod.started_at) ended["startedAt"] = time_text(calendar.at(*pod.started_at));
    if (pod.finished_at) ended["finishedAt"] = time_text(calendar.at(*pod.finished_at));
    return json::object{{"terminated", std::move(ended)}};
  }
  if (pod.phase == cloudsim::PodPhase::kRunning)
    return json::object{
        {"running", json::object{{"startedAt", time_text(calendar.at(*pod.started_at))}}}};
  json::object waiting{{"reason", pod.waiting_reason}};
  if (!pod.waiting_message.empty()) waiting["message"] = pod.waiting_message;
  return json::object{{"waiting", std::move(waiting)}};
}

json::array container_statuses(const cloudsim::PodObject& pod, const json::object& spec,
                               const Calendar& calendar) {
  json::array statuses;
  const json::value* containers = spec.if_contains("containers");
  if (containers == nullptr || !containers->is_array()) return statuses;
  const bool running = pod.phase == cloudsim::PodPhase::kRunning;
  for (const json::value& value : containers->get_array()) {
    if (!value.is_object()) continue;
    const json::object& container = value.get_object();
    json::object status;
    if (const json::value* name = container.if_contains("name")) status["name"] = *name;
    if (const json::value* image = container.if_contains("image")) {
      status["image"] = *image;
      status["imageID"] = *image;
    }
    status["state"] = container_state(pod, calendar);
    status["lastState"] = json::object{};
    status["ready"] = running;
    status["started"] = running;
    status["restartCount"] = 0;
    statuses.push_back(std::move(status));
  }
  return statuses;
}

json::object pod_status(const Object& object, const json::object& spec, const Calendar& calendar) {
  const cloudsim::PodObject& pod = object.pod();
  const std::string created = time_text(calendar.at(object.created_at));
  json::object status{{"phase", to_string(pod.phase)}, {"qosClass", "BestEffort"}};
  if (!pod.status_reason.empty()) status["reason"] = pod.status_reason;
  if (!pod.status_message.empty() && !pod.exit_code) status["message"] = pod.status_message;
  json::array conditions;
  if (pod.disruption)
    conditions.push_back(condition("DisruptionTarget", "True", *pod.disruption, "", created));
  if (pod.node.empty()) {
    if (!pod.unschedulable.empty())
      conditions.push_back(
          condition("PodScheduled", "False", "Unschedulable", pod.unschedulable, created));
  } else {
    const std::string bound = pod.bound_at ? time_text(calendar.at(*pod.bound_at)) : created;
    const bool running = pod.phase == cloudsim::PodPhase::kRunning;
    conditions.push_back(condition("PodScheduled", "True", "", "", bound));
    conditions.push_back(condition("Initialized", "True", "", "", bound));
    conditions.push_back(condition("Ready", running ? "True" : "False", "", "", bound));
    conditions.push_back(condition("ContainersReady", running ? "True" : "False", "", "", bound));
    status["startTime"] = bound;
    status["hostIP"] = "127.0.0.1";
    if (pod.started_at) status["podIP"] = "127.0.0.1";
    if (pod.status_reason.empty()) {
      json::array containers = container_statuses(pod, spec, calendar);
      if (!containers.empty()) status["containerStatuses"] = std::move(containers);
    }
  }
  status["conditions"] = std::move(conditions);
  return status;
}

json::object render_pod(const Object& object, const Calendar& calendar) {
  const cloudsim::PodObject& pod = object.pod();
  const json::object job = parsed(pod.request->body);
  json::object root{{"apiVersion", "v1"}, {"kind", "Pod"}};
  const json::object* job_spec = find_object(job, "spec");
  const json::object* shape = job_spec != nullptr ? find_object(*job_spec, "template") : nullptr;
  if (shape != nullptr) {
    if (const json::object* metadata = find_object(*shape, "metadata"))
      root["metadata"] = *metadata;
    if (const json::object* spec = find_object(*shape, "spec")) root["spec"] = *spec;
  }
  put_metadata(root, object, calendar);
  json::object& metadata = child(root, "metadata");
  metadata["generateName"] = fmt::format("{}-{}-", pod.owner_name, pod.index);
  child(metadata, "annotations")["batch.kubernetes.io/job-completion-index"] =
      std::to_string(pod.index);
  if (!pod.owner.empty())
    metadata["ownerReferences"] = json::array{json::object{{"apiVersion", "batch/v1"},
                                                           {"kind", "Job"},
                                                           {"name", pod.owner_name},
                                                           {"uid", pod.owner.value()},
                                                           {"controller", true},
                                                           {"blockOwnerDeletion", true}}};
  json::object& spec = child(root, "spec");
  if (!pod.node.empty()) spec["nodeName"] = pod.node.value();
  spec["hostname"] = fmt::format("{}-{}", pod.owner_name, pod.index);
  if (!spec.contains("terminationGracePeriodSeconds"))
    spec["terminationGracePeriodSeconds"] = pod.request->grace.count() / 1000;
  root["status"] = pod_status(object, spec, calendar);
  return root;
}

json::array node_taints(const cloudsim::NodeObject& node) {
  const auto taint = [](std::string_view key, std::string_view value, std::string_view effect) {
    json::object out{{"key", key}, {"effect", effect}};
    if (!value.empty()) out["value"] = value;
    return out;
  };
  json::array taints{taint("google.com/tpu", "present", "NoSchedule")};
  if (node.terminating)
    taints.push_back(taint("cloud.google.com/impending-node-termination", "", "NoSchedule"));
  if (node.ready == cloudsim::Readiness::kFalse)
    taints.push_back(taint("node.kubernetes.io/not-ready", "", "NoSchedule"));
  if (node.ready == cloudsim::Readiness::kUnknown) {
    taints.push_back(taint("node.kubernetes.io/unreachable", "", "NoSchedule"));
    taints.push_back(taint("node.kubernetes.io/unreachable", "", "NoExecute"));
  }
  if (node.cordoned) taints.push_back(taint("node.kubernetes.io/unschedulable", "", "NoSchedule"));
  return taints;
}

json::object render_node(const Object& object, const Calendar& calendar) {
  const cloudsim::NodeObject& node = object.node();
  json::object root{{"apiVersion", "v1"}, {"kind", "Node"}};
  put_metadata(root, object, calendar);
  if (node.usable_until)
    child(child(root, "metadata"), "annotations")["node.gke.io/machine-termination-datetime"] =
        time_text(calendar.at(*node.usable_until));
  json::object spec{{"providerID", fmt::format("gce://sim/{}/{}", node.zone, object.name)},
                    {"taints", node_taints(node)}};
  if (node.cordoned) spec["unschedulable"] = true;
  root["spec"] = std::move(spec);
  const json::object resources{{"cpu", "180"},
                               {"memory", "720Gi"},
                               {"pods", "110"},
                               {"google.com/tpu", std::to_string(node.chips)}};
  const std::string since =
      time_text(calendar.at(node.ready_since == MonoTime{} ? object.created_at : node.ready_since));
  json::object ready;
  switch (node.ready) {
    case cloudsim::Readiness::kTrue:
      ready = condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", since);
      break;
    case cloudsim::Readiness::kFalse:
      ready = condition("Ready", "False", "KubeletNotReady", "container runtime network not ready",
                        since);
      break;
    case cloudsim::Readiness::kUnknown:
      ready = condition("Ready", "Unknown", "NodeStatusUnknown",
                        "Kubelet stopped posting node status.", since);
      break;
  }
  ready.erase("lastProbeTime");
  root["status"] = json::object{
      {"capacity", resources},
      {"allocatable", resources},
      {"conditions", json::array{std::move(ready)}},
      {"addresses", json::array{json::object{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                                json::object{{"type", "Hostname"}, {"address", object.name}}}},
      {"nodeInfo", json::object{{"kubeletVersion", "v1.34.1-gke.2541000"},
                                {"operatingSystem", "linux"},
                                {"architecture", "amd64"},
                                {"machineID", object.uid.value()},
                                {"bootID", object.uid.value()}}}};
  return root;
}

json::object render_event(const Object& object, const Calendar& calendar) {
  if (const auto* plain = std::get_if<cloudsim::PlainObject>(&object.body)) {
    json::object root = parsed(plain->body);
    root["apiVersion"] = "v1";
    root["kind"] = "Event";
    put_metadata(root, object, calendar);
    return root;
  }
  const cloudsim::EventObject& event = object.event();
  json::object root{{"apiVersion", "v1"}, {"kind", "Event"}};
  put_metadata(root, object, calendar);
  const KindNames& about = names_of(event.about_kind);
  json::object involved{{"apiVersion", about.api_version},
                        {"kind", about.name},
                        {"name", event.about_name},
                        {"uid", event.about_uid.value()}};
  if (!event.about_namespace.empty()) involved["namespace"] = event.about_namespace;
  const std::string time = time_text(calendar.at(object.created_at));
  root["involvedObject"] = std::move(involved);
  root["reason"] = event.reason;
  root["message"] = event.message;
  root["type"] = event.warning ? "Warning" : "Normal";
  root["source"] = json::object{{"component", event.component}};
  root["reportingComponent"] = event.component;
  root["reportingInstance"] = "";
  root["firstTimestamp"] = time;
  root["lastTimestamp"] = time;
  root["eventTime"] = nullptr;
  root["count"] = 1;
  return root;
}

json::object render_plain(const Object& object, const Calendar& calendar) {
  json::object root = parsed(object.plain().body);
  const KindNames& names = names_of(object.kind);
  root["apiVersion"] = names.api_version;
  root["kind"] = names.name;
  put_metadata(root, object, calendar);
  return root;
}

// --- Jobs from JSON ---

struct FieldTrouble {
  std::string text;
};

std::int64_t whole(const json::object& parent, std::string_view key, std::int64_t fallback,
                   std::string_view path) {
  const json::value* value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return fallback;
  if (!value->is_int64() || value->get_int64() < 0)
    throw FieldTrouble{
        fmt::format("{}.{}: Invalid value: must be a whole number of at least 0", path, key)};
  return value->get_int64();
}

std::shared_ptr<const cloudsim::Labels> label_map(const json::object* parent,
                                                  std::string_view key) {
  auto labels = std::make_shared<cloudsim::Labels>();
  const json::object* object = parent != nullptr ? find_object(*parent, key) : nullptr;
  if (object == nullptr) return labels;
  for (const auto& [name, value] : *object) {
    if (!value.is_string())
      throw FieldTrouble{
          fmt::format("{}.{}: Invalid value: must be text", key, std::string_view(name))};
    (*labels)[std::string(name)] = std::string(value.get_string());
  }
  return labels;
}

std::int64_t chips_of(const json::object& pod_spec) {
  const json::value* containers = pod_spec.if_contains("containers");
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty())
    throw FieldTrouble{"spec.template.spec.containers: Required value"};
  std::int64_t chips = 0;
  for (const json::value& container : containers->get_array()) {
    const json::object* object = container.if_object();
    const json::object* resources = object ? find_object(*object, "resources") : nullptr;
    const json::object* limits = resources ? find_object(*resources, "limits") : nullptr;
    const json::value* tpu = limits ? limits->if_contains("google.com/tpu") : nullptr;
    if (tpu == nullptr) continue;
    if (tpu->is_int64()) {
      chips += tpu->get_int64();
      continue;
    }
    std::int64_t value = 0;
    const std::string_view text = tpu->is_string() ? std::string_view(tpu->get_string()) : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      throw FieldTrouble{"resources.limits[google.com/tpu]: Invalid value: must be a whole number"};
    chips += value;
  }
  return chips;
}

cloudsim::JobRequest read_job(const json::object& root, std::string_view kube_namespace) {
  cloudsim::JobRequest request;
  const json::object* metadata = find_object(root, "metadata");
  const json::value* name = metadata != nullptr ? metadata->if_contains("name") : nullptr;
  if (name == nullptr || !name->is_string())
    throw FieldTrouble{"metadata.name: Required value: name is required"};
  request.name = std::string(name->get_string());
  request.kube_namespace = std::string(kube_namespace);
  const json::object* spec = find_object(root, "spec");
  const json::object* shape = spec != nullptr ? find_object(*spec, "template") : nullptr;
  const json::object* pod = shape != nullptr ? find_object(*shape, "spec") : nullptr;
  if (pod == nullptr) throw FieldTrouble{"spec.template.spec: Required value"};
  request.pod_labels = label_map(find_object(*shape, "metadata"), "labels");
  request.labels = label_map(metadata, "labels");
  if (request.labels->empty()) request.labels = request.pod_labels;
  request.node_selector = label_map(pod, "nodeSelector");
  const std::int64_t parallelism = whole(*spec, "parallelism", 1, "spec");
  const std::int64_t completions = whole(*spec, "completions", parallelism, "spec");
  if (completions > 100'000)
    throw FieldTrouble{"spec.completions: Invalid value: must be at most 100000"};
  request.completions = static_cast<std::uint32_t>(completions);
  request.backoff_limit = static_cast<std::uint32_t>(whole(*spec, "backoffLimit", 6, "spec"));
  request.chips = chips_of(*pod);
  const json::value* restart = pod->if_contains("restartPolicy");
  if (restart == nullptr || (*restart != "Never" && *restart != "OnFailure"))
    throw FieldTrouble{
        "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""};
  if (const json::value* suspend = spec->if_contains("suspend"))
    request.suspended = suspend->is_bool() && suspend->get_bool();
  if (const json::value* policy = spec->if_contains("podReplacementPolicy"))
    request.replace_failed_only = *policy == "Failed";
  request.grace =
      Duration(whole(*pod, "terminationGracePeriodSeconds", 30, "spec.template.spec") * 1000);
  if (spec->contains("activeDeadlineSeconds"))
    request.active_deadline = Duration(whole(*spec, "activeDeadlineSeconds", 0, "spec") * 1000);
  if (spec->contains("ttlSecondsAfterFinished"))
    request.ttl_after_finished =
        Duration(whole(*spec, "ttlSecondsAfterFinished", 0, "spec") * 1000);
  return request;
}

}  // namespace

const KindNames& names_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

const KindNames* find_resource(std::string_view group, std::string_view version,
                               std::string_view resource) {
  if (version != "v1") return nullptr;
  const auto found = std::ranges::find_if(kKindNames, [&](const KindNames& names) {
    return names.group == group && names.resource == resource;
  });
  return found == kKindNames.end() ? nullptr : &*found;
}

json::object render(const Object& object, const Calendar& calendar) {
  switch (object.kind) {
    case Kind::kNode:
      return render_node(object, calendar);
    case Kind::kJob:
      return render_job(object, calendar);
    case Kind::kPod:
      return render_pod(object, calendar);
    case Kind::kEvent:
      return render_event(object, calendar);
    case Kind::kService:
    case Kind::kLease:
      return render_plain(object, calendar);
  }
  std::abort();
}

cloudsim::Labels labels_of(const Object& object, const Calendar& calendar) {
  cloudsim::Labels labels = *object.labels;
  if (object.kind == Kind::kNode) {
    labels["kubernetes.io/hostname"] = object.name;
    if (const auto at = object.node().maintenance_at)
      labels["cloud.google.com/scheduled-maintenance-time"] =
          std::to_string(to_unix_ms(calendar.at(*at)) / 1000);
  }
  if (object.kind == Kind::kPod) {
    const cloudsim::PodObject& pod = object.pod();
    labels["batch.kubernetes.io/job-name"] = pod.owner_name;
    labels["job-name"] = pod.owner_name;
    labels["batch.kubernetes.io/job-completion-index"] = std::to_string(pod.index);
    if (!pod.owner.empty()) {
      labels["batch.kubernetes.io/controller-uid"] = pod.owner.value();
      labels["controller-uid"] = pod.owner.value();
    }
  }
  return labels;
}

Result<cloudsim::JobRequest> job_from_json(const std::string& body,
                                           std::string_view kube_namespace) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  if (error || !value.is_object())
    return fail(ErrorKind::kInvalid, "the object provided is unrecognized: it must be JSON");
  try {
    cloudsim::JobRequest request = read_job(value.get_object(), kube_namespace);
    request.body = std::make_shared<const std::string>(body);
    return request;
  } catch (const FieldTrouble& trouble) {
    return fail(ErrorKind::kInvalid, "Job.batch is invalid: " + trouble.text);
  }
}

KubeFailure failure_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kInvalid:
      return {422, "Invalid"};
    case ErrorKind::kDenied:
      return {403, "Forbidden"};
    case ErrorKind::kNotFound:
      return {404, "NotFound"};
    case ErrorKind::kAlreadyExists:
      return {409, "AlreadyExists"};
    case ErrorKind::kConflict:
      return {409, "Conflict"};
    case ErrorKind::kThrottled:
      return {429, "TooManyRequests"};
    case ErrorKind::kUnavailable:
      return {503, "ServiceUnavailable"};
    default:
      return {500, "InternalError"};
  }
}

std::string status_json(const KubeFailure& failure, std::string_view message,
                        std::string_view resource, std::string_view name) {
  json::object details;
  if (!name.empty()) details["name"] = name;
  if (!resource.empty()) details["kind"] = resource;
  return json::serialize(json::object{{"kind", "Status"},
                                      {"apiVersion", "v1"},
                                      {"metadata", json::object{}},
                                      {"status", "Failure"},
                                      {"message", message},
                                      {"reason", failure.reason},
                                      {"details", std::move(details)},
                                      {"code", failure.code}});
}

Answer answer_of(const Error& error, std::string_view resource, std::string_view name) {
  const KubeFailure failure = failure_of(error);
  Answer answer{.status = failure.code, .body = status_json(failure, error.what, resource, name)};
  if (failure.code == 429 || failure.code == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace falcon::simserver
