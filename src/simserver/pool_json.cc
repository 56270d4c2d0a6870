#include "simserver/pool_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <initializer_list>
#include <optional>

#include "simserver/google_error.h"

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using cloudsim::PoolRequest;

// Fields of NodePool and NodeConfig in v1 (googleapis, cluster_service.proto, and gcloud's v1
// messages); a name that is not among them is refused, as Google refuses it.
constexpr std::array<std::string_view, 22> kPoolFields{"name",
                                                       "config",
                                                       "initialNodeCount",
                                                       "locations",
                                                       "networkConfig",
                                                       "selfLink",
                                                       "version",
                                                       "instanceGroupUrls",
                                                       "status",
                                                       "statusMessage",
                                                       "autoscaling",
                                                       "management",
                                                       "maxPodsConstraint",
                                                       "conditions",
                                                       "podIpv4CidrSize",
                                                       "upgradeSettings",
                                                       "placementPolicy",
                                                       "updateInfo",
                                                       "etag",
                                                       "queuedProvisioning",
                                                       "bestEffortProvisioning",
                                                       "nodeDrainConfig"};
constexpr std::array<std::string_view, 49> kConfigFields{"machineType",
                                                         "diskSizeGb",
                                                         "oauthScopes",
                                                         "serviceAccount",
                                                         "metadata",
                                                         "imageType",
                                                         "labels",
                                                         "localSsdCount",
                                                         "tags",
                                                         "preemptible",
                                                         "accelerators",
                                                         "diskType",
                                                         "minCpuPlatform",
                                                         "workloadMetadataConfig",
                                                         "taints",
                                                         "sandboxConfig",
                                                         "nodeGroup",
                                                         "reservationAffinity",
                                                         "shieldedInstanceConfig",
                                                         "linuxNodeConfig",
                                                         "kubeletConfig",
                                                         "bootDiskKmsKey",
                                                         "gcfsConfig",
                                                         "advancedMachineFeatures",
                                                         "gvnic",
                                                         "spot",
                                                         "confidentialNodes",
                                                         "fastSocket",
                                                         "resourceLabels",
                                                         "loggingConfig",
                                                         "windowsNodeConfig",
                                                         "localNvmeSsdBlockConfig",
                                                         "ephemeralStorageLocalSsdConfig",
                                                         "soleTenantConfig",
                                                         "containerdConfig",
                                                         "resourceManagerTags",
                                                         "enableConfidentialStorage",
                                                         "secondaryBootDisks",
                                                         "storagePools",
                                                         "secondaryBootDiskUpdateStrategy",
                                                         "maxRunDuration",
                                                         "localSsdEncryptionMode",
                                                         "effectiveCgroupMode",
                                                         "flexStart",
                                                         "bootDisk",
                                                         "consolidationDelay",
                                                         "capacityWaitDuration",
                                                         "gpuDirectConfig",
                                                         "taintConfig"};

struct Trouble {
  std::string text;
};

template <class Known>
void refuse_unknown(const json::object& object, const Known& known, std::string_view where) {
  for (const auto& [key, value] : object)
    if (std::ranges::find(known, std::string_view(key)) == known.end())
      throw Trouble{
          fmt::format("Invalid JSON payload received. Unknown name \"{}\" at '{}': Cannot "
                      "find field.",
                      std::string_view(key), where)};
}

[[noreturn]] void refuse_value(std::string_view key, std::string_view wanted) {
  throw Trouble{fmt::format("Invalid value at '{}' ({}).", key, wanted)};
}

const json::object* object_at(const json::object& parent, std::string_view key) {
  const json::value* value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return nullptr;
  if (!value->is_object()) refuse_value(key, "object");
  return &value->get_object();
}

std::string text_at(const json::object& parent, std::string_view key) {
  const json::value* value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_string()) refuse_value(key, "TYPE_STRING");
  return std::string(value->get_string());
}

bool flag_at(const json::object& parent, std::string_view key) {
  const json::value* value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return false;
  if (!value->is_bool()) refuse_value(key, "TYPE_BOOL");
  return value->get_bool();
}

// proto3 JSON takes whole numbers as numbers or as text.
std::uint32_t count_at(const json::object& parent, std::string_view key) {
  const json::value* value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return 0;
  std::int64_t number = -1;
  if (value->is_int64()) {
    number = value->get_int64();
  } else if (value->is_string()) {
    const std::string_view text = value->get_string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) number = -1;
  }
  if (number < 0 || number > 100'000) refuse_value(key, "TYPE_INT32");
  return static_cast<std::uint32_t>(number);
}

