#include "cloudsim/google.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace falcon::cloudsim {
namespace {

// The zone "us-east5-b" is in the region "us-east5".
std::string region_of(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

}  // namespace

void Google::add_cluster(const ClusterSetup& setup) {
  Cluster& cluster = clusters_[setup.gke];
  cluster.setup = setup;
  cluster.kube = std::make_unique<Kube>(
      context_, setup,
      AutoscalerEars{
          .on_unschedulable =
              [this, &cluster](const Labels& selector) { on_unschedulable(cluster, selector); },
          .on_idle = [this, &cluster](const model::PoolName& name) { on_idle(cluster, name); }});
}

void Google::add_reservation(const ReservationSetup& setup) { reservations_[setup.id] = setup; }

void Google::set_capacity(const std::string& zone, const std::string& machine_type,
                          std::int64_t machines) {
  capacity_[{zone, machine_type}] = machines;
}

std::optional<Error> Google::refusal(const model::GkeCluster& gke) {
  if (context_.faults.strikes(Fault::kThrottled, &gke))
    return Error{ErrorKind::kThrottled,
                 "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'."};
  if (context_.faults.strikes(Fault::kUnavailable, &gke))
    return Error{ErrorKind::kUnavailable, "The service is currently unavailable."};
  return std::nullopt;
}

Result<Google::Cluster*> Google::find_cluster(const model::GkeCluster& gke) {
  const auto found = clusters_.find(gke);
  if (found == clusters_.end())
    return fail(ErrorKind::kNotFound, fmt::format("Not found: {}.", model::to_string(gke)));
  return &found->second;
}

Kube* Google::kube(const model::GkeCluster& gke) {
  const auto found = clusters_.find(gke);
  return found == clusters_.end() ? nullptr : found->second.kube.get();
}

std::optional<Error> Google::busy(const Cluster& cluster) const {
  if (!cluster.lock) return std::nullopt;
  return Error{ErrorKind::kBusy,
               fmt::format("Cluster is running incompatible operation {}.", *cluster.lock)};
}

std::optional<Error> Google::busy(const Pool& pool) const {
  if (auto error = busy(*pool.cluster)) return error;
  if (!pool.operation) return std::nullopt;
  return Error{ErrorKind::kBusy,
               fmt::format("Cluster is running incompatible operation {}.", *pool.operation)};
}

model::OperationName Google::begin_operation(Cluster& cluster, OperationType type,
                                             const model::PoolName& pool) {
  model::OperationName name(fmt::format("operation-{}", context_.next_serial()));
  cluster.operations.emplace(
      name,
      OperationRecord{
          .name = name, .type = type, .pool = pool, .error = {}, .started_at = context_.now()});
  return name;
}

void Google::end_operation(Cluster& cluster, const model::OperationName& name,
                           std::optional<Error> error) {
  OperationRecord& record = cluster.operations.at(name);
  record.done = true;
  record.error = std::move(error);
  record.ended_at = context_.now();
  cluster.finished.push_back(name);
  if (cluster.finished.size() > context_.settings.operations_max) {
    cluster.operations.erase(cluster.finished.front());
    cluster.finished.pop_front();
  }
}

void Google::end_operation(Pool& pool, std::optional<Error> error) {
  if (!pool.operation) return;
  end_operation(*pool.cluster, *pool.operation, std::move(error));
  pool.operation.reset();
}

Result<model::OperationName> Google::create_pool(const model::GkeCluster& gke,
                                                 const PoolRequest& request) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  FALCON_TRY(plan, plan_pool(request));
  const std::string zone = request.zone.empty() ? cluster->setup.zone : request.zone;
  if (zone != cluster->setup.zone)
    return fail(ErrorKind::kInvalid,
                fmt::format("Location \"{}\" is not one of the cluster's ({}).", zone,
                            cluster->setup.zone));
  if (request.consolidation_delay && !cluster->setup.has_consolidation_delay)
    return fail(ErrorKind::kInvalid,
                "consolidationDelay is not supported by the cluster's version; it needs at least "
                "1.34.1-gke.2364000.");
  if (!request.policy_name.empty() &&
      std::ranges::none_of(policies_, [&](const ResourcePolicy& policy) {
        return policy.project == gke.project && policy.region == region_of(zone) &&
               policy.name == request.policy_name;
      }))
    return fail(ErrorKind::kInvalid,
                fmt::format("Resource policy \"{}\" was not found in the cluster's region {}.",
                            request.policy_name, region_of(zone)));
  if (!cluster->lock && context_.faults.strikes(Fault::kClusterBusy, &gke))
    begin_cluster_operation(gke, context_.draw(context_.settings.cluster_operation));
  if (auto error = busy(*cluster)) return std::unexpected(*std::move(error));
  if (const auto taken = cluster->pools.find(request.name); taken != cluster->pools.end()) {
    const Pool& pool = pools_.at(taken->second);
    if (pool.record.status == PoolStatus::kProvisioning && pool.operation &&
        context_.faults.strikes(Fault::kBusyWhenTaken, &gke))
      return std::unexpected(*busy(pool));
    return fail(ErrorKind::kAlreadyExists, fmt::format("Already exists: {}/nodePools/{}.",
                                                       model::to_string(gke), request.name));
  }

