#include "simserver/admin_face.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "model/names.h"
#include "model/tpu.h"

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using cloudsim::World;

constexpr std::array<std::string_view, 10> kOrders{
    "clear",        "node-lost",    "maintenance",      "cluster-operation", "job-deleted",
    "pool-deleted", "foreign-pool", "reservation-used", "expire-tokens",     "fault"};

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Order {
  std::string verb;
  std::string argument;
  std::map<std::string, std::string> options;

  std::string option(const std::string& name) const {
    const auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  }
};

Order parse(std::string_view text) {
  Order order;
  bool first = true;
  while (!text.empty() || first) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string key(part.substr(0, equals));
    const std::string value(equals < part.size() ? part.substr(equals + 1) : "");
    if (first) {
      order.verb = key;
      order.argument = value;
    } else {
      order.options[key] = value;
    }
    first = false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return order;
}

std::unexpected<Error> invalid(std::string words) {
  return fail(ErrorKind::kInvalid, std::move(words));
}

// By name; empty takes the first.
std::optional<model::GkeCluster> cluster_named(const World& world, const std::string& name) {
  for (const cloudsim::ClusterSetup& setup : world.clusters())
    if (name.empty() || setup.gke.name == name) return setup.gke;
  return std::nullopt;
}

std::optional<Duration> seconds(const Order& order, const std::string& name, Duration fallback) {
  const std::string text = order.option(name);
  if (text.empty()) return fallback;
  const auto value = number(text);
  if (!value) return std::nullopt;
  return Duration(static_cast<std::int64_t>(*value) * 1000);
}

std::string known_words() {
  std::vector<std::string_view> words;
  for (const cloudsim::Fault fault : cloudsim::kAllFaults) words.push_back(to_string(fault));
  for (const std::string_view word : kOrders)
    if (word != "fault") words.push_back(word);
  return fmt::format("{}", fmt::join(words, ", "));
}

// A slip in what narrows a fault would let it strike everywhere, or nowhere.
Result<bool> check_options(const Order& order, std::span<const std::string_view> known) {
  for (const auto& [name, value] : order.options) {
    if (std::ranges::find(known, name) == known.end())
      return invalid(known.empty() ? fmt::format("{} takes no {}=", order.verb, name)
                                   : fmt::format("{} takes no {}=; it takes {}", order.verb, name,
                                                 fmt::join(known, ", ")));
    if (name != "type") continue;
    std::vector<std::string_view> types;
    for (const model::TpuGeneration& generation : model::tpu_generations())
      for (const model::TpuMachine& machine : generation.machines)
        types.push_back(machine.machine_type);
    if (std::ranges::find(types, value) == types.end())
      return invalid(fmt::format("type={}: no such TPU machine type; there are {}", value,
                                 fmt::join(types, ", ")));
  }
  return true;
}

bool is_known(std::string_view verb) {
  return cloudsim::fault_from_string(verb) || std::ranges::find(kOrders, verb) != kOrders.end();
}

std::vector<std::string_view> options_of(std::string_view verb) {
  if (cloudsim::fault_from_string(verb)) return {"type", "times", "cluster"};
  if (verb == "maintenance") return {"in"};
  if (verb == "cluster-operation") return {"for"};
  if (verb == "foreign-pool") return {"cluster"};
  return {};
}

Result<std::string> arm(World& world, cloudsim::Fault fault, const Order& order) {
  cloudsim::ArmedFault armed{.fault = fault, .machine_type = order.option("type")};
  if (!order.argument.empty()) {
    const auto argument = number(order.argument);
    if (!argument)
      return invalid(
          fmt::format("{}={}: the argument must be a whole number", order.verb, order.argument));
    armed.argument = *argument;
  }
  if (const std::string times = order.option("times"); !times.empty()) {
    const auto value = number(times);
    if (!value || *value == 0)
      return invalid(fmt::format("times={}: must be a whole number above 0", times));
    armed.times = *value;
  }
  if (const std::string name = order.option("cluster"); !name.empty()) {
    armed.cluster = cluster_named(world, name);
    if (!armed.cluster) return invalid(fmt::format("there is no cluster {}", name));
  }
  world.arm(armed);
  return armed.times == 0 ? fmt::format("{} until it is cleared", to_string(fault))
                          : fmt::format("{}, {} times", to_string(fault), armed.times);
}

