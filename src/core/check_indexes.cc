// Every index against a recount from what it derives from.
#include <algorithm>

#include "core/state.h"

namespace falcon::core {

std::string Core::State::check_indexes() const {
  std::map<const QueueRecord*, std::size_t> waiting;
  for (const auto& [id, job] : jobs_) {
    if (job->slot != nullptr && !job->slot->holders.contains(job.get()))
      return "a job's slot does not know of it";
    if (job->queue != nullptr && !job->acquiring) {
      ++waiting[job->queue];
      if (!job->queue->queue.contains(&job->waiting)) return "a waiting job is not in its queue";
    }
    if (job->pool != nullptr && job->pool->job != job.get()) return "a job's pool serves another";
  }
  for (const auto& [key, queue] : queues_) {
    const auto found = waiting.find(queue.get());
    const std::size_t counted = found == waiting.end() ? 0 : found->second;
    if (queue->queue.size() != counted) return "a queue's size is not the number of its jobs";
    const bool free_slot =
        queue->holders.empty() && queue->cluster != nullptr && ready() && queue->held_for.empty() &&
        queue->cluster->row.status == model::ClusterStatus::kActive && queue->cluster->gke->listed;
    if (free_slot)
      if (const Waiting* next = queue->queue.pick(settings_.full_rotation)) {
        const Job& job = *next->job;
        if (job.slot == nullptr && job.write == 0 && job.read == 0 && !job.must_read)
          return "a slot is free while " + job.id.value() + " waits";
      }
    for (const Job* holder : queue->holders)
      if (holder->slot != queue.get()) return "a slot's holder does not know of it";
  }
  for (const auto& [name, pool] : pools_) {
    std::uint32_t nodes_ready = 0;
    for (const auto& [node_name, node] : pool->nodes) nodes_ready += node.ready ? 1U : 0U;
    if (nodes_ready != pool->nodes_ready) return "a pool's count of Ready nodes is off";
    if (pool->job != nullptr && pool->job->id != pool->row.serves)
      return "a pool's job is not the one of its row";
    const auto by_owner = pools_by_job_.find(pool->row.owner);
    if (by_owner == pools_by_job_.end() || std::ranges::count(by_owner->second, pool.get()) != 1)
      return "a pool is not known by its owner";
    const bool has_attempt = pool->attempt.has_value();
    if (has_attempt && pool_of_workload(*pool->gke, pool->attempt->name) != pool.get())
      return "an attempt is not known by its name";
    if (has_attempt && !pool->attempt->row.uid.empty() &&
        pool_of_uid(*pool->gke, pool->attempt->row.uid) != pool.get())
      return "an attempt is not known by its uid";
    if (pool->gke->idle.contains(pool.get()) != pool->row.serves.empty())
      return "a pool that serves nobody is not known to be idle";
    const auto in_gke = pool->gke->pools.find(name);
    if (in_gke == pool->gke->pools.end() || in_gke->second != pool.get())
      return "a pool is not known in its cluster";
  }
  for (const auto& [key, gke] : gkes_) {
    for (const Pool* pool : gke->idle)
      if (gke->pools.count(pool->row.name) == 0) return "an idle pool is gone";
    for (const auto& [name, workload] : gke->workloads)
      if (gke->strays.contains(name) == gke->attempts.contains(name))
        return "a Kubernetes Job is neither an attempt nor a stray";
  }
  return {};
}

}  // namespace falcon::core
