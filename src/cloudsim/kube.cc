#include "cloudsim/kube.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"

namespace falcon::cloudsim {
namespace {

const std::shared_ptr<const Labels>& no_labels() {
  static const auto empty = std::make_shared<const Labels>();
  return empty;
}

std::string_view resource_of(Kind kind) {
  switch (kind) {
    case Kind::kNode:
      return "nodes";
    case Kind::kJob:
      return "jobs.batch";
    case Kind::kPod:
      return "pods";
    case Kind::kService:
      return "services";
    case Kind::kEvent:
      return "events";
    case Kind::kLease:
      return "leases.coordination.k8s.io";
  }
  std::abort();
}

std::unexpected<Error> not_found(Kind kind, const std::string& name) {
  return fail(ErrorKind::kNotFound, fmt::format("{} \"{}\" not found", resource_of(kind), name));
}

std::unexpected<Error> wrong_uid(Kind kind, const std::string& name, const model::Uid& wanted,
                                 const model::Uid& is) {
  return fail(ErrorKind::kConflict,
              fmt::format("Operation cannot be fulfilled on {} \"{}\": Precondition failed: UID in "
                          "precondition: {}, UID in object meta: {}",
                          resource_of(kind), name, wanted, is));
}

// A DNS-1123 label.
bool is_dns_label(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  return true;
}

}  // namespace

const Condition* find_condition(const JobObject& job, std::string_view type) {
  for (const Condition& condition : job.conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

Kube::Kube(Context& context, const ClusterSetup& setup, AutoscalerEars ears)
    : context_(context),
      setup_(setup),
      ears_(std::move(ears)),
      version_(context.settings.resource_version),
      history_from_(context.settings.resource_version) {}

std::optional<Error> Kube::refusal() {
  if (!up() || context_.faults.strikes(Fault::kKubernetesDown, &setup_.gke))
    return Error{ErrorKind::kUnavailable, "connection refused"};
  if (context_.faults.strikes(Fault::kKubernetesThrottled, &setup_.gke))
    return Error{ErrorKind::kThrottled, "Too many requests, please try again later."};
  return std::nullopt;
}

std::optional<Error> Kube::refusal(const std::string& kube_namespace) {
  if (auto error = refusal()) return error;
  if (!setup_.namespaces.contains(kube_namespace))
    return Error{ErrorKind::kNotFound, fmt::format("namespaces \"{}\" not found", kube_namespace)};
  return std::nullopt;
}

model::Uid Kube::uid_of(Serial serial) const {
  return model::Uid(fmt::format("{}-{}", context_.settings.uid_prefix, serial));
}

Kube::Serial Kube::serial_of(const model::Uid& uid) const {
  const std::string& text = uid.value();
  const std::size_t prefix = context_.settings.uid_prefix.size() + 1;
  Serial serial = 0;
  if (text.size() <= prefix || !text.starts_with(context_.settings.uid_prefix)) return 0;
  const auto [end, error] =
      std::from_chars(text.data() + prefix, text.data() + text.size(), serial);
  return error == std::errc{} && end == text.data() + text.size() ? serial : 0;
}

ObjectPtr* Kube::add(Serial serial, Object object) {
  object.uid = uid_of(serial);
  object.created_at = context_.now();
  object.resource_version = ++version_;
  if (!object.labels) object.labels = no_labels();
  const Kind kind = object.kind;
  Key key{object.kube_namespace, object.name};
  auto shared = std::make_shared<const Object>(std::move(object));
  const auto [it, fresh] = objects(kind).emplace(std::move(key), shared);
  FALCON_CHECK(fresh);
  record(ChangeType::kAdded, std::move(shared));
  return &it->second;
}

ObjectPtr Kube::erase(Kind kind, const Key& key) {
  const auto found = objects(kind).find(key);
  FALCON_CHECK(found != objects(kind).end());
  auto last = std::make_shared<Object>(*found->second);
  last->resource_version = ++version_;
  objects(kind).erase(found);
  record(ChangeType::kDeleted, last);
  return last;
}

void Kube::record(ChangeType type, ObjectPtr object) {
  ++context_.object_changes;
  const std::size_t most = context_.settings.history_max;
  if (history_.size() >= 2 * most + 16) {
    const auto drop = static_cast<std::ptrdiff_t>(history_.size() - most);
    history_from_ = history_[static_cast<std::size_t>(drop) - 1].resource_version;
    history_.erase(history_.begin(), history_.begin() + drop);
  }
  history_.push_back(Change{type, version_, std::move(object)});
}

Changes Kube::changes_since(std::uint64_t resource_version) const {
  if (!up()) return Changes{WatchState::kDown, {}};
  if (resource_version < history_from_) return Changes{WatchState::kGone, {}};
  const auto first =
      std::ranges::upper_bound(history_, resource_version, {}, &Change::resource_version);
  return Changes{WatchState::kOpen, std::span(first, history_.end())};
}

Result<ObjectPtr> Kube::create_job(const JobRequest& request) {
  if (auto error = refusal(request.kube_namespace)) return std::unexpected(*std::move(error));
  const std::uint32_t last = request.completions > 0 ? request.completions - 1 : 0;
  if (!is_dns_label(request.name) || request.name.size() + 1 + std::to_string(last).size() > 63)
    return fail(ErrorKind::kInvalid,
                fmt::format("Job.batch \"{}\" is invalid: metadata.name: Invalid value: its pods' "
                            "host names must be DNS labels of at most 63 characters",
                            request.name));
  const Key key{request.kube_namespace, request.name};
  if (const auto found = objects(Kind::kJob).find(key); found != objects(Kind::kJob).end())
    return fail(
        ErrorKind::kAlreadyExists,
        fmt::format("{}jobs.batch \"{}\" already exists",
                    found->second->deletion_at ? "object is being deleted: " : "", request.name));
  const Serial serial = context_.next_serial();
  Object object;
  object.kind = Kind::kJob;
  object.kube_namespace = request.kube_namespace;
  object.name = request.name;
  object.labels = request.labels;
  object.body = JobObject{.request = std::make_shared<const JobRequest>(request),
                          .started_at = {},
                          .completed_at = {},
                          .conditions = {}};
  Job& job = jobs_[serial];
  job.shown = add(serial, std::move(object));
  ObjectPtr answer = *job.shown;
  ask_sync(serial);
  return answer;
}

Result<ObjectPtr> Kube::delete_job(const std::string& kube_namespace, const std::string& name,
                                   const std::optional<model::Uid>& uid, Propagation propagation) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const auto found = objects(Kind::kJob).find(Key{kube_namespace, name});
  if (found == objects(Kind::kJob).end()) return not_found(Kind::kJob, name);
  const ObjectPtr object = found->second;
  if (uid && *uid != object->uid) return wrong_uid(Kind::kJob, name, *uid, object->uid);
  const Serial serial = serial_of(object->uid);
  Job& job = jobs_.at(serial);
  const std::vector<Serial> pods(job.pods.begin(), job.pods.end());
  if (propagation == Propagation::kForeground) {
    if (!object->deletion_at) {
      change(*job.shown, [&](Object& next) {
        next.deletion_at = context_.now();
        next.foreground_deletion = true;
        ++next.generation;
      });
    }
    const ObjectPtr answer = *job.shown;
    context_.agenda.after(context_.draw(context_.settings.collect), [this, serial] {
      const auto job_now = jobs_.find(serial);
      if (job_now == jobs_.end()) return;
      collect_pods({job_now->second.pods.begin(), job_now->second.pods.end()});
      collect_if_empty(serial);
    });
    return answer;
  }
  remove_job(serial);
  for (const Serial pod : pods) {
    Pod& state = pods_.at(pod);
    state.job = 0;
    if (propagation == Propagation::kOrphan)
      change(*state.shown,
             [](Object& next) { std::get<PodObject>(next.body).owner = model::Uid(); });
  }
  if (propagation == Propagation::kBackground && !pods.empty())
    context_.agenda.after(context_.draw(context_.settings.collect),
                          [this, pods] { collect_pods(pods); });
  return object;
}

Result<ObjectPtr> Kube::delete_pod(const std::string& kube_namespace, const std::string& name,
                                   const std::optional<model::Uid>& uid,
                                   std::optional<Duration> grace) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const auto found = objects(Kind::kPod).find(Key{kube_namespace, name});
  if (found == objects(Kind::kPod).end()) return not_found(Kind::kPod, name);
  const ObjectPtr object = found->second;
  if (uid && *uid != object->uid) return wrong_uid(Kind::kPod, name, *uid, object->uid);
  terminate_pod(serial_of(object->uid), grace.value_or(object->pod().request->grace), "");
  const auto after = objects(Kind::kPod).find(Key{kube_namespace, name});
  return after == objects(Kind::kPod).end() ? object : after->second;
}

Result<ObjectPtr> Kube::get(Kind kind, const std::string& kube_namespace, const std::string& name) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const auto found = objects(kind).find(Key{kube_namespace, name});
  if (found == objects(kind).end()) return not_found(kind, name);
  return found->second;
}