std::optional<Duration> duration_at(const json::object& parent, std::string_view key) {
  const std::string text = text_at(parent, key);
  if (text.empty()) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || std::string_view(end, text.data() + text.size()) != "s")
    refuse_value(key, "a duration like \"3600s\"");
  return Duration(seconds * 1000);
}

void read_affinity(const json::object& config, PoolRequest& request) {
  const json::object* affinity = object_at(config, "reservationAffinity");
  const std::string kind =
      affinity != nullptr ? text_at(*affinity, "consumeReservationType") : std::string();
  const bool flex = flag_at(config, "flexStart");
  request.supply = flex ? model::SupplyMode::kFlexStart : model::SupplyMode::kOnDemand;
  if (flex && kind != "NO_RESERVATION")
    throw Trouble{"Flex-start requires reservation affinity NO_RESERVATION."};
  if (flag_at(config, "spot") && (flex || kind == "SPECIFIC_RESERVATION"))
    throw Trouble{"Spot cannot be combined with flex-start or a reservation."};
  if (kind != "SPECIFIC_RESERVATION") return;
  const json::value* values = affinity->if_contains("values");
  if (text_at(*affinity, "key") != "compute.googleapis.com/reservation-name" || values == nullptr ||
      !values->is_array() || values->get_array().size() != 1 ||
      !values->get_array().front().is_string())
    throw Trouble{
        "SPECIFIC_RESERVATION requires key compute.googleapis.com/reservation-name and exactly one "
        "value."};
  request.supply = model::SupplyMode::kReservation;
  request.reservation = std::string(values->get_array().front().get_string());
}

void read_config(const json::object& config, PoolRequest& request) {
  refuse_unknown(config, kConfigFields, "node_pool.config");
  request.machine_type = text_at(config, "machineType");
  request.disk_type = text_at(config, "diskType");
  request.max_run_duration = duration_at(config, "maxRunDuration");
  request.consolidation_delay = duration_at(config, "consolidationDelay");
  if (const json::object* labels = object_at(config, "labels"))
    for (const auto& [key, value] : *labels) {
      if (!value.is_string()) refuse_value(key, "TYPE_STRING");
      request.labels[std::string(key)] = std::string(value.get_string());
    }
  read_affinity(config, request);
}

void read_autoscaling(const json::object& autoscaling, PoolRequest& request) {
  request.autoscaled = flag_at(autoscaling, "enabled");
  const std::uint32_t total = count_at(autoscaling, "totalMaxNodeCount");
  request.autoscaling_min =
      std::max(count_at(autoscaling, "minNodeCount"), count_at(autoscaling, "totalMinNodeCount"));
  request.autoscaling_max = std::max(count_at(autoscaling, "maxNodeCount"), total);
  if (total > 0 && autoscaling.contains("maxNodeCount"))
    throw Trouble{"maxNodeCount and totalMaxNodeCount cannot both be set."};
}

PoolRequest read_pool(const json::object& root) {
  refuse_unknown(
      root, std::array<std::string_view, 5>{"nodePool", "parent", "projectId", "zone", "clusterId"},
      "create_node_pool_request");
  const json::object* pool = object_at(root, "nodePool");
  if (pool == nullptr) throw Trouble{"Node_pool must be specified."};
  refuse_unknown(*pool, kPoolFields, "node_pool");
  PoolRequest request;
  request.name = model::PoolName(text_at(*pool, "name"));
  request.initial_nodes = count_at(*pool, "initialNodeCount");
  if (const json::value* locations = pool->if_contains("locations")) {
    if (!locations->is_array() || locations->get_array().size() != 1 ||
        !locations->get_array().front().is_string())
      throw Trouble{"TPU node pools must be in exactly one zone."};
    request.zone = std::string(locations->get_array().front().get_string());
  }
  if (const json::object* placement = object_at(*pool, "placementPolicy")) {
    const std::string type = text_at(*placement, "type");
    if (!type.empty() && type != "COMPACT" && type != "TYPE_UNSPECIFIED")
      refuse_value("placement_policy.type", "COMPACT or TYPE_UNSPECIFIED");
    request.compact = type == "COMPACT";
    request.placement_topology = text_at(*placement, "tpuTopology");
    request.policy_name = text_at(*placement, "policyName");
  }
  if (const json::object* autoscaling = object_at(*pool, "autoscaling"))
    read_autoscaling(*autoscaling, request);
  if (const json::object* config = object_at(*pool, "config")) read_config(*config, request);
  request.body = std::make_shared<const std::string>(json::serialize(*pool));
  return request;
}

