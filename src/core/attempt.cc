// One attempt: a Kubernetes Job on a pool, from its intent until no pod of it is left
// (decisions 6 and 8).
#include <algorithm>

#include "base/check.h"
#include "core/state.h"
#include "model/names.h"

namespace falcon::core {
namespace {

using model::AttemptOutcome;
using model::JobStatus;
using model::make_message;
using model::MessageCode;
using model::PoolPhase;
using model::Reason;

AttemptOutcome outcome_of(const model::JobState& state) {
  switch (state.status) {
    case JobStatus::kSucceeded:
      return AttemptOutcome::kSucceeded;
    case JobStatus::kFailed:
      if (state.reason == Reason::kTimeout) return AttemptOutcome::kTimeout;
      if (state.reason == Reason::kJobSubmitFailed) return AttemptOutcome::kRefused;
      if (state.reason == Reason::kDisrupted) return AttemptOutcome::kDisrupted;
      return AttemptOutcome::kFailed;
    case JobStatus::kPending:
      if (state.message.code == MessageCode::kAttemptFailed) return AttemptOutcome::kFailed;
      if (state.message.code == MessageCode::kAttemptDisrupted) return AttemptOutcome::kDisrupted;
      return AttemptOutcome::kAborted;
    case JobStatus::kRunning:
    case JobStatus::kAborting:
    case JobStatus::kAborted:
      return AttemptOutcome::kAborted;
  }
  return AttemptOutcome::kAborted;
}

}  // namespace

// The intent: number, name and pool are written down; the create follows when both rows are
// durable.
void Core::State::dispatch(Pool& pool) {
  FALCON_CHECK(!pool.attempt && pool.job != nullptr);
  Job& job = *pool.job;
  if (job.write != 0 || job.read != 0 || job.must_read) return;
  if (job.state.node_pool_name != pool.row.name) return;  // its row shows the pool first
  if (!job.late_creates.empty() && !earlier_attempts_gone(job, pool)) return;
  Attempt attempt;
  attempt.row.job = job.id;
  attempt.row.number = job.state.attempt + 1;
  attempt.row.cluster = pool.row.cluster;
  attempt.row.pool = pool.row.name;
  attempt.row.intent_at = wall();
  attempt.name = model::workload_name(settings_.installation, job.id, attempt.row.number);
  attempt.own = true;
  job.no_pod_runs = false;
  pool.row.serves_attempt = attempt.row.number;
  open_attempt(pool, std::move(attempt));
  put_row(pool);
  put_row(*pool.attempt);
  mark(&job);
  mark(&pool);
}

void Core::State::open_attempt(Pool& pool, Attempt attempt) {
  pool.gke->attempts[attempt.name] = &pool;
  pool.gke->strays.erase(attempt.name);
  if (!attempt.row.uid.empty()) pool.gke->attempt_uids[attempt.row.uid] = &pool;
  pool.attempt = std::move(attempt);
}

// The Kubernetes Job exists: the create that made it is no longer under way, another may be.
void Core::State::learn_uid(Pool& pool, const model::Uid& uid) {
  Attempt& attempt = *pool.attempt;
  if (!attempt.row.uid.empty()) pool.gke->attempt_uids.erase(attempt.row.uid);
  attempt.row.uid = uid;
  pool.gke->attempt_uids[uid] = &pool;
  if (attempt.creates <= 1) attempt.row.late_create_until.reset();
  put_row(attempt);
  mark(pool.job);
  mark(&pool);
}

const WorkloadView* Core::State::workload_of(const Pool& pool) const {
  const Attempt& attempt = *pool.attempt;
  const auto found = pool.gke->workloads.find(attempt.name);
  if (found == pool.gke->workloads.end()) return nullptr;
  if (!attempt.row.uid.empty() && found->second.uid != attempt.row.uid) return nullptr;
  return &found->second;
}

const std::map<model::PodName, PodView>& Core::State::pods_of(const Pool& pool) const {
  static const std::map<model::PodName, PodView> kNoPods;
  if (pool.attempt->row.uid.empty()) return kNoPods;
  const auto found = pool.gke->pods.find(pool.attempt->row.uid);
  return found == pool.gke->pods.end() ? kNoPods : found->second;
}

void Core::State::reconcile_attempt(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  // The informer may know the Job before our create was answered.
  const WorkloadView* workload = workload_of(pool);
  if (workload != nullptr && attempt.row.uid.empty() && workload->job == attempt.row.job &&
      workload->attempt == attempt.row.number) {
    learn_uid(pool, workload->uid);
    if (attempt.create != Attempt::Create::kInFlight) attempt.create = Attempt::Create::kCreated;
    attempt.looked.reset();  // an older look did not know of it
    attempt.look_asked = mono();
  }
  if (still_wanted(pool))
    advance_attempt(pool);
  else
    clean_up_attempt(pool);
}

void Core::State::advance_attempt(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  switch (attempt.create) {
    case Attempt::Create::kNotSent:
      create_workload(pool);
      return;
    case Attempt::Create::kInFlight:
      return;
    case Attempt::Create::kRefused:
      return;  // the job's row is told first
    case Attempt::Create::kUnknown: {
      const WorkloadLook* look = looked_since(pool, attempt.look_asked);
      if (look == nullptr) return;
      if (!look->workload && look->pods > 0) {
        look_again(pool);  // somebody deleted it, and its pods still leave: none runs beside them
      } else if (!look->workload) {
        attempt.create = Attempt::Create::kNotSent;
        mark(&pool);
      } else {
        const model::Uid uid = look->workload->uid;
        attempt.create = Attempt::Create::kCreated;
        learn_uid(pool, uid);
      }
      return;
    }
    case Attempt::Create::kCreated:
      break;
  }
  if (!attempt.row.dispatched_at && pool.nodes_ready >= pool.shape->slice.hosts) {
    attempt.row.dispatched_at = wall();
    put_row(attempt);
    if (pool.row.phase == PoolPhase::kAccepted) {
      pool.row.phase = PoolPhase::kReady;
      pool.row.phase_since = wall();
      put_row(pool);
    }
    mark(pool.job);
  }
}

void Core::State::create_workload(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  const Job& job = *pool.job;
  const bool shown = job.state.attempt >= attempt.row.number &&
                     job.state.node_pool_name == pool.row.name && job.write == 0 && job.read == 0 &&
                     !job.must_read;
  if (pool.acked_revision < pool.revision || !shown || !pool.gke->in_sync) return;
  const bool flex = pool.row.supply == model::SupplyMode::kFlexStart;
  const bool given_back = machines_given_back(pool);
  const bool sent_before = attempt.create_retry.failures > 0 || late_create_possible(attempt);
  const bool comes_for_pods =
      (flex && is_capacity(pool)) ||
      (given_back && (pool.row.phase == PoolPhase::kAccepted || sent_before)) ||
      (FALCON_MUTANT(kEveryPoolScales) && is_capacity(pool));
  const bool machines = healthy(pool) || comes_for_pods ||
                        (FALCON_MUTANT(kPartialSlice) && pool.nodes_ready > 0) ||
                        FALCON_MUTANT(kStoppingIsCapacity);
  if (!machines) {
    // The pool fell ill between the intent and the create. No create has left: let go of it.
    if (!sent_before && (verified_gone(pool) || given_back ||
                         (pool.seen && (pool.seen->status == PoolStatus::kStopping ||
                                        pool.seen->status == PoolStatus::kError)))) {
      Job& released = *pool.job;
      close_attempt(pool);
      condemn(pool);
      requeue(released);
    }
    return;
  }
  if (!due(pool, attempt.create_retry.not_before)) return;
  attempt.create = Attempt::Create::kInFlight;
  ++attempt.creates;
  const model::PoolName name = pool.row.name;
  const std::uint32_t number = attempt.row.number;
  send(CreateWorkload{pool.gke->key, pool.row.cluster, job.id, number, attempt.name, name,
                      pool.row.supply},
       [this, name, number](const CommandDone& done) {
         const auto found = pools_.find(name);
         if (found == pools_.end() || !found->second->attempt) return;
         if (found->second->attempt->row.number != number) return;
         workload_answered(*found->second, done);
       });
}

void Core::State::workload_answered(Pool& pool, const CommandDone& done) {
  Attempt& attempt = *pool.attempt;
  mark(&pool);
  mark(pool.job);
  if (!done.error) {
    attempt.create = Attempt::Create::kCreated;
    attempt.create_retry = {};
    attempt.looked.reset();  // an older look did not know of it
    attempt.look_asked = mono();
    learn_uid(pool, std::get<WorkloadCreated>(done.payload).uid);
    if (FALCON_MUTANT(kSlotTooEarly) && pool.job != nullptr) release_slot(*pool.job);
    return;
  }
  const Error& error = *done.error;
  switch (error.kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kDenied:
    case ErrorKind::kQuota:
    case ErrorKind::kNotFound:       // the namespace is missing
    case ErrorKind::kAlreadyExists:  // not this attempt's
    case ErrorKind::kOutOfCapacity: {
      attempt.create = Attempt::Create::kRefused;
      if (pool.job == nullptr) return;
      pool.job->verdict =
          failed(Reason::kJobSubmitFailed, make_message(MessageCode::kSubmitFailed, {error.what}));
      return;
    }
    case ErrorKind::kBusy:
    case ErrorKind::kThrottled:
    case ErrorKind::kUnavailable:
    case ErrorKind::kConflict:
    case ErrorKind::kFenced:
      attempt.create = Attempt::Create::kNotSent;
      back_off(attempt.create_retry, settings_.call_backoff);
      return;
    case ErrorKind::kUnknownOutcome:
    case ErrorKind::kInternal:
      attempt.create = Attempt::Create::kUnknown;
      // Durable before another create leaves: create_workload waits for the pool's row.
      attempt.row.late_create_until = wall() + settings_.late_call_max;
      put_row(attempt);
      put_row(pool);
      attempt.look_asked = mono();  // only a look asked from now on counts
      attempt.looked.reset();
      back_off(attempt.create_retry, settings_.call_backoff);
      return;
  }
}

// A look that was asked at or after `since`; asks for one when there is none.
const WorkloadLook* Core::State::looked_since(Pool& pool, MonoTime since) {
  Attempt& attempt = *pool.attempt;
  if (attempt.looked && attempt.looked_asked >= since) return &*attempt.looked;
  look_at(pool);
  return nullptr;
}

// The last look does not do: another one, as soon as the back-off allows.
void Core::State::look_again(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  attempt.looked.reset();
  look_at(pool);
  if (attempt.look == 0) wake(pool, attempt.look_retry.not_before);
}

void Core::State::look_at(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (attempt.look != 0) return;  // its answer marks the pool and the job
  if (!due(pool, attempt.look_retry.not_before)) {
    if (pool.job != nullptr) wake(*pool.job, attempt.look_retry.not_before);
    return;
  }
  const auto cluster = clusters_.find(pool.row.cluster);
  const WorkloadView* seen = workload_of(pool);
  std::string kube_namespace = seen != nullptr ? seen->kube_namespace
                               : cluster != clusters_.end()
                                   ? cluster->second->row.kubernetes_namespace
                                   : std::string("default");
  const model::PoolName name = pool.row.name;
  const std::uint32_t number = attempt.row.number;
  const MonoTime asked = mono();
  attempt.look_asked = asked;
  attempt.look = send(LookAtWorkload{pool.gke->key, std::move(kube_namespace), attempt.name, name},
                      [this, name, number, asked](const CommandDone& done) {
                        const auto found = pools_.find(name);
                        if (found == pools_.end() || !found->second->attempt) return;
                        Pool& looked = *found->second;
                        Attempt& its = *looked.attempt;
                        if (its.row.number != number) return;
                        its.look = 0;
                        back_off(its.look_retry, settings_.call_backoff);
                        mark(&looked);
                        mark(looked.job);
                        if (done.error) return;
                        WorkloadLook look = std::get<WorkloadLook>(done.payload);
                        // Another object under our name is not this attempt.
                        its.made_anew = look.workload && !its.row.uid.empty() &&
                                        look.workload->uid != its.row.uid;
                        if (its.made_anew) take_made_anew(looked, look);
                        its.looked = std::move(look);
                        its.looked_asked = asked;
                      });
}

// A late create made the Kubernetes Job anew. While the attempt is cleaned up, that one goes as
// well; else it isn't this attempt's, and the next attempt sees to it (late_create.cc).
void Core::State::take_made_anew(Pool& pool, WorkloadLook& look) {
  Attempt& attempt = *pool.attempt;
  const bool ours =
      look.workload->job == attempt.row.job && look.workload->attempt == attempt.row.number;
  if (ours && attempt.remove_since) {
    attempt.made_anew = false;
    attempt.remove_accepted = false;
    learn_uid(pool, look.workload->uid);
  } else {
    look.workload.reset();
  }
}

// A create whose answer was lost may reach the API server minutes later, after its Job was deleted,
// and would make it anew.
bool Core::State::late_create_possible(const Attempt& attempt) const {
  return attempt.row.late_create_until && wall() < *attempt.row.late_create_until;
}

bool Core::State::past_removal_limit(const Pool& pool) const {
  const Attempt& attempt = *pool.attempt;
  if (!attempt.remove_since) return false;
  const std::int64_t grace = pool.job != nullptr ? pool.job->grace_seconds : 3'600;
  return mono() >= *attempt.remove_since + std::chrono::seconds(grace) + settings_.pod_gone_margin;
}

// The job is over or is to be: the Kubernetes Job goes, then its pods are verified gone, then the
// pool is free. Whatever was never learnt ends with the pool instead.
void Core::State::clean_up_attempt(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (FALCON_MUTANT(kCleanupForgotten) && attempt.create == Attempt::Create::kCreated) return;
  if (FALCON_MUTANT(kDeletePoolUnderJob)) condemn(pool);
  switch (attempt.create) {
    case Attempt::Create::kInFlight:
      return;
    case Attempt::Create::kNotSent:
      // After an unknown answer that a look denied, a late create may still arrive.
      if (late_create_possible(attempt)) condemn(pool);
      close_attempt(pool);
      return;
    case Attempt::Create::kRefused:
      close_attempt(pool);
      return;
    case Attempt::Create::kUnknown: {
      condemn(pool);
      const WorkloadLook* look = looked_since(pool, attempt.look_asked);
      if (look == nullptr || !look->workload) return;  // the pool's end is the proof
      const model::Uid uid = look->workload->uid;
      attempt.create = Attempt::Create::kCreated;
      learn_uid(pool, uid);
      break;
    }
    case Attempt::Create::kCreated:
      break;
  }
  if (end_needs_look(pool)) return;
  remove_workload(pool);
  if (FALCON_MUTANT(kAgainTooEarly) && attempt_over(pool)) attempt.gone = true;
  verify_gone(pool);
}

// Before the Kubernetes Job of a job that is aborted, or that goes on elsewhere, is deleted, one
// live look: it may have ended first, and a result is never thrown away.
bool Core::State::end_needs_look(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (pool.job == nullptr || model::is_terminal(pool.job->state.status)) return false;
  if (attempt_over(pool)) return false;  // it was looked at when that was decided
  if (attempt.remove_since || FALCON_MUTANT(kAbortOverResult)) return false;
  if (!attempt.end_seen) attempt.end_seen = mono();
  const MonoTime since = *attempt.end_seen;
  const WorkloadLook* look = looked_since(pool, since);
  // Nobody can tell for longer than the job's grace: the pool's end will be the proof.
  const auto not_told = [&] {
    const MonoTime limit =
        since + std::chrono::seconds(pool.job->grace_seconds) + settings_.pod_gone_margin;
    wake(pool, limit);
    if (mono() < limit) return true;
    attempt.remove_since = since;
    condemn(pool);
    return true;
  };
  if (look == nullptr) return not_told();
  if (!look->workload || look->workload->verdict == WorkloadView::Verdict::kNone) return false;
  if (ended_by_deletion(*look->workload)) return false;
  if (!pool.job->verdict) {
    judge_workload(*pool.job, pool, *look->workload);
    if (pool.job->verdict && !pool.job->verdict->by_workload &&
        pool.job->state.status == JobStatus::kAborting) {
      pool.job->verdict.reset();
      return false;
    }
    if (pool.job->verdict)
      mark(pool.job);
    else if (!pool.gke->in_sync)
      return not_told();
    else
      wake(pool, mono() + Duration(1'000));  // its pods' news may come a little later
  }
  return true;
}

void Core::State::remove_workload(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (attempt.gone || attempt.remove != 0 || attempt.remove_accepted) return;
  if (!due(pool, attempt.remove_retry.not_before)) return;
  const auto cluster = clusters_.find(pool.row.cluster);
  const WorkloadView* seen = workload_of(pool);
  std::string kube_namespace = seen != nullptr ? seen->kube_namespace
                               : cluster != clusters_.end()
                                   ? cluster->second->row.kubernetes_namespace
                                   : std::string("default");
  if (!attempt.remove_since) attempt.remove_since = mono();
  const model::PoolName name = pool.row.name;
  const std::uint32_t number = attempt.row.number;
  attempt.remove =
      send(DeleteWorkload{pool.gke->key, std::move(kube_namespace), attempt.name, attempt.row.uid},
           [this, name, number](const CommandDone& done) {
             const auto found = pools_.find(name);
             if (found == pools_.end() || !found->second->attempt) return;
             Attempt& its = *found->second->attempt;
             if (its.row.number != number) return;
             its.remove = 0;
             mark(found->second.get());
             mark(found->second->job);
             const bool accepted = !done.error || done.error->kind == ErrorKind::kNotFound ||
                                   done.error->kind == ErrorKind::kConflict;
             if (accepted) {
               its.remove_accepted = true;
               its.looked.reset();
               its.look_asked = mono();
               its.look_retry = {};
             } else {
               back_off(its.remove_retry, settings_.call_backoff);
             }
           });
}

void Core::State::verify_gone(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  if (FALCON_MUTANT(kReuseUnverified) && attempt.remove_accepted) attempt.gone = true;
  if (!attempt.remove_accepted && !attempt.gone) {
    if (attempt.remove_since && past_removal_limit(pool)) condemn(pool);
    return;
  }
  if (!attempt.gone) {
    const MonoTime limit =
        *attempt.remove_since +
        std::chrono::seconds(pool.job != nullptr ? pool.job->grace_seconds : 3'600) +
        settings_.pod_gone_margin;
    wake(pool, limit);
    if (past_removal_limit(pool)) condemn(pool);
    // Ask live only when the lists say that it may be over, or every so often in case they err.
    const bool lists_say_gone = workload_of(pool) == nullptr && pods_of(pool).empty();
    if (!lists_say_gone && attempt.look_retry.failures == 0) {
      attempt.look_retry.failures = 1;
      attempt.look_retry.not_before = mono() + jittered(settings_.call_backoff.cap);
    }
    // A look from before the end of that time knows nothing of a create that came after it.
    MonoTime since = *attempt.remove_since;
    if (attempt.row.late_create_until && !late_create_possible(attempt))
      since = std::max(since, mono() - (wall() - *attempt.row.late_create_until));
    const WorkloadLook* look = looked_since(pool, since);
    if (look == nullptr) return;
    if (look->workload || look->pods > 0) {
      look_again(pool);
      return;
    }
    // What an earlier process saw of lost machines is not known any more: fewer than all is enough.
    const bool maybe_lost = !attempt.own && pool.nodes_ready < pool.shape->slice.hosts;
    const bool weak =
        attempt.row.node_lost || maybe_lost || !pool.gke->in_sync || late_create_possible(attempt);
    if (weak) {
      // Pods of a lost machine, or of a create that still comes: only the pool's end proves that
      // none can run.
      condemn(pool);
      const auto listed = pool.gke->workloads.find(attempt.name);
      if (listed != pool.gke->workloads.end() && listed->second.uid != attempt.row.uid)
        look_again(pool);  // it has come
      return;
    }
    attempt.gone = true;
  }
  if (pool.job != nullptr) {
    pool.job->no_pod_runs = true;
    mark(pool.job);
    if (pool.job->state.status == JobStatus::kAborting) return;  // the row first
  }
  close_attempt(pool);
}

void Core::State::close_attempt(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  // A late create made its Kubernetes Job anew: the next attempt sees to it that it goes first.
  const auto listed = pool.gke->workloads.find(attempt.name);
  const bool stands = listed != pool.gke->workloads.end() && !listed->second.deleting;
  if ((attempt.made_anew || stands) && !attempt.row.late_create_until)
    attempt.row.late_create_until = wall();
  if (attempt.row.outcome == AttemptOutcome::kOpen) {
    attempt.row.outcome =
        pool.job != nullptr ? outcome_of(pool.job->state) : AttemptOutcome::kAborted;
    if (!attempt.row.ended_at) attempt.row.ended_at = wall();
    if (pool.job != nullptr && !attempt_over(pool)) {
      attempt.row.started_at = pool.job->state.started_at;
      attempt.row.exit_code = pool.job->state.exit_code;
      if (pool.job->state.finished_at) attempt.row.ended_at = pool.job->state.finished_at;
    }
    put_row(attempt);
  }
  Job* job = pool.job;
  if (job != nullptr && !model::is_terminal(job->state.status) && attempt.row.late_create_until)
    remember_late_create(*job, attempt.row, *pool.gke);
  pool.gke->attempts.erase(attempt.name);
  if (pool.gke->workloads.contains(attempt.name)) {
    pool.gke->strays.insert(attempt.name);
    mark(pool.gke);
  }
  pool.gke->attempt_uids.erase(attempt.row.uid);
  pool.attempt.reset();
  unbind(pool);
  // A job that goes on looks again: with its slot where it had one, else from its queue; at once,
  // or its pool would find nobody who waits for it.
  const bool goes_on = job != nullptr && !model::is_terminal(job->state.status) &&
                       job->state.status != JobStatus::kAborting;
  if (!goes_on || !job->acquiring || job->slot != nullptr) return;
  requeue(*job);
  const auto cluster = clusters_.find(pool.row.cluster);
  if (cluster != clusters_.end() && offers(*cluster->second, *job))
    enter_queue(*job, queue_of(*cluster->second, *job->shape));
}

}  // namespace falcon::core
