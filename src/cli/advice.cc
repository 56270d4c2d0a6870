#include "cli/advice.h"

#include <fmt/format.h>

#include <cstdlib>

#include "model/names.h"

namespace falcon::cli {
namespace {

using model::JobStatus;
using model::Reason;

std::string for_pending(const model::JobRow& job) {
  switch (job.state.reason) {
    case Reason::kNone:
    case Reason::kWaiting:
      return "it waits for its turn; who is in front: falcon get queues";
    case Reason::kProvisioning:
      return "its node pool is being made, which takes minutes on Google Cloud: falcon get pools";
    case Reason::kClusterBusy:
      return "it is tried again by itself; to have it sooner free the capacity, or abort it and "
             "submit it with another supply_mode or topology";
    case Reason::kWaitingForNode:
      return "its machines are starting; if their number stays the same for long, look at the "
             "pool: "
             "falcon get pools";
    case Reason::kDispatching:
      return "its pods are starting (image, volumes)";
    case Reason::kNodePoolTimeout:
    case Reason::kNodePoolFailed:
    case Reason::kJobSubmitFailed:
    case Reason::kJobFailed:
    case Reason::kTimeout:
    case Reason::kInvalidSpec:
    case Reason::kDisrupted:
    case Reason::kWaitTimeout:
      return "follow it: falcon wait " + job.name;
  }
  std::abort();
}

std::string for_failed(const model::JobRow& job) {
  switch (job.state.reason) {
    case Reason::kNodePoolTimeout:
      return "the cloud did not bring the machines in time: submit it again later, or with another "
             "supply_mode";
    case Reason::kNodePoolFailed:
      return "the cloud refused the node pool in the words above: a quota or a reservation that an "
             "administrator has to put right";
    case Reason::kJobSubmitFailed:
      return "Kubernetes refused the Job in the words above: correct the job, or the cluster's "
             "policy";
    case Reason::kJobFailed:
      return fmt::format("the program or its start failed; its last words: falcon logs {}",
                         job.name);
    case Reason::kTimeout:
      return fmt::format(
          "it ran longer than its {} s: raise spec.timeout_seconds, or let it "
          "continue from a checkpoint",
          job.spec.timeout_seconds);
    case Reason::kDisrupted:
      return "its machines were lost again and again: look at the cluster's maintenance and "
             "reservation, then submit it again";
    case Reason::kWaitTimeout:
      return fmt::format(
          "it had no machines within its {} s: submit it again with a longer "
          "spec.max_wait_seconds, another supply_mode or topology",
          job.spec.max_wait_seconds);
    case Reason::kInvalidSpec:
      return "correct what the message names and submit it again";
    case Reason::kNone:
    case Reason::kWaiting:
    case Reason::kProvisioning:
    case Reason::kClusterBusy:
    case Reason::kWaitingForNode:
    case Reason::kDispatching:
      return fmt::format("its history may tell more: falcon events {}", job.name);
  }
  std::abort();
}

}  // namespace

std::vector<std::string> advice_for(const model::JobRow& job) {
  switch (job.state.status) {
    case JobStatus::kPending:
      return {for_pending(job), fmt::format("to give it up: falcon abort {}", job.name)};
    case JobStatus::kRunning:
      return {fmt::format("watch it: falcon logs -f {}", job.name),
              fmt::format("wait for its end: falcon wait {}", job.name)};
    case JobStatus::kSucceeded:
      return {fmt::format("what it printed: falcon logs {}", job.name)};
    case JobStatus::kFailed:
      return {for_failed(job)};
    case JobStatus::kAborting:
      return {"its pods get the termination grace to end; nothing needs to be done"};
    case JobStatus::kAborted:
      return {"submit it again when it is wanted"};
  }
  std::abort();
}

std::vector<std::string> advice_for(const model::ClusterRow& cluster,
                                    const std::optional<model::ClusterCondition>& condition) {
  if (!condition) return {};
  switch (condition->health) {
    case model::ClusterHealth::kReachable:
      return {};
    case model::ClusterHealth::kNotFound:
      return {fmt::format("Google knows no such cluster; what there is: gcloud container clusters "
                          "list --project {}",
                          cluster.project),
              fmt::format("if its row is wrong: falcon cluster remove {}, then falcon cluster add",
                          cluster.name)};
    case model::ClusterHealth::kDenied:
      return {
          fmt::format("give Falcon's account roles/container.clusterAdmin and "
                      "roles/container.developer in project {}, or correct the row",
                      cluster.project)};
    case model::ClusterHealth::kUnreachable:
      return {"Falcon tries again by itself; nothing new begins there meanwhile"};
  }
  std::abort();
}

std::vector<std::string> kubectl_lines(const model::JobRow& job, const model::ClusterRow& cluster) {
  return {fmt::format("gcloud container clusters get-credentials {} --location {} --project {}",
                      cluster.name, cluster.location, cluster.project),
          fmt::format("kubectl -n {} get jobs,pods -l {}={}", cluster.kubernetes_namespace,
                      model::kJobLabel, job.id)};
}

}  // namespace falcon::cli
