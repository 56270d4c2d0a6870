// An attempt that ended while the job goes on: it failed and the user asked for retries, or its
// machines were lost, which is nobody's failure (M6). The row says so and counts it; then the
// Kubernetes Job and its pods are cleared away; then the job waits again at its old seniority.
#include <algorithm>

#include "core/mutant.h"
#include "core/state.h"

namespace falcon::core {
namespace {

using model::JobState;
using model::make_message;
using model::MessageCode;
using model::Reason;

// An end of the machines this close to their end date is that date's doing.
constexpr Duration kEndDateMargin{120'000};

// What a message says, as part of another one.
std::string words_of(const model::Message& message) {
  const auto& arguments = message.arguments;
  if (message.code != MessageCode::kPodTerminated) return arguments.empty() ? "" : arguments.back();
  return arguments[0] + " (exit code " + arguments[1] + ")" +
         (arguments[2].empty() ? "" : ", pod " + arguments[2]);
}

bool disrupted_pod(const PodView& pod) { return pod.disrupted && pod.reason != "OOMKilled"; }

}  // namespace

// Fewer machines than the slice has are there and heard of: the slice has fallen as a whole.
bool Core::State::machines_lost(const Pool& pool) const {
  const auto heard_of = std::ranges::count_if(
      pool.nodes, [](const auto& entry) { return !entry.second.unreachable; });
  return static_cast<std::uint32_t>(heard_of) < pool.shape->slice.hosts;
}

// A failed attempt: whose failure it is, and whether another attempt follows.
void Core::State::decide_what_follows(Job& job, Pool& pool, Verdict& verdict) {
  if (verdict.status != model::JobStatus::kFailed) return;
  Attempt& attempt = *pool.attempt;
  const auto& pods = pods_of(pool);
  const bool out_of_memory = std::ranges::any_of(
      pods, [](const auto& entry) { return entry.second.reason == "OOMKilled"; });
  const bool disrupted =
      !out_of_memory && !FALCON_MUTANT(kDisruptionIsFailure) &&
      (std::ranges::any_of(pods, [](const auto& entry) { return disrupted_pod(entry.second); }) ||
       attempt.machines_missing ||
       (pool.gke->in_sync && (pool.nodes_ready < pool.shape->slice.hosts || machines_lost(pool))));
  const std::string number = std::to_string(attempt.row.number);
  const std::string words = words_of(verdict.message);
  if (disrupted) {
    verdict.by_workload = false;  // its machines ended it, and so it is no result
    verdict.exit_code.reset();
    const bool end_date =
        pool.row.usable_until && wall() + kEndDateMargin >= *pool.row.usable_until;
    if (end_date) {
      verdict.reason = Reason::kTimeout;
      verdict.message =
          make_message(MessageCode::kMachinesEnded, {to_rfc3339(*pool.row.usable_until)});
    } else if (job.state.disruptions >= settings_.disruptions_max &&
               !FALCON_MUTANT(kDisruptForEver)) {
      verdict.reason = Reason::kDisrupted;
      verdict.message =
          make_message(MessageCode::kDisrupted, {std::to_string(job.state.disruptions + 1), words});
    } else {
      verdict.again = Verdict::Again::kDisrupted;
      verdict.again_message = make_message(
          MessageCode::kAttemptDisrupted, {number, words, std::to_string(job.state.disruptions + 1),
                                           std::to_string(settings_.disruptions_max)});
    }
  } else if (job.state.retries < job.max_retries || FALCON_MUTANT(kRetryForEver)) {
    verdict.again = Verdict::Again::kRetry;
    verdict.again_message = make_message(
        MessageCode::kAttemptFailed,
        {number, words, std::to_string(job.state.retries + 1), std::to_string(job.max_retries)});
  }
  if (verdict.again == Verdict::Again::kNo || attempt.row.ended_at) return;
  attempt.row.started_at = job.state.started_at;
  attempt.row.exit_code = verdict.exit_code;
  attempt.row.ended_at = verdict.finished_at.value_or(wall());
  put_row(attempt);
}

// A machine that nobody hears of, while its Kubernetes Job knows nothing of it and its pod seems to
// run for ever: after a grace that is a disruption. A live look comes first: it may have ended.
void Core::State::judge_machines(Job& job, Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (!attempt.row.dispatched_at || !pool.gke->in_sync) return;
  if (!machines_lost(pool)) {
    attempt.lost_since.reset();
    return;
  }
  if (!attempt.lost_since) attempt.lost_since = mono();
  if (!due(job, *attempt.lost_since + settings_.node_lost_grace)) return;
  const WorkloadLook* look = looked_since(pool, mono() - Duration(5'000));
  if (look == nullptr) return;
  if (look->workload && look->workload->verdict != WorkloadView::Verdict::kNone) {
    if (!ended_by_deletion(*look->workload)) judge_workload(job, pool, *look->workload);
    return;
  }
  Verdict verdict;
  verdict.reason = Reason::kDisrupted;
  verdict.message = make_message(
      MessageCode::kJobFailed,
      {"a machine of node pool " + pool.row.name.value() + " has not been heard of for " +
       std::to_string(
           std::chrono::duration_cast<std::chrono::seconds>(settings_.node_lost_grace).count()) +
       " s"});
  decide_what_follows(job, pool, verdict);
  job.verdict = std::make_unique<Verdict>(std::move(verdict));
}

// The row of a job that runs again: Pending, and nothing of the attempt that is over.
void Core::State::run_again(Job& job, JobState& want) const {
  const Verdict& verdict = *job.verdict;
  const Pool& pool = *job.pool;
  want.status = model::JobStatus::kPending;
  want.reason = Reason::kWaiting;
  want.message = verdict.again_message;
  want.cluster = {};  // it is in no queue before the attempt is cleared away
  want.node_pool_name = {};
  if (pool.row.owner == job.id) want.provision = std::max(want.provision, pool.row.provision);
  want.attempt = std::max(want.attempt, pool.attempt->row.number);
  want.job_uid = pool.attempt->row.uid;
  want.attempts_over = pool.attempt->row.number;
  if (verdict.again == Verdict::Again::kRetry) ++want.retries;
  if (verdict.again == Verdict::Again::kDisrupted) ++want.disruptions;
  want.dispatched_at.reset();
  want.started_at.reset();
  want.finished_at.reset();
  want.exit_code.reset();
}

}  // namespace falcon::core
