// What a job's row should say (decision 9), and how its end is judged.
//
// Nothing here acts on the cloud. A terminal status is written first; pools and Kubernetes Jobs are
// cleaned up when that write is durable (they look at the row's state, never at the intention).
#include <algorithm>

#include "base/check.h"
#include "core/state.h"
#include "model/names.h"

namespace falcon::core {
namespace {

using model::Cleanup;
using model::JobState;
using model::JobStatus;
using model::make_message;
using model::MessageCode;
using model::PoolPhase;
using model::Reason;
using model::SupplyMode;

// How long a failed Job's pods may take to show up before its condition alone must do.
constexpr Duration kPodNewsGrace{10'000};
// How long a failed Job's other pods may take to end: their kubelets take them away at once, but
// that of a lost machine, of which the cluster knows after 50 s (node-monitor-grace-period; 40 s
// before Kubernetes 1.32).
constexpr Duration kMachineNewsGrace{60'000};
// How old a live look at a Kubernetes Job may be that the lists do not show.
constexpr Duration kUnlistedLookAge{60'000};

// Want of memory comes first: times have whole seconds, and the others soon fail for it.
bool to_blame_before(const PodView& pod, const PodView& other) {
  const bool memory = pod.reason == "OOMKilled";
  if (memory != (other.reason == "OOMKilled")) return memory;
  return pod.finished_at && other.finished_at && *pod.finished_at < *other.finished_at;
}

}  // namespace

std::unique_ptr<Verdict> failed(model::Reason reason, model::Message message) {
  auto verdict = std::make_unique<Verdict>();
  verdict->status = JobStatus::kFailed;
  verdict->reason = reason;
  verdict->message = std::move(message);
  return verdict;
}

void Core::State::reconcile_job(Job& job) {
  if (job.doomed) return;
  const bool runs = job.state.status == JobStatus::kRunning && !FALCON_MUTANT(kSlotNever);
  const bool went_back = !job.acquiring && job.state.reason == Reason::kWaiting && job.write == 0;
  const bool over = job.pool != nullptr && attempt_over(*job.pool);
  if (runs || went_back || over) release_slot(job);
  if (went_back) job.waits_again = false;
  want_ = job.state;
  reach_wanted_state(job, want_);
  propose(job, want_);
  if (model::is_terminal(job.state.status) && job.write == 0 && job.read == 0 && !job.must_read &&
      job.pool == nullptr && job.state.cleanup != Cleanup::kPending &&
      job.state.cleanup != Cleanup::kFailed)
    doom(job);
}

void Core::State::reach_wanted_state(Job& job, JobState& want) {
  // A provision that was intended is shown, whatever became of its pool: no name is used again.
  const auto made = pools_by_job_.find(job.id);
  if (made != pools_by_job_.end() && !model::is_terminal(job.state.status))
    for (const Pool* pool : made->second)
      if (pool->row.owner == job.id) want.provision = std::max(want.provision, pool->row.provision);
  if (model::is_terminal(job.state.status)) {
    settle_terminal(job, want);
    return;
  }
  if (job.invalid) {
    job.verdict =
        failed(Reason::kInvalidSpec, make_message(MessageCode::kInvalidSpec, {*job.invalid}));
    apply_verdict(job, want);
    return;
  }
  const bool over = job.pool != nullptr && attempt_over(*job.pool);
  if (over && job.verdict && job.verdict->again != Verdict::Again::kNo) {
    job.verdict.reset();  // the row says it
    mark(job.pool);
  }
  if (job.pool != nullptr && job.pool->attempt && !over) judge_attempt(job, *job.pool);
  if (job.state.status == JobStatus::kAborting) {
    settle_aborting(job, want);
    return;
  }
  hold_on(job);
  judge_wait(job);
  if (job.verdict && job.verdict->again != Verdict::Again::kNo) {
    run_again(job, want);
    return;
  }
  if (job.verdict) {
    apply_verdict(job, want);
    return;
  }
  if (over) return;  // its row says why it runs again, until the last attempt is cleared away
  if (!job.acquiring && job.pool == nullptr) {
    describe_waiting(job, want);
    return;
  }
  if (job.queue == nullptr) return;  // its cluster's row is gone; only the attempt decides
  describe_acquiring(job, want);
}

// A row that says it was acquiring when nobody remembers a pool: it goes on where it was, with the
// slot, which it gives up when its row says so.
void Core::State::hold_on(Job& job) {
  if (job.acquiring || job.pool != nullptr || job.queue != nullptr || job.waits_again) return;
  if (!row_holds_slot(job)) return;
  const auto cluster = clusters_.find(job.state.cluster);
  if (cluster == clusters_.end() || !offers(*cluster->second, job)) return;
  job.queue = &queue_of(*cluster->second, *job.shape);
  job.acquiring = true;
  take_slot(job, *job.queue);
}

// Its own limit on how long it may have no machines, from its submission on; time goes on while
// Falcon is away. Of a pool that was accepted only complete lists can say that its machines are not
// there.
void Core::State::judge_wait(Job& job) {
  if (job.max_wait_seconds == 0 || job.verdict || job.state.status != JobStatus::kPending) return;
  if (job.state.attempts_over > 0 || !clock_trusted_) return;
  if (job.pool != nullptr && job.pool->row.phase != PoolPhase::kIntended) {
    const Pool& pool = *job.pool;
    if (pool.row.phase == PoolPhase::kReady || !pool.gke->in_sync) return;
    if (pool.nodes_ready >= pool.shape->slice.hosts) return;
    if (pool.attempt && pool.attempt->row.dispatched_at) return;
  }
  const WallTime begun = FALCON_MUTANT(kWaitIsRunTime) ? WallTime{} : job.waiting.created_at;
  const WallTime limit = begun + std::chrono::seconds(job.max_wait_seconds);
  if (wall() < limit) {
    wake(job, mono() + (limit - wall()));
    return;
  }
  job.verdict = failed(
      Reason::kWaitTimeout,
      make_message(MessageCode::kWaitTimeout, {std::to_string(job.max_wait_seconds),
                                               job.backoff ? job.backoff->words : std::string()}));
}

// By what its durable row shows: it acquires, and not by way of an idle pool, which needs no slot.
bool Core::State::row_holds_slot(const Job& job) const {
  const Reason reason = job.state.reason;
  const bool acquires = reason == Reason::kProvisioning || reason == Reason::kClusterBusy ||
                        reason == Reason::kWaitingForNode || reason == Reason::kDispatching;
  if (!acquires || job.state.status != JobStatus::kPending) return false;
  const model::PoolName& name = job.state.node_pool_name;
  const auto pool = pools_.find(name);
  if (pool != pools_.end() && pool->second->row.kept) return false;
  return name.empty() ||
         name == model::pool_name(settings_.installation, job.id, job.state.provision);
}

void Core::State::describe_waiting(Job& job, JobState& want) {
  if (job.queue != nullptr && (job.queue->cluster == nullptr || !offers(*job.queue->cluster, job)))
    leave_queue(job);
  if (job.queue == nullptr) {
    // After a restart it goes on waiting where its row says.
    const auto before = clusters_.find(job.state.cluster);
    if (before != clusters_.end() && offers(*before->second, job)) {
      unplaced_.erase(&job);
      enter_queue(job, queue_of(*before->second, *job.shape));
    } else {
      place(job);
    }
  }
  want.status = JobStatus::kPending;
  want.reason = Reason::kWaiting;
  want.node_pool_name = {};
  if (job.queue == nullptr) {
    want.cluster = {};
    want.message = make_message(MessageCode::kNoCluster, {job.shape->shape.type});
    return;
  }
  want.cluster = job.queue->key.cluster;
  want.message = make_message(MessageCode::kQueued);
  if (!job.gave_way.empty() && !job.queue->held_for.empty()) {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(settings_.give_way_after);
    const WallTime retry_at = wall() + (job.queue->held_until - mono());
    want.message = make_message(
        MessageCode::kGaveWay,
        {model::pool_name(settings_.installation, job.id, job.state.provision).value(),
         std::to_string(minutes.count()), job.queue->held_for.value(), to_rfc3339(retry_at)});
    if (job.state.message.code == MessageCode::kGaveWay) want.message = job.state.message;
  }
}

void Core::State::describe_acquiring(Job& job, JobState& want) {
  FALCON_CHECK(job.queue != nullptr);
  want.status = JobStatus::kPending;
  want.cluster = job.queue->key.cluster;
  if (job.pool == nullptr) {
    ClusterRecord* cluster = job.queue->cluster;
    if (cluster == nullptr || !offers(*cluster, job)) {
      requeue(job);
      describe_waiting(job, want);
      return;
    }
    want.node_pool_name = {};
    seek_pool(job);
    if (job.pool == nullptr) {
      want.reason = Reason::kClusterBusy;
      const ReservationRecord* reservation =
          cluster->reservation.empty() ? nullptr : &reservation_of(cluster->reservation);
      if (job.backoff && job.backoff->not_before > wall()) {
        want.message = make_message(MessageCode::kOutOfCapacity,
                                    {job.backoff->words, to_rfc3339(job.backoff->not_before)});
      } else if (supply_for(*cluster, job) == SupplyMode::kReservation && reservation != nullptr) {
        const auto free = free_units(*reservation);
        const std::int64_t per_host =
            reservation->view && reservation->view->unit == ReservationView::Unit::kChips
                ? job.shape->slice.chips_per_host
                : 1;
        if (free)
          want.message = make_message(MessageCode::kReservationBusy,
                                      {std::to_string(std::max<std::int64_t>(*free, 0) / per_host),
                                       std::to_string(job.shape->slice.hosts)});
        else
          want.message = make_message(
              MessageCode::kReservationUnknown,
              {reservation->key.name, reservation->error ? reservation->error->what : ""});
      } else {
        want.reason = Reason::kProvisioning;
        want.message = make_message(MessageCode::kCreatingPool,
                                    {std::string(to_string(supply_for(*cluster, job)))});
      }
      return;
    }
  }
  Pool& pool = *job.pool;
  want.cluster = pool.row.cluster;
  want.node_pool_name = pool.row.name;
  if (pool.row.owner == job.id) want.provision = std::max(want.provision, pool.row.provision);
  if (pool.attempt) {
    describe_attempt(job, pool, want);
    return;
  }
  const bool running = pool.seen && (pool.seen->status == PoolStatus::kRunning ||
                                     pool.seen->status == PoolStatus::kRunningWithError ||
                                     pool.seen->status == PoolStatus::kReconciling);
  if (pool.row.phase == PoolPhase::kReady) {
    want.reason = Reason::kDispatching;
    want.message = make_message(MessageCode::kDispatching);
  } else if (pool.row.phase == PoolPhase::kAccepted && running) {
    want.reason = Reason::kWaitingForNode;
    want.message =
        make_message(MessageCode::kWaitingForNodes,
                     {pool.row.name.value(), std::to_string(pool.nodes.size()),
                      std::to_string(pool.shape->slice.hosts), std::to_string(pool.nodes_ready)});
  } else {
    want.reason = Reason::kProvisioning;
    want.message =
        make_message(MessageCode::kCreatingPool, {std::string(to_string(pool.row.supply))});
    if (pool.gke->calls.not_before > mono() && !pool.row.last_error.empty())
      want.message =
          make_message(MessageCode::kCloudBusy, {pool.gke->key.name, pool.row.last_error});
  }
}

void Core::State::describe_attempt(Job& job, Pool& pool, JobState& want) {
  const Attempt& attempt = *pool.attempt;
  want.attempt = std::max(want.attempt, attempt.row.number);
  want.job_uid = attempt.row.uid;
  want.dispatched_at = attempt.row.dispatched_at;
  std::uint32_t started = 0;
  std::string words;
  for (const auto& [name, pod] : pods_of(pool)) {
    if (pod.phase != PodView::Phase::kPending) ++started;
    if (pod.phase == PodView::Phase::kPending && !pod.waiting.empty()) words = pod.waiting;
  }
  const std::uint32_t hosts = pool.shape->slice.hosts;
  if (job.state.status == JobStatus::kRunning || (attempt.row.dispatched_at && started >= hosts)) {
    want.status = JobStatus::kRunning;
    want.reason = Reason::kNone;
    if (!want.started_at) want.started_at = std::max(wall(), *want.dispatched_at);
    want.message = make_message(MessageCode::kRunning,
                                {std::to_string(std::max(started, 1U)), std::to_string(hosts)});
    return;
  }
  want.reason = Reason::kDispatching;
  if (attempt.create != Attempt::Create::kCreated) {
    want.message = make_message(MessageCode::kDispatching);
  } else if (!attempt.row.dispatched_at) {
    want.reason = Reason::kWaitingForNode;
    want.message = make_message(MessageCode::kWaitingForNodes,
                                {pool.row.name.value(), std::to_string(pool.nodes.size()),
                                 std::to_string(hosts), std::to_string(pool.nodes_ready)});
  } else {
    want.message = make_message(MessageCode::kPodsStarting,
                                {std::to_string(started), std::to_string(hosts), words});
  }
}

// The verdict came of the Job's deletion, ours or a person's: it says nothing of the program.
bool Core::State::ended_by_deletion(const WorkloadView& workload) const {
  if (!workload.deleting) return false;
  if (!workload.finished_at || !workload.deletion_at) return true;
  // Kubernetes writes whole seconds. Within one, a failure is the deletion's: pods that are killed
  // fail; a success is the program's own.
  return *workload.finished_at > *workload.deletion_at ||
         (*workload.finished_at == *workload.deletion_at &&
          workload.verdict == WorkloadView::Verdict::kFailed);
}

// Only facts about the Job, its pods and its own limits end an attempt; not being able to look
// changes nothing.
void Core::State::judge_attempt(Job& job, Pool& pool) {
  if (job.verdict) return;
  Attempt& attempt = *pool.attempt;
  if (attempt.create == Attempt::Create::kRefused) return;  // judged where it was refused
  const WorkloadView* workload = workload_of(pool);
  if (workload != nullptr && workload->verdict != WorkloadView::Verdict::kNone) {
    if (!ended_by_deletion(*workload) && !(FALCON_MUTANT(kAbortOverResult) && job.aborting_at)) {
      judge_workload(job, pool, *workload);
      return;
    }
  }
  if (job.state.status == JobStatus::kAborting) return;
  judge_limits(job, pool);
}

void Core::State::judge_workload(Job& job, Pool& pool, const WorkloadView& workload) {
  Attempt& attempt = *pool.attempt;
  const PodView* culprit = nullptr;
  for (const auto& [name, pod] : pods_of(pool)) {
    const bool bad = pod.phase == PodView::Phase::kFailed || pod.reason == "OOMKilled";
    if (bad && (culprit == nullptr || to_blame_before(pod, *culprit))) culprit = &pod;
  }
  Verdict verdict;
  verdict.by_workload = true;
  verdict.finished_at = workload.finished_at;
  if (workload.verdict == WorkloadView::Verdict::kSucceeded && culprit == nullptr) {
    verdict.status = JobStatus::kSucceeded;
    verdict.message = make_message(MessageCode::kNone);
    verdict.exit_code = 0;
  } else {
    // Whose failure it is only all of its pods and machines can say.
    if (!pool.gke->in_sync) return;
    // The pods say more than the Job's condition; their news may come a little later.
    if (!attempt.verdict_since) attempt.verdict_since = mono();
    if (culprit == nullptr && !due(job, *attempt.verdict_since + kPodNewsGrace)) return;
    // It may have failed for want of a pod whose machine is lost, which nobody knows yet.
    if (!peers_known(job, pool)) return;
    verdict.status = JobStatus::kFailed;
    verdict.reason = Reason::kJobFailed;
    if (culprit != nullptr && culprit->exit_code) {
      verdict.exit_code = culprit->exit_code;
      verdict.message = make_message(
          MessageCode::kPodTerminated,
          {culprit->reason.empty() ? "Error" : culprit->reason, std::to_string(*culprit->exit_code),
           pool.shape->slice.multi_host() ? culprit->name.value() : std::string()});
    } else {
      std::string words = workload.words;
      if (culprit != nullptr && !(culprit->reason + culprit->words).empty())
        words = culprit->reason + (culprit->words.empty() ? "" : ": " + culprit->words);
      if (words.empty()) words = "the Kubernetes Job failed and gave no reason";
      verdict.message = make_message(MessageCode::kJobFailed, {words});
    }
  }
  decide_what_follows(job, pool, verdict);
  job.verdict = std::make_unique<Verdict>(std::move(verdict));
}

// Of a slice's failed Kubernetes Job: true when its other pods have ended, or when the cluster
// knows what became of their machines. Looked live, since a watch may have missed it.
bool Core::State::peers_known(Job& job, Pool& pool) {
  if (!pool.shape->slice.multi_host() || machines_lost(pool) || FALCON_MUTANT(kPeersBlameless))
    return true;
  for (const auto& [name, pod] : pods_of(pool))
    if (pod.disrupted || pod.reason == "OOMKilled") return true;
  Attempt& attempt = *pool.attempt;
  const MonoTime known = *attempt.verdict_since + kMachineNewsGrace;
  const bool late = mono() >= known;
  const WorkloadLook* look = looked_since(pool, late ? known : *attempt.verdict_since);
  if (look == nullptr) return false;
  attempt.machines_missing = look->machines_ready < pool.shape->slice.hosts;
  // Without a grace period pods vanish at once, and no kubelet needs to live for it.
  const bool ended = look->pods_left == 0 && job.grace_seconds > 0;
  if (attempt.machines_missing || ended || late) return true;
  wake(job, known);
  look_again(pool);
  return false;
}

void Core::State::judge_limits(Job& job, Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (attempt.create != Attempt::Create::kCreated || attempt.remove_since) return;
  // The lists do not show it: deleted by somebody else, if a live look says 404, too. A look of a
  // while ago does not do: it may have gone while no watch told of it.
  const WorkloadView* workload = workload_of(pool);
  if (pool.gke->in_sync && workload == nullptr) {
    const WorkloadLook* look =
        looked_since(pool, std::max(attempt.look_asked, mono() - kUnlistedLookAge));
    if (look != nullptr && !look->workload) {
      job.verdict = failed(Reason::kJobFailed,
                           make_message(MessageCode::kJobFailed,
                                        {"the Kubernetes Job was deleted by somebody else"}));
      return;
    }
    if (look != nullptr) wake(job, attempt.looked_asked + kUnlistedLookAge);
    if (look == nullptr && attempt.look == 0) look_at(pool);
  }
  judge_machines(job, pool);
  if (job.verdict) return;
  if (!clock_trusted_ || !attempt.row.dispatched_at) return;
  const WallTime counted_from =
      FALCON_MUTANT(kTimeoutFromCreation) ? job.waiting.created_at : *attempt.row.dispatched_at;
  const WallTime limit = counted_from + std::chrono::seconds(job.waiting.timeout_seconds);
  if (wall() >= limit) {
    // The Job may have ended before the limit without our knowing: a live look decides.
    const WorkloadLook* look = looked_since(pool, mono() - Duration(5'000));
    if (look == nullptr) return;
    if (look->workload && look->workload->verdict != WorkloadView::Verdict::kNone) {
      if (!ended_by_deletion(*look->workload)) judge_workload(job, pool, *look->workload);
      return;
    }
    job.verdict =
        failed(Reason::kTimeout,
               make_message(MessageCode::kTimeout, {std::to_string(job.waiting.timeout_seconds)}));
    return;
  }
  wake(job, mono() + (limit - wall()));
  judge_start(job, pool);
}

// Pods that have not started in time, as far as complete lists show them: a controller that was
// away knows nothing of pods that run.
void Core::State::judge_start(Job& job, Pool& pool) {
  if (job.state.status == JobStatus::kRunning || !pool.gke->in_sync) return;
  const Attempt& attempt = *pool.attempt;
  std::string words;
  bool hopeless = false;
  std::uint32_t started = 0;
  for (const auto& [name, pod] : pods_of(pool)) {
    if (pod.phase != PodView::Phase::kPending) {
      ++started;
      continue;
    }
    if (!pod.waiting.empty()) words = pod.waiting;
    hopeless = hopeless || pod.can_never_start;
  }
  if (hopeless) {
    job.verdict = failed(Reason::kJobFailed, make_message(MessageCode::kJobFailed, {words}));
    return;
  }
  if (started >= pool.shape->slice.hosts) return;  // its row is about to say Running
  const WallTime start_limit = *attempt.row.dispatched_at + settings_.start_deadline;
  if (wall() < start_limit) {
    wake(job, mono() + (start_limit - wall()));
    return;
  }
  const WorkloadLook* look = looked_since(pool, mono() - Duration(5'000));
  if (look == nullptr) return;
  if (look->workload && look->workload->verdict != WorkloadView::Verdict::kNone) {
    if (!ended_by_deletion(*look->workload)) judge_workload(job, pool, *look->workload);
    return;
  }
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(settings_.start_deadline);
  auto verdict = failed(Reason::kJobFailed, make_message(MessageCode::kStartTimeout,
                                                         {std::to_string(minutes.count()), words}));
  decide_what_follows(job, pool, *verdict);
  job.verdict = std::move(verdict);
}

void Core::State::apply_verdict(const Job& job, JobState& want) const {
  const Verdict& verdict = *job.verdict;
  if (job.pool != nullptr) {
    const Pool& pool = *job.pool;
    want.cluster = pool.row.cluster;
    want.node_pool_name = pool.row.name;
    if (pool.row.owner == job.id) want.provision = std::max(want.provision, pool.row.provision);
    if (pool.attempt) {
      want.attempt = std::max(want.attempt, pool.attempt->row.number);
      want.job_uid = pool.attempt->row.uid;
      if (!want.dispatched_at) want.dispatched_at = pool.attempt->row.dispatched_at;
    }
  }
  want.status = verdict.status;
  want.reason = verdict.reason;
  want.message = verdict.message;
  want.exit_code = verdict.exit_code;
  want.finished_at = verdict.finished_at.value_or(wall());
  if (verdict.by_workload && !want.started_at)
    want.started_at = want.dispatched_at.value_or(*want.finished_at);
  // Clocks of machines differ: no duration is ever negative.
  if (want.started_at) want.finished_at = std::max(*want.finished_at, *want.started_at);
  const auto pools = pools_by_job_.find(job.id);
  want.cleanup =
      pools != pools_by_job_.end() && !pools->second.empty() ? Cleanup::kPending : Cleanup::kNone;
}

// Decision 8. Whatever phase the job was in: it leaves its queue and gives its slot up at once;
// Aborted is told when no pod of it can still run.
void Core::State::settle_aborting(Job& job, JobState& want) {
  leave_queue(job);
  release_slot(job);
  unplaced_.erase(&job);
  // A failure is a result, also with retries left; lost machines are none: the abort stands.
  if (job.verdict && job.verdict->by_workload) {
    apply_verdict(job, want);
    return;
  }
  job.verdict.reset();
  const bool may_run =
      job.pool != nullptr && job.pool->attempt && !job.pool->attempt->gone && !job.no_pod_runs;
  const bool told_too_early = FALCON_MUTANT(kAbortedTooEarly) && job.pool != nullptr &&
                              job.pool->attempt && job.pool->attempt->remove_accepted;
  want.reason = Reason::kNone;
  if (may_run && !told_too_early) {
    want.message = make_message(MessageCode::kAborting);
    return;
  }
  want.status = JobStatus::kAborted;
  want.message = make_message(MessageCode::kAborted);
  want.aborted_at = wall();
  want.finished_at = wall();
  if (want.started_at) want.finished_at = std::max(*want.finished_at, *want.started_at);
  const auto pools = pools_by_job_.find(job.id);
  want.cleanup =
      pools != pools_by_job_.end() && !pools->second.empty() ? Cleanup::kPending : Cleanup::kNone;
}

// After the end only the clean-up changes: pending while a pool serves the job or is going because
// of it, failed while its deletion keeps being refused, done for good once.
void Core::State::settle_terminal(Job& job, JobState& want) {
  leave_queue(job);
  release_slot(job);
  unplaced_.erase(&job);
  if (job.backoff) {
    put(RemoveBackoff{job.id});
    job.backoff.reset();
  }
  if (want.cleanup != Cleanup::kPending && want.cleanup != Cleanup::kFailed) return;
  bool pending = false;
  std::string refused;
  const auto pools = pools_by_job_.find(job.id);
  if (pools != pools_by_job_.end())
    for (const Pool* pool : pools->second) {
      const bool concerns = pool->row.serves == job.id ||
                            (pool->row.owner == job.id && pool->row.phase == PoolPhase::kCondemned);
      pending = pending || concerns;
      if (concerns && pool->remove_failures >= settings_.delete_failures_alarm)
        refused = pool->row.last_error;
    }
  want.cleanup = !pending ? Cleanup::kDone : refused.empty() ? Cleanup::kPending : Cleanup::kFailed;
  want.cleanup_error = pending ? refused : std::string();
}

}  // namespace falcon::core