Result<Listing> Kube::list(Kind kind) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  Listing listing{.objects = {}, .resource_version = version_};
  listing.objects.reserve(objects(kind).size());
  for (const auto& [key, object] : objects(kind)) listing.objects.push_back(object);
  return listing;
}

Result<std::vector<ObjectPtr>> Kube::pods_of(const model::Uid& uid) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  std::vector<ObjectPtr> pods;
  for (const auto& [serial, pod] : pods_)
    if ((*pod.shown)->pod().owner == uid) pods.push_back(*pod.shown);
  return pods;
}

Result<ObjectPtr> Kube::create_plain(Kind kind, const std::string& kube_namespace,
                                     const std::string& name, const Labels& labels,
                                     PlainObject body) {
  if (auto error = refusal(kube_namespace)) return std::unexpected(*std::move(error));
  if (objects(kind).contains(Key{kube_namespace, name}))
    return fail(ErrorKind::kAlreadyExists,
                fmt::format("{} \"{}\" already exists", resource_of(kind), name));
  Object object;
  object.kind = kind;
  object.kube_namespace = kube_namespace;
  object.name = name;
  object.labels = std::make_shared<const Labels>(labels);
  object.body = std::move(body);
  return *add(context_.next_serial(), std::move(object));
}

Result<ObjectPtr> Kube::replace_plain(Kind kind, const std::string& kube_namespace,
                                      const std::string& name, const Labels& labels,
                                      PlainObject body, std::uint64_t expected_version) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const auto found = objects(kind).find(Key{kube_namespace, name});
  if (found == objects(kind).end()) return not_found(kind, name);
  if (expected_version != 0 && expected_version != found->second->resource_version)
    return fail(
        ErrorKind::kConflict,
        fmt::format("Operation cannot be fulfilled on {} \"{}\": the object has been "
                    "modified; please apply your changes to the latest version and try again",
                    resource_of(kind), name));
  change(found->second, [&](Object& next) {
    next.labels = std::make_shared<const Labels>(labels);
    next.body = std::move(body);
  });
  return found->second;
}