  const Serial serial = context_.next_serial();
  Pool& pool = pools_[serial];
  cluster->pools[request.name] = serial;
  pool.serial = serial;
  pool.cluster = cluster;
  pool.plan = std::move(plan);
  pool.zone = zone;
  pool.record.name = request.name;
  pool.record.request = std::make_shared<const PoolRequest>(request);
  pool.record.topology = pool.plan.topology;
  pool.record.hosts = pool.plan.hosts;
  pool.record.created_at = context_.now();
  pool.labels = node_labels(pool);
  pool.visible_at = context_.now() + context_.draw(context_.settings.pool_visible);
  pool.operation = begin_operation(*cluster, OperationType::kCreateNodePool, request.name);
  draw_fate(pool);
  const model::OperationName name = *pool.operation;
  if (context_.faults.strikes(Fault::kCreateNotFound, &gke, request.machine_type))
    return fail(ErrorKind::kNotFound,
                fmt::format("Not found: {}/nodePools/{}.", model::to_string(gke), request.name));
  return name;
}

// What this create will come to, decided once.
void Google::draw_fate(Pool& pool) {
  const WorldSettings& settings = context_.settings;
  const PoolRequest& request = *pool.record.request;
  const model::GkeCluster* gke = &pool.cluster->setup.gke;
  const auto strikes = [&](Fault fault) {
    return context_.faults.strikes(fault, gke, request.machine_type);
  };
  Duration delay =
      context_.draw(request.initial_nodes > 0 ? settings.machines : settings.empty_pool);
  if (strikes(Fault::kSlowPool)) delay += context_.draw(settings.slow_pool);
  pool.give_up_at = context_.now() + delay + context_.draw(settings.stock_out_give_up);
  if (pool.plan.fails_later) {
    pool.ends_with = pool.plan.fails_later;
  } else if (strikes(Fault::kQuota)) {
    pool.ends_with = Error{ErrorKind::kQuota,
                           "Insufficient quota to satisfy the request: GCE_QUOTA_EXCEEDED: TPUS "
                           "limit exceeded in region."};
  } else if (strikes(Fault::kPoolError)) {
    pool.ends_with =
        Error{ErrorKind::kUnavailable, "Internal error: instances could not be created."};
  } else if (request.initial_nodes > 0 && strikes(Fault::kPoolRunningWithError)) {
    pool.ends_with = Error{ErrorKind::kOutOfCapacity,
                           "GCE_STOCKOUT: the zone does not currently have sufficient capacity for "
                           "the requested resources."};
    pool.refills = true;
  }
  pool.stocked_out = strikes(Fault::kStockOut).has_value();
  if (const auto partial = strikes(Fault::kPartialNodes); partial && request.initial_nodes > 0) {
    const std::uint32_t wanted = request.initial_nodes;
    pool.only = *partial > 0 ? std::min(*partial, wanted - 1)
                             : static_cast<std::uint32_t>(context_.delays.below(wanted));
  }
  later(pool, delay, [this](Pool& due) { get_machines(due); });
}

