#include "simulation/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/check.h"
#include "model/names.h"
#include "model/tpu.h"
#include "simulation/cloud_views.h"

namespace falcon::simulation {
namespace {

// The shell's deadline of a call; a late request may arrive until well after it.
constexpr Duration kCallDeadline{30'000};
constexpr Duration kLateMax{300'000};
// After the faults everything must be over within this: longest back-off (1 h), longest run (4 h),
// waiting for one another in few queues.
constexpr Duration kRestWithin{Duration(20LL * 24 * 3'600'000)};

bool is_own_row_write(const core::Command& command) {
  return std::holds_alternative<core::WriteState>(command.body);
}

bool is_database_call(const core::Command& command) {
  return is_own_row_write(command) || std::holds_alternative<core::WriteJob>(command.body) ||
         std::holds_alternative<core::ReadJob>(command.body) ||
         std::holds_alternative<core::PublishQueue>(command.body);
}

// What a call is about, for counting and for the trace.
std::string object_of(const core::CommandBody& body) {
  struct Name {
    std::string operator()(const core::WriteJob& c) const { return c.job.value(); }
    std::string operator()(const core::ReadJob& c) const { return c.job.value(); }
    std::string operator()(const core::WriteState&) const { return "state"; }
    std::string operator()(const core::PublishQueue& c) const {
      return c.queue.cluster.value() + " " + to_string(c.queue.shape);
    }
    std::string operator()(const core::CreatePool& c) const { return c.row.name.value(); }
    std::string operator()(const core::DeletePool& c) const { return c.name.value(); }
    std::string operator()(const core::ListPools& c) const { return c.gke.name; }
    std::string operator()(const core::ReadOperation& c) const { return c.operation.value(); }
    std::string operator()(const core::ReadReservation& c) const { return c.reservation.name; }
    std::string operator()(const core::CreateWorkload& c) const { return c.name.value(); }
    std::string operator()(const core::DeleteWorkload& c) const { return c.name.value(); }
    std::string operator()(const core::LookAtWorkload& c) const { return c.name.value(); }
  };
  return std::visit(Name{}, body);
}

constexpr std::string_view kCommandNames[] = {
    "write-job",        "read-job",        "write-state",     "publish-queue",
    "create-pool",      "delete-pool",     "list-pools",      "read-operation",
    "read-reservation", "create-workload", "delete-workload", "look-at-workload"};

constexpr std::string_view kEventNames[] = {"state-loaded",
                                            "cluster",
                                            "cluster-vanished",
                                            "clusters-listed",
                                            "job",
                                            "job-vanished",
                                            "jobs-listed",
                                            "kubernetes-synced",
                                            "node",
                                            "node-vanished",
                                            "workload",
                                            "workload-vanished",
                                            "pod",
                                            "pod-vanished",
                                            "clock",
                                            "tick",
                                            "done"};

std::string describe(const core::Event& event) {
  struct Words {
    std::string operator()(const core::StateLoaded& e) const {
      return fmt::format("{} pools, {} open attempts", e.pools.size(), e.attempts.size());
    }
    std::string operator()(const core::ClusterObserved& e) const {
      return e.row.name + " " + std::string(to_string(e.row.status));
    }
    std::string operator()(const core::ClusterVanished& e) const { return e.id.value(); }
    std::string operator()(const core::ClustersListed&) const { return {}; }
    std::string operator()(const core::JobObserved& e) const {
      return fmt::format("{} v{} {} {}", e.row.id, e.row.version, to_string(e.row.state.status),
                         to_string(e.row.state.reason));
    }
    std::string operator()(const core::JobVanished& e) const { return e.id.value(); }
    std::string operator()(const core::JobsListed&) const { return {}; }
    std::string operator()(const core::KubernetesSynced& e) const {
      return e.gke.name + (e.in_sync ? " in sync" : " lost");
    }
    std::string operator()(const core::NodeSeen& e) const {
      return fmt::format("{} of {}{}", e.node.name, e.node.pool,
                         e.node.ready         ? " Ready"
                         : e.node.unreachable ? " unreachable"
                                              : "");
    }
    std::string operator()(const core::NodeVanished& e) const { return e.name.value(); }
    std::string operator()(const core::WorkloadSeen& e) const {
      return fmt::format("{} of {}{}{}", e.workload.name, e.workload.job,
                         e.workload.deleting ? " deleting" : "",
                         e.workload.verdict == core::WorkloadView::Verdict::kNone ? "" : " ended");
    }
    std::string operator()(const core::WorkloadVanished& e) const { return e.name.value(); }
    std::string operator()(const core::PodSeen& e) const {
      return fmt::format("{} phase {}{}", e.pod.name, static_cast<int>(e.pod.phase),
                         e.pod.deleting ? " deleting" : "");
    }
    std::string operator()(const core::PodVanished& e) const { return e.name.value(); }
    std::string operator()(const core::ClockCompared&) const { return {}; }
    std::string operator()(const core::Tick&) const { return {}; }
    std::string operator()(const core::CommandDone& e) const {
      return fmt::format(
          "#{} {}", e.command,
          e.error ? std::string(to_string(e.error->kind)) + ": " + e.error->what : "ok");
    }
  };
  return std::visit(Words{}, event);
}

std::string describe(const core::Command& command) {
  std::string text = fmt::format("#{} {}", command.id, object_of(command.body));
  if (const auto* write = std::get_if<core::WriteJob>(&command.body))
    text += fmt::format(" v{} {} {} {} cleanup={}", write->version, to_string(write->state.status),
                        to_string(write->state.reason), to_string(write->state.message.code),
                        to_string(write->state.cleanup));
  if (const auto* write = std::get_if<core::WriteState>(&command.body))
    for (const core::StateChange& change : write->changes) {
      if (const auto* pool = std::get_if<core::PutPool>(&change))
        text += fmt::format(" [pool {} {} serves {}/{}]", pool->row.name,
                            to_string(pool->row.phase), pool->row.serves, pool->row.serves_attempt);
      if (const auto* pool = std::get_if<core::RemovePool>(&change))
        text += fmt::format(" [remove {}]", pool->name);
      if (const auto* turn = std::get_if<core::PutTurn>(&change))
        text += fmt::format(" [turn {} of {}]", turn->row.turn, turn->row.actor);
    }
  return text;
}

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
  queue_.push(Due{now_ + delay, order_++, std::move(act)});
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
    world_.add_cluster(cloudsim::ClusterSetup{gke, row.zone, {"default", "kube-system"}});
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
  (void)world_.create_pool(row.gke, pool_request(row, model::Installation("other")));
  cloudsim::PoolRequest person = pool_request(row, installation_);
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
  if (job.abort_after)
    after(*job.abort_after, [this, id = row.id] {
      if (!database_.abort(id, wall())) return;
      note("abort", id.value());
      job_changed(id);
    });
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
      model::ClusterRow& row =
          clusters_.at(plan_.clusters[people_.below(plan_.clusters.size())].id);
      row.status = model::kAllClusterStatuses[people_.below(model::kAllClusterStatuses.size())];
      row.version += 1;
      note("cluster", row.name + " " + std::string(to_string(row.status)));
      if (core_) feed(core::ClusterObserved{row});
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

void History::start_core() {
  core::Settings settings;
  settings.installation = installation_;
  settings.full_rotation = plan_.full_rotation;
  core_ = std::make_unique<core::Core>(settings);
  note("start", fmt::format("controller, term {}", epoch_));
  feed(core::ClockCompared{true});
  if (core_) feed(database_.snapshot());
  for (const auto& [id, row] : clusters_)
    if (core_) feed(core::ClusterObserved{row});
  if (core_) feed(core::ClustersListed{});
  ++jobs_watch_;
  last_job_delivery_ = now_;
  for (model::JobRow& row : database_.open_jobs())
    if (core_) feed(core::JobObserved{std::move(row)});
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

void History::crash() {
  ++result_.crashes;
  ++result_.faults;
  note("CRASH", "of the controller");
  core_.reset();
  ++epoch_;
  const Duration down = transport_.between(Duration(1'000), Duration(180'000));
  after(down, [this] { start_core(); });
}

void History::feed(const core::Event& event) {
  if (!core_ || laws_.broken()) return;
  ++result_.decisions;
  laws_.told(event);
  if (trace_ != nullptr)
    note(std::string("> ") + std::string(kEventNames[event.index()]), describe(event));
  std::vector<core::Command> commands;
  const core::Now now{now_, wall(), entropy_.next()};
  core_->step(event, now, commands);
  if (result_.decisions % 32 == 0) {
    const std::string wrong = core_->check_indexes();
    if (!wrong.empty()) laws_.violate(0, "index: " + wrong);
    laws_.look_for_idle_slots();
  }
  carry_out(std::move(commands));
}

void History::carry_out(std::vector<core::Command> commands) {
  for (core::Command& command : commands) {
    result_.trace_hash = (result_.trace_hash ^ (command.body.index() + 1)) * 0x100000001B3ULL;
    result_.trace_hash ^= static_cast<std::uint64_t>(now_.time_since_epoch().count());
    // Before and after each command the process may die.
    const bool before = faults_on_ && transport_.happens(plan_.faults.crash);
    if (before) return crash();
    if (trace_ != nullptr)
      note(std::string("< ") + std::string(kCommandNames[command.body.index()]), describe(command));
    call(std::move(command));
    const bool afterwards = faults_on_ && transport_.happens(plan_.faults.crash);
    if (afterwards) return crash();
  }
}

void History::answer(std::uint64_t core_epoch, Duration delay, core::CommandDone done) {
  after(delay, [this, core_epoch, done = std::move(done)] {
    if (core_ && core_epoch == epoch_) feed(done);
  });
}

// One call over the wire: how it fares is drawn here.
void History::call(core::Command command) {
  laws_.called(command.body.index(), object_of(command.body), now_);
  laws_.sent(command);
  const TransportFaults& faults = plan_.faults;
  const Duration there = transport_.between(Duration(2), Duration(200));
  const Duration back = transport_.between(Duration(2), Duration(200));
  const bool refused = faults_on_ && transport_.happens(faults.refused);
  const bool lost_request = faults_on_ && transport_.happens(faults.lost_request);
  const bool lost_reply = faults_on_ && transport_.happens(faults.lost_reply);
  const bool late = faults_on_ && transport_.happens(faults.late_request);
  const std::uint64_t epoch = epoch_;
  const auto fault = [&](ErrorKind kind, Duration delay, const char* words) {
    ++result_.faults;
    core::CommandDone done;
    done.command = command.id;
    done.error = Error{kind, words};
    answer(epoch, delay, std::move(done));
  };
  if (refused) {
    const bool throttled = transport_.happens({1, 3});
    fault(throttled ? ErrorKind::kThrottled : ErrorKind::kUnavailable, there + back, "refused");
    return;
  }
  if (lost_request) {
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the request was lost)");
    return;
  }
  // A late write of Falcon's own rows is refused by its number in the term, so it equals a lost
  // one.
  if (late && !is_own_row_write(command)) {
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the request is late)");
    const Duration delay = transport_.between(Duration(1'000), kLateMax);
    after(delay, [this, epoch, command = std::move(command)] {
      if (is_database_call(command) && epoch != epoch_) return;  // fenced by the term
      note("late", describe(command));
      (void)execute(command);
      pump();
    });
    return;
  }
  if (lost_reply)
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the reply was lost)");
  after(there, [this, epoch, lost_reply, back, command = std::move(command)] {
    if (is_database_call(command) && epoch != epoch_) return;  // fenced by the term
    core::CommandDone done = execute(command);
    pump();
    if (!lost_reply) answer(epoch, back, std::move(done));
  });
}

core::CommandDone History::execute(const core::Command& command) {
  core::CommandDone done;
  done.command = command.id;
  auto result = perform(command);
  if (result)
    done.payload = *std::move(result);
  else
    done.error = std::move(result).error();
  return done;
}

const cloudsim::ProgramPlan& History::program_of(const model::JobId& id) const {
  return plans_.at(id)->program;
}

Result<core::Payload> History::perform(const core::Command& command) {
  struct Perform {
    History& h;
    Result<core::Payload> operator()(const core::WriteJob& c) const {
      auto version = h.database_.write(c);
      if (!version) return std::unexpected(version.error());
      h.job_changed(c.job);
      return core::Payload(core::JobWritten{*version});
    }
    Result<core::Payload> operator()(const core::ReadJob& c) const {
      const auto found = h.database_.jobs().find(c.job);
      if (found == h.database_.jobs().end()) return fail(ErrorKind::kNotFound, "no such job");
      return core::Payload(found->second);
    }
    Result<core::Payload> operator()(const core::WriteState& c) const {
      h.laws_.rows_removed(c, h.world_);
      h.database_.write(c);
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::PublishQueue&) const {
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::CreatePool& c) const {
      auto operation = h.world_.create_pool(c.row.gke, pool_request(c.row, h.installation_));
      if (!operation) return std::unexpected(operation.error());
      return core::Payload(core::PoolAccepted{*operation});
    }
    Result<core::Payload> operator()(const core::DeletePool& c) const {
      const auto record = h.world_.get_pool(c.gke, c.name);
      auto operation = h.world_.delete_pool(c.gke, c.name);
      if (!operation) return std::unexpected(operation.error());
      if (record) h.laws_.pool_deleted(c.gke, *record->request);
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::ListPools& c) const {
      auto pools = h.world_.list_pools(c.gke);
      if (!pools) return std::unexpected(pools.error());
      core::PoolListing listing;
      for (const auto& record : *pools) listing.pools.push_back(pool_view(record));
      return core::Payload(std::move(listing));
    }
    Result<core::Payload> operator()(const core::ReadOperation& c) const {
      auto operation = h.world_.operation(c.gke, c.operation);
      if (!operation) return std::unexpected(operation.error());
      return core::Payload(operation_view(*operation));
    }
    Result<core::Payload> operator()(const core::ReadReservation& c) const {
      auto record = h.world_.reservation(c.reservation);
      if (!record) return std::unexpected(record.error());
      const core::ReservationView view = reservation_view(*record);
      h.laws_.reservation_read(c.reservation, h.now_, view);
      return core::Payload(view);
    }
    Result<core::Payload> operator()(const core::CreateWorkload& c) const {
      return h.create_workload(c);
    }
    Result<core::Payload> operator()(const core::DeleteWorkload& c) const {
      auto deleted = h.world_.delete_job(c.gke, c.kube_namespace, c.name.value(), c.uid,
                                         cloudsim::Propagation::kForeground);
      if (!deleted) return std::unexpected(deleted.error());
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::LookAtWorkload& c) const {
      return h.look_at_workload(c);
    }
  };
  return std::visit(Perform{*this}, command.body);
}

Result<core::Payload> History::create_workload(const core::CreateWorkload& c) {
  const JobPlan& plan = *plans_.at(c.job);
  const auto slice = model::find_slice(plan.row.spec.tpu_type, plan.row.spec.topology);
  auto labels = std::make_shared<cloudsim::Labels>(
      cloudsim::Labels{{std::string(model::kManagedByLabel), "falcon"},
                       {std::string(model::kInstallationLabel), installation_.value()},
                       {std::string(model::kJobLabel), c.job.value()},
                       {std::string(model::kAttemptLabel), std::to_string(c.attempt)}});
  cloudsim::JobRequest request;
  request.name = c.name.value();
  request.labels = labels;
  request.pod_labels = labels;
  request.node_selector = std::make_shared<cloudsim::Labels>(
      cloudsim::Labels{{"cloud.google.com/gke-nodepool", c.pool.value()}});
  request.completions = slice->hosts;
  request.backoff_limit = 0;
  request.chips = slice->chips_per_host;
  request.grace = std::chrono::seconds(plan.row.spec.termination_grace_seconds);
  request.programs = {plan.program};
  auto created = world_.create_job(c.gke, request);
  if (!created && created.error().kind == ErrorKind::kAlreadyExists) {
    auto existing = world_.get(c.gke, cloudsim::Kind::kJob, request.kube_namespace, request.name);
    if (!existing) return fail(ErrorKind::kUnknownOutcome, existing.error().what);
    if ((*existing)->deletion_at) return fail(ErrorKind::kUnavailable, "the old one is going");
    return core::Payload(core::WorkloadCreated{(*existing)->uid});
  }
  if (!created) return std::unexpected(created.error());
  return core::Payload(core::WorkloadCreated{(*created)->uid});
}

Result<core::Payload> History::look_at_workload(const core::LookAtWorkload& c) {
  core::WorkloadLook look;
  auto job = world_.get(c.gke, cloudsim::Kind::kJob, c.kube_namespace, c.name.value());
  if (job)
    look.workload = workload_view(**job, kEpoch);
  else if (job.error().kind != ErrorKind::kNotFound)
    return std::unexpected(job.error());
  // Pods carry the Job's name as a label; those of a Job that is gone are found by it.
  auto pods = world_.list(c.gke, cloudsim::Kind::kPod);
  if (!pods) return std::unexpected(pods.error());
  for (const auto& pod : pods->objects)
    if (pod->pod().owner_name == c.name.value()) ++look.pods;
  return core::Payload(std::move(look));
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
  const model::JobRow row = database_.jobs().at(id);
  queue_.push(Due{last_job_delivery_, order_++, [this, generation, epoch = epoch_, row] {
                    if (core_ && epoch == epoch_ && generation == jobs_watch_)
                      feed(core::JobObserved{row});
                  }});
}

void History::relist_jobs() {
  ++jobs_watch_;
  last_job_delivery_ = now_;
  for (const auto& [id, row] : database_.jobs())
    if (core_) feed(core::JobObserved{row});
}

void History::pump() {
  for (auto& [gke, watch] : watches_) pump(gke, watch);
}

void History::pump(const model::GkeCluster& gke, Watch& watch) {
  const std::uint64_t current = world_.resource_version(gke);
  if (watch.resource_version == current) return;
  const cloudsim::Changes changes = world_.changes_since(gke, watch.resource_version);
  FALCON_CHECK(changes.state != cloudsim::WatchState::kGone);
  // An unreachable API still changes inside; the laws see that at once, watchers do not.
  if (changes.state == cloudsim::WatchState::kDown) {
    lose_watch(gke, watch);
    return;
  }
  watch.resource_version = current;
  for (const cloudsim::Change& change : changes.changes) {
    laws_.kubernetes_changed(gke, change);
    deliver(gke, watch, change);
  }
}

void History::deliver(const model::GkeCluster& gke, Watch& watch, const cloudsim::Change& change) {
  if (!core_ || !watch.connected) return;
  if (faults_on_ && transport_.happens(plan_.faults.watch_gap)) {
    ++result_.faults;
    lose_watch(gke, watch);
    return;
  }
  MonoTime& last = watch.last_delivery[static_cast<std::size_t>(change.object->kind)];
  const Duration lag = lag_.between(Duration(1), plan_.faults.lag_max);
  last = std::max(last, now_ + lag);
  queue_.push(
      Due{last, order_++, [this, gke, epoch = epoch_, generation = watch.generation, change] {
            Watch& its = watches_.at(gke);
            if (!core_ || epoch != epoch_ || generation != its.generation) return;
            give(gke, its, *change.object, change.type == cloudsim::ChangeType::kDeleted);
          }});
}

// Silence until it is noticed, then a relist. Sometimes the loss is reported, sometimes not.
void History::lose_watch(const model::GkeCluster& gke, Watch& watch) {
  if (!watch.connected) return;
  watch.connected = false;
  ++watch.generation;
  note("gap", "in the watch of " + gke.name);
  const Duration gap = transport_.between(Duration(1'000), Duration(120'000));
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
  pump(gke, watch);
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
  for (const auto& [id, plan] : plans_)
    if (!database_.jobs().contains(id)) return false;
  return database_.open_jobs().empty() && database_.pools().empty();
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
    MonoTime next = queue_.empty() ? MonoTime::max() : queue_.top().at;
    next = std::min(next, world_.next_due());
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
    while (!queue_.empty() && queue_.top().at <= now_ && !laws_.broken()) {
      const std::function<void()> act = std::move(const_cast<Due&>(queue_.top()).act);
      queue_.pop();
      act();
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
