// A node pool that is RUNNING for Google and has not all its nodes keeps its job's place, unless a
// job of another shape in the same cluster waits for just these machines of a reservation. Then,
// after a while, it is given up: the job waits again, at its old seniority and as if it had had no
// turn, and its queue makes no pool until the other job runs or ends, half an hour at most (C4).
//
// Only a reservation says whose machines another job lacks; on-demand and flex-start pools are
// kept.
#include <algorithm>

#include "core/state.h"

namespace falcon::core {

// True when it was given up.
bool Core::State::give_way(Pool& pool) {
  if (pool.row.reservation.empty() || pool.job == nullptr || pool.attempt) return false;
  if (!due(pool, *pool.running_since + settings_.give_way_after)) return false;
  Job& job = *pool.job;
  if (job.write != 0 || job.read != 0 || job.must_read || job.queue == nullptr) return false;
  const Duration hour = std::chrono::hours(1);
  std::erase_if(job.gave_way, [&](MonoTime time) { return time + hour <= mono(); });
  if (job.gave_way.size() >= settings_.give_ways_an_hour) {
    wake(pool, job.gave_way.front() + hour);
    return false;
  }
  const Job* other = held_up_by(pool, reservation_of(pool.row.reservation));
  if (other == nullptr) return false;
  job.gave_way.push_back(mono());
  hold(*job.queue, *other);
  give_turn_back(job);
  pool.row.last_error = "given up for job " + other->id.value();
  condemn(pool);
  requeue(job);
  job.waits_again = true;
  return true;
}

// Who holds a slot of another shape there, lacks units of the reservation, and would have enough.
Job* Core::State::held_up_by(const Pool& pool, const ReservationRecord& reservation) {
  const auto free = free_units(reservation);
  if (!free || reservation.error) return nullptr;
  const std::int64_t claimed = pool.claim_closed ? 0 : units_needed(reservation, *pool.shape);
  const bool chips = reservation.view->unit == ReservationView::Unit::kChips;
  const std::int64_t used =
      static_cast<std::int64_t>(pool.nodes.size()) * (chips ? pool.shape->slice.chips_per_host : 1);
  const std::int64_t with_it = *free + claimed + std::min(used, reservation.view->in_use);
  for (Job* other : reservation.waiters) {
    if (other->slot == nullptr || other->shape == pool.shape || other->slot->cluster == nullptr ||
        other->slot->cluster->gke != pool.gke || other->pool != nullptr)
      continue;
    const std::int64_t needed = units_needed(reservation, *other->shape);
    if (*free < needed && needed <= with_it) return other;
  }
  return nullptr;
}

void Core::State::hold(QueueRecord& queue, const Job& other) {
  queue.held_for = other.id;
  queue.held_until = mono() + settings_.give_way_for;
  held_queues_.insert(&queue);
}

bool Core::State::held(QueueRecord& queue) {
  if (queue.held_for.empty()) return false;
  if (!due(queue, queue.held_until)) return true;
  queue.held_for = {};
  held_queues_.erase(&queue);
  return false;
}

// The other job has its machines, or needs none any more.
void Core::State::end_holds_for(const Job& other) {
  std::erase_if(held_queues_, [&](QueueRecord* queue) {
    if (queue->held_for != other.id) return false;
    queue->held_for = {};
    queue->held_until = mono();
    mark(queue);
    return true;
  });
}

// As if it had not been served. What an earlier process knew of the turn before is not known here.
void Core::State::give_turn_back(Job& job) {
  QueueRecord& queue = *job.queue;
  if (!job.turn_before || job.turn == 0 || job.turn != queue.queue.last_turn_of(job.waiting.actor))
    return;
  queue.queue.give_back(job.waiting.actor, *job.turn_before);
  put(PutTurn{model::TurnRow{queue.key, *job.waiting.actor, *job.turn_before, {}, job.turn_at}});
  queue.turns.erase(&job);
  job.turn_pending = false;
  job.turn = 0;
}

}  // namespace falcon::core
