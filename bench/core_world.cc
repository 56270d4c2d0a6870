#include "bench/core_world.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "model/tpu.h"

namespace falcon::bench {
namespace {

using core::CommandDone;
using core::Event;

constexpr WallTime kBegin = wall_time_from_unix_ms(1'800'000'000'000);
constexpr std::array kTopologies{"1x1", "2x2", "2x4", "4x4"};  // 1, 1, 2 and 4 hosts
constexpr std::uint32_t kJobsPerPool = 2;

}  // namespace

core::Settings core_settings() {
  core::Settings settings;
  settings.pools_busy_interval = Duration(2);
  return settings;
}

World::World(const WorldSetup& setup) : setup_(setup) {
  for (std::uint32_t i = 0; i < setup.clusters; ++i) {
    model::ClusterRow row;
    row.id = model::ClusterId(fmt::format("00000000-0000-4000-8000-{:012}", i));
    row.name = fmt::format("tpu-{}", i);
    row.project = "fleet";
    row.location = "us-east5";
    row.zone = "us-east5-b";
    row.tpu_type = "v6e";
    row.gcs_bucket = "fleet-logs";
    row.created_at = kBegin;
    row.version = 1;
    pools_[model::gke_cluster_of(row)];
    clusters_.push_back(std::move(row));
  }
}

WallTime World::wall() const { return kBegin + now_.time_since_epoch(); }

void World::start(std::vector<Event>& events) const {
  events.emplace_back(core::ClockCompared{true});
  events.emplace_back(core::StateLoaded{});
  for (const model::ClusterRow& row : clusters_) events.emplace_back(core::ClusterObserved{row});
  events.emplace_back(core::ClustersListed{});
}

void World::sync(std::vector<Event>& events) const {
  events.emplace_back(core::JobsListed{});
  for (const model::ClusterRow& row : clusters_)
    events.emplace_back(core::KubernetesSynced{model::gke_cluster_of(row), true});
}

model::JobRow World::new_row() {
  model::JobRow row;
  const std::uint64_t number = submitted_++;
  // As the API server makes them: a UUID, of which no part tells the order.
  row.id = model::JobId(fmt::format("{:08x}-0000-4000-8000-{:012x}", random_.next() >> 32, number));
  row.name = fmt::format("training-run-{}", number);
  row.actor = model::Actor(fmt::format("actor-{}", random_.below(setup_.actors)));
  row.spec.image = "us-docker.pkg.dev/fleet/images/train:2026-12-01";
  row.spec.command = {"python", "train.py", "--config", "base"};
  row.spec.tpu_type = "v6e";
  row.spec.topology = kTopologies[random_.below(kTopologies.size())];
  row.spec.supply_mode = model::SupplyMode::kOnDemand;
  row.created_at = wall();
  row.version = ++versions_;
  return row;
}

Event World::submit() {
  model::JobRow row = new_row();
  jobs_.emplace(row.id, row);
  return core::JobObserved{std::move(row)};
}

model::JobRow World::waiting_row() {
  model::JobRow row = new_row();
  row.state.reason = model::Reason::kWaiting;
  row.state.cluster = clusters_[random_.below(clusters_.size())].id;
  row.state.message = model::make_message(model::MessageCode::kQueued);
  return row;
}

void World::after(Duration delay, Act act) { agenda_.emplace(now_ + delay, std::move(act)); }

MonoTime World::next_due() const {
  return agenda_.empty() ? MonoTime::max() : agenda_.begin()->first;
}

void World::act_due(std::vector<Event>& events) {
  while (!agenda_.empty() && agenda_.begin()->first <= now_) {
    const Act act = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    act(events);
  }
}

std::size_t World::pools() const {
  std::size_t count = 0;
  for (const auto& [gke, pools] : pools_) count += pools.size();
  return count;
}

void World::answer(const core::Command& command, core::Payload payload,
                   std::vector<Event>& events) const {
  events.emplace_back(CommandDone{command.id, {}, std::move(payload)});
}

void World::carry_out(core::Command&& command, std::vector<Event>& events) {
  struct Perform {
    World& world;
    const core::Command& whole;
    std::vector<Event>& events;
    void done(core::Payload payload = {}) const { world.answer(whole, std::move(payload), events); }
    void operator()(const core::WriteJob& c) const { world.write(c, whole, events); }
    void operator()(const core::ReadJob& c) const { done(world.jobs_.at(c.job)); }
    void operator()(const core::WriteState&) const { done(); }
    void operator()(const core::PublishQueue&) const { done(); }
    void operator()(const core::CreatePool& c) const {
      done(core::PoolAccepted{model::OperationName("operation-" + c.row.name.value())});
      world.create(c, events);
    }
    void operator()(const core::DeletePool& c) const {
      done();
      world.remove(c, events);
    }
    void operator()(const core::ListPools& c) const {
      core::PoolListing listing;
      for (const auto& [name, pool] : world.pools_.at(c.gke)) listing.pools.push_back(pool.view);
      done(std::move(listing));
    }
    void operator()(const core::ReadOperation&) const { done(core::OperationView{true, {}}); }
    void operator()(const core::ReadReservation&) const { done(core::ReservationView{}); }
    void operator()(const core::CreateWorkload& c) const { world.create(c, whole, events); }
    void operator()(const core::DeleteWorkload& c) const {
      done();
      world.remove(c, events);
    }
    void operator()(const core::LookAtWorkload& c) const {
      core::WorkloadLook look;
      const auto found = world.workloads_.find(c.name);
      if (found != world.workloads_.end()) {
        look.workload = found->second.view;
        look.pods = static_cast<std::uint32_t>(found->second.pods.size());
      }
      done(std::move(look));
    }
  };
  std::visit(Perform{*this, command, events}, command.body);
}

// The row comes back twice, as it does in a controller: with the answer and from the watch.
void World::write(const core::WriteJob& c, const core::Command& whole, std::vector<Event>& events) {
  model::JobRow& row = jobs_.at(c.job);
  FALCON_CHECK(row.version == c.version);  // nobody else writes here
  row.state = c.state;
  row.version = ++versions_;
  answer(whole, core::JobWritten{row.version}, events);
  events.emplace_back(core::JobObserved{row});
  if (!model::is_terminal(row.state.status) || row.state.cleanup == model::Cleanup::kPending)
    return;
  FALCON_CHECK(row.state.status == model::JobStatus::kSucceeded);
  jobs_.erase(c.job);
  ++lives_;
  events.push_back(submit());
}

core::NodeView World::node(const Pool& pool, std::uint32_t index, bool ready) const {
  core::NodeView view;
  view.name = model::NodeName(fmt::format("{}-node-{}", pool.view.name, index));
  view.uid = model::Uid("uid-" + view.name.value());
  view.pool = pool.view.name;
  view.ready = ready;
  if (pool.served >= kJobsPerPool) view.usable_until = wall() + 1h;  // no third job fits
  return view;
}

void World::create(const core::CreatePool& c, std::vector<Event>&) {
  const auto slice = model::find_slice(c.row.shape.type, c.row.shape.topology);
  FALCON_CHECK(slice.has_value());
  Pool pool;
  pool.hosts = slice->hosts;
  pool.view.name = c.row.name;
  pool.view.status = core::PoolStatus::kProvisioning;
  pool.view.installation = core_settings().installation;
  pool.view.job = c.row.owner;
  pool.view.provision = c.row.provision;
  const bool is_new = pools_.at(c.row.gke).emplace(c.row.name, std::move(pool)).second;
  FALCON_CHECK(is_new);
  const auto nodes = [this, gke = c.row.gke, name = c.row.name](bool ready) {
    return [this, gke, name, ready](std::vector<Event>& events) {
      const auto found = pools_.at(gke).find(name);
      if (found == pools_.at(gke).end()) return;  // its job took another one meanwhile
      Pool& made = found->second;
      made.view.status = core::PoolStatus::kRunning;
      for (std::uint32_t i = 0; i < made.hosts; ++i)
        events.emplace_back(core::NodeSeen{gke, node(made, i, ready)});
    };
  };
  after(setup_.pool_takes, nodes(false));
  after(setup_.pool_takes + setup_.nodes_take, nodes(true));
}

void World::remove(const core::DeletePool& c, std::vector<Event>& events) {
  const auto found = pools_.at(c.gke).find(c.name);
  if (found == pools_.at(c.gke).end()) return;  // asked again before a listing told
  for (std::uint32_t i = 0; i < found->second.hosts; ++i)
    events.emplace_back(core::NodeVanished{c.gke, node(found->second, i, false).name});
  pools_.at(c.gke).erase(found);
}

void World::create(const core::CreateWorkload& c, const core::Command& whole,
                   std::vector<Event>& events) {
  Pool& pool = pools_.at(c.gke).at(c.pool);
  if (++pool.served >= kJobsPerPool)
    for (std::uint32_t i = 0; i < pool.hosts; ++i)
      events.emplace_back(core::NodeSeen{c.gke, node(pool, i, true)});
  Workload& made = workloads_[c.name];
  made.pool = c.pool;
  made.view.kube_namespace = "default";
  made.view.name = c.name;
  made.view.uid = model::Uid(fmt::format("00000000-0000-4000-9000-{:012x}", ++uids_));
  made.view.job = c.job;
  made.view.attempt = c.attempt;
  answer(whole, core::WorkloadCreated{made.view.uid}, events);
  events.emplace_back(core::WorkloadSeen{c.gke, made.view});
  for (std::uint32_t i = 0; i < pool.hosts; ++i) {
    core::PodView pod;
    pod.name = model::PodName(fmt::format("{}-{}-{:05x}", c.name, i, uids_));
    pod.uid = model::Uid(fmt::format("00000000-0000-4000-a000-{:012x}", ++uids_));
    pod.workload = made.view.uid;
    pod.index = i;
    pod.node = node(pool, i, true).name;
    events.emplace_back(core::PodSeen{c.gke, pod});
    pod.phase = core::PodView::Phase::kRunning;
    made.pods.push_back(std::move(pod));
  }
  for (const core::PodView& pod : made.pods) events.emplace_back(core::PodSeen{c.gke, pod});
  after(setup_.job_takes, [this, gke = c.gke, name = c.name](std::vector<Event>& later) {
    end_pods(gke, name, later);
  });
}

void World::end_pods(const model::GkeCluster& gke, const model::WorkloadName& name,
                     std::vector<Event>& events) {
  Workload& workload = workloads_.at(name);
  for (core::PodView& pod : workload.pods) {
    pod.phase = core::PodView::Phase::kSucceeded;
    pod.reason = "Completed";
    pod.exit_code = 0;
    pod.finished_at = wall();
    events.emplace_back(core::PodSeen{gke, pod});
  }
  workload.view.verdict = core::WorkloadView::Verdict::kSucceeded;
  workload.view.finished_at = wall();
  events.emplace_back(core::WorkloadSeen{gke, workload.view});
}

void World::remove(const core::DeleteWorkload& c, std::vector<Event>& events) {
  const auto found = workloads_.find(c.name);
  FALCON_CHECK(found != workloads_.end());
  for (const core::PodView& pod : found->second.pods)
    events.emplace_back(core::PodVanished{c.gke, pod.name, pod.uid});
  events.emplace_back(core::WorkloadVanished{c.gke, c.name, found->second.view.uid});
  workloads_.erase(found);
}

}  // namespace falcon::bench