// Values that say nothing are left out of Google's JSON.
void drop_zeros(json::object& object) {
  for (auto it = object.begin(); it != object.end();) {
    json::value& value = it->value();
    if (value.is_object()) drop_zeros(value.get_object());
    const bool zero = value.is_null() || (value.is_bool() && !value.get_bool()) ||
                      (value.is_int64() && value.get_int64() == 0) ||
                      (value.is_uint64() && value.get_uint64() == 0) ||
                      (value.is_string() && value.get_string().empty()) ||
                      (value.is_array() && value.get_array().empty());
    it = zero ? object.erase(it) : it + 1;
  }
}

std::string canonical_code(std::string_view condition_code) {
  if (condition_code == "GCE_STOCKOUT" || condition_code == "GCE_QUOTA_EXCEEDED")
    return "RESOURCE_EXHAUSTED";
  return "UNKNOWN";
}

std::string link(const model::GkeCluster& gke, std::string_view project) {
  return fmt::format("https://container.googleapis.com/v1/projects/{}/locations/{}/clusters/{}",
                     project, gke.location, gke.name);
}

// Links of operations name the project by its number.
std::string project_number(const std::string& project) {
  std::uint64_t number = 100'000'000'000;
  for (const char c : project) number += static_cast<unsigned char>(c) * 7'919U;
  return std::to_string(number);
}

}  // namespace

Result<PoolRequest> pool_from_json(const std::string& body) {
  boost::system::error_code error;
  const json::value value = json::parse(body, error);
  if (error || !value.is_object())
    return fail(ErrorKind::kInvalid, "Invalid JSON payload received. Expected an object.");
  try {
    return read_pool(value.get_object());
  } catch (const Trouble& trouble) {
    return fail(ErrorKind::kInvalid, trouble.text);
  }
}

json::object render_pool(const cloudsim::PoolRecord& record, const model::GkeCluster& gke) {
  json::object pool;
  if (record.request->body) {
    boost::system::error_code error;
    json::value parsed = json::parse(*record.request->body, error);
    if (!error && parsed.is_object()) pool = std::move(parsed.as_object());
  }
  pool["name"] = record.name.value();
  pool["initialNodeCount"] = record.request->initial_nodes;
  pool["status"] = to_string(record.status);
  pool["selfLink"] = fmt::format("{}/nodePools/{}", link(gke, gke.project), record.name);
  pool["version"] = "1.34.1-gke.2541000";
  pool["etag"] = fmt::format("{}-{}", record.name, record.created_at.time_since_epoch().count());
  if (!record.condition_code.empty()) {
    pool["conditions"] =
        json::array{json::object{{"code", record.condition_code},
                                 {"canonicalCode", canonical_code(record.condition_code)},
                                 {"message", record.condition_words}}};
    pool["statusMessage"] = record.condition_words;
  }
  drop_zeros(pool);
  return pool;
}

json::object render_operation(const cloudsim::OperationRecord& record, const model::GkeCluster& gke,
                              const Calendar& calendar) {
  const std::string cluster = link(gke, project_number(gke.project));
  json::object operation{
      {"name", record.name.value()},
      {"operationType", to_string(record.type)},
      {"status", record.done ? "DONE" : "RUNNING"},
      {"location", gke.location},
      {"zone", gke.location},
      {"selfLink",
       fmt::format("https://container.googleapis.com/v1/projects/{}/locations/{}/operations/{}",
                   project_number(gke.project), gke.location, record.name)},
      {"targetLink",
       record.pool.empty() ? cluster : fmt::format("{}/nodePools/{}", cluster, record.pool)},
      {"startTime", to_rfc3339(calendar.at(record.started_at))}};
  if (record.done) operation["endTime"] = to_rfc3339(calendar.at(record.ended_at));
  if (record.error) {
    operation["error"] =
        json::object{{"code", rpc_code(record.error->kind)}, {"message", record.error->what}};
    operation["statusMessage"] = record.error->what;
  }
  return operation;
}

}  // namespace falcon::simserver
