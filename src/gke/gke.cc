#include "gke/gke.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "base/check.h"
#include "base/digest.h"
#include "base/text.h"
#include "gke/errors.h"
#include "model/names.h"
#include "model/tpu.h"
#include "wire/foreign.h"

namespace falcon::gke {
namespace {

namespace json = boost::json;
using wire::child;
using wire::list;
using wire::number;
using wire::small_number;
using wire::text;

constexpr Duration kFlexRunMax{7LL * 24 * 3'600'000};  // GKE's most and default
constexpr std::string_view kScope = "https://www.googleapis.com/auth/cloud-platform";

core::PoolStatus pool_status(const std::string& status) {
  if (status == "PROVISIONING") return core::PoolStatus::kProvisioning;
  if (status == "RUNNING") return core::PoolStatus::kRunning;
  if (status == "RUNNING_WITH_ERROR") return core::PoolStatus::kRunningWithError;
  if (status == "RECONCILING") return core::PoolStatus::kReconciling;
  if (status == "STOPPING") return core::PoolStatus::kStopping;
  if (status == "ERROR") return core::PoolStatus::kError;
  return core::PoolStatus::kUnknown;
}

core::PoolView pool_view(const json::object& pool) {
  core::PoolView view;
  view.name = model::PoolName(text(pool, "name"));
  view.status = pool_status(text(pool, "status"));
  const json::object& labels = child(child(pool, "config"), "labels");
  if (text(labels, model::kManagedByLabel) == "falcon") {
    view.installation = model::Installation(text(labels, model::kInstallationLabel));
    view.job = model::JobId(text(labels, model::kJobLabel));
    view.provision = small_number(text(labels, model::kProvisionLabel));
  }
  view.words = text(pool, "statusMessage");
  for (const json::value& item : list(pool, "conditions"))
    if (const json::object* condition = item.if_object()) {
      if (!view.words.empty()) view.words += "; ";
      const std::string code = text(*condition, "code");
      view.words += code + (code.empty() ? "" : ": ") + text(*condition, "message");
    }
  view.words = clean_text(view.words, 1'500);
  if (const json::value* enabled = child(pool, "autoscaling").if_contains("enabled"))
    view.autoscaled = enabled->is_bool() && enabled->as_bool();
  if (!view.words.empty()) view.words_kind = sort_words(0, view.words);
  return view;
}

std::string decode_base64(const std::string& encoded) {
  std::string decoded(encoded.size(), '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(encoded.data()),
                                   static_cast<int>(encoded.size()));
  if (size < 0) return {};
  const auto padding = std::count(encoded.end() - std::min<std::ptrdiff_t>(2, std::ssize(encoded)),
                                  encoded.end(), '=');
  decoded.resize(static_cast<std::size_t>(size - padding));
  return decoded;
}

std::string policy_name(const std::string& topology) { return "falcon-" + topology; }

std::string seconds(Duration duration) { return fmt::format("{}s", duration.count() / 1'000); }

void add_supply(json::object& pool, json::object& config, const model::PoolRow& row,
                const model::Slice& slice) {
  switch (row.supply) {
    case model::SupplyMode::kOnDemand:
      config["reservationAffinity"] = {{"consumeReservationType", "NO_RESERVATION"}};
      break;
    case model::SupplyMode::kReservation:
      config["reservationAffinity"] = {
          {"consumeReservationType", "SPECIFIC_RESERVATION"},
          {"key", "compute.googleapis.com/reservation-name"},
          {"values", json::array{row.reservation.project == row.gke.project
                                     ? row.reservation.name
                                     : "projects/" + row.reservation.project + "/reservations/" +
                                           row.reservation.name}}};
      break;
    case model::SupplyMode::kFlexStart:
      config["reservationAffinity"] = {{"consumeReservationType", "NO_RESERVATION"}};
      config["flexStart"] = true;
      config["maxRunDuration"] = seconds(kFlexRunMax);
      break;
  }
  if (row.supply != model::SupplyMode::kFlexStart) pool["initialNodeCount"] = slice.hosts;
}

// All machines of the slice or none: flex-start gets them when pods are pending, and whatever
// stands idle is taken back by GKE, even while Falcon is dead.
void add_autoscaling(json::object& pool, json::object& config, const model::PoolRow& row,
                     const model::Slice& slice, std::optional<Duration> idle_delay) {
  if (!idle_delay && row.supply != model::SupplyMode::kFlexStart) return;
  if (idle_delay) config["consolidationDelay"] = seconds(*idle_delay);
  pool["autoscaling"] = {{"enabled", true},
                         {"minNodeCount", 0},
                         {"maxNodeCount", slice.hosts},
                         {"locationPolicy", "ANY"}};
}

}  // namespace

std::string region_of(const std::string& location) {
  const std::size_t dash = location.rfind('-');
  const bool zone = dash != std::string::npos && location.size() - dash == 2;
  return zone ? location.substr(0, dash) : location;
}

std::string create_pool_body(const model::PoolRow& row, const std::string& zone,
                             const model::Installation& installation,
                             std::optional<Duration> idle_delay) {
  const auto slice = model::find_slice(row.shape.type, row.shape.topology);
  FALCON_CHECK(slice.has_value());
  const model::TpuGeneration& generation = *slice->generation;
  json::object config;
  config["machineType"] = slice->machine_type;
  config["diskType"] = generation.disk_type;
  config["diskSizeGb"] = 100;
  config["oauthScopes"] = json::array{kScope};
  config["workloadMetadataConfig"] = {{"mode", "GKE_METADATA"}};
  config["gvnic"] = {{"enabled", true}};
  json::object pool;
  pool["name"] = row.name.value();
  pool["locations"] = json::array{zone};
  add_supply(pool, config, row, *slice);
  if (slice->multi_host()) {
    if (generation.placement == model::SlicePlacement::kCompact)
      pool["placementPolicy"] = {{"type", "COMPACT"}, {"tpuTopology", slice->topology}};
    else
      pool["placementPolicy"] = {{"policyName", policy_name(slice->topology)},
                                 {"tpuTopology", slice->topology}};
  }
  config["labels"] = {{model::kManagedByLabel, "falcon"},
                      {model::kInstallationLabel, installation.value()},
                      {model::kJobLabel, row.owner.value()},
                      {model::kProvisionLabel, std::to_string(row.provision)}};
  // A repaired slice is another slice: whoever ran there is lost anyway, and Falcon decides.
  pool["management"] = {{"autoRepair", row.supply != model::SupplyMode::kFlexStart},
                        {"autoUpgrade", true}};
  // What the pool was asked to be, to compare where a name turns out to be taken.
  // The cluster's version and settings decide about the rest, and may change between two tries.
  const Sha256 digest = sha256(json::serialize(config) + json::serialize(pool));
  add_autoscaling(pool, config, row, *slice, idle_delay);
  config["resourceLabels"] = {{"falcon-installation", installation.value()},
                              {"falcon-spec", base32_lower(digest).substr(0, 26)}};
  pool["config"] = std::move(config);
  return json::serialize(json::object{{"nodePool", std::move(pool)}});
}

Gke::Gke(http::Client& client, TokenSource& tokens, GkeSettings settings)
    : client_(client), tokens_(tokens), settings_(std::move(settings)) {}

void Gke::call(std::string method, std::string url, std::string body, Duration deadline,
               http::OnResponse done) {
  http::Request request;
  const CallKind kind = method == "GET" ? CallKind::kRead : CallKind::kChange;
  request.method = std::move(method);
  request.url = std::move(url);
  request.timeout = deadline;
  request.body_bytes_max = 64U << 20U;
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  send_authorized(
      client_, tokens_, std::move(request),
      [kind, done = std::move(done)](Result<http::Response> answer) {
        if (answer && answer->status / 100 != 2)
          return done(std::unexpected(sort_answer(*answer, kind)));
        if (!answer && kind == CallKind::kRead && answer.error().kind == ErrorKind::kUnknownOutcome)
          return done(fail(ErrorKind::kUnavailable, answer.error().what));
        done(std::move(answer));
      });
}

namespace {

std::string cluster_url(const GkeSettings& settings, const model::GkeCluster& gke) {
  return settings.container_url + "/v1/" + model::to_string(gke);
}

// Turns an answer into a T, or passes the error on.
template <class T, class Read>
http::OnResponse reading(std::function<void(Result<T>)> done, Read read) {
  return [done = std::move(done), read](Result<http::Response> answer) {
    if (!answer) return done(std::unexpected(answer.error()));
    auto object = wire::object_of(answer->body);
    if (!object) return done(std::unexpected(object.error()));
    done(read(*object));
  };
}

Result<core::PoolAccepted> accepted_of(const json::object& object) {
  const std::string name = text(object, "name");
  if (name.empty()) return fail(ErrorKind::kUnknownOutcome, "the answer names no operation");
  return core::PoolAccepted{model::OperationName(name)};
}

}  // namespace

void Gke::control_plane(const model::GkeCluster& gke, On<ControlPlane> done) {
  call("GET", cluster_url(settings_, gke), {}, settings_.read_deadline,
       reading<ControlPlane>(
           std::move(done), [](const json::object& cluster) -> Result<ControlPlane> {
             ControlPlane plane;
             plane.status = text(cluster, "status");
             plane.version = text(cluster, "currentMasterVersion");
             bool ip_enabled = true;
             const json::object& endpoints = child(cluster, "controlPlaneEndpointsConfig");
             if (const json::value* enabled =
                     child(endpoints, "ipEndpointsConfig").if_contains("enabled"))
               ip_enabled = !enabled->is_bool() || enabled->as_bool();
             const std::string dns = text(child(endpoints, "dnsEndpointConfig"), "endpoint");
             if (!ip_enabled && !dns.empty()) {
               plane.url = "https://" + dns;  // verified against public roots
               return plane;
             }
             const std::string endpoint = text(cluster, "endpoint");
             if (endpoint.empty())
               return fail(ErrorKind::kUnavailable,
                           "the cluster has no endpoint yet (status " + plane.status + ")");
             plane.url = "https://" + endpoint;
             plane.ca_pem =
                 decode_base64(text(child(cluster, "masterAuth"), "clusterCaCertificate"));
             if (plane.ca_pem.empty())
               return fail(ErrorKind::kUnavailable, "the cluster's CA certificate is missing");
             return plane;
           }));
}

bool has_consolidation_delay(std::string_view version) {
  // MAJOR.MINOR.PATCH-gke.BUILD
  static constexpr std::array<std::uint64_t, 4> kFirst{1, 34, 1, 2'364'000};
  static constexpr std::array<std::string_view, 4> kBefore{"", ".", ".", "-gke."};
  std::array<std::uint64_t, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!version.starts_with(kBefore[i])) return false;
    version.remove_prefix(kBefore[i].size());
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), numbers[i]);
    if (error != std::errc{}) return false;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
  }
  return numbers >= kFirst;
}

