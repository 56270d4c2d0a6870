// A job that waits behind others moves to a cluster that can serve it at once: one with an idle
// node pool of its shape, or whose queue of the shape is empty and has room. It keeps its
// seniority.
//
// A move ends in a turn: the job is picked in the same step, by the pool or for the free slot. So a
// job moves no more often than it acquires, and there is no going to and fro.
#include "core/state.h"

namespace falcon::core {

// The most senior of those who would be next in a queue that cannot serve them now.
Job* Core::State::find_elsewhere(const QueueRecord& here, Offer offer) {
  offer.admits = [this, &here, more = std::move(offer.admits)](const Waiting& waiting) {
    const Job& job = *waiting.job;
    return job.slot == nullptr && job.write == 0 && job.read == 0 && !job.must_read &&
           job.state.status == model::JobStatus::kPending && offers(*here.cluster, job) &&
           (!more || more(waiting));
  };
  const Waiting* best = nullptr;
  for (QueueRecord* other : *here.siblings) {
    const bool serves_soon =
        other->cluster != nullptr && other->holders.empty() && other->held_until <= mono() &&
        other->cluster->row.status == model::ClusterStatus::kActive && other->cluster->gke->in_sync;
    if (other == &here || serves_soon) continue;
    const Waiting* next = other->queue.pick(settings_.full_rotation, offer);
    if (next != nullptr && (best == nullptr || MoreSenior{}(next, best))) best = next;
  }
  return best == nullptr ? nullptr : best->job;
}

// A free slot that nobody of its queue wants.
void Core::State::pull(QueueRecord& queue) {
  const ClusterRecord& cluster = *queue.cluster;
  if (!settings_.move_waiting_jobs || queue.siblings->empty() || !cluster.gke->in_sync ||
      !cluster.gke->listed || cluster.row.status != model::ClusterStatus::kActive ||
      cluster.gke->calls.not_before > mono())
    return;
  Offer offer;
  offer.admits = [this, &queue](const Waiting& waiting) { return has_room(queue, *waiting.job); };
  Job* job = find_elsewhere(queue, offer);
  if (job == nullptr) return;
  move(*job, queue);
  acquire(*job, /*with_slot=*/true);
}

void Core::State::move(Job& job, QueueRecord& queue) {
  leave_queue(job);
  enter_queue(job, queue);
}

// As far as can be known before asking: unread or old numbers of a reservation are no room.
bool Core::State::has_room(QueueRecord& queue, const Job& job) {
  const ClusterRecord& cluster = *queue.cluster;
  if (supply_for(cluster, job) != model::SupplyMode::kReservation) return true;
  ReservationRecord& reservation = reservation_of(cluster.reservation);
  const bool fresh = reservation.view && !reservation.error &&
                     reservation.asked + settings_.reservation_fresh > mono();
  if (!fresh) {
    reservation.queues.insert(&queue);
    mark(&reservation);
    return false;
  }
  const auto free = free_units(reservation);
  return free && *free >= units_needed(reservation, *job.shape);
}

// The cluster has come, or come back: where jobs of its type wait, its queues are looked at.
void Core::State::invite(ClusterRecord& cluster) {
  if (!settings_.move_waiting_jobs) return;
  for (auto& [shape, waiting] : waiting_queues_)
    if (shape.type == cluster.row.tpu_type && !waiting.empty())
      mark(&queue_of(cluster, *(*waiting.begin())->shape));
}

}  // namespace falcon::core
