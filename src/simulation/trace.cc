#include "simulation/trace.h"

#include <fmt/format.h>

namespace falcon::simulation {
namespace {

constexpr std::string_view kCommandNames[] = {
    "write-job",        "read-job",        "write-state",     "publish-queue",
    "create-pool",      "delete-pool",     "list-pools",      "read-operation",
    "read-reservation", "create-workload", "delete-workload", "look-at-workload"};

constexpr std::string_view kEventNames[] = {"state-loaded",
                                            "cluster",
                                            "cluster-vanished",
                                            "clusters-listed",
                                            "job",
                                            "job-vanished",
                                            "job-unreadable",
                                            "jobs-listed",
                                            "kubernetes-synced",
                                            "node",
                                            "node-vanished",
                                            "workload",
                                            "workload-vanished",
                                            "pod",
                                            "pod-vanished",
                                            "clock",
                                            "tick",
                                            "done"};

}  // namespace

std::string_view name_of(const core::Command& command) {
  return kCommandNames[command.body.index()];
}
std::string_view name_of(const core::Event& event) { return kEventNames[event.index()]; }

// What a call is about, for counting and for the trace.
std::string object_of(const core::CommandBody& body) {
  struct Name {
    std::string operator()(const core::WriteJob& c) const { return c.job.value(); }
    std::string operator()(const core::ReadJob& c) const { return c.job.value(); }
    std::string operator()(const core::WriteState&) const { return "state"; }
    std::string operator()(const core::PublishQueue& c) const {
      return c.queue.cluster.value() + " " + to_string(c.queue.shape);
    }
    std::string operator()(const core::CreatePool& c) const { return c.row.name.value(); }
    std::string operator()(const core::DeletePool& c) const { return c.name.value(); }
    std::string operator()(const core::ListPools& c) const { return c.gke.name; }
    std::string operator()(const core::ReadOperation& c) const { return c.operation.value(); }
    std::string operator()(const core::ReadReservation& c) const { return c.reservation.name; }
    std::string operator()(const core::CreateWorkload& c) const { return c.name.value(); }
    std::string operator()(const core::DeleteWorkload& c) const { return c.name.value(); }
    std::string operator()(const core::LookAtWorkload& c) const { return c.name.value(); }
  };
  return std::visit(Name{}, body);
}

std::string describe(const core::Event& event) {
  struct Words {
    std::string operator()(const core::StateLoaded& e) const {
      return fmt::format("{} pools, {} open attempts", e.pools.size(), e.attempts.size());
    }
    std::string operator()(const core::ClusterObserved& e) const {
      return e.row.name + " " + std::string(to_string(e.row.status));
    }
    std::string operator()(const core::ClusterVanished& e) const { return e.id.value(); }
    std::string operator()(const core::ClustersListed&) const { return {}; }
    std::string operator()(const core::JobObserved& e) const {
      return fmt::format("{} v{} {} {}", e.row.id, e.row.version, to_string(e.row.state.status),
                         to_string(e.row.state.reason));
    }
    std::string operator()(const core::JobVanished& e) const { return e.id.value(); }
    std::string operator()(const core::JobUnreadable& e) const { return e.id.value(); }
    std::string operator()(const core::JobsListed&) const { return {}; }
    std::string operator()(const core::KubernetesSynced& e) const {
      return e.gke.name + (e.in_sync ? " in sync" : " lost");
    }
    std::string operator()(const core::NodeSeen& e) const {
      return fmt::format("{} of {}{}", e.node.name, e.node.pool,
                         e.node.ready         ? " Ready"
                         : e.node.unreachable ? " unreachable"
                                              : "");
    }
    std::string operator()(const core::NodeVanished& e) const { return e.name.value(); }
    std::string operator()(const core::WorkloadSeen& e) const {
      return fmt::format("{} of {}{}{}", e.workload.name, e.workload.job,
                         e.workload.deleting ? " deleting" : "",
                         e.workload.verdict == core::WorkloadView::Verdict::kNone ? "" : " ended");
    }
    std::string operator()(const core::WorkloadVanished& e) const { return e.name.value(); }
    std::string operator()(const core::PodSeen& e) const {
      return fmt::format("{} phase {}{}", e.pod.name, static_cast<int>(e.pod.phase),
                         e.pod.deleting ? " deleting" : "");
    }
    std::string operator()(const core::PodVanished& e) const { return e.name.value(); }
    std::string operator()(const core::ClockCompared&) const { return {}; }
    std::string operator()(const core::Tick&) const { return {}; }
    std::string operator()(const core::CommandDone& e) const {
      if (e.error)
        return fmt::format("#{} {}: {}", e.command, to_string(e.error->kind), e.error->what);
      const auto* look = std::get_if<core::WorkloadLook>(&e.payload);
      if (look == nullptr) return fmt::format("#{} ok", e.command);
      return fmt::format("#{} ok: {} Job, {} pods, {} not ended, {} machines Ready", e.command,
                         look->workload ? "a" : "no", look->pods, look->pods_left,
                         look->machines_ready);
    }
  };
  return std::visit(Words{}, event);
}

std::string describe(const core::Command& command) {
  std::string text = fmt::format("#{} {}", command.id, object_of(command.body));
  if (const auto* write = std::get_if<core::WriteJob>(&command.body))
    text += fmt::format(" v{} {} {} {} cleanup={}", write->version, to_string(write->state.status),
                        to_string(write->state.reason), to_string(write->state.message.code),
                        to_string(write->state.cleanup));
  if (const auto* write = std::get_if<core::WriteState>(&command.body))
    for (const core::StateChange& change : write->changes) {
      if (const auto* pool = std::get_if<core::PutPool>(&change))
        text += fmt::format(" [pool {} {} serves {}/{}]", pool->row.name,
                            to_string(pool->row.phase), pool->row.serves, pool->row.serves_attempt);
      if (const auto* pool = std::get_if<core::RemovePool>(&change))
        text += fmt::format(" [remove {}]", pool->name);
      if (const auto* turn = std::get_if<core::PutTurn>(&change))
        text += fmt::format(" [turn {} of {}]", turn->row.turn, turn->row.actor);
    }
  return text;
}

}  // namespace falcon::simulation
