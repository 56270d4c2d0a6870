#include "cloudsim/world.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cloudsim/context.h"
#include "cloudsim/google.h"

namespace falcon::cloudsim {

class World::State {
 public:
  State(const WorldSettings& settings, std::uint64_t seed)
      : context(settings, seed), google(context) {}
  Context context;
  Google google;
};

namespace {

std::unexpected<Error> no_cluster(const model::GkeCluster& gke) {
  return fail(ErrorKind::kNotFound, fmt::format("no such cluster: {}", model::to_string(gke)));
}

}  // namespace

WorldSettings sped_up(WorldSettings settings, double factor) {
  FALCON_CHECK(factor > 0);
  const auto shorten = [factor](Duration& duration) {
    duration = Duration(static_cast<std::int64_t>(static_cast<double>(duration.count()) / factor));
  };
  for (Delay* delay :
       {&settings.pool_visible,      &settings.machines,        &settings.empty_pool,
        &settings.node_register,     &settings.node_ready,      &settings.operation_end,
        &settings.stock_out_give_up, &settings.partial_give_up, &settings.late_refill,
        &settings.slow_pool,         &settings.drain,           &settings.delete_pool,
        &settings.cluster_operation, &settings.scale_up,        &settings.scale_down,
        &settings.node_removed,      &settings.job_sync,        &settings.bind,
        &settings.image_pull,        &settings.slow_image,      &settings.slow_ready,
        &settings.collect,           &settings.kubelet,         &settings.pod_gc}) {
    shorten(delay->min);
    shorten(delay->max);
  }
  for (Duration* duration :
       {&settings.machines_retry, &settings.scale_up_backoff, &settings.consolidation_delay,
        &settings.node_silence, &settings.unreachable_toleration, &settings.replacement_backoff})
    shorten(*duration);
  return settings;
}

World::World(const WorldSettings& settings, std::uint64_t seed)
    : state_(std::make_unique<State>(settings, seed)) {}
World::~World() = default;

void World::add_cluster(const ClusterSetup& setup) { state_->google.add_cluster(setup); }
void World::add_reservation(const ReservationSetup& setup) {
  state_->google.add_reservation(setup);
}
void World::set_capacity(const std::string& zone, const std::string& machine_type,
                         std::int64_t machines) {
  state_->google.set_capacity(zone, machine_type, machines);
}

MonoTime World::next_due() const { return state_->context.agenda.next_due(); }
void World::advance(MonoTime now) { state_->context.agenda.advance(now); }
MonoTime World::now() const { return state_->context.now(); }
std::uint64_t World::events_done() const { return state_->context.agenda.done(); }

Result<model::OperationName> World::create_pool(const model::GkeCluster& gke,
                                                const PoolRequest& request) {
  return state_->google.create_pool(gke, request);
}
Result<model::OperationName> World::delete_pool(const model::GkeCluster& gke,
                                                const model::PoolName& name) {
  return state_->google.delete_pool(gke, name);
}
Result<std::vector<PoolRecord>> World::list_pools(const model::GkeCluster& gke) {
  std::vector<PoolRecord> records;
  const auto listed = each_pool(gke, [&](const PoolRecord& record) { records.push_back(record); });
  if (!listed) return std::unexpected(listed.error());
  return records;
}
Result<void> World::each_pool(const model::GkeCluster& gke,
                              const std::function<void(const PoolRecord&)>& visit) {
  return state_->google.each_pool(gke, visit);
}
Result<PoolRecord> World::get_pool(const model::GkeCluster& gke, const model::PoolName& name) {
  return state_->google.get_pool(gke, name);
}
Result<OperationRecord> World::operation(const model::GkeCluster& gke,
                                         const model::OperationName& name) {
  return state_->google.operation(gke, name);
}
Result<std::vector<OperationRecord>> World::list_operations(const model::GkeCluster& gke) {
  return state_->google.list_operations(gke);
}
std::vector<ClusterSetup> World::clusters() const { return state_->google.clusters(); }

Result<ReservationRecord> World::reservation(const model::Reservation& id) {
  return state_->google.reservation(id);
}
std::vector<ReservationRecord> World::reservations(const std::string& project,
                                                   const std::string& zone) {
  return state_->google.reservations(project, zone);
}
Result<ResourcePolicy> World::create_policy(const ResourcePolicy& policy) {
  return state_->google.create_policy(policy);
}
std::vector<ResourcePolicy> World::policies(const std::string& project,
                                            const std::string& region) const {
  return state_->google.policies(project, region);
}

Result<ObjectPtr> World::create_job(const model::GkeCluster& gke, const JobRequest& request) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->create_job(request) : no_cluster(gke);
}
Result<ObjectPtr> World::delete_job(const model::GkeCluster& gke, const std::string& kube_namespace,
                                    const std::string& name, const std::optional<model::Uid>& uid,
                                    Propagation propagation) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->delete_job(kube_namespace, name, uid, propagation)
                         : no_cluster(gke);
}
Result<ObjectPtr> World::get(const model::GkeCluster& gke, Kind kind,
                             const std::string& kube_namespace, const std::string& name) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->get(kind, kube_namespace, name) : no_cluster(gke);
}
Result<Listing> World::list(const model::GkeCluster& gke, Kind kind) {
  Kube* kube = state_->google.kube(gke);
  if (kube == nullptr) return no_cluster(gke);
  return kube->list(kind);
}
Result<std::vector<ObjectPtr>> World::pods_of(const model::GkeCluster& gke, const model::Uid& job) {
  Kube* kube = state_->google.kube(gke);
  if (kube == nullptr) return no_cluster(gke);
  return kube->pods_of(job);
}
Result<ObjectPtr> World::delete_pod(const model::GkeCluster& gke, const std::string& kube_namespace,
                                    const std::string& name, const std::optional<model::Uid>& uid,
                                    std::optional<Duration> grace) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->delete_pod(kube_namespace, name, uid, grace) : no_cluster(gke);
}
Result<ObjectPtr> World::create_plain(const model::GkeCluster& gke, Kind kind,
                                      const std::string& kube_namespace, const std::string& name,
                                      const Labels& labels, PlainObject object) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->create_plain(kind, kube_namespace, name, labels, std::move(object))
                         : no_cluster(gke);
}
Result<ObjectPtr> World::replace_plain(const model::GkeCluster& gke, Kind kind,
                                       const std::string& kube_namespace, const std::string& name,
                                       const Labels& labels, PlainObject object,
                                       std::uint64_t expected_version) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->replace_plain(kind, kube_namespace, name, labels,
                                               std::move(object), expected_version)
                         : no_cluster(gke);
}
Result<ObjectPtr> World::delete_plain(const model::GkeCluster& gke, Kind kind,
                                      const std::string& kube_namespace, const std::string& name,
                                      const std::optional<model::Uid>& uid) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->delete_plain(kind, kube_namespace, name, uid) : no_cluster(gke);
}
Result<ObjectPtr> World::label(const model::GkeCluster& gke, Kind kind,
                               const std::string& kube_namespace, const std::string& name,
                               const Labels& changes) {
  Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->label(kind, kube_namespace, name, changes) : no_cluster(gke);
}
Changes World::changes_since(const model::GkeCluster& gke, std::uint64_t resource_version) const {
  const Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->changes_since(resource_version) : Changes{WatchState::kDown, {}};
}
std::uint64_t World::object_changes() const { return state_->context.object_changes; }
std::uint64_t World::resource_version(const model::GkeCluster& gke) const {
  const Kube* kube = state_->google.kube(gke);
  return kube != nullptr ? kube->resource_version() : 0;
}
bool World::kubernetes_up(const model::GkeCluster& gke) const {
  const Kube* kube = state_->google.kube(gke);
  return kube != nullptr && kube->up();
}