Duration Gke::idle_delay(model::SupplyMode supply) const {
  switch (supply) {
    case model::SupplyMode::kReservation:
      return settings_.idle_reservation;
    case model::SupplyMode::kOnDemand:
      return settings_.idle_on_demand;
    case model::SupplyMode::kFlexStart:
      return settings_.idle_flex_start;
  }
  return settings_.idle_reservation;
}

void Gke::create_pool(const model::PoolRow& row, const std::string& zone,
                      const std::string& version, On<core::PoolAccepted> done) {
  const auto slice = model::find_slice(row.shape.type, row.shape.topology);
  if (!slice) return done(std::unexpected(slice.error()));
  std::optional<Duration> idle;
  if (has_consolidation_delay(version)) idle = idle_delay(row.supply);
  const bool policy =
      slice->multi_host() && slice->generation->placement == model::SlicePlacement::kWorkloadPolicy;
  if (!policy) return post_pool(row, zone, idle, std::move(done));
  const std::string url = fmt::format("{}/compute/v1/projects/{}/regions/{}/resourcePolicies",
                                      settings_.compute_url, row.gke.project, region_of(zone));
  const std::string body = json::serialize(json::object{
      {"name", policy_name(slice->topology)},
      {"workloadPolicy", {{"type", "HIGH_THROUGHPUT"}, {"acceleratorTopology", slice->topology}}}});
  call("POST", url, body, settings_.change_deadline,
       [this, row, zone, idle, done = std::move(done)](Result<http::Response> answer) {
         // Shared by all pools of the topology: "exists" is good news.
         const bool there = answer || answer.error().kind == ErrorKind::kAlreadyExists;
         if (!there) {
           Error error = answer.error();
           if (error.kind == ErrorKind::kUnknownOutcome) error.kind = ErrorKind::kUnavailable;
           error.what = "workload policy: " + error.what;
           return done(std::unexpected(std::move(error)));
         }
         post_pool(row, zone, idle, done);
       });
}

