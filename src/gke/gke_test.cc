#include "gke/gke.h"

#include <gmock/gmock.h>

#include <future>
#include <mutex>

#include "gke/fields_test.h"
#include "http/server.h"
#include "model/names.h"

namespace falcon::gke {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

const model::Installation kInstallation("inst");

model::PoolRow pool(std::string_view type, std::string_view topology,
                    model::SupplyMode supply = model::SupplyMode::kOnDemand) {
  model::PoolRow row;
  row.gke = {"p", "us-east5", "c"};
  row.shape = {model::Accelerator::kTpu, std::string(type), std::string(topology)};
  row.supply = supply;
  row.owner = model::JobId("j-1");
  row.provision = 2;
  row.name = model::pool_name(kInstallation, row.owner, row.provision);
  if (supply == model::SupplyMode::kReservation) row.reservation = {"owner", "us-east5-b", "r"};
  return row;
}

std::string body_of(const model::PoolRow& row, std::optional<Duration> idle_delay = {}) {
  return create_pool_body(row, "us-east5-b", kInstallation, idle_delay);
}

// Fields that every request has, whatever the slice.
std::vector<Field> with_common(const model::PoolRow& row, std::vector<Field> fields) {
  const std::string n = "nodePool.";
  const std::string name = row.name.value();
  for (Field& field : fields) field.path = n + field.path;
  fields.push_back({n + "name", '"' + name + '"', "made from ids: a repetition finds it"});
  fields.push_back({n + "locations[0]", "\"us-east5-b\"", "a slice lies in exactly one zone"});
  fields.push_back({n + "config.diskSizeGb", "100", "GKE's default, said aloud"});
  fields.push_back({n + "config.oauthScopes[0]",
                    "\"https://www.googleapis.com/auth/cloud-platform\"",
                    "IAM decides, not scopes"});
  fields.push_back({n + "config.workloadMetadataConfig.mode", "\"GKE_METADATA\"",
                    "pods reach the bucket as their own service account"});
  fields.push_back({n + "config.gvnic.enabled", "true", "TPU machines have no other card"});
  fields.push_back({n + "config.labels.managed-by", "\"falcon\"", "ours, on its nodes"});
  fields.push_back({n + "config.labels.falcon-installation", "\"inst\"", "of this installation"});
  fields.push_back({n + "config.labels.falcon-job", "\"j-1\"", "for whom it was made"});
  fields.push_back({n + "config.labels.falcon-provision", "\"2\"", "which of that job's pools"});
  fields.push_back({n + "config.resourceLabels.falcon-installation", "\"inst\"", "for the bill"});
  fields.push_back({n + "config.resourceLabels.falcon-spec", "*", "what it was asked to be"});
  fields.push_back({n + "management.autoUpgrade", "true", "release channels refuse false"});
  return fields;
}

TEST(CreatePoolBody, OneHostOnDemand) {
  const model::PoolRow row = pool("v5e", "2x2");
  expect_fields(
      body_of(row),
      with_common(row, {{"config.machineType", "\"ct5lp-hightpu-4t\"", "four chips, one host"},
                        {"config.diskType", "\"pd-balanced\"", "v5e's default"},
                        {"config.reservationAffinity.consumeReservationType", "\"NO_RESERVATION\"",
                         "an open reservation of others is not eaten up"},
                        {"initialNodeCount", "1", "the whole slice, at once"},
                        {"management.autoRepair", "true", "GKE's default"}}));
}

TEST(CreatePoolBody, SeveralHostsFromAReservationOfAnotherProject) {
  const model::PoolRow row = pool("v6e", "4x4", model::SupplyMode::kReservation);
  expect_fields(
      body_of(row),
      with_common(row,
                  {{"config.machineType", "\"ct6e-standard-4t\"", "16 chips = 4 hosts of 4"},
                   {"config.diskType", "\"hyperdisk-balanced\"", "v6e takes no other"},
                   {"config.reservationAffinity.consumeReservationType", "\"SPECIFIC_RESERVATION\"",
                    "this one, or fail"},
                   {"config.reservationAffinity.key", "\"compute.googleapis.com/reservation-name\"",
                    "GKE's key for it"},
                   {"config.reservationAffinity.values[0]", "\"projects/owner/reservations/r\"",
                    "shared ones are named with their owner"},
                   {"initialNodeCount", "4", "a slice is never partial"},
                   {"placementPolicy.type", "\"COMPACT\"", "v4 to v6e: machines of one slice"},
                   {"placementPolicy.tpuTopology", "\"4x4\"",
                    "without it GKE takes the machine's own topology"},
                   {"management.autoRepair", "true", "GKE's default"}}));
}

TEST(CreatePoolBody, IdleMachinesAreTakenBackByGkeWhereItsVersionCan) {
  const model::PoolRow row = pool("v6e", "4x4");
  expect_fields(
      body_of(row, Duration(600'000)),
      with_common(row, {{"config.machineType", "\"ct6e-standard-4t\"", "16 chips = 4 hosts of 4"},
                        {"config.diskType", "\"hyperdisk-balanced\"", "v6e takes no other"},
                        {"config.reservationAffinity.consumeReservationType", "\"NO_RESERVATION\"",
                         "an open reservation of others is not eaten up"},
                        {"initialNodeCount", "4", "a slice is never partial"},
                        {"config.consolidationDelay", "\"600s\"", "idle for so long"},
                        {"autoscaling.enabled", "true", "the delay acts on such pools only"},
                        {"autoscaling.minNodeCount", "0", "idle: no machine at all"},
                        {"autoscaling.maxNodeCount", "4", "of several hosts: exactly the slice"},
                        {"autoscaling.locationPolicy", "\"ANY\"", "where there are machines"},
                        {"placementPolicy.type", "\"COMPACT\"", "v4 to v6e: machines of one slice"},
                        {"placementPolicy.tpuTopology", "\"4x4\"", "as above"},
                        {"management.autoRepair", "true", "GKE's default"}}));
}

TEST(CreatePoolBody, ARepetitionAfterAnUpgradeAsksForTheSamePool) {
  const auto spec_of = [](const std::string& body) {
    const std::size_t at = body.find("\"falcon-spec\":\"");
    return at == std::string::npos ? std::string() : body.substr(at + 15, 26);
  };
  const model::PoolRow row = pool("v6e", "4x4");
  EXPECT_EQ(spec_of(body_of(row)).size(), 26U);
  EXPECT_EQ(spec_of(body_of(row)), spec_of(body_of(row, Duration(600'000))));
}

TEST(ConsolidationDelay, IsThereFromAVersionOn) {
  for (const char* has : {"1.34.1-gke.2364000", "1.34.1-gke.2541000", "1.34.2-gke.1000000",
                          "1.35.0-gke.1", "2.0.0-gke.1"})
    EXPECT_TRUE(has_consolidation_delay(has)) << has;
  for (const char* lacks : {"1.34.1-gke.2363999", "1.34.0-gke.9999999", "1.33.9-gke.9999999", "",
                            "1.34", "1.34.1", "latest", "99999999999999999999.1.1-gke.1"})
    EXPECT_FALSE(has_consolidation_delay(lacks)) << lacks;
}

TEST(CreatePoolBody, SeveralHostsOfV7xNameAWorkloadPolicy) {
  const model::PoolRow row = pool("v7x", "2x2x2");
  expect_fields(
      body_of(row),
      with_common(row, {{"config.machineType", "\"tpu7x-standard-4t\"", "8 chips = 2 hosts of 4"},
                        {"config.diskType", "\"hyperdisk-balanced\"", "v7x takes no other"},
                        {"config.reservationAffinity.consumeReservationType", "\"NO_RESERVATION\"",
                         "an open reservation of others is not eaten up"},
                        {"initialNodeCount", "2", "a slice is never partial"},
                        {"placementPolicy.policyName", "\"falcon-2x2x2\"",
                         "v7x refuses COMPACT; no type stands beside a policy"},
                        {"placementPolicy.tpuTopology", "\"2x2x2\"",
                         "without it GKE takes the machine's own topology"},
                        {"management.autoRepair", "true", "GKE's default"}}));
}

TEST(CreatePoolBody, FlexStartHasNoMachinesUntilPodsWait) {
  const model::PoolRow row = pool("v6e", "4x4", model::SupplyMode::kFlexStart);
  expect_fields(
      body_of(row),
      with_common(
          row, {{"config.machineType", "\"ct6e-standard-4t\"", "16 chips = 4 hosts of 4"},
                {"config.diskType", "\"hyperdisk-balanced\"", "v6e takes no other"},
                {"config.flexStart", "true", "the supply mode; initialNodeCount is absent, so 0"},
                {"config.maxRunDuration", "\"604800s\"", "seven days: GKE's most"},
                {"config.reservationAffinity.consumeReservationType", "\"NO_RESERVATION\"",
                 "flex-start with any other affinity is refused"},
                {"autoscaling.enabled", "true", "pending pods ask for the machines"},
                {"autoscaling.minNodeCount", "0", "more is refused with flex-start"},
                {"autoscaling.maxNodeCount", "4", "of several hosts: exactly the slice"},
                {"autoscaling.locationPolicy", "\"ANY\"", "where there are machines"},
                {"placementPolicy.type", "\"COMPACT\"", "v4 to v6e: machines of one slice"},
                {"placementPolicy.tpuTopology", "\"4x4\"", "as above"},
                {"management.autoRepair", "false", "its machines end by themselves"}}));
}

TEST(CreatePoolBody, MachinesAndPlacementOfEachShape) {
  struct Row {
    const char* type;
    const char* topology;
    const char* machine;
    int hosts;
    const char* placement;  // type, policy, or none
  };
  const Row rows[] = {
      {"v4", "2x2x1", "ct4p-hightpu-4t", 1, ""},
      {"v4", "2x2x2", "ct4p-hightpu-4t", 2, "COMPACT"},
      {"v5e", "1x1", "ct5lp-hightpu-1t", 1, ""},
      {"v5e", "2x4", "ct5lp-hightpu-8t", 1, ""},  // eight chips in one machine
      {"v5e", "4x4", "ct5lp-hightpu-4t", 4, "COMPACT"},
      {"v5p", "4x4x4", "ct5p-hightpu-4t", 16, "COMPACT"},
      {"v6e", "1x1", "ct6e-standard-1t", 1, ""},
      {"v6e", "2x4", "ct6e-standard-8t", 1, ""},
      {"v6e", "16x16", "ct6e-standard-4t", 64, "COMPACT"},
      {"v7x", "1x1x1", "tpu7x-standard-1t", 1, ""},
      {"v7x", "2x2x1", "tpu7x-standard-4t", 1, ""},  // with a policy it would be of several hosts
      {"v7x", "4x4x4", "tpu7x-standard-4t", 16, "falcon-4x4x4"},
  };
  for (const Row& row : rows) {
    std::map<std::string, std::string> fields;
    flatten(boost::json::parse(body_of(pool(row.type, row.topology))), "", fields);
    const std::string what = std::string(row.type) + " " + row.topology;
    EXPECT_EQ(fields["nodePool.config.machineType"], '"' + std::string(row.machine) + '"') << what;
    EXPECT_EQ(fields["nodePool.initialNodeCount"], std::to_string(row.hosts)) << what;
    const std::string placed =
        fields["nodePool.placementPolicy.type"] + fields["nodePool.placementPolicy.policyName"];
    EXPECT_EQ(placed, *row.placement == '\0' ? "" : '"' + std::string(row.placement) + '"') << what;
  }
}

TEST(CreatePoolBody, AReservationOfTheSameProjectIsNamedAlone) {
  model::PoolRow row = pool("v6e", "4x4", model::SupplyMode::kReservation);
  row.reservation = {"p", "us-east5-b", "r/reservationBlocks/b"};
  EXPECT_THAT(body_of(row), HasSubstr(R"("values":["r/reservationBlocks/b"])"));
}

// A name that is taken is ours only where what was asked for is the same.
TEST(CreatePoolBody, TheSpecsDigestTellsRequestsApart) {
  const auto digest = [](const model::PoolRow& row) {
    std::map<std::string, std::string> fields;
    flatten(boost::json::parse(body_of(row)), "", fields);
    return fields["nodePool.config.resourceLabels.falcon-spec"];
  };
  const model::PoolRow row = pool("v6e", "4x4");
  EXPECT_THAT(digest(row), MatchesRegex("\"[a-z2-7]{26}\"")) << "a label's value";
  EXPECT_EQ(digest(row), digest(pool("v6e", "4x4")));
  EXPECT_NE(digest(row), digest(pool("v6e", "4x8")));
  EXPECT_NE(digest(row), digest(pool("v6e", "4x4", model::SupplyMode::kFlexStart)));
}

TEST(RegionOf, AZoneWithoutItsLetter) {
  EXPECT_EQ(region_of("us-east5-b"), "us-east5");
  EXPECT_EQ(region_of("us-east5"), "us-east5");
  EXPECT_EQ(region_of("europe-west4-a"), "europe-west4");
}

// The calls, against a server that answers by path and notes what it was asked.
class GkeTest : public testing::Test {
 protected:
  GkeTest()
      : server_({}, [this](const http::ServerRequest& request, const http::Reply& reply) {
          const std::scoped_lock lock(mutex_);
          if (request.target.starts_with("/computeMetadata"))
            return reply.send({200,
                               R"({"access_token":"t","expires_in":3600})",
                               "application/json",
                               {{"Metadata-Flavor", "Google"}}});
          asked_.push_back(request.method + " " + request.target);
          bodies_.push_back(request.body);
          EXPECT_EQ(request.header("authorization"), "Bearer t");
          const auto found = answers_.find(asked_.back());
          reply.send(found == answers_.end() ? http::ServerResponse{404, "{}"} : found->second);
        }) {
    const std::string url = "http://127.0.0.1:" + std::to_string(server_.start().value());
    tokens_.emplace(http_, url);
    GkeSettings settings;
    settings.container_url = url;
    settings.compute_url = url;
    settings.installation = kInstallation;
    gke_.emplace(http_, *tokens_, settings);
  }
  ~GkeTest() override { server_.stop(); }
  template <class T, class Call>
  Result<T> wait(Call call) {
    std::promise<Result<T>> promise;
    call([&promise](Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }
  Result<core::PoolAccepted> create(const model::PoolRow& row) {
    return wait<core::PoolAccepted>([&](auto done) {
      gke_->create_pool(row, "us-east5-b", "1.34.1-gke.2541000", std::move(done));
    });
  }

  static constexpr const char* kPools =
      "POST /v1/projects/p/locations/us-east5/clusters/c/nodePools";
  static constexpr const char* kPolicies =
      "POST /compute/v1/projects/p/regions/us-east5/resourcePolicies";
  std::mutex mutex_;
  std::map<std::string, http::ServerResponse> answers_;
  std::vector<std::string> asked_;
  std::vector<std::string> bodies_;
  http::Server server_;
  std::optional<TokenSource> tokens_;
  std::optional<Gke> gke_;
  http::Client http_;  // ends first: its last callbacks use the others
};

TEST_F(GkeTest, APoolIsCreatedWithoutAPolicyWhereNoneIsNeeded) {
  answers_[kPools] = {200, R"({"name":"operation-1","status":"RUNNING"})"};
  const auto accepted = create(pool("v6e", "4x4"));
  ASSERT_TRUE(accepted) << accepted.error().what;
  EXPECT_EQ(accepted->operation.value(), "operation-1");
  EXPECT_EQ(asked_, std::vector<std::string>{kPools});
  EXPECT_EQ(bodies_[0], body_of(pool("v6e", "4x4"), GkeSettings{}.idle_on_demand));
}

TEST_F(GkeTest, ThePolicyComesFirstAndMayBeThereAlready) {
  answers_[kPools] = {200, R"({"name":"operation-1"})"};
  for (const int status : {200, 409}) {
    asked_.clear();
    bodies_.clear();
    answers_[kPolicies] = {status, R"({"name":"operation-p"})"};
    EXPECT_TRUE(create(pool("v7x", "2x2x2")));
    ASSERT_EQ(asked_, (std::vector<std::string>{kPolicies, kPools}));
    expect_fields(bodies_[0],
                  {{"name", "\"falcon-2x2x2\"", "one for each topology, shared"},
                   {"workloadPolicy.type", "\"HIGH_THROUGHPUT\"", "the only type with a topology"},
                   {"workloadPolicy.acceleratorTopology", "\"2x2x2\"", "the slice"}});
  }
}

TEST_F(GkeTest, WithoutItsPolicyThePoolIsNotAskedFor) {
  answers_[kPolicies] = {500, "{}"};
  const auto refused = create(pool("v7x", "2x2x2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable) << "the pool's create did not leave";
  EXPECT_THAT(refused.error().what, HasSubstr("workload policy"));
  EXPECT_EQ(asked_, std::vector<std::string>{kPolicies});
}

TEST_F(GkeTest, AnAnswerThatNamesNoOperationIsUnknown) {
  for (const char* body : {"{}", "<html>", R"({"name":7})"}) {
    answers_[kPools] = {200, body};
    const auto created = create(pool("v6e", "4x4"));
    ASSERT_FALSE(created) << body;
    EXPECT_EQ(created.error().kind, ErrorKind::kUnknownOutcome) << body;
  }
}

TEST_F(GkeTest, AListingTellsOursFromOthersAndNoneFromUnreadable) {
  const model::GkeCluster cluster{"p", "us-east5", "c"};
  const std::string path = "GET /v1/projects/p/locations/us-east5/clusters/c/nodePools";
  const auto list = [&](const std::string& body) {
    answers_[path] = {200, body};
    return wait<core::PoolListing>([&](auto done) { gke_->list_pools(cluster, std::move(done)); });
  };
  EXPECT_EQ(list("{}")->pools.size(), 0U);  // Google leaves empty lists out
  const auto listing =
      list(R"({"nodePools":[{"name":"default-pool","status":"RUNNING"},)"
           R"({"name":"falcon-x","status":"ERROR","statusMessage":"Quota 'TPUS' exceeded",)"
           R"("config":{"labels":{"managed-by":"falcon","falcon-installation":"inst",)"
           R"("falcon-job":"j-1","falcon-provision":"3"}},)"
           R"("conditions":[{"code":"GCE_QUOTA_EXCEEDED","message":"more"}]},)"
           R"({"name":"new","status":"SOMETHING_NEW","autoscaling":{"enabled":true}}]})");
  ASSERT_TRUE(listing);
  ASSERT_EQ(listing->pools.size(), 3U);
  EXPECT_TRUE(listing->pools[0].installation.empty());
  EXPECT_EQ(listing->pools[0].status, core::PoolStatus::kRunning);
  const core::PoolView& ours = listing->pools[1];
  EXPECT_EQ(ours.installation, kInstallation);
  EXPECT_EQ(ours.job, model::JobId("j-1"));
  EXPECT_EQ(ours.provision, 3U);
  EXPECT_EQ(ours.status, core::PoolStatus::kError);
  EXPECT_EQ(ours.words, "Quota 'TPUS' exceeded; GCE_QUOTA_EXCEEDED: more");
  EXPECT_EQ(ours.words_kind, ErrorKind::kQuota);
  EXPECT_FALSE(ours.autoscaled);
  EXPECT_EQ(listing->pools[2].status, core::PoolStatus::kUnknown);
  EXPECT_TRUE(listing->pools[2].autoscaled);
  for (const char* body : {R"({"nodePools":{}})", R"({"nodePools":[7]})", R"({"nodePools":[{}]})"})
    EXPECT_FALSE(list(body)) << body;
}

TEST_F(GkeTest, AnOperationThatIsDoneMayHaveFailed) {
  const auto read = [&](const std::string& body) {
    answers_["GET /v1/projects/p/locations/us-east5/operations/op"] = {200, body};
    return wait<core::OperationView>([&](auto done) {
             gke_->operation({"p", "us-east5", "c"}, model::OperationName("op"), std::move(done));
           })
        .value();
  };
  EXPECT_FALSE(read(R"({"status":"RUNNING"})").done);
  const auto good = read(R"({"status":"DONE"})");
  EXPECT_TRUE(good.done);
  EXPECT_FALSE(good.error);
  const auto stock_out =
      read(R"({"status":"DONE","error":{"code":8,"message":"GCE_STOCKOUT: none left"}})");
  ASSERT_TRUE(stock_out.error);
  EXPECT_EQ(stock_out.error->kind, ErrorKind::kOutOfCapacity);
  EXPECT_EQ(stock_out.error->what, "GCE_STOCKOUT: none left");
  EXPECT_TRUE(read(R"({"status":"DONE","statusMessage":"it broke"})").error);
  EXPECT_TRUE(read(R"({"status":"DONE","error":{"code":13}})").error) << "without any words";
}

TEST_F(GkeTest, AReservationCountsMachinesOrChips) {
  const auto read = [&](const std::string& body) {
    answers_["GET /compute/v1/projects/owner/zones/us-east5-b/reservations/r"] = {200, body};
    return wait<core::ReservationView>([&](auto done) {
      gke_->reservation({"owner", "us-east5-b", "r/reservationBlocks/b"}, std::move(done));
    });
  };
  const auto specific = read(
      R"({"status":"READY","specificReservation":{"count":"16","inUseCount":"4","assuredCount":"12"}})");
  ASSERT_TRUE(specific);
  EXPECT_TRUE(specific->ready);
  EXPECT_EQ(specific->unit, core::ReservationView::Unit::kMachines);
  EXPECT_EQ(specific->total, 12) << "what is assured, where that is less";
  EXPECT_EQ(specific->in_use, 4);
  const auto aggregate = read(
      R"({"status":"UPDATING","aggregateReservation":{)"
      R"("reservedResources":[{"accelerator":{"acceleratorCount":256}}],)"
      R"("inUseResources":[{"accelerator":{"acceleratorCount":64}},{"accelerator":{"acceleratorCount":32}}]}})");
  ASSERT_TRUE(aggregate);
  EXPECT_FALSE(aggregate->ready);
  EXPECT_EQ(aggregate->unit, core::ReservationView::Unit::kChips);
  EXPECT_EQ(aggregate->total, 256);
  EXPECT_EQ(aggregate->in_use, 96);
  EXPECT_FALSE(read(R"({"status":"READY"})")) << "neither kind";
}

TEST_F(GkeTest, AControlPlaneIsReachedByAddressOrByName) {
  const auto find = [&](const std::string& body) {
    answers_["GET /v1/projects/p/locations/us-east5/clusters/c"] = {200, body};
    return wait<ControlPlane>(
        [&](auto done) { gke_->control_plane({"p", "us-east5", "c"}, std::move(done)); });
  };
  const auto by_address = find(
      R"({"status":"RUNNING","endpoint":"10.0.0.2","currentMasterVersion":"1.34.1-gke.2541000",)"
      R"("masterAuth":{"clusterCaCertificate":"UEVN"}})");
  ASSERT_TRUE(by_address);
  EXPECT_EQ(by_address->url, "https://10.0.0.2");
  EXPECT_EQ(by_address->ca_pem, "PEM");
  EXPECT_EQ(by_address->version, "1.34.1-gke.2541000");
  const auto by_name = find(
      R"({"endpoint":"10.0.0.2","controlPlaneEndpointsConfig":{"ipEndpointsConfig":{"enabled":false},)"
      R"("dnsEndpointConfig":{"endpoint":"gke-1.us-east5.gke.goog"}}})");
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->url, "https://gke-1.us-east5.gke.goog");
  EXPECT_EQ(by_name->ca_pem, "") << "public roots";
  EXPECT_FALSE(find(R"({"status":"PROVISIONING"})")) << "no endpoint yet";
  EXPECT_FALSE(find(R"({"endpoint":"10.0.0.2"})")) << "no certificate: nobody to trust";
}

}  // namespace
}  // namespace falcon::gke