std::shared_ptr<const Labels> Google::node_labels(const Pool& pool) const {
  const PoolRequest& request = *pool.record.request;
  Labels labels = request.labels;
  labels["cloud.google.com/gke-nodepool"] = request.name.value();
  labels["cloud.google.com/gke-tpu-accelerator"] =
      std::string(pool.plan.generation->accelerator_label);
  labels["cloud.google.com/gke-tpu-topology"] = pool.plan.topology;
  labels["cloud.google.com/gke-accelerator-count"] = std::to_string(pool.plan.chips_per_host);
  switch (request.supply) {
    case model::SupplyMode::kFlexStart:
      labels["cloud.google.com/gke-flex-start"] = "true";
      labels["cloud.google.com/gke-provisioning"] = "flex-start";
      break;
    case model::SupplyMode::kReservation:
      labels["cloud.google.com/reservation-name"] =
          request.reservation.substr(request.reservation.rfind('/') + 1);
      labels["cloud.google.com/gke-provisioning"] = "standard";
      break;
    case model::SupplyMode::kOnDemand:
      labels["cloud.google.com/gke-provisioning"] = "standard";
      break;
  }
  labels["topology.kubernetes.io/zone"] = pool.zone;
  labels["topology.kubernetes.io/region"] = region_of(pool.zone);
  labels["node.kubernetes.io/instance-type"] = request.machine_type;
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = "amd64";
  return std::make_shared<const Labels>(std::move(labels));
}

Result<model::OperationName> Google::delete_pool(const model::GkeCluster& gke,
                                                 const model::PoolName& name) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  if (!cluster->lock && context_.faults.strikes(Fault::kClusterBusy, &gke))
    begin_cluster_operation(gke, context_.draw(context_.settings.cluster_operation));
  const auto found = cluster->pools.find(name);
  if (found == cluster->pools.end() || pools_.at(found->second).visible_at > context_.now())
    return fail(ErrorKind::kNotFound,
                fmt::format("Not found: {}/nodePools/{}.", model::to_string(gke), name));
  Pool& pool = pools_.at(found->second);
  if (auto error = busy(pool)) return std::unexpected(*std::move(error));
  pool.record.status = PoolStatus::kStopping;
  pool.operation = begin_operation(*cluster, OperationType::kDeleteNodePool, name);
  const model::OperationName operation = *pool.operation;
  run_down(pool);
  return operation;
}

Result<void> Google::each_pool(const model::GkeCluster& gke,
                               const std::function<void(const PoolRecord&)>& visit) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  for (const auto& [name, serial] : cluster->pools) {
    const Pool& pool = pools_.at(serial);
    if (pool.visible_at <= context_.now()) visit(pool.record);
  }
  return {};
}

Result<PoolRecord> Google::get_pool(const model::GkeCluster& gke, const model::PoolName& name) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  const auto found = cluster->pools.find(name);
  if (found == cluster->pools.end() || pools_.at(found->second).visible_at > context_.now())
    return fail(ErrorKind::kNotFound,
                fmt::format("Not found: {}/nodePools/{}.", model::to_string(gke), name));
  return pools_.at(found->second).record;
}

Result<OperationRecord> Google::operation(const model::GkeCluster& gke,
                                          const model::OperationName& name) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  const auto found = cluster->operations.find(name);
  if (found == cluster->operations.end())
    return fail(ErrorKind::kNotFound, fmt::format("Not found: operation {}.", name));
  return found->second;
}

Result<std::vector<OperationRecord>> Google::list_operations(const model::GkeCluster& gke) {
  FALCON_TRY(cluster, find_cluster(gke));
  if (auto error = refusal(gke)) return std::unexpected(*std::move(error));
  std::vector<OperationRecord> records;
  for (const auto& [name, record] : cluster->operations) records.push_back(record);
  return records;
}

