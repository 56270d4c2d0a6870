// The life of a node pool: machines, nodes, scaling, repair, deletion.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cloudsim/google.h"

namespace falcon::cloudsim {
namespace {

constexpr Duration kFlexRunMax{604'800'000};  // flex-start machines end after 7 days at most

std::string base36(std::uint64_t number) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
    number /= 36;
  } while (number > 0);
  return text;
}

bool selected_by(const Labels& selector, const Labels& labels) {
  return std::ranges::all_of(selector, [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

}  // namespace

model::Reservation Google::reservation_of(const Pool& pool) const {
  const std::string& text = pool.record.request->reservation;
  model::Reservation id{pool.cluster->setup.gke.project, pool.zone, text};
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kReservations = "/reservations/";
  const std::size_t middle = text.find(kReservations);
  if (!text.starts_with(kProjects) || middle == std::string::npos) return id;
  id.project = text.substr(kProjects.size(), middle - kProjects.size());
  id.name = text.substr(middle + kReservations.size());
  id.name = id.name.substr(0, id.name.find('/'));  // blocks are not told apart
  return id;
}

std::int64_t Google::used_of(const ReservationSetup& setup) const {
  std::int64_t used = setup.used_by_others;
  for (const auto& [serial, pool] : pools_) {
    if (pool.record.machines == 0 ||
        pool.record.request->supply != model::SupplyMode::kReservation ||
        reservation_of(pool) != setup.id)
      continue;
    used += static_cast<std::int64_t>(pool.record.machines) *
            (setup.aggregate ? pool.plan.chips_per_host : 1);
  }
  return used;
}

// Machines of the pool's type that its zone still has outside of reservations.
std::int64_t Google::free_machines(const Pool& pool) const {
  const std::string& type = pool.record.request->machine_type;
  const auto capacity = capacity_.find({pool.zone, type});
  if (capacity == capacity_.end()) return INT64_MAX;
  std::int64_t free = capacity->second;
  for (const auto& [serial, other] : pools_)
    if (other.zone == pool.zone && other.record.request->machine_type == type &&
        other.record.request->supply != model::SupplyMode::kReservation)
      free -= other.record.machines;
  return free;
}

std::optional<Error> Google::reservation_refuses(const Pool& pool) const {
  const PoolRequest& request = *pool.record.request;
  const model::Reservation id = reservation_of(pool);
  const auto found = reservations_.find(id);
  if (found == reservations_.end())
    return Error{ErrorKind::kInvalid,
                 fmt::format("Could not find the given reservation with the following name: '{}'.",
                             request.reservation)};
  const ReservationSetup& setup = found->second;
  if (setup.id.project != pool.cluster->setup.gke.project && !setup.shared)
    return Error{ErrorKind::kInvalid, "reservation must exist in the same project as the instance"};
  if (!setup.ready)
    return Error{ErrorKind::kOutOfCapacity,
                 "The request requires reservation to be in READY state."};
  const auto family = [](const std::string& type) { return type.substr(0, type.find('-')); };
  if (setup.aggregate ? family(setup.machine_type) != family(request.machine_type)
                      : setup.machine_type != request.machine_type)
    return Error{ErrorKind::kInvalid,
                 fmt::format("Specified reservation '{}' is incorrect for the requested resources.",
                             request.reservation)};
  const std::int64_t wanted =
      static_cast<std::int64_t>(pool.plan.hosts) * (setup.aggregate ? pool.plan.chips_per_host : 1);
  if (setup.total - used_of(setup) < wanted)
    return Error{ErrorKind::kOutOfCapacity,
                 fmt::format("Specified reservation '{}' does not have available resources for the "
                             "request.",
                             request.reservation)};
  return std::nullopt;
}

// All machines of the slice or none.
bool Google::take_machines(Pool& pool, Error& why) {
  const PoolRequest& request = *pool.record.request;
  const model::GkeCluster* gke = &pool.cluster->setup.gke;
  if (request.supply == model::SupplyMode::kReservation) {
    if (auto error = reservation_refuses(pool)) {
      why = *std::move(error);
      return false;
    }
  } else if (pool.stocked_out || free_machines(pool) < pool.plan.hosts ||
             context_.faults.holds(Fault::kStockOut, gke, request.machine_type)) {
    why = Error{ErrorKind::kOutOfCapacity,
                fmt::format("ZONE_RESOURCE_POOL_EXHAUSTED: the zone '{}' does not have enough "
                            "resources available to fulfill the request ({}, {}).",
                            pool.zone, request.machine_type, pool.plan.topology)};
    return false;
  }
  pool.record.machines = pool.plan.hosts;
  return true;
}

void Google::fail_pool(Pool& pool, PoolStatus status, Error error, std::string code) {
  pool.record.status = status;
  pool.record.condition_code = std::move(code);
  pool.record.condition_words = error.what;
  end_operation(pool, std::move(error));
}

void Google::get_machines(Pool& pool) {
  const WorldSettings& settings = context_.settings;
  if (pool.ends_with) {
    Error error = *std::exchange(pool.ends_with, std::nullopt);
    const bool refills = std::exchange(pool.refills, false);
    const std::string code = error.kind == ErrorKind::kOutOfCapacity ? "GCE_STOCKOUT"
                             : error.kind == ErrorKind::kQuota       ? "GCE_QUOTA_EXCEEDED"
                                                                     : "UNKNOWN";
    fail_pool(pool, refills ? PoolStatus::kRunningWithError : PoolStatus::kError, std::move(error),
              code);
    if (refills)
      later(pool, context_.draw(settings.late_refill), [this](Pool& due) { get_machines(due); });
    return;
  }
  if (pool.record.request->initial_nodes == 0) {
    pool.record.status = PoolStatus::kRunning;
    end_operation(pool, std::nullopt);
    pool.cluster->kube->look_for_nodes_again();
    return;
  }
  Error why;
  if (!take_machines(pool, why)) {
    const bool wait = pool.record.request->supply != model::SupplyMode::kReservation &&
                      context_.now() < pool.give_up_at;
    if (wait) return later(pool, settings.machines_retry, [this](Pool& due) { get_machines(due); });
    const std::string code = why.kind == ErrorKind::kOutOfCapacity ? "GCE_STOCKOUT" : "UNKNOWN";
    return fail_pool(pool, PoolStatus::kError, std::move(why), code);
  }
  const Duration registered = make_nodes(pool);
  if (!pool.operation) {  // machines that came long after the create had ended
    return later(pool, registered, [](Pool& due) {
      due.record.status = PoolStatus::kRunning;
      due.record.condition_code.clear();
      due.record.condition_words.clear();
    });
  }
  if (pool.only) {
    const std::uint32_t came = *pool.only;
    return later(pool, context_.draw(settings.partial_give_up), [this, came](Pool& due) {
      fail_pool(due, PoolStatus::kRunningWithError,
                Error{ErrorKind::kUnavailable,
                      fmt::format("Only {} nodes out of {} have registered; this is likely due to "
                                  "nodes failing to start correctly.",
                                  came, due.plan.hosts)},
                "UNKNOWN");
    });
  }
  later(pool, registered + context_.draw(settings.operation_end), [this](Pool& due) {
    due.record.status = PoolStatus::kRunning;
    end_operation(due, std::nullopt);
  });
}

// Its nodes register one by one. Returns when the last one does.
Duration Google::make_nodes(Pool& pool) {
  const WorldSettings& settings = context_.settings;
  const PoolRequest& request = *pool.record.request;
  const std::uint32_t number = pool.only.value_or(pool.plan.hosts);
  std::optional<Duration> run = request.max_run_duration;
  if (!run && request.supply == model::SupplyMode::kFlexStart) run = kFlexRunMax;
  NodeObject body;
  body.pool = request.name;
  body.machine_type = request.machine_type;
  body.zone = pool.zone;
  body.chips = pool.plan.chips_per_host;
  if (run) body.usable_until = context_.now() + *run;
  Duration last{0};
  const Duration late =
      context_.faults.strikes(Fault::kSlowReady, &pool.cluster->setup.gke, request.machine_type)
          ? context_.draw(settings.slow_ready)
          : Duration(0);
  for (std::uint32_t i = 0; i < number; ++i) {
    const Duration at = context_.draw(settings.node_register);
    last = std::max(last, at);
    const model::NodeName name(
        fmt::format("gke-{}-{}-{}", pool.cluster->setup.gke.name.substr(0, 16),
                    request.name.value().substr(0, 16), base36(context_.next_serial())));
    later(pool, at, [this, name, body, late](Pool& due) {
      due.nodes.push_back(name);
      due.cluster->kube->add_node(name, body, due.labels);
      later(due, late + context_.draw(context_.settings.node_ready),
            [name](Pool& ready) { ready.cluster->kube->set_ready(name); });
    });
  }
  if (run) later(pool, *run, [this](Pool& due) { expire(due); });
  return last;
}

void Google::drop_node(Pool& pool, const model::NodeName& name) {
  if (std::erase(pool.nodes, name) == 0) return;
  pool.cluster->kube->remove_node(name);
  --pool.record.machines;
}

void Google::drop_all_nodes(Pool& pool) {
  for (const model::NodeName& name : std::exchange(pool.nodes, {}))
    pool.cluster->kube->remove_node(name);
  pool.record.machines = 0;
}

// The machines' time is over, whatever runs on them; nobody is told before.
void Google::expire(Pool& pool) {
  ++pool.generation;
  pool.scaling = false;
  drop_all_nodes(pool);
  pool.cluster->kube->look_for_nodes_again();
}

// A delete was accepted: drain, then the machines go one by one, then the pool.
void Google::run_down(Pool& pool) {
  const WorldSettings& settings = context_.settings;
  ++pool.generation;
  const bool fails =
      context_.faults
          .strikes(Fault::kDeleteFails, &pool.cluster->setup.gke, pool.record.request->machine_type)
          .has_value();
  for (const model::NodeName& name : pool.nodes) pool.cluster->kube->cordon(name, false);
  later(pool, context_.draw(settings.drain), [](Pool& due) {
    const std::vector<model::NodeName> nodes = due.nodes;
    for (const model::NodeName& name : nodes) due.cluster->kube->evict_pods(name);
  });
  const Duration total = context_.draw(settings.delete_pool);
  if (fails)
    return later(pool, total, [this](Pool& due) {
      fail_pool(due, PoolStatus::kError,
                Error{ErrorKind::kUnavailable, "Internal error while deleting instances."},
                "UNKNOWN");
    });
  for (const model::NodeName& name : pool.nodes)
    later(pool, context_.delays.between(total / 2, total),
          [this, name](Pool& due) { drop_node(due, name); });
  later(pool, total, [this](Pool& due) {
    drop_all_nodes(due);
    end_operation(due, std::nullopt);
    due.cluster->pools.erase(due.record.name);
    pools_.erase(due.serial);
  });
}

Google::Pool* Google::pool_of_node(Cluster& cluster, const model::NodeName& node) {
  for (const auto& [name, serial] : cluster.pools) {
    Pool& pool = pools_.at(serial);
    if (std::ranges::find(pool.nodes, node) != pool.nodes.end()) return &pool;
  }
  return nullptr;
}

bool Google::lose_node(const model::GkeCluster& gke, const model::NodeName& node) {
  const auto found = clusters_.find(gke);
  Pool* pool = found == clusters_.end() ? nullptr : pool_of_node(found->second, node);
  if (pool == nullptr) return false;
  pool->cluster->kube->lose_machine(node);
  later(*pool, context_.draw(context_.settings.node_removed), [this, node](Pool& due) {
    if (std::ranges::find(due.nodes, node) == due.nodes.end()) return;
    if (context_.settings.auto_repair)
      rebuild(due);
    else
      drop_node(due, node);
  });
  return true;
}

bool Google::maintain_node(const model::GkeCluster& gke, const model::NodeName& node, Duration in) {
  const auto found = clusters_.find(gke);
  Pool* pool = found == clusters_.end() ? nullptr : pool_of_node(found->second, node);
  if (pool == nullptr) return false;
  pool->cluster->kube->announce_maintenance(node, context_.now() + in);
  later(*pool, in, [this, node](Pool& due) {
    if (std::ranges::find(due.nodes, node) == due.nodes.end()) return;
    Duration grace{0};
    const std::vector<model::NodeName> nodes = due.nodes;  // one host's maintenance takes the slice
    for (const model::NodeName& each : nodes) {
      due.cluster->kube->cordon(each, true);
      grace = std::max(grace, due.cluster->kube->longest_grace(each));
      due.cluster->kube->evict_pods(each);
    }
    later(due, std::min(grace, Duration(1h)) + Duration(30s),
          [this](Pool& late) { rebuild(late); });
  });
  return true;
}

// GKE makes all machines of a slice anew; the pool is locked while it does.
void Google::rebuild(Pool& pool) {
  if (pool.operation) {  // a create or delete is under way and decides; look again after it
    return later(pool, Duration(60s), [this](Pool& due) { rebuild(due); });
  }
  ++pool.generation;
  drop_all_nodes(pool);
  pool.only.reset();
  pool.scaling = false;
  if (pool.record.request->autoscaled) {
    pool.cluster->kube->look_for_nodes_again();  // it comes back when somebody wants it
    return;
  }
  pool.record.status = PoolStatus::kReconciling;
  pool.operation =
      begin_operation(*pool.cluster, OperationType::kAutoRepairNodes, pool.record.name);
  pool.stocked_out = false;
  const Duration delay = context_.draw(context_.settings.machines);
  pool.give_up_at = context_.now() + delay + context_.draw(context_.settings.stock_out_give_up);
  later(pool, delay, [this](Pool& due) { get_machines(due); });
}

// The autoscaler: a waiting pod selects a pool that has no nodes yet.
void Google::on_unschedulable(Cluster& cluster, const Labels& selector) {
  for (const auto& [name, serial] : cluster.pools) {
    Pool& pool = pools_.at(serial);
    const bool usable = pool.record.status == PoolStatus::kRunning ||
                        pool.record.status == PoolStatus::kRunningWithError;
    if (!pool.record.request->autoscaled || !usable || pool.operation || pool.scaling ||
        pool.record.machines > 0 || pool.scale_backoff_until > context_.now() ||
        !selected_by(selector, *pool.labels))
      continue;
    pool.scaling = true;
    later(pool, context_.draw(context_.settings.scale_up), [this](Pool& due) { scale_up(due); });
    return;
  }
}

void Google::scale_up(Pool& pool) {
  Error why;
  pool.stocked_out =
      context_.faults
          .strikes(Fault::kStockOut, &pool.cluster->setup.gke, pool.record.request->machine_type)
          .has_value();
  if (take_machines(pool, why)) {
    pool.only.reset();
    later(pool, make_nodes(pool), [](Pool& due) { due.scaling = false; });
    return;
  }
  // The pool shows no error; only the pods go on waiting.
  pool.scaling = false;
  pool.scale_backoff_until = context_.now() + context_.settings.scale_up_backoff;
  later(pool, context_.settings.scale_up_backoff,
        [](Pool& due) { due.cluster->kube->look_for_nodes_again(); });
}

void Google::on_idle(Cluster& cluster, const model::PoolName& name) {
  const auto found = cluster.pools.find(name);
  if (found == cluster.pools.end()) return;
  const Pool& pool = pools_.at(found->second);
  const PoolRequest& request = *pool.record.request;
  if (!request.autoscaled || request.autoscaling_min > 0) return;
  later(pool, request.consolidation_delay.value_or(context_.settings.consolidation_delay),
        [this](Pool& due) { scale_down_if_idle(due); });
}

// All nodes of a slice go together, once all of them have been idle for the delay.
void Google::scale_down_if_idle(Pool& pool) {
  if (pool.operation || pool.scaling || pool.nodes.empty()) return;
  const Duration delay =
      pool.record.request->consolidation_delay.value_or(context_.settings.consolidation_delay);
  for (const model::NodeName& name : pool.nodes) {
    const auto since = pool.cluster->kube->idle_since(name);
    if (!since || *since + delay > context_.now()) return;
  }
  pool.scaling = true;
  for (const model::NodeName& name : pool.nodes) pool.cluster->kube->cordon(name, false);
  later(pool, context_.draw(context_.settings.scale_down), [this](Pool& due) { expire(due); });
}

}  // namespace falcon::cloudsim
