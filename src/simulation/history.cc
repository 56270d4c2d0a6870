#include "simulation/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/check.h"
#include "model/names.h"
#include "model/tpu.h"
#include "simulation/cloud_views.h"
#include "simulation/trace.h"

namespace falcon::simulation {
namespace {

// After the faults everything must be over within this: longest back-off (1 h), longest run (4 h),
// waiting for one another in few queues.
constexpr Duration kRestWithin{Duration(20LL * 24 * 3'600'000)};

}  // namespace

History::History(const HistoryPlan& plan, std::ostream* trace)
    : plan_(plan),
      trace_(trace),
      transport_(plan.seed * 4 + 1),
      entropy_(plan.seed * 4 + 2),
      people_(plan.seed * 4 + 3),
      lag_(plan.seed * 4),
      laws_(installation_),
      database_(&laws_),
      world_(plan.world, plan.seed) {
  laws_.watch(&database_);
}

History::~History() = default;

void History::after(Duration delay, std::function<void()> act) {
  queue_.push(now_ + delay, std::move(act));
}

void History::note(std::string_view kind, std::string_view what) {
  if (trace_ != nullptr)
    *trace_ << fmt::format("{:10.3f}  {:<18} {}\n",
                           static_cast<double>(now_.time_since_epoch().count()) / 1'000.0, kind,
                           what);
}

void History::set_up_world() {
  for (const model::ClusterRow& row : plan_.clusters) {
    clusters_[row.id] = row;
    const model::GkeCluster gke = model::gke_cluster_of(row);
    if (watches_.contains(gke)) continue;
    watches_[gke];
    world_.add_cluster(
        cloudsim::ClusterSetup{.gke = gke,
                               .zone = row.zone,
                               .has_consolidation_delay = !plan_.old_clusters.contains(gke.name)});
    watches_[gke].resource_version = world_.resource_version(gke);
  }
  for (const auto& reservation : plan_.reservations) world_.add_reservation(reservation);
  for (const auto& [machine_type, machines] : plan_.capacity)
    world_.set_capacity("us-east5-b", machine_type, machines);
  if (!plan_.foreign_pools) return;
  model::PoolRow row;
  row.gke = model::gke_cluster_of(plan_.clusters.front());
  row.shape = {model::Accelerator::kTpu, "v6e", "2x2"};
  row.owner = model::JobId("j0");
  row.provision = 1;
  row.name = model::PoolName("falcon-of-another-installation");
  (void)world_.create_pool(row.gke, pool_request(row, model::Installation("other"), false));
  cloudsim::PoolRequest person = pool_request(row, installation_, false);
  person.name = model::PoolName("falcon-made-by-a-person");
  person.labels.clear();
  (void)world_.create_pool(row.gke, person);
}

void History::schedule_load() {
  for (const JobPlan& job : plan_.jobs) {
    plans_[job.row.id] = &job;
    after(job.submit_after, [this, &job] { submit(job); });
  }
}

void History::submit(const JobPlan& job) {
  model::JobRow row = job.row;
  row.created_at = wall();
  note("submit", row.id.value() + " " + row.spec.tpu_type + " " + row.spec.topology + " by " +
                     row.actor.value());
  database_.submit(row);
  job_changed(row.id);
  if (job.abort_after) after(*job.abort_after, [this, id = row.id] { abort(id); });
}

void History::abort(const model::JobId& id) {
  if (!database_.abort(id, wall())) return;
  note("abort", id.value());
  job_changed(id);
}

// What people and the cloud's owners do by hand while faults last.
void History::schedule_people() {
  const auto some_time = [this] { return people_.between(Duration(0), plan_.faults_stop); };
  for (std::uint32_t i = 0; i < plan_.node_losses; ++i)
    after(some_time(), [this] {
      const cloudsim::Inventory inventory = world_.inventory();
      if (inventory.nodes.empty()) return;
      const auto& node = inventory.nodes[people_.below(inventory.nodes.size())];
      ++result_.faults;
      note("node lost", node.object->name);
      world_.lose_node(node.cluster, model::NodeName(node.object->name));
    });
  for (std::uint32_t i = 0; i < plan_.person_deletes_job; ++i)
    after(some_time(), [this] {
      const cloudsim::Inventory inventory = world_.inventory();
      if (inventory.jobs.empty()) return;
      const auto& job = inventory.jobs[people_.below(inventory.jobs.size())];
      ++result_.faults;
      note("person", "deletes Kubernetes Job " + job.object->name);
      laws_.person_deletes(*job.object);
      (void)world_.delete_job(job.cluster, job.object->kube_namespace, job.object->name,
                              std::nullopt, cloudsim::Propagation::kBackground);
    });
  for (std::uint32_t i = 0; i < plan_.person_deletes_pool; ++i)
    after(some_time(), [this] {
      const cloudsim::Inventory inventory = world_.inventory();
      if (inventory.pools.empty()) return;
      const auto& pool = inventory.pools[people_.below(inventory.pools.size())];
      ++result_.faults;
      note("person", "deletes pool " + pool.record.name.value());
      (void)world_.delete_pool(pool.cluster, pool.record.name);
    });
  for (std::uint32_t i = 0; i < plan_.cluster_status_changes; ++i)
    after(some_time(), [this] {
      const model::ClusterId id = plan_.clusters[people_.below(plan_.clusters.size())].id;
      set_cluster(id, model::kAllClusterStatuses[people_.below(model::kAllClusterStatuses.size())]);
    });
  for (std::uint32_t i = 0; i < plan_.reservation_changes && !plan_.reservations.empty(); ++i)
    after(some_time(), [this] {
      const auto& reservation = plan_.reservations[people_.below(plan_.reservations.size())];
      const auto used = static_cast<std::int64_t>(
          people_.below(static_cast<std::uint64_t>(reservation.total) + 1));
      note("reservation", fmt::format("{} used by others: {}", reservation.id.name, used));
      world_.take_from_reservation(reservation.id, used);
    });
}

void History::set_cluster(const model::ClusterId& id, model::ClusterStatus status) {
  model::ClusterRow& row = clusters_.at(id);
  row.status = status;
  row.version += 1;
  note("cluster", row.name + " " + std::string(to_string(row.status)));
  if (core_) feed(core::ClusterObserved{row});
}

void History::start_core() {
  core::Settings settings;
  settings.installation = installation_;
  settings.full_rotation = plan_.full_rotation;
  core_ = std::make_unique<core::Core>(settings);
  laws_.core_started();
  note("start", fmt::format("controller, term {}", epoch_));
  feed(core::ClockCompared{true});
  if (core_) feed(database_.snapshot());
  for (const auto& [id, row] : clusters_)
    if (core_) feed(core::ClusterObserved{row});
  if (core_) feed(core::ClustersListed{});
  ++jobs_watch_;
  last_job_delivery_ = now_;
  for (model::JobRow& row : database_.open_jobs()) {
    if (!core_) break;
    if (faults_on_ && transport_.happens(plan_.faults.unreadable))
      unreadable_for_a_while(row.id);
    else
      feed(core::JobObserved{std::move(row)});
  }
  if (core_) feed(core::JobsListed{});
  for (auto& [gke, watch] : watches_) {
    watch.connected = false;
    ++watch.generation;
    for (auto& known : watch.known) known.clear();
    const Duration wait = lag_.between(Duration(50), Duration(5'000));
    after(wait, [this, cluster = gke, epoch = epoch_] {
      if (epoch == epoch_) relist(cluster);
    });
  }
}

void History::cut_watches(Duration gap) {
  for (auto& [gke, watch] : watches_) lose_watch(gke, watch, gap);
}

void History::unreadable_for_a_while(const model::JobId& id) {
  ++result_.faults;
  feed(core::JobUnreadable{id});
  after(transport_.between(Duration(1'000), Duration(900'000)), [this, id, epoch = epoch_] {
    if (core_ && epoch == epoch_) feed(core::JobObserved{database_.jobs().at(id)});
  });
}

void History::crash(std::optional<Duration> away) {
  if (!core_) return;
  ++result_.crashes;
  ++result_.faults;
  note("CRASH", "of the controller");
  core_.reset();
  ++epoch_;
  const Duration some_time = transport_.between(Duration(1'000), Duration(180'000));
  const Duration down = away.value_or(some_time);
  after(down, [this] { start_core(); });
}

void History::feed(const core::Event& event) {
  if (!core_ || laws_.broken()) return;
  ++result_.decisions;
  laws_.told(event);
  if (trace_ != nullptr) note(std::string("> ") + std::string(name_of(event)), describe(event));
  std::vector<core::Command> commands = std::move(commands_);
  const core::Now now{now_, wall(), entropy_.next()};
  core_->step(event, now, commands);
  if (result_.decisions % 32 == 0) {
    const std::string wrong = core_->check_indexes();
    if (!wrong.empty()) laws_.violate(0, "index: " + wrong);
    laws_.look_for_idle_slots();
  }
  carry_out(commands);
  commands.clear();
  commands_ = std::move(commands);
}

void History::carry_out(std::vector<core::Command>& commands) {
  for (core::Command& command : commands) {
    result_.trace_hash = (result_.trace_hash ^ (command.body.index() + 1)) * 0x100000001B3ULL;
    result_.trace_hash ^= static_cast<std::uint64_t>(now_.time_since_epoch().count());
    // Before and after each command the process may die.
    const bool before = faults_on_ && transport_.happens(plan_.faults.crash);
    if (before) return crash();
    if (trace_ != nullptr)
      note(std::string("< ") + std::string(name_of(command)), describe(command));
    call(std::move(command));
    const bool afterwards = faults_on_ && transport_.happens(plan_.faults.crash);
    if (afterwards) return crash();
  }
}

// The jobs watch: in order, with a lag; a gap loses what was under way and ends in a new list.
void History::job_changed(const model::JobId& id) {
  if (!core_) return;
  const std::uint64_t generation = jobs_watch_;
  if (faults_on_ && transport_.happens(plan_.faults.watch_gap)) {
    ++result_.faults;
    ++jobs_watch_;
    note("gap", "in the jobs watch");
    const Duration gap = transport_.between(Duration(1'000), Duration(60'000));
    after(gap, [this, epoch = epoch_] {
      if (epoch == epoch_) relist_jobs();
    });
    return;
  }
  const Duration lag = lag_.between(Duration(1), plan_.faults.lag_max);
  last_job_delivery_ = std::max(last_job_delivery_, now_ + lag);
  queue_.push(last_job_delivery_,
              [this, generation, epoch = epoch_, row = database_.jobs().at(id)]() mutable {
                if (core_ && epoch == epoch_ && generation == jobs_watch_)
                  feed(core::JobObserved{std::move(row)});
              });
}

void History::relist_jobs() {
  ++jobs_watch_;
  last_job_delivery_ = now_;
  for (const auto& [id, row] : database_.jobs())
    if (core_) feed(core::JobObserved{row});
}

void History::pump() {
  const std::uint64_t changes = world_.object_changes();
  if (changes == pumped_changes_) return;
  bool all = true;
  for (auto& [gke, watch] : watches_) all = pump(gke, watch) && all;
  if (all) pumped_changes_ = changes;
}

// False while the cluster's API is down: what changes inside is told when it is back.
bool History::pump(const model::GkeCluster& gke, Watch& watch) {
  const std::uint64_t current = world_.resource_version(gke);
  if (watch.resource_version == current) return true;
  const cloudsim::Changes changes = world_.changes_since(gke, watch.resource_version);
  FALCON_CHECK(changes.state != cloudsim::WatchState::kGone);
  // An unreachable API still changes inside; the laws see that at once, watchers do not.
  if (changes.state == cloudsim::WatchState::kDown) {
    lose_watch(gke, watch, some_gap());
    return false;
  }
  watch.resource_version = current;
  for (const cloudsim::Change& change : changes.changes) {
    laws_.kubernetes_changed(gke, change);
    deliver(gke, watch, change);
  }
  return true;
}

// `gke` and `watch` are of the map, which keeps them in their places.
void History::deliver(const model::GkeCluster& gke, Watch& watch, const cloudsim::Change& change) {
  if (!core_ || !watch.connected) return;
  if (faults_on_ && transport_.happens(plan_.faults.watch_gap)) {
    ++result_.faults;
    lose_watch(gke, watch, some_gap());
    return;
  }
  MonoTime& last = watch.last_delivery[static_cast<std::size_t>(change.object->kind)];
  const Duration lag = lag_.between(Duration(1), plan_.faults.lag_max);
  last = std::max(last, now_ + lag);
  queue_.push(last,
              [this, &gke, &watch, epoch = epoch_, generation = watch.generation,
               object = change.object, deleted = change.type == cloudsim::ChangeType::kDeleted] {
                if (!core_ || epoch != epoch_ || generation != watch.generation) return;
                give(gke, watch, *object, deleted);
              });
}

// Silence until it is noticed, then a relist. Sometimes the loss is reported, sometimes not.
void History::lose_watch(const model::GkeCluster& gke, Watch& watch, Duration gap) {
  if (!watch.connected) return;
  watch.connected = false;
  ++watch.generation;
  note("gap", "in the watch of " + gke.name);
  after(gap, [this, gke, epoch = epoch_] {
    if (epoch == epoch_) relist(gke);
  });
}

void History::relist(const model::GkeCluster& gke) {
  if (!core_) return;
  if (!world_.kubernetes_up(gke)) {
    feed(core::KubernetesSynced{gke, false});
    after(Duration(5'000), [this, gke, epoch = epoch_] {
      if (epoch == epoch_) relist(gke);
    });
    return;
  }
  const std::uint64_t epoch = epoch_;
  Watch& watch = watches_.at(gke);
  (void)pump(gke, watch);
  std::vector<cloudsim::ObjectPtr> objects;
  for (const auto kind : {cloudsim::Kind::kNode, cloudsim::Kind::kJob, cloudsim::Kind::kPod}) {
    auto listing = world_.list(gke, kind);
    if (!listing) {  // throttled: again soon
      after(Duration(2'000), [this, gke, epoch] {
        if (epoch == epoch_) relist(gke);
      });
      return;
    }
    for (auto& object : listing->objects) objects.push_back(std::move(object));
  }
  ++watch.generation;
  watch.connected = true;
  for (MonoTime& last : watch.last_delivery) last = now_;
  auto gone = watch.known;
  for (const auto& object : objects) {
    auto& known = gone[static_cast<std::size_t>(object->kind)];
    const auto found = known.find(object->name);
    if (found != known.end() && found->second == object->uid) known.erase(found);
  }
  const auto vanish = [&](cloudsim::Kind kind) {
    for (const auto& [name, uid] : gone[static_cast<std::size_t>(kind)]) {
      if (epoch != epoch_ || !core_) return;
      watch.known[static_cast<std::size_t>(kind)].erase(name);
      if (kind == cloudsim::Kind::kNode) feed(core::NodeVanished{gke, model::NodeName(name)});
      if (kind == cloudsim::Kind::kJob)
        feed(core::WorkloadVanished{gke, model::WorkloadName(name), uid});
      if (kind == cloudsim::Kind::kPod) feed(core::PodVanished{gke, model::PodName(name), uid});
    }
  };
  vanish(cloudsim::Kind::kNode);
  vanish(cloudsim::Kind::kJob);
  vanish(cloudsim::Kind::kPod);
  for (const auto& object : objects) {
    if (epoch != epoch_ || !core_) return;
    give(gke, watch, *object, false);
  }
  if (epoch == epoch_ && core_) feed(core::KubernetesSynced{gke, true});
}

void History::give(const model::GkeCluster& gke, Watch& watch, const cloudsim::Object& object,
                   bool deleted) {
  auto& known = watch.known[static_cast<std::size_t>(object.kind)];
  switch (object.kind) {
    case cloudsim::Kind::kNode:
      if (!is_ours(*object.labels, installation_)) return;
      if (deleted)
        feed(core::NodeVanished{gke, model::NodeName(object.name)});
      else
        feed(core::NodeSeen{gke, node_view(object, kEpoch)});
      break;
    case cloudsim::Kind::kJob:
      if (!is_ours(*object.labels, installation_)) return;
      if (deleted)
        feed(core::WorkloadVanished{gke, model::WorkloadName(object.name), object.uid});
      else
        feed(core::WorkloadSeen{gke, workload_view(object, kEpoch)});
      break;
    case cloudsim::Kind::kPod:
      if (!is_ours(*object.labels, installation_)) return;
      if (deleted)
        feed(core::PodVanished{gke, model::PodName(object.name), object.uid});
      else
        feed(core::PodSeen{gke, pod_view(object, kEpoch)});
      break;
    case cloudsim::Kind::kService:
    case cloudsim::Kind::kEvent:
    case cloudsim::Kind::kLease:
      return;
  }
  if (deleted)
    known.erase(object.name);
  else
    known[object.name] = object.uid;
}

void History::stop_faults() {
  note("calm", "no faults from here on");
  faults_on_ = false;
  world_.clear_all_faults();
  for (const auto& [machine_type, machines] : plan_.capacity)
    world_.set_capacity("us-east5-b", machine_type, 1'000);
  for (const auto& reservation : plan_.reservations) {
    world_.take_from_reservation(reservation.id, 0);
    world_.resize_reservation(reservation.id, 1'000);
  }
  for (auto& [id, row] : clusters_) {
    if (row.status == model::ClusterStatus::kActive) continue;
    row.status = model::ClusterStatus::kActive;
    row.version += 1;
    if (core_) feed(core::ClusterObserved{row});
  }
  after(Duration(3'600'000), [this] { abort_hopeless(); });
}

// Jobs that no cluster will ever take are given up by their users.
void History::abort_hopeless() {
  std::vector<model::JobId> hopeless;
  for (const auto& [id, row] : database_.jobs())
    if (row.state.message.code == model::MessageCode::kNoCluster) hopeless.push_back(id);
  for (const model::JobId& id : hopeless)
    if (database_.abort(id, wall())) job_changed(id);
  after(Duration(3'600'000), [this] { abort_hopeless(); });
}

bool History::rests() const {
  if (faults_on_ || !core_) return false;
  return database_.jobs().size() == plans_.size() && database_.open_count() == 0 &&
         database_.pools().empty();
}

HistoryResult History::run() {
  set_up_world();
  schedule_load();
  schedule_people();
  after(plan_.faults_stop, [this] { stop_faults(); });
  start_core();
  const MonoTime end = now_ + plan_.faults_stop + kRestWithin;
  MonoTime rested_since = MonoTime::max();
  while (!laws_.broken()) {
    MonoTime next = std::min(queue_.next(), world_.next_due());
    if (core_) next = std::min(next, core_->wake_at());
    // Late orphans of the last minutes need a sweep: rest means rest for a while.
    if (rests()) {
      if (rested_since == MonoTime::max()) rested_since = now_;
      if (now_ >= rested_since + Duration(3'600'000) || next == MonoTime::max()) break;
    } else {
      rested_since = MonoTime::max();
    }
    if (next > end || next == MonoTime::max()) break;
    now_ = std::max(now_, next);
    laws_.tell_time(now_);
    world_.advance(now_);
    pump();
    while (queue_.next() <= now_ && !laws_.broken()) {
      queue_.pop()();
      pump();
    }
    if (core_ && core_->wake_at() <= now_) feed(core::Tick{});
  }
  if (!laws_.broken()) laws_.at_rest(world_);
  result_.violation = laws_.violation();
  result_.jobs = static_cast<std::uint32_t>(plan_.jobs.size());
  result_.simulated = now_.time_since_epoch();
  return result_;
}

}  // namespace falcon::simulation
