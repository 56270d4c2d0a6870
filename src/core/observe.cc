// Facts in. Nothing is decided here: records take what was seen and are marked.
#include <algorithm>

#include "base/check.h"
#include "core/state.h"
#include "model/names.h"
#include "model/validation.h"

namespace falcon::core {

void Core::State::observe(const StateLoaded& event) {
  FALCON_CHECK(!state_loaded_);
  for (const model::PoolRow& row : event.pools) {
    auto pool = std::make_unique<Pool>(next_serial_++);
    pool->row = row;
    pool->acked_revision = pool->revision;
    pool->shape = intern(row.shape);
    pool->gke = &gke_of(row.gke);
    // An earlier process may have sent the create at any time until now.
    pool->create =
        row.phase == model::PoolPhase::kIntended ? Pool::Create::kUnknown : Pool::Create::kAnswered;
    if (row.phase == model::PoolPhase::kCondemned && !row.accepted_at)
      pool->create = Pool::Create::kUnknown;
    pool->create_sent = mono();
    if (pool->create == Pool::Create::kUnknown) {
      pool->creates = row.late_create_until ? 2 : 1;
      pool->row.late_create_until = wall() + settings_.late_call_max;
    }
    // Time goes on while Falcon is away: what had to be visible by now is looked for at once.
    const Duration age =
        clock_trusted_ && row.accepted_at ? wall() - *row.accepted_at : Duration(0);
    pool->accepted_mono = mono() - std::max(age, Duration(0));
    pool->gke->pools[row.name] = pool.get();
    if (row.serves.empty()) pool->gke->idle.insert(pool.get());
    if (!row.reservation.empty()) reservation_of(row.reservation).pools.insert(pool.get());
    pools_by_job_[row.owner].push_back(pool.get());
    if (!row.serves.empty() && row.serves != row.owner)
      pools_by_job_[row.serves].push_back(pool.get());
    pools_.emplace(row.name, std::move(pool));
  }
  for (const model::AttemptRow& row : event.attempts) {
    if (row.outcome != model::AttemptOutcome::kOpen && row.late_create_until)
      late_creates_.push_back(row);
    const auto found = pools_.find(row.pool);
    if (found == pools_.end() || row.outcome != model::AttemptOutcome::kOpen) continue;
    Pool& pool = *found->second;
    if (pool.row.serves != row.job || pool.row.serves_attempt != row.number) continue;
    Attempt attempt;
    attempt.row = row;
    attempt.name = model::workload_name(settings_.installation, row.job, row.number);
    attempt.create = Attempt::Create::kCreated;
    if (row.uid.empty()) {
      attempt.create = Attempt::Create::kUnknown;
      attempt.creates = row.late_create_until ? 2 : 1;
      attempt.row.late_create_until = wall() + settings_.late_call_max;
    }
    open_attempt(pool, std::move(attempt));
  }
  for (const model::TurnRow& row : event.turns) {
    const ShapeFacts* shape = intern(row.queue.shape);
    if (shape == nullptr) continue;
    QueueRecord& queue = queue_by_key(row.queue, *shape);
    if (queue.queue.recall(intern(row.actor), row.turn)) queue.resume = row.job;
    if (!row.job.empty()) turns_taken_[row.job] = row;
  }
  for (const model::BackoffRow& row : event.backoffs) backoffs_[row.job] = row;
  state_loaded_ = true;
  become_ready_when_complete();
}

void Core::State::observe(const ClusterObserved& event) {
  auto& cluster = clusters_[event.row.id];
  if (cluster && event.row.version < cluster->row.version) return;
  if (!cluster) cluster = std::make_unique<ClusterRecord>();
  cluster->row = event.row;
  cluster->gke = &gke_of(model::gke_cluster_of(event.row));
  cluster->gke->rows[event.row.id] = cluster.get();
  cluster->reservation = model::reservation_of(event.row);
  clusters_by_type_[event.row.tpu_type].insert(event.row.id);
  for (QueueRecord* queue : queues_of(event.row.id)) {
    queue->cluster = cluster.get();
    cluster->queues[queue->shape] = queue;
    mark(queue);
    for (const Waiting* waiting : queue->queue.order(settings_.full_rotation)) mark(waiting->job);
    for (Job* holder : queue->holders) mark(holder);
  }
  mark(cluster->gke);
  for (auto& [name, pool] : cluster->gke->pools) {
    mark(pool);
    mark(pool->job);
  }
  for (Job* job : unplaced_) mark(job);
  invite(*cluster);
}

void Core::State::observe(const ClusterVanished& event) {
  const auto found = clusters_.find(event.id);
  if (found == clusters_.end()) return;
  ClusterRecord& cluster = *found->second;
  cluster.gke->rows.erase(event.id);
  clusters_by_type_[cluster.row.tpu_type].erase(event.id);
  for (QueueRecord* queue : queues_of(event.id)) {
    queue->cluster = nullptr;
    for (const Waiting* waiting : queue->queue.order(settings_.full_rotation)) mark(waiting->job);
    for (Job* holder : queue->holders) mark(holder);
  }
  clusters_.erase(found);
}

void Core::State::observe(const ClustersListed&) {
  clusters_listed_ = true;
  become_ready_when_complete();
}

void Core::State::observe(const JobObserved& event) {
  auto found = jobs_.find(event.row.id);
  if (found == jobs_.end()) {
    const bool over = model::is_terminal(event.row.state.status) &&
                      event.row.state.cleanup != model::Cleanup::kPending &&
                      event.row.state.cleanup != model::Cleanup::kFailed &&
                      !pools_by_job_.contains(event.row.id);
    if (over) return;
    found = jobs_.emplace(event.row.id, nullptr).first;
    found->second = std::make_unique<Job>(next_serial_++, found->first);
    Job& job = *found->second;
    Waiting& waiting = job.waiting;
    waiting.priority = event.row.priority;
    waiting.created_at = event.row.created_at;
    waiting.senior_since = senior_since(event.row.created_at, event.row.priority);
    waiting.id = &found->first;
    waiting.actor = intern(event.row.actor);
    waiting.supply = event.row.spec.supply_mode;
    waiting.timeout_seconds = event.row.spec.timeout_seconds;
    waiting.job = &job;
    job.grace_seconds = event.row.spec.termination_grace_seconds;
    job.max_retries =
        static_cast<std::uint32_t>(std::max<std::int64_t>(event.row.spec.max_retries, 0));
    job.max_wait_seconds = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(event.row.spec.max_wait_seconds, 0, model::kWaitSecondsMax));
    job.shape = intern(model::shape_of(event.row.spec));
    const auto errors = model::validate_job(event.row);
    if (!errors.empty())
      job.invalid = std::make_unique<std::string>(model::join_field_errors(errors));
    const auto backoff = backoffs_.find(job.id);
    if (backoff != backoffs_.end()) {
      job.backoff = std::make_unique<model::BackoffRow>(backoff->second);
      backoffs_.erase(backoff);
    }
  }
  take_row(*found->second, event.row);
  mark(found->second.get());
  if (unreadable_.erase(event.row.id) > 0 && linked_) link_pools_of(*found->second);
}

