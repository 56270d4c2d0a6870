// Node pools: made on demand, followed until they serve, reused or deleted (decision 5).
#include <algorithm>

#include "base/check.h"
#include "core/state.h"
#include "model/names.h"

namespace falcon::core {
namespace {

using model::JobStatus;
using model::make_message;
using model::MessageCode;
using model::PoolPhase;
using model::Reason;
using model::SupplyMode;

bool is_busy(ErrorKind kind) { return kind == ErrorKind::kBusy || kind == ErrorKind::kThrottled; }

}  // namespace

// The job holds the slot of its queue and has no pool: wait for what must come first, then ask.
void Core::State::seek_pool(Job& job) {
  ClusterRecord& cluster = *job.queue->cluster;
  if (!cluster.gke->listed || job.must_read || job.read != 0) return;
  if (job.backoff && !due(job, mono() + (job.backoff->not_before - wall()))) return;
  // An earlier pool of this job must be seen gone before the next is asked for, unless somebody
  // else has it now.
  const auto pools = pools_by_job_.find(job.id);
  if (pools != pools_by_job_.end() && std::ranges::any_of(pools->second, [&](const Pool* pool) {
        return pool->row.owner == job.id &&
               (pool->row.serves.empty() || pool->row.serves == job.id);
      }))
    return;
  if (supply_for(cluster, job) == SupplyMode::kReservation && !may_claim(job, cluster)) return;
  make_pool(job);
}

void Core::State::make_pool(Job& job) {
  ClusterRecord& cluster = *job.queue->cluster;
  auto pool = std::make_unique<Pool>(next_serial_++);
  model::PoolRow& row = pool->row;
  row.provision = job.state.provision + 1;
  row.name = model::pool_name(settings_.installation, job.id, row.provision);
  FALCON_CHECK(!pools_.contains(row.name));
  row.gke = cluster.gke->key;
  row.cluster = cluster.row.id;
  row.shape = job.shape->shape;
  row.supply = supply_for(cluster, job);
  if (row.supply == SupplyMode::kReservation) row.reservation = cluster.reservation;
  row.owner = job.id;
  row.serves = job.id;
  row.intent_at = wall();
  row.phase_since = wall();
  pool->shape = job.shape;
  pool->gke = cluster.gke;
  pool->job = &job;
  job.pool = pool.get();
  cluster.gke->pools[row.name] = pool.get();
  if (!row.reservation.empty()) reservation_of(row.reservation).pools.insert(pool.get());
  pools_by_job_[job.id].push_back(pool.get());
  put_row(*pool);
  mark(pool.get());
  mark(cluster.gke);
  pools_.emplace(model::PoolName(row.name), std::move(pool));
}

// Every change of a known pool's `serves`: idle pools are an index.
void Core::State::set_serves(Pool& pool, const model::JobId& id) {
  pool.row.serves = id;
  if (id.empty())
    pool.gke->idle.insert(&pool);
  else
    pool.gke->idle.erase(&pool);
}

void Core::State::bind(Pool& pool, Job& job) {
  FALCON_CHECK(pool.row.serves.empty() && job.pool == nullptr && !pool.attempt);
  set_serves(pool, job.id);
  pool.row.serves_attempt = 0;
  pool.job = &job;
  job.pool = &pool;
  if (pool.row.owner != job.id) pools_by_job_[job.id].push_back(&pool);
  put_row(pool);
  mark(&job);
  mark(&pool);
}

void Core::State::unbind(Pool& pool) {
  if (pool.row.serves.empty()) return;
  const model::JobId served = pool.row.serves;
  if (pool.job != nullptr) {
    mark(pool.job);
    pool.job->pool = nullptr;
    pool.job = nullptr;
  }
  set_serves(pool, {});
  pool.row.serves_attempt = 0;
  pool.row.kept = pool.row.kept || pool.row.phase == PoolPhase::kReady;
  if (served != pool.row.owner) {
    const auto pools = pools_by_job_.find(served);
    if (pools != pools_by_job_.end()) {
      std::erase(pools->second, &pool);
      if (pools->second.empty()) pools_by_job_.erase(pools);
    }
  }
  put_row(pool);
  mark(&pool);
}

// The job's row says that it runs again: what is left of this attempt is cleared away.
bool Core::State::attempt_over(const Pool& pool) const {
  return pool.job != nullptr && pool.attempt &&
         pool.attempt->row.number <= pool.job->state.attempts_over;
}

// The job that the pool serves still goes on with it, as far as its durable row says.
bool Core::State::still_wanted(const Pool& pool) const {
  return !attempt_over(pool) && pool.job != nullptr && pool.row.phase != PoolPhase::kCondemned &&
         !model::is_terminal(pool.job->state.status) &&
         pool.job->state.status != JobStatus::kAborting;
}

bool Core::State::is_capacity(const Pool& pool) const {
  if (!pool.seen) return false;
  switch (pool.seen->status) {
    case PoolStatus::kRunning:
    case PoolStatus::kRunningWithError:
    case PoolStatus::kReconciling:
      return true;
    case PoolStatus::kStopping:
      return FALCON_MUTANT(kStoppingIsCapacity);
    case PoolStatus::kUnknown:
    case PoolStatus::kProvisioning:
    case PoolStatus::kError:
      return false;
  }
  return false;
}

// All hosts of the slice are Ready now and the pool is not on its way out.
// GKE has taken all machines of a pool back, or never got them: it brings them for pending pods,
// and not otherwise.
bool Core::State::machines_given_back(const Pool& pool) const {
  return is_capacity(pool) && pool.seen->autoscaled && pool.gke->in_sync && pool.nodes.empty() &&
         !FALCON_MUTANT(kWaitForGivenBack);
}

bool Core::State::healthy(const Pool& pool) const {
  return pool.row.phase == PoolPhase::kReady && is_capacity(pool) && pool.gke->in_sync &&
         pool.nodes_ready >= pool.shape->slice.hosts;
}

void Core::State::reconcile_pool(Pool& pool) {
  if (pool.doomed || pool.removing || !calls_allowed(*pool.gke)) return;
  if (pool.job == nullptr && unreadable_.contains(pool.row.serves)) return;
  // Decided to be over, not yet durable: the job's row comes first.
  if (pool.job != nullptr && pool.job->verdict && !model::is_terminal(pool.job->state.status) &&
      pool.job->state.status != JobStatus::kAborting)
    return;
  if (!pool.row.reservation.empty() && pool.all_ready_since && !pool.claim_closed)
    mark(&reservation_of(pool.row.reservation));
  if (pool.attempt) reconcile_attempt(pool);
  if (!pool.attempt && !pool.row.serves.empty() && !still_wanted(pool)) unbind(pool);
  switch (pool.row.phase) {
    case PoolPhase::kIntended:
      step_intended(pool);
      break;
    case PoolPhase::kAccepted:
      step_accepted(pool);
      break;
    case PoolPhase::kReady:
      step_ready(pool);
      break;
    case PoolPhase::kCondemned:
      break;
  }
  if (pool.row.phase == PoolPhase::kCondemned) step_condemned(pool);
}

// Create: the pool's row is durable, the job's row shows the provision, then the call leaves.
void Core::State::step_intended(Pool& pool) {
  if (pool.seen) {
    accept(pool);
    return;
  }
  if (pool.row.serves.empty()) {
    condemn(pool);
    return;
  }
  if (pool.create == Pool::Create::kInFlight) return;
  if (pool.create == Pool::Create::kUnknown && !FALCON_MUTANT(kNewNameOnRetry)) {
    // Look before repeating: a listing asked after the last call left must have missed it.
    if (!pool.gke->listed || pool.gke->listing_asked <= pool.create_sent) {
      mark(pool.gke);
      return;
    }
  }
  const auto cluster = clusters_.find(pool.row.cluster);
  if (cluster == clusters_.end() || cluster->second->row.status != model::ClusterStatus::kActive) {
    Job& job = *pool.job;
    condemn(pool);
    requeue(job);
    return;
  }
  const bool intent_durable = pool.acked_revision >= pool.revision || FALCON_MUTANT(kForgetIntent);
  const Job& job = *pool.job;
  const bool shown = (job.state.node_pool_name == pool.row.name &&
                      (pool.row.owner != job.id || job.state.provision >= pool.row.provision) &&
                      job.write == 0 && job.read == 0 && !job.must_read) ||
                     FALCON_MUTANT(kForgetJobIntent);
  if (!intent_durable || !shown) return;
  if (!due(pool, std::max(pool.create_retry.not_before, pool.gke->calls.not_before))) return;
  pool.create = Pool::Create::kInFlight;
  pool.create_sent = mono();
  ++pool.creates;
  const model::PoolName name = pool.row.name;
  send(CreatePool{pool.row}, [this, name](const CommandDone& done) {
    const auto found = pools_.find(name);
    if (found != pools_.end() && found->second->create == Pool::Create::kInFlight)
      create_answered(*found->second, done);
  });
}

void Core::State::create_answered(Pool& pool, const CommandDone& done) {
  mark(&pool);
  mark(pool.job);
  mark(pool.gke);
  pool.create_sent = mono();
  if (!done.error) {
    pool.gke->moved_at = mono();
    pool.gke->calls = {};
    pool.create = Pool::Create::kAnswered;
    pool.operation = std::get<PoolAccepted>(done.payload).operation;
    pool.operation_not_before = mono() + settings_.pools_busy_interval;
    pool.accepted_mono = mono();
    if (pool.row.phase == PoolPhase::kIntended) accept(pool);
    return;
  }
  const Error& error = *done.error;
  pool.row.last_error = error.what;
  switch (error.kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kDenied:
    case ErrorKind::kQuota:
      pool.create = Pool::Create::kNotSent;
      fail_pool(pool, error);
      return;
    case ErrorKind::kOutOfCapacity:
      pool.create = Pool::Create::kNotSent;
      fail_pool(pool, error);
      return;
    case ErrorKind::kBusy:
    case ErrorKind::kThrottled:
      pool.create = Pool::Create::kNotSent;
      back_off(pool.gke->calls, settings_.call_backoff);
      return;
    case ErrorKind::kUnavailable:
    case ErrorKind::kConflict:
    case ErrorKind::kFenced:
      pool.create = Pool::Create::kNotSent;
      back_off(pool.create_retry, settings_.call_backoff);
      return;
    case ErrorKind::kAlreadyExists:  // our own lost reply, or somebody's: the listing tells
    case ErrorKind::kNotFound:       // may exist all the same
    case ErrorKind::kUnknownOutcome:
    case ErrorKind::kInternal:
      pool.create = Pool::Create::kUnknown;
      pool.row.late_create_until = wall() + settings_.late_call_max;
      put_row(pool);  // durable before another create leaves
      back_off(pool.create_retry, settings_.call_backoff);
      if (FALCON_MUTANT(kFailOnUnknownCreate))
        fail_pool(pool, Error{ErrorKind::kInvalid, error.what});
      if (FALCON_MUTANT(kForgetUnknownPool) && pool.job != nullptr) {
        pool.row.late_create_until.reset();
        pool.create = Pool::Create::kNotSent;
        capacity_failure(pool, error.what);
      }
      if (FALCON_MUTANT(kNewNameOnRetry) && pool.job != nullptr) {
        Job& job = *pool.job;
        condemn(pool);
        job.state.provision = pool.row.provision;
        make_pool(job);
      }
      return;
  }
}

void Core::State::accept(Pool& pool) {
  pool.row.phase = PoolPhase::kAccepted;
  pool.row.phase_since = wall();
  pool.row.last_error.clear();
  if (!pool.row.accepted_at) pool.row.accepted_at = wall();
  if (pool.create != Pool::Create::kInFlight) pool.create = Pool::Create::kAnswered;
  pool.accepted_mono = mono();
  put_row(pool);
  mark(pool.job);
  mark(&pool);
}

Duration Core::State::pool_timeout(const Pool& pool) const {
  return settings_.pool_timeout +
         settings_.pool_timeout_per_4_hosts * static_cast<int>((pool.shape->slice.hosts + 3) / 4);
}

// Followed by its operation *and* its state: DONE is not success, RUNNING does not mean nodes.
void Core::State::step_accepted(Pool& pool) {
  follow_operation(pool);
  if (pool.row.serves.empty()) {
    offer(pool);
    return;
  }
  if (pool.attempt && !still_wanted(pool)) return;  // its clean-up is under way
  const bool operation_failed =
      pool.operation_view && pool.operation_view->done && pool.operation_view->error;
  if (operation_failed) {
    fail_pool(pool, *pool.operation_view->error);
    return;
  }
  const bool all_ready = pool.nodes_ready >= pool.shape->slice.hosts;
  if (pool.seen && (pool.seen->status == PoolStatus::kError ||
                    (pool.seen->status == PoolStatus::kRunningWithError && !all_ready))) {
    // The operation says more than the status; without it the pool's own words must do.
    const bool operation_open =
        !pool.operation.empty() && !(pool.operation_view && pool.operation_view->done);
    const bool telling = pool.seen->words_kind != ErrorKind::kInternal;
    if (telling || !operation_open) {
      const bool partial = pool.seen->status == PoolStatus::kRunningWithError;
      const ErrorKind kind = telling   ? pool.seen->words_kind
                             : partial ? ErrorKind::kOutOfCapacity
                                       : ErrorKind::kInvalid;
      fail_pool(pool, Error{kind, pool.seen->words.empty() ? "the node pool ended with an error"
                                                           : pool.seen->words});
      return;
    }
  }
  if (pool.seen && pool.seen->status == PoolStatus::kStopping &&
      !FALCON_MUTANT(kStoppingIsCapacity)) {
    capacity_failure(pool, "the node pool is being deleted by somebody else");
    return;
  }
  if (verified_gone(pool)) {
    capacity_failure(pool, pool.was_seen ? "the node pool was deleted by somebody else"
                                         : "the node pool did not come to exist");
    return;
  }
  const bool running = is_capacity(pool);
  const bool flex = pool.row.supply == SupplyMode::kFlexStart;
  if (running && pool.gke->in_sync &&
      (pool.nodes_ready >= pool.shape->slice.hosts ||
       (FALCON_MUTANT(kPartialSlice) && pool.nodes_ready > 0))) {
    pool.row.phase = PoolPhase::kReady;
    pool.row.phase_since = wall();
    put_row(pool);
    if (pool.job != nullptr && pool.job->backoff) {
      put(RemoveBackoff{pool.job->id});
      pool.job->backoff.reset();
    }
    mark(pool.job);
    mark(&pool);
    return;
  }
  if (running && !pool.running_since) pool.running_since = mono();
  if (running && give_way(pool)) return;
  if (running && flex && !pool.attempt && pool.seen->status != PoolStatus::kRunningWithError) {
    dispatch(pool);  // the pending pods are the request for machines
    return;
  }
  const bool early = FALCON_MUTANT(kEveryPoolScales) && pool.nodes.empty();
  if (running && !pool.attempt &&
      (early ||
       (machines_given_back(pool) && due(pool, *pool.running_since + settings_.give_way_after)))) {
    dispatch(pool);
    return;
  }
  if (running || !clock_trusted_ || !pool.row.accepted_at) return;
  const WallTime limit = *pool.row.accepted_at + pool_timeout(pool);
  if (wall() < limit) {
    wake(pool, mono() + (limit - wall()));
    return;
  }
  if (pool.gke->listing_asked + settings_.pools_slow_interval * 2 < mono()) return;  // stale
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(pool_timeout(pool));
  const std::string words = pool.seen && !pool.seen->words.empty()
                                ? pool.seen->words
                                : "the node pool is not RUNNING yet";
  pool.job->verdict =
      failed(Reason::kNodePoolTimeout,
             make_message(MessageCode::kPoolTimeout, {std::to_string(minutes.count()), words}));
  mark(pool.job);
}

void Core::State::follow_operation(Pool& pool) {
  if (pool.operation.empty() || pool.operation_read != 0) return;
  if (pool.operation_view && pool.operation_view->done) return;
  if (!due(pool, pool.operation_not_before)) return;
  const model::PoolName name = pool.row.name;
  pool.operation_read =
      send(ReadOperation{pool.gke->key, pool.operation}, [this, name](const CommandDone& done) {
        const auto found = pools_.find(name);
        if (found == pools_.end()) return;
        Pool& read = *found->second;
        read.operation_read = 0;
        read.operation_not_before = mono() + jittered(busy_interval(read.accepted_mono, mono()));
        read.operation_lost = done.error.has_value();
        if (!done.error) read.operation_view = std::get<OperationView>(done.payload);
        if (!followed_by_operation(read)) {
          read.gke->moved_at = mono();
          mark(read.gke);  // listings go on where the operation has ended
        }
        mark(&read);
      });
}

void Core::State::fail_pool(Pool& pool, const Error& error) {
  pool.row.last_error = error.what;
  const bool lack = error.kind == ErrorKind::kOutOfCapacity || is_busy(error.kind) ||
                    error.kind == ErrorKind::kUnavailable ||
                    error.kind == ErrorKind::kUnknownOutcome;
  if (lack) {
    capacity_failure(pool, error.what);
    return;
  }
  if (pool.job == nullptr) {
    condemn(pool);
    return;
  }
  pool.job->verdict =
      failed(Reason::kNodePoolFailed, make_message(MessageCode::kPoolFailed, {error.what}));
  mark(pool.job);
}

// Not the job's fault: the pool goes, the job keeps its slot and asks again later.
void Core::State::capacity_failure(Pool& pool, const std::string& words) {
  pool.row.last_error = words;
  Job* job = pool.job;
  if (job != nullptr) {
    model::BackoffRow row{job->id, job->backoff ? job->backoff->failures + 1 : 1, {}, words};
    Duration delay = settings_.capacity_backoff.base;
    for (std::uint32_t i = 1; i < row.failures && delay < settings_.capacity_backoff.cap; ++i)
      delay = std::min(delay * settings_.capacity_backoff.factor, settings_.capacity_backoff.cap);
    row.not_before = wall() + jittered(delay);
    job->backoff = std::make_unique<model::BackoffRow>(row);
    put(PutBackoff{row});
  }
  condemn(pool);
  mark(job);
}

// From here on the pool is no capacity. A job that had not been dispatched on it is let go.
void Core::State::condemn(Pool& pool) {
  if (pool.row.phase == PoolPhase::kCondemned) return;
  pool.row.phase = PoolPhase::kCondemned;
  pool.row.phase_since = wall();
  put_row(pool);
  if (!pool.attempt) unbind(pool);
  mark(&pool);
  mark(pool.job);
}

void Core::State::step_ready(Pool& pool) {
  const bool lost =
      verified_gone(pool) || (pool.seen && (pool.seen->status == PoolStatus::kStopping ||
                                            pool.seen->status == PoolStatus::kError));
  if (pool.attempt) {
    // Its machines went before its pods ran: the Kubernetes Job is taken back, the job looks again.
    if (lost && still_wanted(pool) && pool.job->state.status == JobStatus::kPending) condemn(pool);
    return;
  }
  if (pool.row.serves.empty()) {
    if (lost)
      condemn(pool);
    else
      offer(pool);
    return;
  }
  // Machines that were given back are free for whoever asks first: it asks again.
  if ((lost || machines_given_back(pool)) && !FALCON_MUTANT(kStoppingIsCapacity)) {
    Job& job = *pool.job;
    condemn(pool);
    requeue(job);
    return;
  }
  if (healthy(pool) || (FALCON_MUTANT(kPartialSlice) && pool.nodes_ready > 0)) {
    dispatch(pool);
    return;
  }
  // Kept for its job, but a host is away: repaired soon, or given up.
  const WallTime limit = pool.row.phase_since + settings_.keep_limit;
  if (!clock_trusted_) return;
  if (wall() < limit) {
    wake(pool, mono() + (limit - wall()));
    return;
  }
  if (pool.nodes_ready < pool.shape->slice.hosts && pool.gke->in_sync) {
    Job& job = *pool.job;
    condemn(pool);
    requeue(job);
  }
}

// A free pool: the slot's holder takes it if its own has no Ready node yet; else the pick rule's
// next job that it fits; else it is deleted.
void Core::State::offer(Pool& pool) {
  const auto cluster = clusters_.find(pool.row.cluster);
  const bool ready_now = healthy(pool) || FALCON_MUTANT(kStoppingIsCapacity);
  if (cluster == clusters_.end() || cluster->second->row.status != model::ClusterStatus::kActive ||
      (pool.row.phase == PoolPhase::kReady && !ready_now)) {
    condemn(pool);
    return;
  }
  QueueRecord& queue = queue_of(*cluster->second, *pool.shape);
  for (Job* holder : queue.holders) {
    if (!holder->acquiring || holder->write != 0 || holder->must_read || holder->verdict ||
        holder->state.status != JobStatus::kPending)
      continue;
    Pool* own = holder->pool;
    if (own != nullptr && (own->nodes_ready > 0 || own->attempt)) continue;
    if (!fits(pool, *cluster->second, *holder)) continue;
    if (own != nullptr) condemn(*own);
    if (holder->backoff) {
      put(RemoveBackoff{holder->id});
      holder->backoff.reset();
    }
    bind(pool, *holder);
    return;
  }
  const bool takes_slot = pool.row.phase != PoolPhase::kReady;
  const Waiting* next = nullptr;
  if ((!takes_slot || queue.holders.empty()) && queue.queue.size() > 0) {
    Offer offer = offer_of(pool, *cluster->second);
    offer.admits = [](const Waiting& waiting) {
      const Job& job = *waiting.job;
      return job.slot == nullptr && job.write == 0 && job.read == 0 && !job.must_read;
    };
    next = queue.queue.pick(settings_.full_rotation, offer);
  }
  Job* chosen = next != nullptr ? next->job : nullptr;
  // Nobody of this queue: perhaps somebody who waits elsewhere, and whose own queue is held up.
  if (chosen == nullptr && settings_.move_waiting_jobs && queue.queue.size() == 0) {
    chosen = find_elsewhere(queue, offer_of(pool, *cluster->second));
    if (chosen != nullptr) move(*chosen, queue);
  }
  if (chosen != nullptr) {
    Job& job = *chosen;
    acquire(job, takes_slot);
    bind(pool, job);
    return;
  }
  if (FALCON_MUTANT(kKeepPoolForNobody)) return;
  condemn(pool);
}

}  // namespace falcon::core
