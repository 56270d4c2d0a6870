// Scheduler and kubelets: how pods get nodes, start, end and go.
#include <fmt/format.h>

#include "base/check.h"
#include "cloudsim/kube.h"

namespace falcon::cloudsim {
namespace {

constexpr std::string_view kPoolLabel = "cloud.google.com/gke-nodepool";
constexpr std::string_view kScheduler = "default-scheduler";
constexpr std::string_view kKubelet = "kubelet";
constexpr std::int32_t kKilled = 137;  // 128 + SIGKILL

bool is_over(PodPhase phase) { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }

bool selects(const Labels& selector, const Labels& labels) {
  for (const auto& [key, value] : selector) {
    const auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return true;
}

// Before Ironwood a container must take all chips of its machine (device plugin).
bool must_take_all(const NodeObject& node) { return !node.machine_type.starts_with("tpu7x"); }

PodObject& pod_of(Object& object) { return std::get<PodObject>(object.body); }

}  // namespace

Kube::Pod* Kube::find_pod(Serial serial) {
  const auto found = pods_.find(serial);
  return found == pods_.end() ? nullptr : &found->second;
}

void Kube::kick_scheduler() {
  if (schedule_asked_ || unscheduled_.empty()) return;
  schedule_asked_ = true;
  context_.agenda.after(context_.draw(context_.settings.bind), [this] { schedule(); });
}

void Kube::schedule() {
  schedule_asked_ = false;
  const std::vector<Serial> waiting(unscheduled_.begin(), unscheduled_.end());
  for (const Serial serial : waiting) {
    Pod& pod = pods_.at(serial);
    const auto request = (*pod.shown)->pod().request;
    std::string why;
    if (const auto node = node_for(*request, why)) {
      bind(serial, pod, *node);
      continue;
    }
    if ((*pod.shown)->pod().unschedulable != why) {
      emit(**pod.shown, true, "FailedScheduling", why, kScheduler);
      change(*pod.shown, [&](Object& next) { pod_of(next).unschedulable = why; });
    }
    if (request->node_selector) ears_.on_unschedulable(*request->node_selector);
  }
}

std::optional<model::NodeName> Kube::node_for(const JobRequest& request, std::string& why) const {
  std::size_t strangers = 0;
  std::size_t not_ready = 0;
  std::size_t full = 0;
  std::size_t tainted = 0;
  const auto fits = [&](const Node& node) {
    const Object& object = **node.shown;
    const NodeObject& body = object.node();
    if (request.node_selector && !selects(*request.node_selector, *object.labels))
      ++strangers;
    else if (body.ready != Readiness::kTrue || body.cordoned)
      ++not_ready;
    else if (!request.tolerates_tpu)
      ++tainted;
    else if (body.chips - node.chips_used < request.chips)
      ++full;
    else
      return true;
    return false;
  };
  const auto pool = request.node_selector ? request.node_selector->find(std::string(kPoolLabel))
                                          : Labels::const_iterator{};
  if (request.node_selector && pool != request.node_selector->end()) {
    if (const auto names = nodes_by_pool_.find(pool->second); names != nodes_by_pool_.end())
      for (const std::string& name : names->second)
        if (fits(nodes_.at(name))) return model::NodeName(name);
    const auto mine = strangers + not_ready + full + tainted;
    strangers += nodes_.size() - mine;
  } else {
    for (const auto& [name, node] : nodes_)
      if (fits(node)) return model::NodeName(name);
  }
  why = fmt::format("0/{} nodes are available", nodes_.size());
  const auto say = [&](std::size_t number, std::string_view words) {
    if (number > 0) why += fmt::format(", {} {}", number, words);
  };
  say(strangers, "node(s) didn't match Pod's node affinity/selector");
  say(not_ready, "node(s) had untolerated taint {node.kubernetes.io/not-ready: }");
  say(tainted, "node(s) had untolerated taint {google.com/tpu: present}");
  say(full, "Insufficient google.com/tpu");
  why += ".";
  return std::nullopt;
}

void Kube::bind(Serial serial, Pod& pod, const model::NodeName& name) {
  Node& node = nodes_.at(name.value());
  unscheduled_.erase(serial);
  node.pods.insert(serial);
  const JobRequest& request = *(*pod.shown)->pod().request;
  const NodeObject& machine = (*node.shown)->node();
  const bool refused = must_take_all(machine) && request.chips > 0 && request.chips < machine.chips;
  if (!refused) {
    pod.holds_chips = true;
    node.chips_used += request.chips;
    ++node.unfinished;
  }
  emit(**pod.shown, false, "Scheduled",
       fmt::format("Successfully assigned {}/{} to {}", (*pod.shown)->kube_namespace,
                   (*pod.shown)->name, name),
       kScheduler);
  change(*pod.shown, [&](Object& next) {
    PodObject& body = pod_of(next);
    body.node = name;
    body.bound_at = context_.now();
    body.unschedulable.clear();
    if (!refused) {
      body.waiting_reason = "ContainerCreating";
      return;
    }
    body.phase = PodPhase::kFailed;
    body.status_reason = "UnexpectedAdmissionError";
    body.status_message = fmt::format(
        "Pod was rejected: Allocate failed due to rpc error: must request all {} chips on this "
        "node together, which is unexpected",
        machine.chips);
    body.finished_at = context_.now();
  });
  if (refused) return ask_sync(pod.job);
  Duration delay = context_.draw(context_.settings.image_pull);
  if (context_.faults.strikes(Fault::kSlowImage, &setup_.gke))
    delay += context_.draw(context_.settings.slow_image);
  if (context_.faults.strikes(Fault::kImagePull, &setup_.gke)) {
    context_.agenda.after(delay, [this, serial] {
      Pod* late = find_pod(serial);
      if (late == nullptr || is_over((*late->shown)->pod().phase)) return;
      emit(**late->shown, true, "Failed", "Error: ErrImagePull", kKubelet);
      change(*late->shown, [&](Object& next) {
        pod_of(next).waiting_reason = "ImagePullBackOff";
        pod_of(next).waiting_message = "Back-off pulling image: not found";
      });
    });
    return;
  }
  context_.agenda.after(delay, [this, serial] { start(serial); });
}

void Kube::start(Serial serial) {
  Pod* pod = find_pod(serial);
  if (pod == nullptr || !pod->holds_chips || (*pod->shown)->deletion_at) return;
  const auto node = nodes_.find((*pod->shown)->pod().node.value());
  if (node == nodes_.end() || !node->second.alive) return;
  pod->ordered = true;
  if (context_.settings.external_programs) return order(PodOrder::What::kStart, *pod);
  mark_started(serial, *pod);
  const ProgramPlan& plan = plan_of(**pod->shown);
  if (plan.never_ends) return;
  context_.agenda.after(plan.duration, [this, serial] {
    const Pod* ending = find_pod(serial);
    if (ending == nullptr) return;
    const ProgramPlan& its = plan_of(**ending->shown);
    program_ends(serial, its.out_of_memory ? kKilled : its.exit_code,
                 its.out_of_memory ? "OOMKilled" : "", "");
  });
}

void Kube::mark_started(Serial serial, Pod& pod) {
  (void)serial;
  pod.running = true;
  emit(**pod.shown, false, "Started", "Started container", kKubelet);
  change(*pod.shown, [&](Object& next) {
    PodObject& body = pod_of(next);
    body.phase = PodPhase::kRunning;
    body.started_at = context_.now();
    body.waiting_reason.clear();
    body.waiting_message.clear();
  });
  ask_sync(pod.job);
}

void Kube::program_ends(Serial serial, std::int32_t exit_code, std::string_view reason,
                        const std::string& message) {
  Pod* pod = find_pod(serial);
  if (pod == nullptr || !pod->ordered || is_over((*pod->shown)->pod().phase)) return;
  const auto node = nodes_.find((*pod->shown)->pod().node.value());
  if (node == nodes_.end() || !node->second.alive) return;  // nobody is there to tell
  pod->running = false;
  change(*pod->shown, [&](Object& next) {
    PodObject& body = pod_of(next);
    body.phase = exit_code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
    body.exit_code = exit_code;
    body.finished_at = context_.now();
    body.waiting_reason.clear();
    body.waiting_message.clear();
    body.terminated_reason = !reason.empty()  ? std::string(reason)
                             : exit_code == 0 ? "Completed"
                                              : "Error";
    body.status_message = message;
  });
  release_node(*pod);
  ask_sync(pod->job);
  if ((*pod->shown)->deletion_at)
    context_.agenda.after(context_.draw(context_.settings.kubelet),
                          [this, serial] { remove_pod(serial); });
}

void Kube::terminate_pod(Serial serial, Duration grace, std::string_view disruption) {
  Pod* pod = find_pod(serial);
  if (pod == nullptr) return;
  const ObjectPtr object = *pod->shown;
  const auto node = nodes_.find(object->pod().node.value());
  const bool bound = !object->pod().node.empty();
  if (grace == Duration(0) && object->deletion_at.has_value()) {  // forced: the object just goes
    if (pod->running) order(PodOrder::What::kKill, *pod);
    return remove_pod(serial);
  }
  if (object->deletion_at) {
    if (*object->deletion_at <= context_.now() + grace) return;
  }
  change(*pod->shown, [&](Object& next) {
    next.deletion_at = context_.now() + grace;
    next.deletion_grace = grace;
    if (!disruption.empty() && !is_over(pod_of(next).phase))
      pod_of(next).disruption = std::string(disruption);
  });
  ask_sync(pod->job);
  if (!bound || grace == Duration(0)) {
    if (pod->running) order(PodOrder::What::kKill, *pod);
    return remove_pod(serial);
  }
  if (node == nodes_.end() || !node->second.alive) return;  // stuck until its node object goes
  const Duration reaction = context_.draw(context_.settings.kubelet);
  if (!pod->ordered || is_over(object->pod().phase)) {
    context_.agenda.after(reaction, [this, serial] {
      const Pod* idle = find_pod(serial);
      if (idle == nullptr) return;
      const auto where = nodes_.find((*idle->shown)->pod().node.value());
      if (where != nodes_.end() && where->second.alive) remove_pod(serial);
    });
    return;
  }
  emit(*object, false, "Killing", "Stopping container", kKubelet);
  context_.agenda.after(std::min(reaction, grace), [this, serial] { signal_term(serial); });
  context_.agenda.after(grace, [this, serial] { signal_kill(serial); });
}

void Kube::signal_term(Serial serial) {
  const Pod* pod = find_pod(serial);
  if (pod == nullptr || is_over((*pod->shown)->pod().phase)) return;
  if (context_.settings.external_programs) return order(PodOrder::What::kTerminate, *pod);
  const ProgramPlan& plan = plan_of(**pod->shown);
  if (plan.ignores_sigterm) return;
  context_.agenda.after(plan.sigterm_takes, [this, serial] {
    const Pod* ending = find_pod(serial);
    if (ending != nullptr) program_ends(serial, plan_of(**ending->shown).sigterm_exit, "", "");
  });
}

void Kube::signal_kill(Serial serial) {
  const Pod* pod = find_pod(serial);
  if (pod == nullptr || is_over((*pod->shown)->pod().phase)) return;
  if (!(*pod->shown)->deletion_at || *(*pod->shown)->deletion_at > context_.now()) return;
  if (context_.settings.external_programs) return order(PodOrder::What::kKill, *pod);
  program_ends(serial, kKilled, "", "");
}

void Kube::release_node(Pod& pod) {
  if (!pod.holds_chips) return;
  pod.holds_chips = false;
  const auto found = nodes_.find((*pod.shown)->pod().node.value());
  if (found == nodes_.end()) return;
  Node& node = found->second;
  node.chips_used -= (*pod.shown)->pod().request->chips;
  --node.unfinished;
  if (node.unfinished == 0) {
    node.idle_since = context_.now();
    ears_.on_idle((*node.shown)->node().pool);
  }
  kick_scheduler();
}

void Kube::remove_pod(Serial serial) {
  Pod* pod = find_pod(serial);
  if (pod == nullptr) return;
  const ObjectPtr object = *pod->shown;
  release_node(*pod);
  if (const auto node = nodes_.find(object->pod().node.value()); node != nodes_.end())
    node->second.pods.erase(serial);
  const Serial owner = pod->job;
  if (const auto job = jobs_.find(owner); job != jobs_.end()) {
    count(job->second, *pod);  // the tracking finalizer: no pod goes uncounted
    if (!pod->counted) {       // podReplacementPolicy Failed, and it went without an end
      pod->counted = true;
      ++job->second.failed;
    }
    job->second.pods.erase(serial);
    ask_sync(owner);
  }
  unscheduled_.erase(serial);
  pods_.erase(serial);
  erase(Kind::kPod, Key{object->kube_namespace, object->name});
  // The garbage collector is a program of its own: whoever removed the pod may still be at the Job.
  if (const auto job = jobs_.find(owner);
      job != jobs_.end() && job->second.pods.empty() && (*job->second.shown)->foreground_deletion)
    context_.agenda.after(context_.draw(context_.settings.collect),
                          [this, owner] { collect_if_empty(owner); });
}

// PodGC: a pod whose node object is gone is marked failed, then removed by force.
void Kube::garbage_pod(Serial serial) {
  Pod* pod = find_pod(serial);
  if (pod == nullptr) return;
  if (!is_over((*pod->shown)->pod().phase))
    change(*pod->shown, [&](Object& next) {
      PodObject& body = pod_of(next);
      body.phase = PodPhase::kFailed;
      body.disruption = "DeletionByPodGC";
      body.status_message = "PodGC: node no longer exists";
      if (!next.deletion_at) next.deletion_at = context_.now();
    });
  remove_pod(serial);
}

void Kube::order(PodOrder::What what, const Pod& pod) {
  if (context_.settings.external_programs) orders_.emplace_back(what, *pod.shown);
}

void Kube::take_orders(std::vector<PodOrder>& out) {
  for (auto& [what, pod] : orders_) out.push_back(PodOrder{what, setup_.gke, std::move(pod)});
  orders_.clear();
}

void Kube::pod_started(const model::Uid& uid) {
  const Serial serial = serial_of(uid);
  Pod* pod = find_pod(serial);
  if (pod == nullptr || !pod->ordered || (*pod->shown)->pod().phase != PodPhase::kPending) return;
  const auto node = nodes_.find((*pod->shown)->pod().node.value());
  if (node == nodes_.end() || !node->second.alive) return order(PodOrder::What::kKill, *pod);
  mark_started(serial, *pod);
}

void Kube::pod_exited(const model::Uid& uid, std::int32_t exit_code, const std::string& reason,
                      const std::string& message) {
  program_ends(serial_of(uid), exit_code, reason, message);
}

const ProgramPlan& Kube::plan_of(const Object& object) const {
  static const ProgramPlan standard;
  const PodObject& pod = object.pod();
  if (pod.request->programs.empty()) return standard;
  return pod.request->programs[std::min<std::size_t>(pod.index, pod.request->programs.size() - 1)];
}

}  // namespace falcon::cloudsim