void Gke::post_pool(const model::PoolRow& row, const std::string& zone,
                    std::optional<Duration> idle, On<core::PoolAccepted> done) {
  call("POST", cluster_url(settings_, row.gke) + "/nodePools",
       create_pool_body(row, zone, settings_.installation, idle), settings_.change_deadline,
       reading<core::PoolAccepted>(std::move(done), accepted_of));
}

void Gke::delete_pool(const model::GkeCluster& gke, const model::PoolName& name,
                      On<core::PoolAccepted> done) {
  call("DELETE", cluster_url(settings_, gke) + "/nodePools/" + name.value(), {},
       settings_.change_deadline, reading<core::PoolAccepted>(std::move(done), accepted_of));
}

void Gke::list_pools(const model::GkeCluster& gke, On<core::PoolListing> done) {
  call("GET", cluster_url(settings_, gke) + "/nodePools", {}, settings_.read_deadline,
       reading<core::PoolListing>(
           std::move(done), [](const json::object& answer) -> Result<core::PoolListing> {
             core::PoolListing listing;
             // None: Google leaves empty lists out.
             if (const json::value* pools = answer.if_contains("nodePools");
                 pools != nullptr && !pools->is_array())
               return fail(ErrorKind::kUnavailable, "nodePools is no list");
             for (const json::value& item : list(answer, "nodePools")) {
               const json::object* pool = item.if_object();
               if (pool == nullptr || text(*pool, "name").empty())
                 return fail(ErrorKind::kUnavailable, "the list of node pools is not readable");
               listing.pools.push_back(pool_view(*pool));
             }
             return listing;
           }));
}