void Core::State::observe(const JobUnreadable& event) {
  if (!jobs_.contains(event.id)) unreadable_.insert(event.id);
}

void Core::State::link_pools_of(Job& job) {
  const auto pools = pools_by_job_.find(job.id);
  if (pools == pools_by_job_.end()) return;
  for (Pool* pool : pools->second) {
    if (pool->row.serves == job.id) link(*pool);
    mark(pool);
  }
}

void Core::State::take_row(Job& job, const model::JobRow& row) {
  if (row.version <= job.version && job.version != 0) return;
  job.version = row.version;
  job.state = row.state;
  job.aborting_at = row.aborting_at;
  mark(job.pool);
  mark(job.queue);
  const auto pools = pools_by_job_.find(job.id);
  if (pools != pools_by_job_.end())
    for (Pool* pool : pools->second) mark(pool);
}

void Core::State::observe(const JobVanished& event) {
  unreadable_.erase(event.id);
  const auto pools = pools_by_job_.find(event.id);
  if (pools != pools_by_job_.end())
    for (Pool* pool : pools->second) mark(pool);
  const auto found = jobs_.find(event.id);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  if (job.doomed) return;
  if (job.pool != nullptr) {
    Pool& pool = *job.pool;
    pool.job = nullptr;
    job.pool = nullptr;
    mark(&pool);
  }
  doom(job);
}

void Core::State::observe(const JobsListed&) {
  jobs_listed_ = true;
  become_ready_when_complete();
}