Result<std::string> on_node(World& world, const Order& order) {
  const model::NodeName node(order.argument);
  const auto in = seconds(order, "in", Duration(60'000));
  if (!in) return invalid("in: must be a whole number of seconds");
  for (const cloudsim::ClusterSetup& setup : world.clusters()) {
    if (order.verb == "node-lost" && world.lose_node(setup.gke, node))
      return fmt::format("node {} is lost", node);
    if (order.verb == "maintenance" && world.maintain_node(setup.gke, node, *in))
      return fmt::format("node {} is drained in {} s", node, in->count() / 1000);
  }
  return invalid(fmt::format("there is no node {}", node));
}

Result<std::string> delete_job(World& world, const Order& order) {
  const std::size_t slash = order.argument.find('/');
  if (slash == std::string::npos)
    return invalid("job-deleted=NAMESPACE/NAME: the namespace is missing");
  for (const cloudsim::ClusterSetup& setup : world.clusters())
    if (world.delete_job(setup.gke, order.argument.substr(0, slash),
                         order.argument.substr(slash + 1), std::nullopt,
                         cloudsim::Propagation::kBackground))
      return fmt::format("Job {} was deleted", order.argument);
  return invalid(fmt::format("there is no Job {}", order.argument));
}

Result<std::string> delete_pool(World& world, const Order& order) {
  std::string words = fmt::format("there is no node pool {}", order.argument);
  for (const cloudsim::ClusterSetup& setup : world.clusters()) {
    const auto gone = world.delete_pool(setup.gke, model::PoolName(order.argument));
    if (gone) return fmt::format("node pool {} is being deleted", order.argument);
    if (gone.error().kind != ErrorKind::kNotFound) words = gone.error().what;
  }
  return invalid(std::move(words));
}

Result<std::string> foreign_pool(World& world, const Order& order) {
  const auto gke = cluster_named(world, order.option("cluster"));
  if (!gke) return invalid(fmt::format("there is no cluster {}", order.option("cluster")));
  cloudsim::PoolRequest request;
  request.name = model::PoolName(order.argument);
  request.machine_type = "ct6e-standard-1t";
  request.initial_nodes = 1;
  const auto made = world.create_pool(*gke, request);
  if (!made) return std::unexpected(made.error());
  return fmt::format("somebody else makes node pool {} in {}", request.name, gke->name);
}

Result<std::string> use_reservation(World& world, const Order& order) {
  const std::size_t colon = order.argument.rfind(':');
  const auto count = colon == std::string::npos
                         ? std::nullopt
                         : number(std::string_view(order.argument).substr(colon + 1));
  if (!count) return invalid("reservation-used=NAME:COUNT: the count is missing");
  const std::string name = order.argument.substr(0, colon);
  for (const cloudsim::ClusterSetup& setup : world.clusters())
    for (const cloudsim::ReservationRecord& record :
         world.reservations(setup.gke.project, setup.zone))
      if (record.setup.id.name == name) {
        world.take_from_reservation(record.setup.id, *count);
        return fmt::format("{} of reservation {} are used by others", *count, name);
      }
  return invalid(fmt::format("there is no reservation {}", name));
}

Result<std::string> operate_cluster(World& world, const Order& order) {
  const auto gke = cluster_named(world, order.argument);
  const auto length = seconds(order, "for", Duration(120'000));
  if (!gke) return invalid(fmt::format("there is no cluster {}", order.argument));
  if (!length) return invalid("for: must be a whole number of seconds");
  world.begin_cluster_operation(*gke, *length);
  return fmt::format("GKE works on cluster {} for {} s", gke->name, length->count() / 1000);
}

Result<std::string> clear(World& world, const Order& order) {
  if (order.argument.empty()) {
    world.clear_all_faults();
    return std::string("no faults");
  }
  const auto fault = cloudsim::fault_from_string(order.argument);
  if (!fault)
    return invalid(
        fmt::format("clear={}: no such fault; known: {}", order.argument, known_words()));
  world.clear(*fault);
  return fmt::format("no more {}", order.argument);
}

json::object item(const cloudsim::Inventory::Item& each) {
  return {{"cluster", each.cluster.name},
          {"namespace", each.object->kube_namespace},
          {"name", each.object->name},
          {"uid", each.object->uid.value()}};
}

std::string_view readiness(cloudsim::Readiness ready) {
  switch (ready) {
    case cloudsim::Readiness::kTrue:
      return "Ready";
    case cloudsim::Readiness::kFalse:
      return "NotReady";
    case cloudsim::Readiness::kUnknown:
      return "Unknown";
  }
  std::abort();
}

bool is_falcons(const cloudsim::Labels& labels) {
  const auto found = labels.find(std::string(model::kManagedByLabel));
  return found != labels.end() && found->second == "falcon";
}

}  // namespace

Result<std::string> apply_order(World& world, Tokens& tokens, std::string_view text) {
  const Order order = parse(text);
  if (is_known(order.verb))
    if (const auto checked = check_options(order, options_of(order.verb)); !checked)
      return std::unexpected(checked.error());
  if (const auto fault = cloudsim::fault_from_string(order.verb)) return arm(world, *fault, order);
  if (order.verb == "clear") return clear(world, order);
  if (order.verb == "node-lost" || order.verb == "maintenance") return on_node(world, order);
  if (order.verb == "cluster-operation") return operate_cluster(world, order);
  if (order.verb == "job-deleted") return delete_job(world, order);
  if (order.verb == "pool-deleted") return delete_pool(world, order);
  if (order.verb == "foreign-pool") return foreign_pool(world, order);
  if (order.verb == "reservation-used") return use_reservation(world, order);
  if (order.verb == "expire-tokens") {
    tokens.revoke_all();
    return std::string("all access tokens are worth nothing");
  }
  std::vector<std::string_view> words(kOrders.begin(), kOrders.end());
  for (const cloudsim::Fault fault : cloudsim::kAllFaults) words.push_back(to_string(fault));
  const std::string_view close = closest_word(order.verb, words);
  return invalid(fmt::format("unknown fault \"{}\"{}; known: {}", order.verb,
                             close.empty() ? "" : fmt::format(", did you mean {}?", close),
                             known_words()));
}

std::string status_document(const World& world) {
  const cloudsim::Inventory inventory = world.inventory();
  json::array clusters;
  for (const cloudsim::ClusterSetup& setup : world.clusters())
    clusters.push_back(json::object{{"name", setup.gke.name},
                                    {"project", setup.gke.project},
                                    {"location", setup.gke.location},
                                    {"zone", setup.zone}});
  json::array pools;
  for (const cloudsim::Inventory::Pool& pool : inventory.pools)
    pools.push_back(json::object{{"cluster", pool.cluster.name},
                                 {"name", pool.record.name.value()},
                                 {"status", to_string(pool.record.status)},
                                 {"machine_type", pool.record.request->machine_type},
                                 {"topology", pool.record.topology},
                                 {"machines", pool.record.machines},
                                 {"falcon", is_falcons(pool.record.request->labels)}});
  json::array nodes;
  for (const auto& each : inventory.nodes) {
    json::object node = item(each);
    node.erase("namespace");
    node["pool"] = each.object->node().pool.value();
    node["ready"] = readiness(each.object->node().ready);
    nodes.push_back(std::move(node));
  }
  json::array jobs;
  for (const auto& each : inventory.jobs) {
    json::object job = item(each);
    job["active"] = each.object->job().active;
    job["falcon"] = is_falcons(*each.object->labels);
    jobs.push_back(std::move(job));
  }
  json::array pods;
  for (const auto& each : inventory.pods) {
    json::object pod = item(each);
    pod["phase"] = to_string(each.object->pod().phase);
    pod["node"] = each.object->pod().node.value();
    pods.push_back(std::move(pod));
  }
  json::array faults;
  for (const cloudsim::ArmedFault& fault : world.armed())
    faults.emplace_back(to_string(fault.fault));
  return json::serialize(json::object{{"clusters", std::move(clusters)},
                                      {"pools", std::move(pools)},
                                      {"nodes", std::move(nodes)},
                                      {"jobs", std::move(jobs)},
                                      {"pods", std::move(pods)},
                                      {"chips", inventory.chips},
                                      {"faults", std::move(faults)}});
}

Answer admin(World& world, Tokens& tokens, const Call& call) {
  const auto refuse = [](int status, std::string_view words) {
    return Answer{.status = status, .body = json::serialize(json::object{{"error", words}})};
  };
  const std::string& what = call.path.size() == 2 ? call.path[1] : call.path[0];
  if (what == "status" && call.method == "GET") return Answer{.body = status_document(world)};
  if (what != "fault" || call.method != "POST") return refuse(404, "no such path");
  // A web page can send a form, but not this type without asking first.
  if (!call.header("content-type").starts_with("application/json"))
    return refuse(415, "the body must be application/json");
  boost::system::error_code error;
  const json::value body = json::parse(call.body, error);
  const json::value* order =
      !error && body.is_object() ? body.get_object().if_contains("order") : nullptr;
  if (order == nullptr || !order->is_string()) return refuse(400, "\"order\" is missing");
  const auto done = apply_order(world, tokens, std::string_view(order->get_string()));
  if (!done) return refuse(400, done.error().what);
  return Answer{.body = json::serialize(json::object{{"done", *done}})};
}

}  // namespace falcon::simserver