Result<ObjectPtr> Kube::delete_plain(Kind kind, const std::string& kube_namespace,
                                     const std::string& name,
                                     const std::optional<model::Uid>& uid) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const Key key{kube_namespace, name};
  const auto found = objects(kind).find(key);
  if (found == objects(kind).end()) return not_found(kind, name);
  if (uid && *uid != found->second->uid) return wrong_uid(kind, name, *uid, found->second->uid);
  return erase(kind, key);
}

Result<ObjectPtr> Kube::label(Kind kind, const std::string& kube_namespace, const std::string& name,
                              const Labels& changes) {
  if (auto error = refusal()) return std::unexpected(*std::move(error));
  const auto found = objects(kind).find(Key{kube_namespace, name});
  if (found == objects(kind).end()) return not_found(kind, name);
  Labels labels = *found->second->labels;
  for (const auto& [key, value] : changes) {
    if (value.empty())
      labels.erase(key);
    else
      labels[key] = value;
  }
  if (labels != *found->second->labels)
    change(found->second,
           [&](Object& next) { next.labels = std::make_shared<const Labels>(std::move(labels)); });
  if (kind == Kind::kNode) kick_scheduler();
  return found->second;
}

void Kube::collect_items(Inventory& inventory) const {
  const auto all = [&](Kind kind, std::vector<Inventory::Item>& items) {
    for (const auto& [key, object] : objects_[static_cast<std::size_t>(kind)])
      items.push_back({setup_.gke, object});
  };
  all(Kind::kNode, inventory.nodes);
  all(Kind::kJob, inventory.jobs);
  all(Kind::kPod, inventory.pods);
}

void Kube::emit(const Object& about, bool warning, std::string_view reason, std::string message,
                std::string_view component) {
  if (!context_.settings.events) return;
  const Serial serial = context_.next_serial();
  Object object;
  object.kind = Kind::kEvent;
  object.kube_namespace = about.kube_namespace.empty() ? "default" : about.kube_namespace;
  object.name = fmt::format("{}.{:x}", about.name, serial);
  object.body = EventObject{.about_kind = about.kind,
                            .about_namespace = about.kube_namespace,
                            .about_name = about.name,
                            .about_uid = about.uid,
                            .warning = warning,
                            .reason = std::string(reason),
                            .message = std::move(message),
                            .component = std::string(component)};
  const Key key{object.kube_namespace, object.name};
  add(serial, std::move(object));
  context_.agenda.after(Duration(1h), [this, key] {  // the API server's --event-ttl
    if (objects(Kind::kEvent).contains(key)) erase(Kind::kEvent, key);
  });
}

std::string Kube::check() const {
  for (const auto& [name, node] : nodes_) {
    std::int64_t used = 0;
    std::uint32_t unfinished = 0;
    for (const Serial serial : node.pods) {
      const Pod& pod = pods_.at(serial);
      if ((*pod.shown)->pod().node.value() != name)
        return fmt::format("pod {} is listed on node {}", (*pod.shown)->name, name);
      if (pod.holds_chips) {
        used += (*pod.shown)->pod().request->chips;
        ++unfinished;
      }
    }
    if (used != node.chips_used || unfinished != node.unfinished)
      return fmt::format("node {}: {} chips used, counted {}", name, node.chips_used, used);
    if (used > (*node.shown)->node().chips) return fmt::format("node {} is overbooked", name);
  }
  for (const auto& [serial, pod] : pods_) {
    if (pod.job != 0 && !jobs_.at(pod.job).pods.contains(serial))
      return fmt::format("pod {} is not among its Job's", (*pod.shown)->name);
    if (unscheduled_.contains(serial) != (*pod.shown)->pod().node.empty())
      return fmt::format("pod {} is queued for a node, or not, wrongly", (*pod.shown)->name);
  }
  if (pods_.size() != objects_[static_cast<std::size_t>(Kind::kPod)].size()) return "pods differ";
  if (jobs_.size() != objects_[static_cast<std::size_t>(Kind::kJob)].size()) return "Jobs differ";
  if (nodes_.size() != objects_[static_cast<std::size_t>(Kind::kNode)].size())
    return "nodes differ";
  return {};
}

}  // namespace falcon::cloudsim
