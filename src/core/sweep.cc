// Listings of a cluster's pools, and what nothing explains: pools and Kubernetes Jobs of this
// installation without a row or an attempt. Never on a failed, partial or stale listing, never a
// pool of somebody else, never before the grace is over.
#include <algorithm>

#include "base/check.h"
#include "core/state.h"
#include "model/names.h"

namespace falcon::core {

using model::PoolPhase;

// Its operation tells when the create is over; until then a listing has little to add.
bool Core::State::followed_by_operation(const Pool& pool) const {
  return pool.row.phase == PoolPhase::kAccepted && !pool.operation.empty() &&
         !pool.operation_lost && !(pool.operation_view && pool.operation_view->done);
}

// How much hangs on the next listing for this pool. Nodes and pods are told by Kubernetes.
Core::State::News Core::State::news_expected(const Pool& pool) const {
  switch (pool.row.phase) {
    case PoolPhase::kIntended:
      return pool.create == Pool::Create::kNotSent ? News::kNone : News::kSoon;
    case PoolPhase::kAccepted:
      return followed_by_operation(pool) || is_capacity(pool) ? News::kSome : News::kSoon;
    case PoolPhase::kReady:
      return pool.attempt ? News::kNone : News::kSome;
    case PoolPhase::kCondemned:
      // It went, and only a lost create may still make it again.
      if (!pool.seen && pool.was_seen && pool.row.late_create_until &&
          wall() < *pool.row.late_create_until)
        return News::kNone;
      // Before its deletion is asked for, its Job's pods are waited for.
      return pool.seen && pool.remove_retry.failures == 0 ? News::kSome : News::kSoon;
  }
  return News::kSoon;
}

Duration Core::State::list_interval(const Gke& gke) const {
  News expected = gke.orphans.empty() ? News::kNone : News::kSome;
  for (const auto& [name, pool] : gke.pools) {
    if (expected == News::kSoon) break;
    expected = std::max(expected, news_expected(*pool));
  }
  switch (expected) {
    case News::kNone:
      return settings_.pools_idle_interval;
    case News::kSome:
      return settings_.pools_slow_interval;
    case News::kSoon:
      // From the last listing on, so that it is the same moment whenever it is asked.
      return busy_interval(gke.moved_at, gke.list_sent);
  }
  return settings_.pools_idle_interval;
}

Duration Core::State::busy_interval(MonoTime moved_at, MonoTime asked_at) const {
  return std::clamp((asked_at - moved_at) / settings_.pools_slowing, settings_.pools_busy_interval,
                    settings_.pools_slow_interval);
}

void Core::State::reconcile_gke(Gke& gke) {
  if (!calls_allowed(gke)) return;
  list_pools(gke);
  sweep_workloads(gke);
}

void Core::State::list_pools(Gke& gke) {
  if (gke.list != 0) return;
  const MonoTime next = gke.listed ? gke.list_sent + list_interval(gke) : MonoTime{};
  if (!due(gke, std::max(next, gke.list_retry.not_before))) return;
  gke.list_sent = mono();
  gke.list =
      send(ListPools{gke.key}, [this, &listed = gke, asked = mono()](const CommandDone& done) {
        listed.list = 0;
        mark(&listed);
        if (done.error) {
          back_off(listed.list_retry, settings_.call_backoff);
          if (FALCON_MUTANT(kDeleteOnPartialList)) {
            listed.listing_asked = asked;
            take_listing(listed, PoolListing{});
          }
          return;
        }
        listed.list_retry = {};
        listed.listed = true;
        listed.listing_asked = asked;
        take_listing(listed, std::get<PoolListing>(done.payload));
      });
}

// What is new is taken; what is not there, or not yet, waits for what the next listing says.
void Core::State::take_listing(Gke& gke, const PoolListing& listing) {
  bool changed = !gke.told_listed;
  gke.told_listed = true;
  ++gke.listings;
  std::map<model::PoolName, MonoTime> orphans;
  for (const PoolView& view : listing.pools) {
    const auto found = gke.pools.find(view.name);
    if (found == gke.pools.end()) {
      sweep_pool(gke, view, orphans);
      continue;
    }
    Pool& pool = *found->second;
    if (view.installation != settings_.installation || view.job != pool.row.owner) continue;
    pool.seen_in = gke.listings;
    if (!pool.was_seen) {
      pool.was_seen = true;
      // The create that made it has arrived; another may still be under way.
      if (pool.creates <= 1) pool.row.late_create_until.reset();
    }
    if (pool.seen == view) {
      if (!is_capacity(pool)) mark(&pool);
      continue;
    }
    pool.seen = view;
    changed = true;
    mark(&pool);
    mark(pool.job);
  }
  for (auto& [name, pool] : gke.pools) {
    if (pool->seen_in == gke.listings) continue;
    if (pool->seen) {
      pool->seen.reset();
      changed = true;
      mark(pool->job);
    }
    mark(pool);
  }
  gke.orphans = std::move(orphans);
  if (!changed) return;
  gke.moved_at = mono();
  mark_queues(gke);
}

// What waits in the cluster, or holds a slot there, may be served by what changed.
void Core::State::mark_queues(Gke& gke) {
  for (const auto& [id, cluster] : gke.rows)
    for (QueueRecord* queue : queues_of(id)) {
      mark(queue);
      for (Job* holder : queue->holders) mark(holder);
    }
}

// A pool is explained by its row, or by a job that is not terminal and may still own it.
bool Core::State::explained(const PoolView& view) const {
  if (unreadable_.contains(view.job)) return true;
  const auto job = jobs_.find(view.job);
  if (job == jobs_.end() || model::is_terminal(job->second->state.status)) return false;
  return view.provision > job->second->state.provision;
}

void Core::State::sweep_pool(Gke& gke, const PoolView& view,
                             std::map<model::PoolName, MonoTime>& orphans) {
  const bool ours = view.installation == settings_.installation || FALCON_MUTANT(kSweepForeign);
  if (!ours || !view.name.value().starts_with(model::kPoolPrefix) || explained(view)) return;
  const auto known = gke.orphans.find(view.name);
  const MonoTime since = known == gke.orphans.end() ? mono() : known->second;
  if (clock_trusted_ && mono() - since >= settings_.orphan_grace && !FALCON_MUTANT(kNoSweep))
    adopt_orphan(gke, view);
  else
    orphans[view.name] = since;
}

// An orphan gets a row that condemns it, and then goes the way of every condemned pool.
void Core::State::adopt_orphan(Gke& gke, const PoolView& view) {
  auto pool = std::make_unique<Pool>(next_serial_++);
  model::PoolRow& row = pool->row;
  row.name = view.name;
  row.gke = gke.key;
  if (!gke.rows.empty()) row.cluster = gke.rows.begin()->first;
  row.owner = view.job;
  row.provision = view.provision;
  row.phase = PoolPhase::kCondemned;
  row.intent_at = wall();
  row.phase_since = wall();
  row.last_error = "no row explained this node pool";
  // Its shape no longer matters; any valid one serves the arithmetic.
  const auto cluster = clusters_.find(row.cluster);
  const std::string type = cluster == clusters_.end() ? "v6e" : cluster->second->row.tpu_type;
  const model::TpuGeneration* generation = model::find_tpu_generation(type);
  row.shape = {model::Accelerator::kTpu, type, std::string(generation->topologies.front())};
  pool->shape = intern(row.shape);
  pool->gke = &gke;
  pool->create = Pool::Create::kAnswered;
  pool->was_seen = true;
  pool->seen = view;
  pool->seen_in = gke.listings;
  gke.pools[row.name] = pool.get();
  gke.idle.insert(pool.get());
  pools_by_job_[row.owner].push_back(pool.get());
  put_row(*pool);
  mark(pool.get());
  pools_.emplace(model::PoolName(row.name), std::move(pool));
}

// Kubernetes Jobs of this installation that are no pool's attempt: late creates, lost rows.
void Core::State::sweep_workloads(Gke& gke) {
  if (!gke.in_sync || !gke.listed) return;
  for (const model::WorkloadName& name : gke.strays) {
    const WorkloadView& workload = gke.workloads.at(name);
    if (workload.deleting || unreadable_.contains(workload.job)) {
      gke.orphan_workloads.erase(name);
      continue;
    }
    OrphanWorkload& orphan = gke.orphan_workloads[name];
    if (orphan.uid != workload.uid) orphan = OrphanWorkload{workload.uid, mono(), 0, {}};
    if (orphan.remove != 0 || FALCON_MUTANT(kNoWorkloadSweep)) continue;
    if (!due(gke, std::max(orphan.since + settings_.pod_gone_margin, orphan.retry.not_before)))
      continue;
    orphan.remove = send(DeleteWorkload{gke.key, workload.kube_namespace, name, workload.uid},
                         [this, &swept = gke, orphan_name = name](const CommandDone&) {
                           const auto found = swept.orphan_workloads.find(orphan_name);
                           if (found == swept.orphan_workloads.end()) return;
                           found->second.remove = 0;
                           back_off(found->second.retry, settings_.delete_backoff);
                           mark(&swept);
                         });
  }
}

}  // namespace falcon::core
