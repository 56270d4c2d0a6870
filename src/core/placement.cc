// Which cluster a job goes to, how it waits there, and who is next (decisions 3 and 4).
#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "core/state.h"

namespace falcon::core {

model::SupplyMode Core::State::supply_for(const ClusterRecord& cluster, const Job& job) const {
  if (job.supply_mode) return *job.supply_mode;
  return cluster.reservation.empty() ? model::SupplyMode::kFlexStart
                                     : model::SupplyMode::kReservation;
}

// One predicate for candidates: the cluster is active, of the type, and can supply as asked.
bool Core::State::offers(const ClusterRecord& cluster, const Job& job) const {
  if (cluster.row.status != model::ClusterStatus::kActive) return false;
  if (cluster.row.tpu_type != job.shape->shape.type) return false;
  switch (supply_for(cluster, job)) {
    case model::SupplyMode::kReservation:
      return !cluster.reservation.empty();
    case model::SupplyMode::kFlexStart:
      return job.shape->slice.generation->flex_start;
    case model::SupplyMode::kOnDemand:
      return true;
  }
  return false;
}

// May this pool serve that job, as far as the pool's make goes?
bool Core::State::fits(const Pool& pool, const ClusterRecord& cluster, const Job& job) const {
  if (job.shape != pool.shape || job.acquiring || !offers(cluster, job)) return false;
  const model::SupplyMode supply = supply_for(cluster, job);
  if (supply != pool.row.supply) return false;
  if (supply == model::SupplyMode::kReservation && cluster.reservation != pool.row.reservation)
    return false;
  if (pool.row.usable_until &&
      *pool.row.usable_until < wall() + std::chrono::seconds(job.timeout_seconds + 3'600))
    return false;
  return true;
}

QueueRecord& Core::State::queue_of(ClusterRecord& cluster, const ShapeFacts& shape) {
  auto& queue = queues_[model::QueueKey{cluster.row.id, shape.shape}];
  if (!queue) {
    queue = std::make_unique<QueueRecord>(next_serial_++);
    queue->key = {cluster.row.id, shape.shape};
    queue->shape = &shape;
  }
  queue->cluster = &cluster;
  return *queue;
}

// A cluster with an idle pool of the shape first, then the shortest queue of the shape, then the
// name: the same answer every time.
void Core::State::place(Job& job) {
  const auto candidates = clusters_by_type_.find(job.shape->shape.type);
  ClusterRecord* best = nullptr;
  std::tuple<bool, std::size_t, std::string_view, std::string_view> best_rank;
  if (candidates != clusters_by_type_.end())
    for (const model::ClusterId& id : candidates->second) {
      ClusterRecord& cluster = *clusters_.at(id);
      if (!offers(cluster, job)) continue;
      const QueueRecord& queue = queue_of(cluster, *job.shape);
      const bool idle = std::ranges::any_of(cluster.gke->pools, [&](const auto& entry) {
        return entry.second->row.serves.empty() && healthy(*entry.second) &&
               fits(*entry.second, cluster, job);
      });
      const std::tuple<bool, std::size_t, std::string_view, std::string_view> rank{
          !idle, queue.queue.size() + queue.holders.size(), cluster.row.name,
          cluster.row.id.value()};
      if (best == nullptr || rank < best_rank) {
        best = &cluster;
        best_rank = rank;
      }
    }
  if (best == nullptr) {
    unplaced_.insert(&job);
    return;
  }
  unplaced_.erase(&job);
  enter_queue(job, queue_of(*best, *job.shape));
}

void Core::State::enter_queue(Job& job, QueueRecord& queue) {
  FALCON_CHECK(job.queue == nullptr && !job.acquiring);
  job.queue = &queue;
  queue.queue.add(&job.waiting);
  want_publish(queue);
  mark(&queue);
}

void Core::State::leave_queue(Job& job) {
  if (job.queue == nullptr || job.acquiring) return;
  job.queue->queue.remove(&job.waiting);
  want_publish(*job.queue);
  mark(job.queue);
  job.queue = nullptr;
}

// The job was picked: it no longer waits, and this was its actor's turn.
void Core::State::acquire(Job& job, bool with_slot) {
  QueueRecord& queue = *job.queue;
  queue.queue.remove(&job.waiting);
  job.acquiring = true;
  if (with_slot) take_slot(job, queue);
  const std::uint64_t turn = queue.queue.served(job.waiting.actor);
  if (!FALCON_MUTANT(kTurnNotStored))
    put(PutTurn{model::TurnRow{queue.key, *job.waiting.actor, turn, job.id}});
  want_publish(queue);
  mark(&queue);
  mark(&job);
}

void Core::State::take_slot(Job& job, QueueRecord& queue) {
  FALCON_CHECK(job.slot == nullptr || job.slot == &queue);
  job.slot = &queue;
  queue.holders.insert(&job);
}

void Core::State::release_slot(Job& job) {
  if (job.slot == nullptr) return;
  job.slot->holders.erase(&job);
  mark(job.slot);
  mark(job.queue);
  job.slot = nullptr;
  for (auto& [key, reservation] : reservations_) reservation->waiters.erase(&job);
}

// Back to waiting, at the old seniority; the place is looked for again. The slot goes when the row
// says so, or two rows of one queue would say that they acquire.
void Core::State::requeue(Job& job) {
  FALCON_CHECK(job.pool == nullptr);
  if (job.acquiring) {
    job.acquiring = false;
    job.queue = nullptr;
  } else {
    leave_queue(job);
  }
  mark(&job);
}

void Core::State::reconcile_queue(QueueRecord& queue) {
  publish(queue);
  if (queue.cluster == nullptr || queue.queue.size() == 0 || !queue.holders.empty()) return;
  if (queue.cluster->row.status != model::ClusterStatus::kActive) return;
  if (!queue.cluster->gke->listed) return;
  // A job of this queue that was taken over from before a restart may still hold the slot by its
  // row alone; its own reconcile comes first, since jobs are marked before queues at the start.
  const Waiting* next = queue.queue.pick(settings_.full_rotation);
  Job& job = *jobs_.at(*next->id);
  if (job.slot != nullptr || job.write != 0 || job.read != 0 || job.must_read)
    return;  // its row is on the move
  acquire(job, /*with_slot=*/true);
}

void Core::State::want_publish(QueueRecord& queue) {
  queue.publish_wanted = true;
  mark(&queue);
}

void Core::State::publish(QueueRecord& queue) {
  if (!queue.publish_wanted || !due(queue, queue.publish_not_before)) return;
  queue.publish_wanted = false;
  // A long order is made less often: 2 s, and 1 s more for every 20,000 jobs, at most 8 s.
  const auto extra =
      Duration(static_cast<std::int64_t>(std::min<std::size_t>(queue.queue.size() / 20, 6'000)));
  queue.publish_not_before = mono() + settings_.publish_interval + extra;
  PublishQueue document{queue.key, static_cast<std::uint64_t>(to_unix_ms(wall())), {}};
  document.version = std::max(document.version, queue.publish_version + 1);
  queue.publish_version = document.version;
  const auto order = queue.queue.order(settings_.full_rotation);
  document.order.reserve(order.size());
  for (const Waiting* waiting : order) document.order.push_back(*waiting->id);
  send(std::move(document), [](const CommandDone&) {});
}

}  // namespace falcon::core
