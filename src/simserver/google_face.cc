#include "simserver/google_face.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "simserver/google_error.h"
#include "simserver/pool_json.h"

namespace falcon::simserver {
namespace {

namespace json = boost::json;

Answer ok(const json::object& object) { return Answer{.body = json::serialize(object)}; }

Answer no_such_path() {
  return google_error(
      Error{ErrorKind::kNotFound, "The requested URL was not found on this server."});
}

std::string base64(std::string_view text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

json::object render_cluster(const cloudsim::ClusterSetup& setup,
                            const GoogleFace::Endpoint& endpoint) {
  return {
      {"name", setup.gke.name},
      {"location", setup.gke.location},
      {"locations", json::array{setup.zone}},
      {"status", "RUNNING"},
      {"endpoint", endpoint.address},
      {"currentMasterVersion",
       setup.has_consolidation_delay ? "1.34.1-gke.2541000" : "1.33.5-gke.1080000"},
      {"masterAuth", json::object{{"clusterCaCertificate", base64(endpoint.ca_pem)}}},
      {"workloadIdentityConfig",
       json::object{{"workloadPool", setup.gke.project + ".svc.id.goog"}}},
      {"addonsConfig", json::object{{"gcsFuseCsiDriverConfig", json::object{{"enabled", true}}}}},
      {"selfLink",
       fmt::format("https://container.googleapis.com/v1/{}", model::to_string(setup.gke))}};
}

// In a specific reservation Compute counts in texts, accelerators in numbers.
json::object render_reservation(const cloudsim::ReservationRecord& record) {
  const cloudsim::ReservationSetup& setup = record.setup;
  const std::string zone = fmt::format("https://www.googleapis.com/compute/v1/projects/{}/zones/{}",
                                       setup.id.project, setup.id.zone);
  json::object out{
      {"kind", "compute#reservation"},
      {"name", setup.id.name},
      {"zone", zone},
      {"selfLink", fmt::format("{}/reservations/{}", zone, setup.id.name)},
      {"status", setup.ready ? "READY" : "CREATING"},
      {"specificReservationRequired", true},
      {"shareSettings", json::object{{"shareType", setup.shared ? "SPECIFIC_PROJECTS" : "LOCAL"}}}};
  if (!setup.aggregate) {
    out["specificReservation"] =
        json::object{{"count", std::to_string(setup.total)},
                     {"inUseCount", std::to_string(record.in_use)},
                     {"assuredCount", std::to_string(setup.total)},
                     {"instanceProperties", json::object{{"machineType", setup.machine_type}}}};
    return out;
  }
  const std::string family = setup.machine_type.substr(0, setup.machine_type.find('-'));
  std::string upper = family;
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const bool lite = family == "ct5lp" || family == "ct6e";
  const auto chips = [&](std::int64_t number) {
    return json::array{json::object{
        {"accelerator",
         json::object{{"acceleratorCount", number},
                      {"acceleratorType", fmt::format("projects/{}/zones/{}/acceleratorTypes/{}",
                                                      setup.id.project, setup.id.zone, family)}}}}};
  };
  out["aggregateReservation"] = json::object{
      {"vmFamily", fmt::format("VM_FAMILY_CLOUD_TPU_{}POD_SLICE_{}", lite ? "LITE_" : "", upper)},
      {"workloadType", "BATCH"},
      {"reservedResources", chips(setup.total)},
      {"inUseResources", chips(record.in_use)}};
  return out;
}

json::object render_policy(const cloudsim::ResourcePolicy& policy) {
  json::object workload{{"type", "HIGH_THROUGHPUT"}};
  if (!policy.topology.empty()) workload["acceleratorTopology"] = policy.topology;
  return {{"kind", "compute#resourcePolicy"},
          {"name", policy.name},
          {"region", fmt::format("https://www.googleapis.com/compute/v1/projects/{}/regions/{}",
                                 policy.project, policy.region)},
          {"status", "READY"},
          {"workloadPolicy", std::move(workload)}};
}

}  // namespace

GoogleFace::GoogleFace(cloudsim::World& world, Tokens& tokens, Calendar calendar,
                       std::map<model::GkeCluster, Endpoint> endpoints,
                       std::filesystem::path buckets)
    : world_(world),
      tokens_(tokens),
      calendar_(calendar),
      endpoints_(std::move(endpoints)),
      buckets_(std::move(buckets)) {}

Answer GoogleFace::handle(const Call& call) {
  if (call.path.empty()) return no_such_path();
  if (call.path[0] == "computeMetadata") return metadata(call);
  if (call.path[0] == "storage") return read_bucket(call, buckets_);
  if (!tokens_.valid(call.header("authorization"), world_.now())) return unauthenticated();
  if (call.path[0] == "v1") return container(call);
  if (call.path[0] == "compute" && call.path.size() > 2) return compute(call);
  return no_such_path();
}

Answer GoogleFace::metadata(const Call& call) {
  Answer answer{.content_type = "application/text",
                .headers = {{"Metadata-Flavor", "Google"}, {"Server", "Metadata Server for VM"}}};
  if (call.header("metadata-flavor") != "Google" || !call.header("x-forwarded-for").empty()) {
    answer.status = 403;
    answer.body = "Missing Metadata-Flavor:Google header.\n";
    return answer;
  }
  std::string path;
  for (std::size_t i = 2; i < call.path.size(); ++i) path += "/" + call.path[i];
  const auto clusters = world_.clusters();
  const std::string project = clusters.empty() ? "sim" : clusters.front().gke.project;
  if (path == "/instance/service-accounts/default/token") {
    const Tokens::Token token = tokens_.get(world_.now());
    answer.content_type = "application/json";
    answer.body = json::serialize(json::object{{"access_token", token.value},
                                               {"expires_in", token.expires_in.count() / 1000},
                                               {"token_type", "Bearer"}});
  } else if (path == "/instance/service-accounts/default/email") {
    answer.body = fmt::format("falcon@{}.iam.gserviceaccount.com", project);
  } else if (path == "/project/project-id") {
    answer.body = project;
  } else if (path == "/project/numeric-project-id") {
    answer.body = "100000000000";
  } else if (path == "/instance/zone") {
    answer.body = fmt::format("projects/100000000000/zones/{}",
                              clusters.empty() ? "us-east5-b" : clusters.front().zone);
  } else {
    answer.status = 404;
    answer.body = "Not found\n";
  }
  return answer;
}

// /v1/projects/P/locations/L/{clusters|operations}...
Answer GoogleFace::container(const Call& call) {
  const std::vector<std::string>& path = call.path;
  if (path.size() < 6 || path[1] != "projects" || path[3] != "locations") return no_such_path();
  if (path[5] == "operations") return operations(call);
  if (path[5] != "clusters") return no_such_path();
  if (path.size() <= 7) return clusters(call);
  if (path[7] != "nodePools") return no_such_path();
  return node_pools(call, model::GkeCluster{path[2], path[4], path[6]});
}

Answer GoogleFace::clusters(const Call& call) {
  if (call.method != "GET") return no_such_path();
  const std::string& location = call.path[4];
  json::array found;
  for (const cloudsim::ClusterSetup& setup : world_.clusters()) {
    const auto endpoint = endpoints_.find(setup.gke);
    if (setup.gke.project != call.path[2] || endpoint == endpoints_.end() ||
        (location != "-" && location != setup.gke.location))
      continue;
    json::object cluster = render_cluster(setup, endpoint->second);
    if (call.path.size() == 7 && setup.gke.name == call.path[6]) return ok(cluster);
    found.push_back(std::move(cluster));
  }
  if (call.path.size() == 7)
    return google_error(
        Error{ErrorKind::kNotFound, fmt::format("Not found: projects/{}/locations/{}/clusters/{}.",
                                                call.path[2], location, call.path[6])});
  json::object list;
  if (!found.empty()) list["clusters"] = std::move(found);
  return ok(list);
}

Answer GoogleFace::node_pools(const Call& call, const model::GkeCluster& gke) {
  const auto operation = [&](const Result<model::OperationName>& name) {
    if (!name) return google_error(name.error());
    const auto record = world_.operation(gke, *name);
    if (record) return ok(render_operation(*record, gke, calendar_));
    return ok({{"name", name->value()}, {"status", "RUNNING"}});
  };
  if (call.path.size() == 8 && call.method == "GET") {
    const auto pools = world_.list_pools(gke);
    if (!pools) return google_error(pools.error());
    json::object list;
    if (!pools->empty()) {
      json::array& array = list["nodePools"].emplace_array();
      for (const cloudsim::PoolRecord& record : *pools) array.push_back(render_pool(record, gke));
    }
    return ok(list);
  }
  if (call.path.size() == 8 && call.method == "POST") {
    const auto request = pool_from_json(call.body);
    if (!request) return google_error(request.error());
    return operation(world_.create_pool(gke, *request));
  }
  if (call.path.size() != 9) return no_such_path();
  const model::PoolName name(call.path[8]);
  if (call.method == "DELETE") return operation(world_.delete_pool(gke, name));
  if (call.method != "GET") return no_such_path();
  const auto pool = world_.get_pool(gke, name);
  return pool ? ok(render_pool(*pool, gke)) : google_error(pool.error());
}

Answer GoogleFace::operations(const Call& call) {
  json::array found;
  std::optional<Error> trouble;
  for (const cloudsim::ClusterSetup& setup : world_.clusters()) {
    if (setup.gke.project != call.path[2] ||
        (call.path[4] != "-" && call.path[4] != setup.gke.location))
      continue;
    const auto records = world_.list_operations(setup.gke);
    if (!records) {
      trouble = records.error();
      continue;
    }
    for (const cloudsim::OperationRecord& record : *records) {
      if (call.path.size() == 6)
        found.push_back(render_operation(record, setup.gke, calendar_));
      else if (call.path[6] == record.name.value() && call.method == "GET")
        return ok(render_operation(record, setup.gke, calendar_));
      else if (call.path[6] == record.name.value() + ":cancel")
        return google_error(Error{ErrorKind::kInvalid,
                                  "Operation cannot be cancelled: only node "
                                  "upgrades can."});
    }
  }
  if (trouble) return google_error(*trouble);
  if (call.path.size() > 6)
    return google_error(
        Error{ErrorKind::kNotFound, fmt::format("Not found: operation {}.", call.path[6])});
  json::object list;
  if (!found.empty()) list["operations"] = std::move(found);
  return ok(list);
}

// /compute/v1/projects/P/zones/Z/reservations[/R],
// /compute/v1/projects/P/regions/R/resourcePolicies
Answer GoogleFace::compute(const Call& call) {
  const std::vector<std::string>& path = call.path;
  if (path.size() < 7 || path[2] != "projects") return no_such_path();
  if (path[4] == "regions" && path[6] == "resourcePolicies") return policies(call);
  if (path[4] != "zones" || path[6] != "reservations" || call.method != "GET")
    return no_such_path();
  if (path.size() == 8) {
    const auto record = world_.reservation(model::Reservation{path[3], path[5], path[7]});
    return record ? ok(render_reservation(*record)) : legacy_error(record.error());
  }
  json::array items;
  for (const cloudsim::ReservationRecord& record : world_.reservations(path[3], path[5]))
    items.push_back(render_reservation(record));
  json::object list{{"kind", "compute#reservationList"}};
  if (!items.empty()) list["items"] = std::move(items);
  return ok(list);
}

Answer GoogleFace::policies(const Call& call) {
  const std::string& project = call.path[3];
  const std::string& region = call.path[5];
  if (call.method == "POST" && call.path.size() == 7) {
    boost::system::error_code error;
    const json::value body = json::parse(call.body, error);
    if (error || !body.is_object() || !body.get_object().contains("name") ||
        !body.at("name").is_string())
      return legacy_error(
          Error{ErrorKind::kInvalid, "Required field 'resource.name' not specified"});
    cloudsim::ResourcePolicy policy{project, region, std::string(body.at("name").get_string()), ""};
    if (const json::value* workload = body.get_object().if_contains("workloadPolicy");
        workload != nullptr && workload->is_object())
      if (const json::value* topology = workload->get_object().if_contains("acceleratorTopology");
          topology != nullptr && topology->is_string())
        policy.topology = std::string(topology->get_string());
    const auto created = world_.create_policy(policy);
    if (!created) return legacy_error(created.error());
    return ok({{"kind", "compute#operation"},
               {"name", "operation-policy-" + policy.name},
               {"operationType", "insert"},
               {"status", "DONE"},
               {"progress", 100}});
  }
  if (call.method != "GET") return no_such_path();
  json::array items;
  for (const cloudsim::ResourcePolicy& policy : world_.policies(project, region)) {
    if (call.path.size() == 8 && policy.name == call.path[7]) return ok(render_policy(policy));
    items.push_back(render_policy(policy));
  }
  if (call.path.size() == 8)
    return legacy_error(
        Error{ErrorKind::kNotFound,
              fmt::format("The resource 'projects/{}/regions/{}/resourcePolicies/{}'"
                          " was not found",
                          project, region, call.path[7])});
  json::object list{{"kind", "compute#resourcePolicyList"}};
  if (!items.empty()) list["items"] = std::move(items);
  return ok(list);
}

}  // namespace falcon::simserver