std::vector<PodOrder> World::take_pod_orders() {
  std::vector<PodOrder> orders;
  state_->google.take_orders(orders);
  return orders;
}
void World::pod_started(const model::GkeCluster& gke, const model::Uid& pod) {
  if (Kube* kube = state_->google.kube(gke)) kube->pod_started(pod);
}
void World::pod_exited(const model::GkeCluster& gke, const model::Uid& pod, std::int32_t exit_code,
                       const std::string& reason, const std::string& message) {
  if (Kube* kube = state_->google.kube(gke)) kube->pod_exited(pod, exit_code, reason, message);
}

void World::arm(const ArmedFault& fault) { state_->context.faults.arm(fault); }
void World::clear(Fault fault) { state_->context.faults.clear(fault); }
void World::clear_all_faults() { state_->context.faults.clear_all(); }
std::vector<ArmedFault> World::armed() const { return state_->context.faults.armed(); }
bool World::lose_node(const model::GkeCluster& gke, const model::NodeName& node) {
  return state_->google.lose_node(gke, node);
}
bool World::maintain_node(const model::GkeCluster& gke, const model::NodeName& node, Duration in) {
  return state_->google.maintain_node(gke, node, in);
}
void World::begin_cluster_operation(const model::GkeCluster& gke, Duration length) {
  state_->google.begin_cluster_operation(gke, length);
}
void World::take_from_reservation(const model::Reservation& id, std::int64_t used_by_others) {
  state_->google.take_from_reservation(id, used_by_others);
}
void World::resize_reservation(const model::Reservation& id, std::int64_t total) {
  state_->google.resize_reservation(id, total);
}

Inventory World::inventory() const {
  Inventory inventory;
  state_->google.collect_items(inventory);
  return inventory;
}
std::string World::check() const { return state_->google.check(); }

}  // namespace falcon::cloudsim
