// What the cloud does to the nodes of a cluster, and what Kubernetes makes of it.
#include <utility>

#include "base/check.h"
#include "cloudsim/kube.h"

namespace falcon::cloudsim {
namespace {

NodeObject& node_of(Object& object) { return std::get<NodeObject>(object.body); }

bool is_over(PodPhase phase) { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }

}  // namespace

void Kube::add_node(const model::NodeName& name, NodeObject body,
                    std::shared_ptr<const Labels> labels) {
  Object object;
  object.kind = Kind::kNode;
  object.name = name.value();
  object.labels = std::move(labels);
  const std::string pool = body.pool.value();
  object.body = std::move(body);
  Node& node = nodes_[name.value()];
  node.idle_since = context_.now();
  node.shown = add(context_.next_serial(), std::move(object));
  nodes_by_pool_[pool].insert(name.value());
}

void Kube::set_ready(const model::NodeName& name) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end() || !found->second.alive) return;
  Node& node = found->second;
  node.idle_since = context_.now();
  change(*node.shown, [&](Object& next) {
    node_of(next).ready = Readiness::kTrue;
    node_of(next).ready_since = context_.now();
  });
  kick_scheduler();
  ears_.on_idle((*node.shown)->node().pool);
}

void Kube::cordon(const model::NodeName& name, bool terminating) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end()) return;
  change(*found->second.shown, [&](Object& next) {
    node_of(next).cordoned = true;
    node_of(next).terminating = terminating;
  });
}

void Kube::announce_maintenance(const model::NodeName& name, MonoTime at) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end()) return;
  change(*found->second.shown, [&](Object& next) { node_of(next).maintenance_at = at; });
}

void Kube::evict_pods(const model::NodeName& name) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end()) return;
  const std::vector<Serial> pods(found->second.pods.begin(), found->second.pods.end());
  for (const Serial serial : pods) {
    const Object& object = **pods_.at(serial).shown;
    if (!is_over(object.pod().phase))
      terminate_pod(serial, object.pod().request->grace, "EvictionByEvictionAPI");
  }
}

void Kube::lose_machine(const model::NodeName& name) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end() || !found->second.alive) return;
  found->second.alive = false;
  for (const Serial serial : found->second.pods) {
    Pod& pod = pods_.at(serial);
    if (pod.ordered && !is_over((*pod.shown)->pod().phase)) order(PodOrder::What::kKill, pod);
    if (pod.running) lose_peer(pod);
    pod.running = false;
  }
  const model::Uid uid = (*found->second.shown)->uid;
  const WorldSettings& settings = context_.settings;
  context_.agenda.after(settings.node_silence, [this, name, uid] {
    const auto node = nodes_.find(name.value());
    if (node == nodes_.end() || (*node->second.shown)->uid != uid) return;
    emit(**node->second.shown, false, "NodeNotReady", "Node status is now: NodeNotReady",
         "node-controller");
    change(*node->second.shown, [&](Object& next) {
      node_of(next).ready = Readiness::kUnknown;
      node_of(next).ready_since = context_.now();
    });
    for (const Serial serial : node->second.pods) ask_sync(pods_.at(serial).job);
  });
  context_.agenda.after(settings.node_silence + settings.unreachable_toleration, [this, name, uid] {
    const auto node = nodes_.find(name.value());
    if (node == nodes_.end() || (*node->second.shown)->uid != uid) return;
    const std::vector<Serial> pods(node->second.pods.begin(), node->second.pods.end());
    for (const Serial serial : pods)
      terminate_pod(serial, (*pods_.at(serial).shown)->pod().request->grace,
                    "DeletionByTaintManager");
  });
}

void Kube::lose_peer(const Pod& lost) {
  for (const auto& [serial, pod] : pods_) {
    if (pod.job != lost.job || &pod == &lost || !plan_of(**pod.shown).needs_peers) continue;
    context_.agenda.after(context_.draw(context_.settings.peer_lost),
                          [this, peer = serial] { program_ends(peer, kPeerLost, "", ""); });
  }
}

void Kube::remove_node(const model::NodeName& name) {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end()) return;
  Node& node = found->second;
  std::vector<Serial> pods(node.pods.begin(), node.pods.end());
  for (const Serial serial : pods) {
    Pod& pod = pods_.at(serial);
    if (node.alive && pod.ordered && !is_over((*pod.shown)->pod().phase))
      order(PodOrder::What::kKill, pod);
    pod.running = false;
    pod.holds_chips = false;
  }
  const std::string pool = (*node.shown)->node().pool.value();
  nodes_by_pool_[pool].erase(name.value());
  if (nodes_by_pool_[pool].empty()) nodes_by_pool_.erase(pool);
  nodes_.erase(found);
  erase(Kind::kNode, Key{"", name.value()});
  if (pods.empty()) return;
  context_.agenda.after(context_.draw(context_.settings.pod_gc), [this, pods = std::move(pods)] {
    for (const Serial serial : pods) garbage_pod(serial);
  });
}

std::optional<MonoTime> Kube::idle_since(const model::NodeName& name) const {
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end() || found->second.unfinished > 0) return std::nullopt;
  return found->second.idle_since;
}

Duration Kube::longest_grace(const model::NodeName& name) const {
  Duration longest{0};
  const auto found = nodes_.find(name.value());
  if (found == nodes_.end()) return longest;
  for (const Serial serial : found->second.pods)
    longest = std::max(longest, (*pods_.at(serial).shown)->pod().request->grace);
  return longest;
}

}  // namespace falcon::cloudsim
