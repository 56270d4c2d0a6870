// Which cluster a job goes to, how it waits there, and who is next (decisions 3 and 4).
#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "core/state.h"
#include "model/validation.h"

namespace falcon::core {
namespace {

// Failed readings of one row, some 10 s of them, before its queue goes on without it.
constexpr std::uint32_t kUnreadableAfter = 3;
// Between a job's own limit and the end date of its machines.
constexpr std::int64_t kEndMarginSeconds = 3'600;

}  // namespace

model::SupplyMode Core::State::supply_for(const ClusterRecord& cluster, const Job& job) const {
  return supply_for(cluster, job.waiting.supply);
}

model::SupplyMode Core::State::supply_for(const ClusterRecord& cluster,
                                          std::optional<model::SupplyMode> asked) const {
  if (asked) return *asked;
  return cluster.reservation.empty() ? model::SupplyMode::kFlexStart
                                     : model::SupplyMode::kReservation;
}

// One predicate for candidates: the cluster is active, of the type, and can supply as asked.
bool Core::State::offers(const ClusterRecord& cluster, const Job& job) const {
  const bool flex = supply_for(cluster, job) == model::SupplyMode::kFlexStart;
  if (flex && job.waiting.timeout_seconds > model::kFlexTimeoutSecondsMax) return false;
  return offers(cluster, *job.shape, job.waiting.supply);
}

bool Core::State::offers(const ClusterRecord& cluster, const ShapeFacts& shape,
                         std::optional<model::SupplyMode> asked) const {
  if (cluster.row.status != model::ClusterStatus::kActive) return false;
  if (cluster.row.tpu_type != shape.shape.type) return false;
  switch (supply_for(cluster, asked)) {
    case model::SupplyMode::kReservation:
      return !cluster.reservation.empty();
    case model::SupplyMode::kFlexStart:
      return shape.slice.generation->flex_start;
    case model::SupplyMode::kOnDemand:
      return true;
  }
  return false;
}

// What a pool can serve, as far as its make and its end date go.
Offer Core::State::offer_of(const Pool& pool, const ClusterRecord& cluster) const {
  Offer offer;
  const auto suits = [&](std::optional<model::SupplyMode> asked) {
    const model::SupplyMode supply = supply_for(cluster, asked);
    return offers(cluster, *pool.shape, asked) && supply == pool.row.supply &&
           (supply != model::SupplyMode::kReservation ||
            cluster.reservation == pool.row.reservation);
  };
  offer.supplies[supply_index({})] = suits({});
  for (const model::SupplyMode supply : model::kAllSupplyModes)
    offer.supplies[supply_index(supply)] = suits(supply);
  if (pool.row.usable_until)
    offer.longest_timeout_seconds =
        std::chrono::floor<std::chrono::seconds>(*pool.row.usable_until - wall()).count() -
        kEndMarginSeconds;
  return offer;
}

// May this pool serve that job, as far as the pool's make goes?
bool Core::State::fits(const Pool& pool, const ClusterRecord& cluster, const Job& job) const {
  const Offer offer = offer_of(pool, cluster);
  return job.shape == pool.shape && offer.supplies[supply_index(job.waiting.supply)] &&
         job.waiting.timeout_seconds <= offer.longest_timeout_seconds;
}

QueueRecord& Core::State::queue_of(ClusterRecord& cluster, const ShapeFacts& shape) {
  QueueRecord*& known = cluster.queues[&shape];
  if (known != nullptr) return *known;
  known = &queue_by_key({cluster.row.id, shape.shape}, shape);
  known->cluster = &cluster;
  return *known;
}

QueueRecord& Core::State::queue_by_key(const model::QueueKey& key, const ShapeFacts& shape) {
  auto& queue = queues_[key];
  if (!queue) {
    queue = std::make_unique<QueueRecord>(next_serial_++);
    queue->key = key;
    queue->shape = &shape;
    queue->siblings = &waiting_queues_[shape.shape];
  }
  return *queue;
}

// After each change of who waits in it.
void Core::State::count_waiting(QueueRecord& queue) {
  if (queue.queue.size() == 0)
    queue.siblings->erase(&queue);
  else
    queue.siblings->insert(&queue);
}

// Also of a cluster whose row is gone.
std::vector<QueueRecord*> Core::State::queues_of(const model::ClusterId& id) const {
  std::vector<QueueRecord*> queues;
  for (auto it = queues_.lower_bound({id, {}}); it != queues_.end() && it->first.cluster == id;
       ++it)
    queues.push_back(it->second.get());
  return queues;
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
      const bool idle = std::ranges::any_of(cluster.gke->idle, [&](const Pool* pool) {
        return healthy(*pool) && fits(*pool, cluster, job);
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
  count_waiting(queue);
  want_publish(queue);
  mark(&queue);
}

void Core::State::leave_queue(Job& job) {
  if (job.queue == nullptr || job.acquiring) return;
  job.queue->queue.remove(&job.waiting);
  count_waiting(*job.queue);
  want_publish(*job.queue);
  mark(job.queue);
  job.queue = nullptr;
}

// The job was picked: it no longer waits, and this was its actor's turn.
void Core::State::acquire(Job& job, bool with_slot) {
  QueueRecord& queue = *job.queue;
  queue.queue.remove(&job.waiting);
  count_waiting(queue);
  job.acquiring = true;
  if (with_slot) take_slot(job, queue);
  job.turn_before = queue.queue.last_turn_of(job.waiting.actor);
  job.turn = queue.queue.served(job.waiting.actor);
  job.turn_pending = true;
  queue.turns.insert(&job);
  queue.resume = {};
  job.turn_at = wall();
  put(PutTurn{model::TurnRow{queue.key, *job.waiting.actor, job.turn, job.id, job.turn_at}});
  want_publish(queue);
  mark(&queue);
  mark(&job);
}

// The job that took the last turn before a restart, where the crash came between the turn and the
// job's row: it goes on with the slot and takes no second turn.
bool Core::State::resume(QueueRecord& queue) {
  const model::JobId id = std::exchange(queue.resume, {});
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  Job& job = *found->second;
  if (job.queue != &queue || job.acquiring || job.slot != nullptr) return false;
  queue.queue.remove(&job.waiting);
  count_waiting(queue);
  job.acquiring = true;
  take_slot(job, queue);
  want_publish(queue);
  mark(&job);
  return true;
}

void Core::State::turn_is_durable(const model::TurnRow& row) {
  const auto found = queues_.find(row.queue);
  if (found == queues_.end()) return;
  std::erase_if(found->second->turns, [&](Job* job) {
    if (*job->waiting.actor != row.actor || job->turn > row.turn) return false;
    job->turn_pending = false;
    mark(job);
    return true;
  });
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
  end_holds_for(job);
  want_reading(job, nullptr);
}

// Back to waiting, at the old seniority; the place is looked for again. The slot goes when the row
// says so, or two rows of one queue would say that they acquire.
void Core::State::requeue(Job& job) {
  FALCON_CHECK(job.pool == nullptr);
  if (job.acquiring) {
    job.acquiring = false;
    forget_turn(job);
    job.queue = nullptr;
  } else {
    leave_queue(job);
  }
  mark(&job);
}

// Its turn is spent, but it acquires no longer: a restart must not go on with it.
void Core::State::forget_turn(Job& job) {
  if (job.queue == nullptr) return;
  QueueRecord& queue = *job.queue;
  queue.turns.erase(&job);
  job.turn_pending = false;
  if (queue.resume == job.id) queue.resume = {};
  const std::uint64_t turn = std::exchange(job.turn, 0);
  if (turn != 0 && turn == queue.queue.last_turn_of(job.waiting.actor))
    put(PutTurn{model::TurnRow{queue.key, *job.waiting.actor, turn, {}, job.turn_at}});
}

void Core::State::reconcile_queue(QueueRecord& queue) {
  publish(queue);
  if (queue.cluster == nullptr || !queue.holders.empty() || held(queue)) return;
  if (queue.queue.size() == 0) {
    pull(queue);
    return;
  }
  if (queue.cluster->row.status != model::ClusterStatus::kActive) return;
  if (!queue.cluster->gke->listed) return;
  // A job of this queue that was taken over from before a restart may still hold the slot by its
  // row alone; its own reconcile comes first, since jobs are marked before queues at the start.
  if (!queue.resume.empty() && resume(queue)) return;
  const auto readable = [](const Waiting& waiting) {
    const Job& job = *waiting.job;
    return !job.must_read || job.retry.failures < kUnreadableAfter;
  };
  const Waiting* next = queue.queue.pick(settings_.full_rotation);
  // A row that cannot be read again and again holds up nobody but itself.
  if (!readable(*next)) {
    Offer offer;
    offer.admits = readable;
    next = queue.queue.pick(settings_.full_rotation, offer);
  }
  if (next == nullptr) return;
  Job& job = *next->job;
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
