#include "simserver/sim_cloud.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "simserver/admin_face.h"
#include "simserver/program.h"

namespace falcon::simserver {
namespace {

constexpr std::int32_t kStartError = 128;

WallTime wall_now() {
  return wall_time_from_unix_ms(std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
}

cloudsim::WorldSettings settings_of(const CloudSetup& setup) {
  cloudsim::WorldSettings settings = cloudsim::sped_up(cloudsim::WorldSettings{}, setup.speed);
  settings.external_programs = true;
  settings.events = true;
  // No uid comes again and no version goes backwards when clients outlive a run of the cloud.
  const auto start = static_cast<std::uint64_t>(to_unix_ms(wall_now()));
  settings.uid_prefix = fmt::format("{:x}", start);
  settings.resource_version = start;
  return settings;
}

Answer unauthorized() {
  return Answer{.status = 401, .body = status_json({401, "Unauthorized"}, "Unauthorized", "", "")};
}

}  // namespace

Result<std::unique_ptr<SimCloud>> SimCloud::make(const CloudSetup& setup) {
  std::unique_ptr<SimCloud> cloud(new SimCloud(setup));
  for (const std::string& order : setup.orders) {
    const std::lock_guard lock(cloud->mutex_);
    const auto done = apply_order(cloud->world_, cloud->tokens_, order);
    if (!done) return std::unexpected(done.error());
  }
  return cloud;
}

SimCloud::SimCloud(const CloudSetup& setup)
    : calendar_{wall_now()},
      data_(setup.data),
      machine_memory_bytes_(setup.machine_memory_bytes),
      world_(settings_of(setup), setup.seed) {
  for (const cloudsim::ClusterSetup& cluster : setup.clusters) {
    world_.add_cluster(cluster);
    for (const CloudSetup::Capacity& capacity : setup.capacities)
      world_.set_capacity(cluster.zone, capacity.machine_type, capacity.machines);
    kubes_[cluster.gke] = std::make_unique<KubeFace>(
        world_, cluster.gke, calendar_,
        [this](const model::Uid& pod) { return agent_->log_of(pod.value()); });
  }
  for (const cloudsim::ReservationSetup& reservation : setup.reservations)
    world_.add_reservation(reservation);
  set_endpoints({});
  agent_ = std::make_unique<NodeAgent>(
      data_, NodeAgent::Reports{.started =
                                    [this](const std::string& pod) {
                                      report(pod, [this](const auto& cluster, const auto& uid) {
                                        world_.pod_started(cluster, uid);
                                      });
                                    },
                                .exited =
                                    [this](const std::string& pod, std::int32_t code,
                                           const std::string& reason, const std::string& message) {
                                      report(pod, [&](const auto& cluster, const auto& uid) {
                                        world_.pod_exited(cluster, uid, code, reason, message);
                                      });
                                    }});
  thread_ = std::thread([this] { run(); });
}

SimCloud::~SimCloud() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  agent_.reset();  // waits for the programs; their reports still find a world
}

MonoTime SimCloud::clock() const {
  return MonoTime(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - start_));
}

void SimCloud::set_endpoints(std::map<model::GkeCluster, GoogleFace::Endpoint> endpoints) {
  const std::lock_guard lock(mutex_);
  google_ = std::make_unique<GoogleFace>(world_, tokens_, calendar_, std::move(endpoints),
                                         data_ / "buckets");
}

Answer SimCloud::google(const Call& call) {
  // Reading a bucket touches the disk and no world.
  if (!call.path.empty() && call.path[0] == "storage") return read_bucket(call, data_ / "buckets");
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    world_.advance(clock());
    answer = !call.path.empty() && call.path[0] == "sim" ? admin(world_, tokens_, call)
                                                         : google_->handle(call);
    dirty_ = true;
  }
  changed_.notify_all();
  return answer;
}

std::optional<Answer> SimCloud::kube(const model::GkeCluster& cluster, const Call& call,
                                     const std::function<LineSink()>& begin) {
  std::unique_lock lock(mutex_);
  world_.advance(clock());
  if (!tokens_.valid(call.header("authorization"), world_.now())) return unauthorized();
  const auto face = kubes_.find(cluster);
  if (face == kubes_.end()) return unauthorized();
  auto answer = face->second->handle(call);
  dirty_ = true;
  if (auto* watch = std::get_if<std::unique_ptr<KubeWatch>>(&answer)) {
    watches_.push_back(Watching{std::move(*watch), begin()});
    changed_.notify_all();
    return std::nullopt;
  }
  lock.unlock();
  changed_.notify_all();
  return std::get<Answer>(std::move(answer));
}

void SimCloud::report(
    const std::string& pod,
    const std::function<void(const model::GkeCluster&, const model::Uid&)>& tell) {
  {
    const std::lock_guard lock(mutex_);
    world_.advance(clock());
    if (const auto where = pods_.find(pod); where != pods_.end())
      tell(where->second, model::Uid(pod));
    dirty_ = true;
  }
  changed_.notify_all();
}

MonoTime SimCloud::next_look() const {
  MonoTime next = world_.next_due();
  for (const Watching& watching : watches_) next = std::min(next, watching.watch->due());
  return next;
}

void SimCloud::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    dirty_ = false;
    world_.advance(clock());
    const std::vector<cloudsim::PodOrder> orders = world_.take_pod_orders();
    obey(orders);
    for (auto it = watches_.begin(); it != watches_.end();) {
      std::string lines = it->watch->next(world_);
      const bool read = lines.empty() || it->sink.write(std::move(lines));
      if (read && !it->watch->ended()) {
        ++it;
        continue;
      }
      it->sink.finish();
      it = watches_.erase(it);
    }
    const MonoTime next = next_look();
    const auto so = [this] { return dirty_ || ending_; };
    if (next == MonoTime::max())
      changed_.wait(lock, so);
    else
      changed_.wait_until(lock, start_ + next.time_since_epoch(), so);
  }
  for (Watching& watching : watches_) watching.sink.finish();
  watches_.clear();
}

void SimCloud::obey(const std::vector<cloudsim::PodOrder>& orders) {
  for (const cloudsim::PodOrder& order : orders) {
    const std::string& pod = order.pod->uid.value();
    switch (order.what) {
      case cloudsim::PodOrder::What::kStart: {
        pods_[pod] = order.cluster;
        auto program = program_of(render(*order.pod, calendar_), agent_->folder_of(pod));
        if (!program) {
          world_.pod_exited(order.cluster, order.pod->uid, kStartError, "StartError",
                            program.error().what);
          break;
        }
        if (!program->memory_bytes_max) program->memory_bytes_max = machine_memory_bytes_;
        agent_->start(pod, *std::move(program));
        break;
      }
      case cloudsim::PodOrder::What::kTerminate:
        agent_->terminate(pod);
        break;
      case cloudsim::PodOrder::What::kKill:
        agent_->kill(pod);
        break;
    }
  }
}

}  // namespace falcon::simserver
