#include <cstdlib>

#include "words/catalog.h"

namespace falcon::words {
namespace {

using model::MessageCode;

std::string_view message_en(MessageCode code) {
  switch (code) {
    case MessageCode::kNone:
      return "";
    case MessageCode::kQueued:
      return "Queued, its place is being worked out...";
    case MessageCode::kQueuePosition:
      return "Position #{position} in the queue, {ahead} ahead[ ({names})]";
    case MessageCode::kNoCluster:
      return "No active cluster offers {tpu_type}, waiting for one...";
    case MessageCode::kClusterUnavailable:
      return "Cluster {cluster} is not available ({status}), waiting for it...";
    case MessageCode::kCreatingPool:
      return "Creating the node pool (supply: {supply})...";
    case MessageCode::kReservationBusy:
      return "reservation_remaining_slices={remaining_slices} "
             "reservation_needed_slices={needed_slices}, waiting for the reservation to free up...";
    case MessageCode::kReservationUnknown:
      return "The usage of reservation {reservation} can't be read now, trying again[: {words}]";
    case MessageCode::kOutOfCapacity:
      return "The cloud has no capacity now, trying again at {retry_at}[: {words}]";
    case MessageCode::kCloudBusy:
      return "Cluster {cluster} is busy, trying again[: {words}]";
    case MessageCode::kGaveWay:
      return "Node pool {pool} had not all its machines after {minutes} min and made room for job "
             "{job}, trying again by {retry_at}";
    case MessageCode::kWaitingForNodes:
      return "node pool {pool} control-plane RUNNING but {registered}/{expected} expected node(s) "
             "registered (Ready={ready})...";
    case MessageCode::kDispatching:
      return "The node pool is ready, submitting the Kubernetes Job...";
    case MessageCode::kPodsStarting:
      return "Pods are starting ({started}/{expected} started)[: {words}]";
    case MessageCode::kRunning:
      return "Pods are running ({active}/{expected} active)";
    case MessageCode::kWaitTimeout:
      return "Had no machines after waiting {max_wait_seconds}s[: {words}]";
    case MessageCode::kPoolTimeout:
      return "Creating the node pool timed out ({limit_minutes}m)[: {words}]";
    case MessageCode::kPoolFailed:
      return "Creating the node pool failed[: {words}]";
    case MessageCode::kSubmitFailed:
      return "The Kubernetes Job was refused[: {words}]";
    case MessageCode::kPodTerminated:
      return "Pod terminated: {container_reason}[ (exit code {exit_code})][ (pod {pod})]";
    case MessageCode::kJobFailed:
      return "The job failed[: {words}]";
    case MessageCode::kStartTimeout:
      return "Pods did not start in time ({limit_minutes}m)[: {words}]";
    case MessageCode::kTimeout:
      return "Timed out ({timeout_seconds}s), the Job was cancelled";
    case MessageCode::kInvalidSpec:
      return "The job's definition is not valid[: {words}]";
    case MessageCode::kAttemptFailed:
      return "Attempt {attempt} failed[: {words}]; running again (retry {retry} of {max_retries})";
    case MessageCode::kAttemptDisrupted:
      return "Attempt {attempt} lost its machines[: {words}]; running again (disruption "
             "{disruption}, at most {limit})";
    case MessageCode::kDisrupted:
      return "Lost its machines {disruptions} times, given up[: {words}]";
    case MessageCode::kMachinesEnded:
      return "The machines reached their end date ({usable_until}), the Job was cut off";
    case MessageCode::kAborting:
      return "Aborting, waiting for the Kubernetes Job and the node pool to go...";
    case MessageCode::kAborted:
      return "Aborted by the user";
  }
  std::abort();
}

}  // namespace

const Catalog& catalog_en() {
  static constexpr Catalog kCatalog{message_en, "cleaning up the node pool failed[: {error}]",
                                    "… and {rest} more"};
  return kCatalog;
}

}  // namespace falcon::words