// The one moment when rows of the three lists find each other.
void Core::State::become_ready_when_complete() {
  if (linked_ || !state_loaded_ || !clusters_listed_ || !jobs_listed_) return;
  linked_ = true;
  for (auto& [key, queue] : queues_) {
    const auto cluster = clusters_.find(key.cluster);
    if (cluster == clusters_.end()) continue;
    queue->cluster = cluster->second.get();
    cluster->second->queues[queue->shape] = queue.get();
  }
  const std::vector<Pool*> pools = pools_by_name();
  for (Pool* pool : pools) link(*pool);
  for (const model::AttemptRow& row : late_creates_) {
    const auto job = jobs_.find(row.job);
    const auto cluster = clusters_.find(row.cluster);
    if (job != jobs_.end() && cluster != clusters_.end())
      remember_late_create(*job->second, row, *cluster->second->gke);
  }
  late_creates_.clear();
  for (const auto& [id, row] : turns_taken_) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) continue;
    job->second->turn = row.turn;
    job->second->turn_at = row.at;
  }
  turns_taken_.clear();
  std::vector<Job*> jobs;
  jobs.reserve(jobs_.size());
  for (auto& [id, job] : jobs_) jobs.push_back(job.get());
  std::ranges::sort(jobs, BySerial{});
  for (Job* job : jobs) mark(job);
  for (Pool* pool : pools) mark(pool);
  for (Gke* gke : gkes_in_order()) mark(gke);
  for (auto& [key, queue] : queues_) mark(queue.get());
}

std::vector<Pool*> Core::State::pools_by_name() const {
  std::vector<Pool*> pools;
  pools.reserve(pools_.size());
  for (const auto& [name, pool] : pools_) pools.push_back(pool.get());
  std::ranges::sort(pools, {}, [](const Pool* pool) -> auto& { return pool->row.name; });
  return pools;
}

std::vector<Gke*> Core::State::gkes_in_order() const {
  std::vector<Gke*> gkes;
  for (const auto& [key, gke] : gkes_) gkes.push_back(gke.get());
  std::ranges::sort(gkes, BySerial{});
  return gkes;
}

// A pool that serves a job: the job is under way there, whatever its own row says yet.
void Core::State::link(Pool& pool) {
  if (pool.row.serves.empty()) return;
  const auto found = jobs_.find(pool.row.serves);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  if (job.pool != nullptr) return;  // a second pool for it: the first by name serves
  const auto cluster = clusters_.find(pool.row.cluster);
  const bool over = model::is_terminal(job.state.status);
  // Without its cluster's row a pool is no place for a job that has not been dispatched there.
  if (!over && !pool.attempt && (cluster == clusters_.end() || job.shape == nullptr)) return;
  pool.job = &job;
  job.pool = &pool;
  if (pool.attempt) take_from_job_row(pool);
  if (over || cluster == clusters_.end() || job.shape == nullptr) return;
  job.acquiring = true;
  QueueRecord& queue = queue_of(*cluster->second, *job.shape);
  job.queue = &queue;
  if (queue.resume == job.id) queue.resume = {};  // its turn has led to this pool
  // A pool that is still coming was taken with the slot; one that was Ready then needed none.
  const bool not_ready = pool.row.phase == model::PoolPhase::kIntended ||
                         pool.row.phase == model::PoolPhase::kAccepted;
  const bool own = pool.row.owner == job.id && !pool.row.kept;
  const bool had_slot = job.state.status == model::JobStatus::kPending && !attempt_over(pool) &&
                        (own || row_holds_slot(job) || not_ready);
  if (had_slot) take_slot(job, queue);
}

// The two rows are written apart: the job's may know more of the attempt than the attempt's own.
void Core::State::take_from_job_row(Pool& pool) {
  Attempt& attempt = *pool.attempt;
  const model::JobState& state = pool.job->state;
  if (state.attempt != attempt.row.number) return;
  if (attempt.row.uid.empty() && !state.job_uid.empty()) {
    attempt.create = Attempt::Create::kCreated;
    learn_uid(pool, state.job_uid);
  }
  if (!attempt.row.dispatched_at && state.dispatched_at) {
    attempt.row.dispatched_at = state.dispatched_at;
    put_row(attempt);
  }
}

Gke* Core::State::find_gke(const model::GkeCluster& key) {
  const auto found = gkes_.find(key);
  return found == gkes_.end() ? nullptr : found->second.get();
}

void Core::State::observe(const KubernetesSynced& event) {
  Gke& gke = gke_of(event.gke);
  gke.in_sync = event.in_sync;
  mark(&gke);
  for (const auto& [id, cluster] : gke.rows) invite(*cluster);
  for (auto& [name, pool] : gke.pools) {
    mark(pool);
    mark(pool->job);
  }
}

void Core::State::count_ready(Pool& pool) {
  pool.nodes_ready = 0;
  for (const auto& [name, node] : pool.nodes) {
    pool.nodes_ready += node.ready ? 1U : 0U;
    if (node.usable_until) pool.row.usable_until = node.usable_until;
  }
  const bool all = pool.nodes_ready >= pool.shape->slice.hosts;
  if (!all) pool.all_ready_since.reset();
  if (all && !pool.all_ready_since) pool.all_ready_since = mono();
  mark(&pool);
  mark(pool.job);
}

