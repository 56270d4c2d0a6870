// The end of a node pool: condemned, deleted when nothing of a job is left on it, and forgotten
// only when it was seen gone (decision 5).
#include <algorithm>

#include "base/check.h"
#include "core/state.h"

namespace falcon::core {

using model::JobStatus;
using model::PoolPhase;

// Gone is only what a complete listing, asked late enough, does not show.
bool Core::State::verified_gone(const Pool& pool) const {
  if (pool.seen || !pool.gke->listed) return false;
  const MonoTime asked = pool.gke->listing_asked;
  // A create whose answer was never learnt may still arrive, whatever a later one was told.
  if (pool.row.late_create_until && wall() - (mono() - asked) <= *pool.row.late_create_until)
    return false;
  switch (pool.create) {
    case Pool::Create::kNotSent:
      return pool.was_seen || pool.row.phase == PoolPhase::kCondemned;
    case Pool::Create::kInFlight:
      return false;
    case Pool::Create::kUnknown:
      if (pool.was_seen) return true;
      return asked > pool.create_sent + settings_.late_call_max;
    case Pool::Create::kAnswered:
      if (pool.was_seen) return true;
      return asked > pool.accepted_mono + settings_.create_visibility_grace;
  }
  return false;
}

// No pod of it can run without the pool, but its Kubernetes Job may still stand: it is deleted
// before the attempt is over, unless nobody can say so for longer than its pods would have had.
bool Core::State::workload_outlives(const Pool& pool) const {
  const Attempt& attempt = *pool.attempt;
  const bool looked_gone = attempt.looked && !attempt.looked->workload;
  return attempt.create == Attempt::Create::kCreated && !attempt.gone && !attempt.remove_accepted &&
         !looked_gone && !past_removal_limit(pool);
}

void Core::State::step_condemned(Pool& pool) {
  if (pool.acked_revision < pool.revision) return;  // the sentence is durable first
  if (verified_gone(pool)) {
    if (pool.attempt) {
      if (workload_outlives(pool)) return;
      pool.attempt->gone = true;
      if (pool.job != nullptr) pool.job->no_pod_runs = true;
      close_attempt(pool);
    }
    // The name must never be used again: the owner's row shows the provision first.
    const auto owner = jobs_.find(pool.row.owner);
    if (owner != jobs_.end() && !model::is_terminal(owner->second->state.status) &&
        owner->second->state.provision < pool.row.provision && pool.create_sent != MonoTime{})
      return;
    if (!pool.row.serves.empty()) unbind(pool);
    pool.removing = true;
    put(RemovePool{pool.row.name});
    return;
  }
  // The Job's pods leave in order before the machines do, unless they outstay their grace.
  if (pool.attempt && !FALCON_MUTANT(kDeletePoolUnderJob)) {
    const Attempt& attempt = *pool.attempt;
    const bool may_have_pods =
        attempt.create != Attempt::Create::kNotSent && attempt.create != Attempt::Create::kRefused;
    const bool looked_empty =
        attempt.looked && !attempt.looked->workload && attempt.looked->pods == 0;
    if (may_have_pods && !attempt.gone && !looked_empty && !past_removal_limit(pool)) return;
  }
  delete_pool(pool);
}

void Core::State::delete_pool(Pool& pool) {
  mark(pool.gke);
  if (pool.remove != 0 || !pool.seen || pool.seen->status == PoolStatus::kStopping) return;
  if (!due(pool, std::max(pool.remove_retry.not_before, pool.gke->calls.not_before))) return;
  const model::PoolName name = pool.row.name;
  pool.remove = send(DeletePool{pool.gke->key, name}, [this, name](const CommandDone& done) {
    const auto found = pools_.find(name);
    if (found == pools_.end()) return;
    Pool& removed = *found->second;
    removed.remove = 0;
    back_off(removed.remove_retry, settings_.delete_backoff);
    mark(&removed);
    if (!done.error || done.error->kind == ErrorKind::kNotFound) {
      removed.gke->moved_at = mono();
      removed.remove_failures = 0;
      return;
    }
    removed.row.last_error = done.error->what;
    if (done.error->kind == ErrorKind::kThrottled)
      back_off(removed.gke->calls, settings_.call_backoff);
    if (!(done.error->kind == ErrorKind::kBusy || done.error->kind == ErrorKind::kThrottled)) {
      ++removed.remove_failures;
      const auto owner = jobs_.find(removed.row.owner);
      if (owner != jobs_.end()) mark(owner->second.get());
    }
  });
}

void Core::State::forget_pool(Pool& pool) {
  const auto forget = [&](const model::JobId& id) {
    const auto pools = pools_by_job_.find(id);
    if (pools == pools_by_job_.end()) return;
    std::erase(pools->second, &pool);
    if (pools->second.empty()) pools_by_job_.erase(pools);
    const auto job = jobs_.find(id);
    if (job != jobs_.end()) mark(job->second.get());
  };
  forget(pool.row.owner);
  FALCON_CHECK(pool.row.serves.empty() && pool.job == nullptr);
  pool.gke->pools.erase(pool.row.name);
  pool.gke->idle.erase(&pool);
  if (!pool.row.reservation.empty()) {
    ReservationRecord& reservation = reservation_of(pool.row.reservation);
    reservation.pools.erase(&pool);
    mark(&reservation);
  }
  pool.doomed = true;
  // Its name is free at once: a pool that was never asked for may be made anew under it.
  const auto found = pools_.find(pool.row.name);
  doomed_pools_.push_back(std::move(found->second));
  pools_.erase(found);
}

}  // namespace falcon::core