std::vector<ClusterSetup> Google::clusters() const {
  std::vector<ClusterSetup> all;
  for (const auto& [gke, cluster] : clusters_) all.push_back(cluster.setup);
  return all;
}

Result<ReservationRecord> Google::reservation(const model::Reservation& id) {
  if (auto error = refusal(model::GkeCluster{})) return std::unexpected(*std::move(error));
  const auto found = reservations_.find(id);
  if (found == reservations_.end())
    return fail(ErrorKind::kNotFound,
                fmt::format("The resource 'projects/{}/zones/{}/reservations/{}' was not found",
                            id.project, id.zone, id.name));
  return ReservationRecord{found->second, used_of(found->second)};
}

std::vector<ReservationRecord> Google::reservations(const std::string& project,
                                                    const std::string& zone) {
  std::vector<ReservationRecord> all;
  for (const auto& [id, setup] : reservations_)
    if (id.project == project && id.zone == zone) all.push_back({setup, used_of(setup)});
  return all;
}

Result<ResourcePolicy> Google::create_policy(const ResourcePolicy& policy) {
  for (const ResourcePolicy& other : policies_)
    if (other.project == policy.project && other.region == policy.region &&
        other.name == policy.name)
      return fail(ErrorKind::kAlreadyExists,
                  fmt::format("The resource 'projects/{}/regions/{}/resourcePolicies/{}' already "
                              "exists",
                              policy.project, policy.region, policy.name));
  policies_.push_back(policy);
  return policy;
}

std::vector<ResourcePolicy> Google::policies(const std::string& project,
                                             const std::string& region) const {
  std::vector<ResourcePolicy> found;
  for (const ResourcePolicy& policy : policies_)
    if (policy.project == project && policy.region == region) found.push_back(policy);
  return found;
}

void Google::begin_cluster_operation(const model::GkeCluster& gke, Duration length) {
  const auto found = clusters_.find(gke);
  if (found == clusters_.end() || found->second.lock) return;
  Cluster* cluster = &found->second;
  cluster->lock = begin_operation(*cluster, OperationType::kUpgradeMaster, model::PoolName());
  context_.agenda.after(length, [this, cluster] {
    end_operation(*cluster, *cluster->lock, std::nullopt);
    cluster->lock.reset();
  });
}

void Google::take_from_reservation(const model::Reservation& id, std::int64_t used_by_others) {
  if (const auto found = reservations_.find(id); found != reservations_.end())
    found->second.used_by_others = used_by_others;
}

void Google::resize_reservation(const model::Reservation& id, std::int64_t total) {
  if (const auto found = reservations_.find(id); found != reservations_.end())
    found->second.total = total;
}

void Google::collect_items(Inventory& inventory) const {
  for (const auto& [gke, cluster] : clusters_) {
    for (const auto& [name, serial] : cluster.pools) {
      const Pool& pool = pools_.at(serial);
      inventory.pools.push_back({gke, pool.record});
      inventory.chips += static_cast<std::int64_t>(pool.record.machines) * pool.plan.chips_per_host;
    }
    cluster.kube->collect_items(inventory);
  }
}

void Google::take_orders(std::vector<PodOrder>& out) {
  for (auto& [gke, cluster] : clusters_) cluster.kube->take_orders(out);
}

std::string Google::check() const {
  for (const auto& [gke, cluster] : clusters_) {
    if (std::string words = cluster.kube->check(); !words.empty()) return words;
    for (const auto& [name, serial] : cluster.pools) {
      const auto pool = pools_.find(serial);
      if (pool == pools_.end() || pool->second.record.name != name)
        return fmt::format("pool {} is listed and is not", name);
      if (pool->second.nodes.size() > pool->second.record.machines)
        return fmt::format("pool {} has more nodes than machines", name);
    }
  }
  return {};
}

}  // namespace falcon::cloudsim