void Core::State::observe(const NodeSeen& event) {
  Gke& gke = gke_of(event.gke);
  const auto found = gke.pools.find(event.node.pool);
  if (found == gke.pools.end()) return;
  Pool& pool = *found->second;
  gke.node_pool[event.node.name] = event.node.pool;
  if (event.node.unreachable) lose_node(pool);
  NodeView& node = pool.nodes[event.node.name];
  if (!node.uid.empty() && node.uid != event.node.uid)
    lose_node(pool);  // the same name, another machine
  node = event.node;
  count_ready(pool);
}

void Core::State::observe(const NodeVanished& event) {
  Gke& gke = gke_of(event.gke);
  const auto named = gke.node_pool.find(event.name);
  if (named == gke.node_pool.end()) return;
  const auto found = gke.pools.find(named->second);
  gke.node_pool.erase(named);
  if (found == gke.pools.end()) return;
  Pool& pool = *found->second;
  lose_node(pool);
  pool.nodes.erase(event.name);
  count_ready(pool);
}

// A pod of the lost machine may go on without anybody seeing it.
void Core::State::lose_node(Pool& pool) {
  if (!pool.attempt || pool.attempt->row.node_lost) return;
  pool.attempt->row.node_lost = true;
  put_row(*pool.attempt);
}

Pool* Core::State::pool_of_workload(const Gke& gke, const model::WorkloadName& name) const {
  const auto found = gke.attempts.find(name);
  return found == gke.attempts.end() ? nullptr : found->second;
}

Pool* Core::State::pool_of_uid(const Gke& gke, const model::Uid& uid) const {
  const auto found = gke.attempt_uids.find(uid);
  return found == gke.attempt_uids.end() ? nullptr : found->second;
}

void Core::State::observe(const WorkloadSeen& event) {
  Gke& gke = gke_of(event.gke);
  gke.workloads[event.workload.name] = event.workload;
  if (Pool* pool = pool_of_workload(gke, event.workload.name)) {
    mark(pool);
    mark(pool->job);
  } else {
    gke.strays.insert(event.workload.name);
    mark(&gke);
  }
}

void Core::State::observe(const WorkloadVanished& event) {
  Gke& gke = gke_of(event.gke);
  const auto found = gke.workloads.find(event.name);
  if (found != gke.workloads.end() && found->second.uid == event.uid) {
    gke.workloads.erase(found);
    gke.strays.erase(event.name);
  }
  const auto orphan = gke.orphan_workloads.find(event.name);
  if (orphan != gke.orphan_workloads.end() && orphan->second.uid == event.uid)
    gke.orphan_workloads.erase(orphan);
  if (Pool* pool = pool_of_workload(gke, event.name)) {
    pool->attempt->look_retry = {};
    pool->attempt->looked.reset();  // an older look knows nothing of this
    pool->attempt->look_asked = mono();
    mark(pool);
    mark(pool->job);
  }
}

void Core::State::observe(const PodSeen& event) {
  Gke& gke = gke_of(event.gke);
  gke.pods[event.pod.workload][event.pod.name] = event.pod;
  gke.pod_owner[event.pod.name] = event.pod.workload;
  if (Pool* pool = pool_of_uid(gke, event.pod.workload)) {
    mark(pool->job);
    mark(pool);
  }
}

void Core::State::observe(const PodVanished& event) {
  Gke& gke = gke_of(event.gke);
  const auto owner = gke.pod_owner.find(event.name);
  if (owner == gke.pod_owner.end()) return;
  const model::Uid uid = owner->second;
  const auto pods = gke.pods.find(uid);
  if (pods != gke.pods.end()) {
    const auto pod = pods->second.find(event.name);
    if (pod != pods->second.end()) {
      if (pod->second.uid != event.uid) return;
      pods->second.erase(pod);
    }
    if (pods->second.empty()) gke.pods.erase(pods);
  }
  gke.pod_owner.erase(owner);
  if (Pool* pool = pool_of_uid(gke, uid)) {
    pool->attempt->look_retry = {};
    mark(pool);
    mark(pool->job);
  }
}

void Core::State::observe(const ClockCompared& event) {
  if (clock_trusted_ == event.trusted) return;
  clock_trusted_ = event.trusted;
  for (Pool* pool : pools_by_name()) {
    mark(pool);
    mark(pool->job);
  }
  for (Gke* gke : gkes_in_order()) mark(gke);
}

void Core::State::observe(const Tick&) {}

void Core::State::observe(const CommandDone& event) {
  const auto found = under_way_.find(event.command);
  if (found == under_way_.end()) return;
  const OnDone on_done = std::move(found->second);
  under_way_.erase(found);
  on_done(event);
}

}  // namespace falcon::core
