#include "cloudsim/pool_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace falcon::cloudsim {
namespace {

using model::SupplyMode;

// Server's words: 1-40 characters, [a-z]([-a-z0-9]{0,38}[a-z0-9])?
bool is_pool_name(std::string_view name) {
  if (name.empty() || name.size() > 40 || name.front() < 'a' || name.front() > 'z') return false;
  if (name.back() == '-') return false;
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::unexpected<Error> invalid(std::string words) {
  return fail(ErrorKind::kInvalid, std::move(words));
}

struct Machine {
  const model::TpuGeneration* generation = nullptr;
  std::uint32_t chips = 0;
};

std::optional<Machine> machine_of(std::string_view machine_type) {
  for (const model::TpuGeneration& generation : model::tpu_generations())
    for (const model::TpuMachine& machine : generation.machines)
      if (machine.machine_type == machine_type) return Machine{&generation, machine.chips};
  return std::nullopt;
}

// "4x4" -> 16; 0 when it is no topology.
std::uint64_t product(std::string_view topology, std::uint32_t dimensions) {
  std::uint64_t chips = 1;
  std::uint32_t seen = 0;
  std::uint64_t value = 0;
  bool digits = false;
  for (std::size_t i = 0; i <= topology.size(); ++i) {
    if (i < topology.size() && topology[i] >= '0' && topology[i] <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(topology[i] - '0');
      digits = true;
      if (value > 999) return 0;
    } else if (i == topology.size() || topology[i] == 'x') {
      if (!digits || value == 0) return 0;
      chips *= value;
      value = 0;
      digits = false;
      ++seen;
    } else {
      return 0;
    }
  }
  return seen == dimensions ? chips : 0;
}

std::string single_host_topology(const Machine& machine) {
  const bool flat = machine.generation->dimensions == 2;
  if (machine.chips == 1) return flat ? "1x1" : "1x1x1";
  if (machine.chips == 8) return "2x4";
  return flat ? "2x2" : "2x2x1";
}

std::optional<Error> check_disk(const PoolRequest& request,
                                const model::TpuGeneration& generation) {
  if (request.disk_type.empty()) return std::nullopt;
  const bool hyperdisk_only = generation.disk_type == "hyperdisk-balanced";
  const bool fits =
      hyperdisk_only ? request.disk_type == "hyperdisk-balanced"
                     : request.disk_type == "pd-balanced" || request.disk_type == "pd-ssd" ||
                           (generation.type == "v4" && (request.disk_type == "pd-standard" ||
                                                        request.disk_type == "hyperdisk-balanced"));
  if (fits) return std::nullopt;
  return Error{ErrorKind::kInvalid, fmt::format("{} disk type cannot be used by {} machine type.",
                                                request.disk_type, request.machine_type)};
}

std::optional<Error> check_supply(const PoolRequest& request, const PoolPlan& plan) {
  const auto bad = [](std::string words) { return Error{ErrorKind::kInvalid, std::move(words)}; };
  const bool flex = request.supply == SupplyMode::kFlexStart;
  if (flex && !request.reservation.empty())
    return bad("Flex-start requires reservation affinity NO_RESERVATION.");
  if (request.supply == SupplyMode::kReservation && request.reservation.empty())
    return bad("Reservation affinity SPECIFIC_RESERVATION requires exactly one value.");
  if (request.supply == SupplyMode::kOnDemand && !request.reservation.empty())
    return bad("A reservation can be named with SPECIFIC_RESERVATION only.");
  if (flex && !plan.generation->flex_start)
    return bad(
        fmt::format("Flex-start is not supported for machine type {}.", request.machine_type));
  if (flex && request.initial_nodes != 0)
    return bad("Flex-start node pools must be created with an initial node count of 0.");
  if (flex && (!request.autoscaled || request.autoscaling_min != 0))
    return bad("Flex-start requires autoscaling with a minimum node count of 0.");
  if (request.max_run_duration) {
    const Duration low = flex ? Duration(600s) : Duration(30s);
    const Duration high = flex ? Duration(604'800s) : Duration(120 * 24h);
    if (*request.max_run_duration < low || *request.max_run_duration > high)
      return bad(fmt::format("maxRunDuration must be between {}s and {}s.", low.count() / 1000,
                             high.count() / 1000));
  }
  if (request.consolidation_delay &&
      (*request.consolidation_delay < 60s || *request.consolidation_delay > 86'400s))
    return bad("consolidationDelay must be between 60s and 86400s.");
  if (request.autoscaled && plan.hosts > 1 &&
      (request.autoscaling_max != plan.hosts || request.autoscaling_min != 0))
    return bad(
        fmt::format("Autoscaling of a multi-host TPU slice with topology {} must go from 0 "
                    "to {} nodes.",
                    plan.topology, plan.hosts));
  return std::nullopt;
}

std::optional<Error> check_placement(const PoolRequest& request, const PoolPlan& plan) {
  const auto bad = [](std::string words) { return Error{ErrorKind::kInvalid, std::move(words)}; };
  const bool workload_policy = plan.generation->placement == model::SlicePlacement::kWorkloadPolicy;
  if (plan.hosts == 1) {
    if (request.compact || !request.placement_topology.empty())
      return bad(
          fmt::format("Placement policy with TPU topology {} cannot be used by the "
                      "single-host machine type {}.",
                      plan.topology, request.machine_type));
    return std::nullopt;
  }
  if (workload_policy && request.compact)
    return bad(
        fmt::format("Compact placement cannot be used with machine type {}; use a resource "
                    "policy with a workload policy.",
                    request.machine_type));
  if (workload_policy && request.policy_name.empty())
    return bad(fmt::format("Machine type {} with topology {} requires placementPolicy.policyName.",
                           request.machine_type, plan.topology));
  if (!workload_policy && !request.compact && request.policy_name.empty())
    return bad("A TPU topology requires placement type COMPACT.");
  return std::nullopt;
}

std::optional<Error> check_labels(const PoolRequest& request) {
  std::size_t size = 0;
  for (const auto& [key, value] : request.labels) {
    size += key.size() + value.size();
    if (value.size() > 63)
      return Error{ErrorKind::kInvalid,
                   fmt::format("Invalid value for label \"{}\": at most 63 characters.", key)};
    for (const std::string_view reserved : {"kubernetes.io/", "k8s.io/"})
      if (key.find(reserved) != std::string::npos)
        return Error{ErrorKind::kInvalid,
                     fmt::format("Label key \"{}\" uses a reserved prefix.", key)};
    // GKE documents a few of its own that users may set.
    if (key.starts_with("cloud.google.com/") && key != "cloud.google.com/gke-queued" &&
        key != "cloud.google.com/gke-nodepool-group-name" &&
        key != "cloud.google.com/gke-workload-type" &&
        key != "cloud.google.com/gke-capacity-check-wait-time-seconds" &&
        key != "cloud.google.com/gke-tpu-ici-resiliency")
      return Error{ErrorKind::kInvalid,
                   fmt::format("Label key \"{}\" uses a reserved prefix.", key)};
  }
  if (size > 1024)
    return Error{ErrorKind::kInvalid, "Node labels may not exceed 1024 characters in total."};
  return std::nullopt;
}

}  // namespace

Result<PoolPlan> plan_pool(const PoolRequest& request) {
  if (!is_pool_name(request.name.value()))
    return invalid(
        fmt::format("Invalid value for field \"node_pool.name\": \"{}\". Must be a match of regex "
                    "'[a-z](?:[-a-z0-9]{{0,38}}[a-z0-9])?'",
                    request.name));
  const auto machine = machine_of(request.machine_type);
  if (!machine)
    return invalid(
        fmt::format("Machine type \"{}\" does not exist in this zone.", request.machine_type));
  PoolPlan plan;
  plan.generation = machine->generation;
  plan.chips_per_host = machine->chips;
  // Without a topology GKE takes the machine's own.
  plan.topology = request.placement_topology.empty() ? single_host_topology(*machine)
                                                     : request.placement_topology;
  const std::uint64_t chips = product(plan.topology, plan.generation->dimensions);
  if (chips == 0 || chips % machine->chips != 0 || chips > plan.generation->chips_max)
    return invalid(fmt::format("Invalid TPU topology \"{}\" for machine type {}.", plan.topology,
                               request.machine_type));
  plan.hosts = static_cast<std::uint32_t>(chips / machine->chips);
  if (plan.hosts > 1 && machine->chips != plan.generation->machines.back().chips)
    return invalid(fmt::format("Machine type {} cannot be part of a multi-host TPU slice ({}).",
                               request.machine_type, plan.topology));
  if (auto error = check_disk(request, *plan.generation)) return std::unexpected(*error);
  if (auto error = check_placement(request, plan)) return std::unexpected(*error);
  if (auto error = check_supply(request, plan)) return std::unexpected(*error);
  if (auto error = check_labels(request)) return std::unexpected(*error);
  if (plan.hosts > 1 && request.initial_nodes != 0 && request.initial_nodes != plan.hosts)
    plan.fails_later = Error{
        ErrorKind::kInvalid,
        fmt::format("Unsupported TPU configuration: a slice with topology {} on {} needs {} nodes, "
                    "but {} were asked for.",
                    plan.topology, request.machine_type, plan.hosts, request.initial_nodes)};
  if (plan.hosts == 1)
    plan.hosts = std::max(request.initial_nodes, request.autoscaled ? request.autoscaling_max : 1U);
  return plan;
}

}  // namespace falcon::cloudsim
