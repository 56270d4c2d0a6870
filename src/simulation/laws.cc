#include "simulation/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/names.h"
#include "model/tpu.h"
#include "simulation/cloud_views.h"

namespace falcon::simulation {
namespace {

using model::JobRow;
using model::JobStatus;
using model::PoolPhase;
using model::Reason;

// Calls of one kind about one object in a minute. The core's slowest repeated call is paced at
// 2 s and doubling; listings at 5 s.
constexpr std::size_t kCallsPerMinuteMax = 40;
// The rows of Falcon's own state share their writes: up to 60 jobs' in one history.
constexpr std::size_t kStateWritesPerMinuteMax = 160;

// From one queue to another without a turn between: for what its cluster's status does, at most
// four changes of it in a history.
constexpr std::uint32_t kIdleMovesMax = 5;
// Lost machines make a job run again so often at most.
constexpr std::uint32_t kDisruptionsMax = 3;
// From the decision to remove a row until it is written, a write or two unanswered on the way.
constexpr Duration kRemovalWrittenWithin{120'000};

bool acquires(const JobRow& row) {
  return row.state.status == JobStatus::kPending &&
         (row.state.reason == Reason::kProvisioning || row.state.reason == Reason::kClusterBusy ||
          row.state.reason == Reason::kWaitingForNode || row.state.reason == Reason::kDispatching);
}

std::int64_t units_of(const model::PoolRow& row, core::ReservationView::Unit unit) {
  const auto slice = model::find_slice(row.shape.type, row.shape.topology);
  return unit == core::ReservationView::Unit::kChips ? slice->chips : slice->hosts;
}

}  // namespace

void Laws::violate(int law, const std::string& words) {
  if (violation_.empty()) violation_ = fmt::format("law {}: {}", law, words);
}

bool Laws::takes_idle_pool(const JobRow& row) const {
  const auto pool = database_->pools().find(row.state.node_pool_name);
  // A pool's name says whose it is and which of its owner's; its row says so without a hash.
  if (pool != database_->pools().end())
    return pool->second.kept || pool->second.owner != row.id ||
           pool->second.provision != row.state.provision;
  return !row.state.node_pool_name.empty() &&
         row.state.node_pool_name != model::pool_name(installation_, row.id, row.state.provision);
}

void Laws::job_written(const model::JobState& before, const JobRow& after) {
  const std::string& id = after.id.value();
  if (model::is_terminal(before.status)) {
    model::JobState allowed = before;
    allowed.message = after.state.message;
    allowed.cleanup = after.state.cleanup;
    allowed.cleanup_error = after.state.cleanup_error;
    if (allowed != after.state)
      violate(before.status != after.state.status ? 2 : 10,
              fmt::format("{} was {} and changed to {}", id, to_string(before.status),
                          to_string(after.state.status)));
    return;
  }
  const JobStatus from = before.status;
  const JobStatus to = after.state.status;
  if (from == JobStatus::kAborting && (to == JobStatus::kPending || to == JobStatus::kRunning))
    violate(2, fmt::format("the abort of {} was lost", id));
  if (after.state.provision < before.provision || after.state.attempt < before.attempt)
    violate(1, fmt::format("a number of {} went back", id));
  const bool has_reason = after.state.reason != Reason::kNone;
  const bool wants_reason = to == JobStatus::kPending || to == JobStatus::kFailed;
  if (has_reason != wants_reason)
    violate(11, fmt::format("{} is {} with reason \"{}\"", id, to_string(to),
                            to_string(after.state.reason)));
  if (after.state.message.code == model::MessageCode::kNone && to != JobStatus::kSucceeded)
    violate(11, fmt::format("{} is {} without a message", id, to_string(to)));
  if (to == JobStatus::kFailed && after.state.reason == Reason::kWaitTimeout) {
    const bool early = *after.state.finished_at <
                       after.created_at + std::chrono::seconds(after.spec.max_wait_seconds);
    if (early || after.spec.max_wait_seconds == 0 || after.state.started_at ||
        before.status != JobStatus::kPending)
      violate(7, fmt::format("{} gave up waiting before its limit", id));
  }
  if (to == JobStatus::kFailed && after.state.reason == Reason::kTimeout &&
      after.state.message.code != model::MessageCode::kMachinesEnded) {
    const bool early =
        !after.state.dispatched_at ||
        *after.state.finished_at <
            *after.state.dispatched_at + std::chrono::seconds(after.spec.timeout_seconds);
    if (early) violate(7, fmt::format("{} timed out before its limit", id));
  }
  if (to == JobStatus::kFailed)
    for (const std::string& argument : after.state.message.arguments)
      if (argument.starts_with("no answer"))
        violate(13, fmt::format("{} failed since a call was not answered", id));
  const auto ended = ended_by_itself_.find(after.id);
  if (to == JobStatus::kAborted && ended != ended_by_itself_.end() && after.aborting_at &&
      ended->second < *after.aborting_at)
    violate(2, fmt::format("{} had ended before its abort, and is Aborted", id));
  if (to == JobStatus::kAborted)
    for (const auto& [uid, pod] : running_pods_)
      if (pod.job == after.id) violate(10, fmt::format("{} is Aborted and a pod runs", id));
  const bool moved = !before.cluster.empty() && !after.state.cluster.empty() &&
                     before.cluster != after.state.cluster;
  if (after.state.reason != Reason::kWaiting)
    idle_moves_.erase(after.id);
  else if (moved && ++idle_moves_[after.id] > kIdleMovesMax)
    violate(12, fmt::format("{} moves to and fro", id));
  if (model::is_terminal(to)) ++terminal_count_;
  if (after.state.attempts_over != before.attempts_over) runs_again(before, after);
  if (after.state.reason != Reason::kWaiting || after.state.cluster.empty())
    waiting_since_.erase(after.id);
  else
    waiting_since_.try_emplace(after.id, WallTime{} + now_.time_since_epoch());
  const auto in = acquiring_in_.find(after.id);
  if (in != acquiring_in_.end()) {
    acquiring_[in->second].erase(after.id);
    acquiring_in_.erase(in);
  }
  // A row that could not be read held up nobody: its slot may have gone to another meanwhile.
  if (acquires(after) && !takes_idle_pool(after) && !was_unreadable_.contains(after.id)) {
    const model::QueueKey key{after.state.cluster, model::shape_of(after.spec)};
    std::set<model::JobId>& holders = acquiring_[key];
    // One that has an idle pool by now, as the pool's own row says, needs no slot.
    std::erase_if(holders, [&](const model::JobId& holder) {
      return takes_idle_pool(database_->jobs().at(holder));
    });
    if (!holders.empty())
      violate(4, fmt::format("{} and {} acquire in one queue", holders.begin()->value(), id));
    holders.insert(after.id);
    acquiring_in_[after.id] = key;
  }
  count_waiting(before, after);
}

// Only the attempt under way can be over, for one of two reasons, each of which has its limit.
void Laws::runs_again(const model::JobState& before, const JobRow& after) {
  const std::string& id = after.id.value();
  const model::JobState& state = after.state;
  const std::uint32_t counted =
      state.retries - before.retries + state.disruptions - before.disruptions;
  if (state.attempts_over != state.attempt || state.status != JobStatus::kPending || counted != 1)
    violate(2, fmt::format("attempt {} of {} is over, and the row does not say why", state.attempt,
                           id));
  if (state.retries > after.spec.max_retries)
    violate(2, fmt::format("{} is retried {} times", id, state.retries));
  if (state.disruptions > kDisruptionsMax)
    violate(2, fmt::format("{} runs again after {} disruptions", id, state.disruptions));
  runs_again_since_[after.id] = WallTime{} + now_.time_since_epoch();
}

void Laws::pool_written(const model::PoolRow& row) {
  if (row.phase != PoolPhase::kCondemned && !row.serves.empty())
    for (const auto& [name, other] : database_->pools())
      if (name != row.name && other.serves == row.serves && other.phase != PoolPhase::kCondemned)
        violate(3, fmt::format("{} has two pools, {} and {}", row.serves.value(), name.value(),
                               row.name.value()));
  if (row.reservation.empty() || row.phase != PoolPhase::kIntended ||
      !judged_claims_.insert(row.name).second)
    return;
  // What the core had been told when it decided; the row may become durable much later.
  const std::vector<Reading>& readings = readings_[row.reservation];
  const auto later = std::ranges::upper_bound(readings, row.intent_at, {}, [](const Reading& each) {
    return WallTime{} + each.told.time_since_epoch();
  });
  if (later == readings.begin()) {
    violate(9, fmt::format("{} claims {} unread", row.name.value(), row.reservation.name));
    return;
  }
  const auto reading = std::prev(later);
  const core::ReservationView& view = reading->view;
  std::int64_t claimed = view.in_use;
  for (const auto& [name, other] : database_->pools()) {
    if (other.reservation != row.reservation || other.intent_at > row.intent_at) continue;
    const auto use = pools_.find(name);
    const bool counted =
        use != pools_.end() && use->second.all_ready && *use->second.all_ready <= reading->asked;
    if (name == row.name || !counted) claimed += units_of(other, view.unit);
  }
  if (claimed > view.total)
    violate(9, fmt::format("{} claims {} of {} in {}", row.name.value(), claimed, view.total,
                           row.reservation.name));
}

// A create whose answer was lost may have made the pool: only a listing asked after that tells.
void Laws::pool_call_sent(const core::Command& command) {
  if (const auto* create = std::get_if<core::CreatePool>(&command.body)) {
    creates_[command.id] = create->row.name;
    unknown_since_[create->row.name] = now_;
  }
  if (const auto* list = std::get_if<core::ListPools>(&command.body))
    listings_[command.id] = {list->gke, now_};
}

void Laws::pool_call_answered(const core::CommandDone& done) {
  const auto create = creates_.find(done.command);
  if (create != creates_.end()) {
    const bool unknown = done.error && (done.error->kind == ErrorKind::kUnknownOutcome ||
                                        done.error->kind == ErrorKind::kNotFound);
    if (unknown)
      unknown_since_[create->second] = now_;
    else
      unknown_since_.erase(create->second);
    creates_.erase(create);
  }
  const auto listing = listings_.find(done.command);
  if (listing == listings_.end()) return;
  const auto& [gke, asked] = listing->second;
  if (!done.error) {
    MonoTime& last = listed_[gke];
    last = std::max(last, asked);
  }
  listings_.erase(listing);
}

void Laws::sent(const core::Command& command) {
  pool_call_sent(command);
  if (const auto* read = std::get_if<core::ReadReservation>(&command.body))
    reads_[command.id] = {read->reservation, now_};
  if (const auto* read = std::get_if<core::ReadJob>(&command.body))
    job_calls_[command.id] = read->job;
  if (const auto* write = std::get_if<core::WriteJob>(&command.body))
    job_calls_[command.id] = write->job;
  if (const auto* write = std::get_if<core::WriteJob>(&command.body)) failure_sent(*write);
  if (const auto* create = std::get_if<core::CreatePool>(&command.body)) {
    const auto job = database_->jobs().find(create->row.owner);
    if (!database_->pools().contains(create->row.name))
      violate(6, fmt::format("{} is created before its row is durable", create->row.name.value()));
    if (job != database_->jobs().end() && job->second.state.provision < create->row.provision)
      violate(6,
              fmt::format("{} is created before its job's row shows it", create->row.name.value()));
    told_stopping_.erase(create->row.name);  // what was being deleted is gone
  }
  if (const auto* create = std::get_if<core::CreateWorkload>(&command.body)) {
    const auto row = database_->pools().find(create->pool);
    if (!database_->has_attempt(create->job, create->attempt))
      violate(3, fmt::format("attempt {} of {} is sent before its row is durable", create->attempt,
                             create->job.value()));
    if (told_stopping_.contains(create->pool))
      violate(7, fmt::format("{} is sent to {}, which is being deleted", create->job.value(),
                             create->pool.value()));
    const auto use = pools_.find(create->pool);
    // A pool from which GKE took all machines back gets them for the pods of the Job.
    const bool none = use == pools_.end() || use->second.ready.empty();
    const bool whole = (use != pools_.end() && use->second.all_ready) ||
                       (none && told_autoscaled_.contains(create->pool));
    if (row != database_->pools().end() && row->second.supply != model::SupplyMode::kFlexStart &&
        !whole)
      violate(7, fmt::format("{} is sent to a part of the slice {}", create->job.value(),
                             create->pool.value()));
  }
}

// A job is not to blame for machines that were taken from it, nor is it given up with retries left.
void Laws::failure_sent(const core::WriteJob& write) {
  const auto row = database_->jobs().find(write.job);
  if (row == database_->jobs().end() || model::is_terminal(row->second.state.status)) return;
  if (write.state.reason != Reason::kJobFailed ||
      write.state.message.code != model::MessageCode::kPodTerminated)
    return;
  const bool peer_lost = write.state.exit_code == cloudsim::kPeerLost;
  if ((peer_lost || told_disrupted_.contains(write.state.job_uid)) &&
      write.state.message.arguments.front() != "OOMKilled")
    violate(7, fmt::format("{} fails for machines that it lost", write.job.value()));
  if (write.state.retries < row->second.spec.max_retries && !row->second.aborting_at)
    violate(2, fmt::format("{} fails with retries left", write.job.value()));
}

void Laws::told(const core::Event& event) {
  const auto* pod = std::get_if<core::PodSeen>(&event);
  if (pod != nullptr && pod->pod.disrupted) told_disrupted_.insert(pod->pod.workload);
  if (const auto* unreadable = std::get_if<core::JobUnreadable>(&event))
    row_unreadable(unreadable->id);
  const auto* done = std::get_if<core::CommandDone>(&event);
  if (done != nullptr) pool_call_answered(*done);
  const auto call = done == nullptr ? job_calls_.end() : job_calls_.find(done->command);
  if (call != job_calls_.end()) {
    if (done->error)
      ++failed_calls_[call->second];
    else if (failed_calls_.erase(call->second) > 0)
      known_again_[call->second] = WallTime{} + now_.time_since_epoch();
    job_calls_.erase(call);
  }
  const auto* view = done == nullptr ? nullptr : std::get_if<core::ReservationView>(&done->payload);
  if (view != nullptr && !done->error) {
    const auto& [reservation, asked] = reads_.at(done->command);
    readings_[reservation].push_back({asked, now_, *view});
  }
  const auto* listing = done == nullptr ? nullptr : std::get_if<core::PoolListing>(&done->payload);
  if (listing == nullptr) return;
  for (const core::PoolView& pool : listing->pools) {
    if (pool.status == core::PoolStatus::kStopping) told_stopping_.insert(pool.name);
    if (pool.autoscaled) told_autoscaled_.insert(pool.name);
  }
}

void Laws::rows_removed(const core::WriteState& write, const cloudsim::World& world) {
  std::set<model::PoolName> removed;
  for (const core::StateChange& change : write.changes)
    if (const auto* remove = std::get_if<core::RemovePool>(&change)) removed.insert(remove->name);
  if (removed.empty()) return;
  for (const model::PoolName& name : removed) {
    const auto row = database_->pools().find(name);
    const auto unknown = unknown_since_.find(name);
    if (row == database_->pools().end() || unknown == unknown_since_.end()) continue;
    const auto listed = listed_.find(row->second.gke);
    if (listed == listed_.end() || listed->second < unknown->second)
      violate(6, fmt::format("the row of {} is removed without a look", name.value()));
  }
  // A create that comes late, between the listing and this, is the sweep's.
  for (const auto& pool : world.inventory().pools)
    if (removed.contains(pool.record.name) && pool.record.created_at + kRemovalWrittenWithin < now_)
      violate(6, fmt::format("the row of {} is removed while the pool exists",
                             pool.record.name.value()));
}

void Laws::count_waiting(const model::JobState& before, const JobRow& after) {
  const model::Shape shape = model::shape_of(after.spec);
  under_way_[{before.cluster, shape}].erase(after.id);
  if (acquires(after)) under_way_[{after.state.cluster, shape}].insert(after.id);
  if (before.reason == Reason::kWaiting && !before.cluster.empty())
    waiting_[{before.cluster, shape}].erase(after.id);
  if (after.state.reason == Reason::kWaiting && !after.state.cluster.empty())
    waiting_[{after.state.cluster, shape}].insert(after.id);
  for (const model::ClusterId& cluster : {before.cluster, after.state.cluster}) {
    const model::QueueKey key{cluster, shape};
    if (under_way_[key].empty() && !waiting_[key].empty())
      idle_since_.try_emplace(key, now_);
    else
      idle_since_.erase(key);
  }
}

void Laws::look_for_idle_slots() {
  // Longer than any restart, outage or maintenance lasts here; shorter than long runs.
  constexpr Duration kIdleMax{5'400'000};
  for (const auto& [key, since] : idle_since_)
    if (since + kIdleMax < now_)
      violate(
          4, fmt::format("the slot of {} {} is given to nobody while {} waits", key.cluster.value(),
                         to_string(key.shape), waiting_[key].begin()->value()));
}

void Laws::pod_runs(const cloudsim::Object& object) {
  const cloudsim::PodObject& pod = object.pod();
  const auto node = node_pool_.find(pod.node);
  if (node == node_pool_.end()) return;
  const model::JobId job(label_of(*object.labels, model::kJobLabel));
  if (!running_pods_.emplace(object.uid, RunningPod{node->second, job, pod.node, pod.owner}).second)
    return;
  const auto row = database_->jobs().find(job);
  const bool over = row != database_->jobs().end() &&
                    (model::is_terminal(row->second.state.status) || row->second.aborting_at ||
                     row->second.state.attempts_over == row->second.state.attempt);
  for (const auto& [uid, other] : running_pods_)
    if (other.job == job && other.workload != object.pod().owner)
      violate(3, fmt::format("pods of two Kubernetes Jobs of {} run", job.value()));
  PoolUse& use = pools_[node->second];
  ++use.running[job];
  if (over) use.begun_after_end.insert(job);  // by a late create: nobody waits for these pods
  if (use.running.size() > 1)
    violate(5, fmt::format("{} and {} run on {}", use.running.begin()->first.value(),
                           use.running.rbegin()->first.value(), node->second.value()));
  if (over && row->second.state.status == JobStatus::kAborted)
    violate(10, fmt::format("a pod of {} started after Aborted", job.value()));
}

void Laws::pod_ended(const model::Uid& uid) {
  const auto found = running_pods_.find(uid);
  if (found == running_pods_.end()) return;
  PoolUse& use = pools_[found->second.pool];
  if (--use.running[found->second.job] == 0) use.running.erase(found->second.job);
  running_pods_.erase(found);
}

// The machine is gone: what ran there no longer does, whatever the pod's object still says.
void Laws::node_gone(const model::NodeName& node) {
  std::vector<model::Uid> ended;
  for (const auto& [uid, pod] : running_pods_)
    if (pod.node == node) ended.push_back(uid);
  for (const model::Uid& uid : ended) pod_ended(uid);
  node_pool_.erase(node);
}

// The pool was condemned, and the attempt on it with it; what a late create runs there counts not.
bool Laws::given_up(const model::JobId& job) const {
  return std::ranges::any_of(database_->pools(), [&](const auto& entry) {
    return entry.second.serves == job && entry.second.phase == PoolPhase::kCondemned;
  });
}

void Laws::kubernetes_changed(const model::GkeCluster&, const cloudsim::Change& change) {
  const cloudsim::Object& object = *change.object;
  const bool deleted = change.type == cloudsim::ChangeType::kDeleted;
  switch (object.kind) {
    case cloudsim::Kind::kNode: {
      const model::NodeName name(object.name);
      PoolUse& use = pools_[object.node().pool];
      if (deleted) {
        use.ready.erase(name);
        node_gone(name);
        return;
      }
      node_pool_[name] = object.node().pool;
      use.ready[name] = object.node().ready == cloudsim::Readiness::kTrue;
      const auto row = database_->pools().find(object.node().pool);
      if (row == database_->pools().end()) return;
      const auto slice = model::find_slice(row->second.shape.type, row->second.shape.topology);
      const auto ready =
          std::ranges::count_if(use.ready, [](const auto& node) { return node.second; });
      if (!use.all_ready && slice && ready >= static_cast<std::int64_t>(slice->hosts))
        use.all_ready = now_;
      return;
    }
    case cloudsim::Kind::kJob: {
      if (!is_ours(*object.labels, installation_)) return;
      const model::JobId job(label_of(*object.labels, model::kJobLabel));
      const bool over = cloudsim::find_condition(object.job(), "Complete") != nullptr ||
                        cloudsim::find_condition(object.job(), "Failed") != nullptr;
      const auto has = [&](std::string_view type) {
        return cloudsim::find_condition(object.job(), type) != nullptr;
      };
      const bool succeeded = has("Complete") || has("SuccessCriteriaMet");
      if (succeeded && !deleted && !object.deletion_at && !given_up(job))
        ended_by_itself_.try_emplace(job, WallTime{} + now_.time_since_epoch());
      std::set<model::Uid>& live = live_workloads_[job];
      // One that is being deleted makes no more pods; those that it has are watched one by one.
      if (deleted || over || object.deletion_at)
        live.erase(object.uid);
      else
        live.insert(object.uid);
      if (live.size() > 1) violate(3, fmt::format("{} has two live Kubernetes Jobs", job.value()));
      return;
    }
    case cloudsim::Kind::kPod:
      if (!deleted && object.pod().phase == cloudsim::PodPhase::kRunning)
        pod_runs(object);
      else if (deleted || object.pod().phase == cloudsim::PodPhase::kSucceeded ||
               object.pod().phase == cloudsim::PodPhase::kFailed)
        pod_ended(object.uid);
      return;
    case cloudsim::Kind::kService:
    case cloudsim::Kind::kEvent:
    case cloudsim::Kind::kLease:
      return;
  }
}

void Laws::pool_deleted(const model::GkeCluster&, const cloudsim::PoolRequest& request) {
  if (!is_ours(request.labels, installation_)) {
    violate(6, fmt::format("{} of somebody else was deleted", request.name.value()));
    return;
  }
  const auto use = pools_.find(request.name);
  if (use == pools_.end()) return;
  for (const auto& [job, pods] : use->second.running) {
    const auto row = database_->jobs().find(job);
    if (row == database_->jobs().end()) continue;
    const JobStatus status = row->second.state.status;
    // Its row says that this attempt is over and that it runs again.
    const auto again = runs_again_since_.find(job);
    const bool runs_again = again != runs_again_since_.end() &&
                            row->second.state.attempt == row->second.state.attempts_over;
    if (!model::is_terminal(status) && status != JobStatus::kAborting && !runs_again)
      violate(7, fmt::format("{} was deleted under {}", request.name.value(), job.value()));
    // An ended job's pods get their grace before the machines go.
    std::optional<WallTime> over =
        status == JobStatus::kAborting ? row->second.aborting_at : row->second.state.finished_at;
    if (runs_again) over = over ? std::min(*over, again->second) : again->second;
    const WallTime now = WallTime{} + now_.time_since_epoch();
    if (pods > 0 && over && !use->second.begun_after_end.contains(job) &&
        now < *over + std::chrono::seconds(row->second.spec.termination_grace_seconds))
      violate(7, fmt::format("{} was deleted within the grace of {}", request.name.value(),
                             job.value()));
  }
}

void Laws::row_unreadable(const model::JobId& id) {
  was_unreadable_.insert(id);
  const auto in = acquiring_in_.find(id);
  if (in == acquiring_in_.end()) return;
  acquiring_[in->second].erase(id);
  acquiring_in_.erase(in);
}

void Laws::core_started() {
  reads_.clear();
  creates_.clear();
  listings_.clear();
  job_calls_.clear();
  failed_calls_.clear();
}

void Laws::person_deletes(const cloudsim::Object& workload) {
  ended_by_itself_.erase(model::JobId(label_of(*workload.labels, model::kJobLabel)));
}

void Laws::called(std::size_t kind, const std::string& object, MonoTime now) {
  std::vector<MonoTime>& times = calls_[kind][object];
  const std::size_t max = object == "state" ? kStateWritesPerMinuteMax : kCallsPerMinuteMax;
  times.push_back(now);
  if (times.size() <= max) return;
  std::erase_if(times, [&](MonoTime time) { return time + Duration(60'000) < now; });
  if (times.size() > max)
    violate(12, fmt::format("{} calls of one kind about \"{}\" in a minute", times.size(), object));
}

void Laws::at_rest(cloudsim::World& world) {
  for (const auto& [id, row] : database_->jobs()) {
    if (!model::is_terminal(row.state.status))
      violate(2, fmt::format("{} rests as {} {}: {}", id.value(), to_string(row.state.status),
                             to_string(row.state.reason), to_string(row.state.message.code)));
    if (row.state.cleanup == model::Cleanup::kPending ||
        row.state.cleanup == model::Cleanup::kFailed)
      violate(6, fmt::format("the clean-up of {} rests unfinished", id.value()));
  }
  for (const auto& [name, row] : database_->pools())
    violate(6, fmt::format("the row of pool {} ({}) rests", name.value(), to_string(row.phase)));
  const cloudsim::Inventory inventory = world.inventory();
  for (const auto& pool : inventory.pools)
    if (is_ours(pool.record.request->labels, installation_))
      violate(6, fmt::format("pool {} ({}) leaks", pool.record.name.value(),
                             cloudsim::to_string(pool.record.status)));
  for (const auto& job : inventory.jobs)
    if (is_ours(*job.object->labels, installation_))
      violate(6, fmt::format("Kubernetes Job {} leaks", job.object->name));
}

}  // namespace falcon::simulation