void Gke::operation(const model::GkeCluster& gke, const model::OperationName& name,
                    On<core::OperationView> done) {
  const std::string url =
      fmt::format("{}/v1/projects/{}/locations/{}/operations/{}", settings_.container_url,
                  gke.project, gke.location, name.value());
  call("GET", url, {}, settings_.read_deadline,
       reading<core::OperationView>(
           std::move(done), [](const json::object& answer) -> Result<core::OperationView> {
             core::OperationView view;
             view.done = text(answer, "status") == "DONE";
             std::string words = text(answer, "statusMessage");
             std::int32_t code = 0;
             if (const json::value* given = answer.if_contains("error");
                 given != nullptr && given->is_object()) {
               const json::object& error = given->get_object();
               code = static_cast<std::int32_t>(number(error, "code"));
               const std::string message = text(error, "message");
               if (!message.empty()) words = message;
               if (words.empty()) words = fmt::format("error code {}", code);
             }
             if (!words.empty())
               view.error = Error{sort_words(code, words), clean_text(words, 1'500)};
             return view;
           }));
}

void Gke::reservation(const model::Reservation& reservation, On<core::ReservationView> done) {
  // Sub-blocks and blocks follow the name: the reservation itself is what is read.
  const std::string name = reservation.name.substr(0, reservation.name.find('/'));
  const std::string url =
      fmt::format("{}/compute/v1/projects/{}/zones/{}/reservations/{}", settings_.compute_url,
                  reservation.project, reservation.zone, name);
  call("GET", url, {}, settings_.read_deadline,
       reading<core::ReservationView>(
           std::move(done), [](const json::object& answer) -> Result<core::ReservationView> {
             core::ReservationView view;
             view.ready = text(answer, "status") == "READY";
             if (answer.contains("specificReservation")) {
               const json::object& specific = child(answer, "specificReservation");
               view.unit = core::ReservationView::Unit::kMachines;
               view.total = number(specific, "count");
               if (specific.contains("assuredCount"))
                 view.total = std::min(view.total, number(specific, "assuredCount"));
               view.in_use = number(specific, "inUseCount");
               return view;
             }
             const json::object& aggregate = child(answer, "aggregateReservation");
             if (aggregate.empty())
               return fail(ErrorKind::kUnavailable,
                           "the reservation is neither specific nor aggregate");
             view.unit = core::ReservationView::Unit::kChips;
             const auto chips = [&](std::string_view key) {
               std::int64_t sum = 0;
               for (const json::value& item : list(aggregate, key))
                 if (const json::object* resource = item.if_object())
                   sum += number(child(*resource, "accelerator"), "acceleratorCount");
               return sum;
             };
             view.total = chips("reservedResources");
             view.in_use = chips("inUseResources");
             return view;
           }));
}

}  // namespace falcon::gke
