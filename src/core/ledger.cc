// Claims on reservations: one ledger for each, over all queues, shapes and clusters that draw on
// it.
//
// At each new claim: last complete reading + open claims + this one <= count. A claim opens with
// the pool's row and closes when all its nodes are Ready and a reading asked after that is there,
// or when the pool was seen gone. Usage that is unknown or stale is no free capacity.
#include <algorithm>
#include <utility>

#include "core/state.h"

namespace falcon::core {

std::int64_t Core::State::units_needed(const ReservationRecord& reservation,
                                       const ShapeFacts& shape) const {
  const bool chips = reservation.view && reservation.view->unit == ReservationView::Unit::kChips;
  return chips ? shape.slice.chips : shape.slice.hosts;
}

std::int64_t Core::State::open_claims(const ReservationRecord& reservation) const {
  std::int64_t claims = 0;
  if (FALCON_MUTANT(kOverclaim)) return 0;
  for (const Pool* pool : reservation.pools)
    if (!pool->claim_closed) claims += units_needed(reservation, *pool->shape);
  return claims;
}

// Empty: not known, or not fresh enough to decide on.
std::optional<std::int64_t> Core::State::free_units(const ReservationRecord& reservation) const {
  if (!reservation.view) return std::nullopt;
  if (!reservation.view->ready) return 0;
  return reservation.view->total - reservation.view->in_use - open_claims(reservation);
}

// The reading that the job waits for; null: none any more.
void Core::State::want_reading(Job& job, ReservationRecord* reservation) {
  if (job.reads == reservation) return;
  if (job.reads != nullptr) job.reads->waiters.erase(&job);
  job.reads = reservation;
  if (reservation != nullptr) reservation->waiters.insert(&job);
}

bool Core::State::may_claim(Job& job, const ClusterRecord& cluster) {
  ReservationRecord& reservation = reservation_of(cluster.reservation);
  want_reading(job, &reservation);
  const bool fresh = reservation.view && !reservation.error &&
                     reservation.asked + settings_.reservation_fresh > mono();
  if (!fresh) {
    mark(&reservation);
    return false;
  }
  const auto free = free_units(reservation);
  if (!free || *free < units_needed(reservation, *job.shape)) {
    mark(&reservation);
    return false;
  }
  want_reading(job, nullptr);
  return true;
}

void Core::State::reconcile_reservation(ReservationRecord& reservation) {
  const bool to_close = std::ranges::any_of(reservation.pools, [](const Pool* pool) {
    return !pool->claim_closed && pool->all_ready_since;
  });
  if (reservation.waiters.empty() && reservation.queues.empty() && !to_close) return;
  read_reservation(reservation);
}

void Core::State::read_reservation(ReservationRecord& reservation) {
  if (reservation.read != 0 || !due(reservation, reservation.read_not_before)) return;
  const model::Reservation key = reservation.key;
  reservation.read =
      send(ReadReservation{key}, [this, key, asked = mono()](const CommandDone& done) {
        ReservationRecord& read = reservation_of(key);
        read.read = 0;
        read.read_not_before = mono() + jittered(settings_.reservation_interval);
        if (done.error) {
          read.error = done.error;  // unknown, never free
        } else {
          read.error.reset();
          read.view = std::get<ReservationView>(done.payload);
          read.asked = asked;
          close_claims(read);
        }
        for (Job* job : read.waiters) mark(job);
        if (!read.waiters.empty())
          for (Pool* pool : read.pools)
            if (pool->running_since) mark(pool);
        for (QueueRecord* queue : std::exchange(read.queues, {})) mark(queue);
        mark(&read);
      });
}

void Core::State::close_claims(ReservationRecord& reservation) {
  for (Pool* pool : reservation.pools)
    if (pool->all_ready_since && *pool->all_ready_since < reservation.asked)
      pool->claim_closed = true;
}

}  // namespace falcon::core
