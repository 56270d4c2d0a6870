#include "simserver/google_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>

#include "simserver/admin_face.h"

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr std::string_view kPool = R"({"nodePool":{"name":"a","initialNodeCount":4,
  "locations":["us-east5-b"],"config":{"machineType":"ct6e-standard-4t",
    "diskType":"hyperdisk-balanced","labels":{"managed-by":"falcon"}},
  "placementPolicy":{"type":"COMPACT","tpuTopology":"4x4"},
  "management":{"autoRepair":true,"autoUpgrade":false}}})";

class GoogleFaceTest : public ::testing::Test {
 protected:
  GoogleFaceTest() {
    world.add_cluster({.gke = gke, .zone = "us-east5-b"});
    folder = std::filesystem::temp_directory_path() / ("sim-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "bucket" / "logs");
    std::ofstream(folder / "bucket" / "logs" / "a.log") << "0123456789";
    std::ofstream(folder / "bucket" / "x") << "x";
  }
  ~GoogleFaceTest() override { std::filesystem::remove_all(folder); }

  Answer ask(std::string method, std::vector<std::string> path,
             std::vector<std::pair<std::string, std::string>> query = {}, std::string body = {},
             std::vector<std::pair<std::string, std::string>> headers = {}) {
    headers.emplace_back("authorization", "Bearer " + tokens.get(world.now()).value);
    return face.handle(Call{std::move(method), std::move(path), std::move(query),
                            std::move(headers), std::move(body)});
  }
  json::object in(const Answer& answer) { return json::parse(answer.body).as_object(); }

  const std::vector<std::string> pools{"v1",       "projects", "p",    "locations",
                                       "us-east5", "clusters", "edge", "nodePools"};
  const model::GkeCluster gke{"p", "us-east5", "edge"};
  cloudsim::World world{cloudsim::WorldSettings{}, 1};
  Tokens tokens;
  std::filesystem::path folder;
  GoogleFace face{
      world,
      tokens,
      Calendar{},
      {{gke, {"127.0.0.1:1", "PEM"}}},
      std::filesystem::temp_directory_path() / ("sim-test-" + std::to_string(::getpid()))};
};

TEST_F(GoogleFaceTest, TheMetadataServerWantsItsHeaderAndGivesATokenThatWorks) {
  const std::vector<std::string> path{"computeMetadata",  "v1",      "instance",
                                      "service-accounts", "default", "token"};
  EXPECT_EQ(face.handle(Call{"GET", path, {}, {}, {}}).status, 403);
  const Answer answer = face.handle(Call{"GET", path, {}, {{"metadata-flavor", "Google"}}, {}});
  EXPECT_THAT(answer.headers, ::testing::Contains(std::pair<std::string, std::string>(
                                  "Metadata-Flavor", "Google")));
  const std::string token(in(answer).at("access_token").as_string());
  EXPECT_EQ(in(answer).at("expires_in"), 3599);
  EXPECT_EQ(face.handle(Call{"GET", pools, {}, {}, {}}).status, 401);
  const Call good{"GET", pools, {}, {{"authorization", "Bearer " + token}}, {}};
  EXPECT_EQ(face.handle(good).status, 200);
  tokens.revoke_all();
  EXPECT_EQ(face.handle(good).status, 401);
}

TEST_F(GoogleFaceTest, AClusterSaysWhereItsApiIs) {
  const json::object cluster =
      in(ask("GET", {"v1", "projects", "p", "locations", "us-east5", "clusters", "edge"}));
  EXPECT_EQ(cluster.at("endpoint"), "127.0.0.1:1");
  EXPECT_EQ(cluster.at("masterAuth").at("clusterCaCertificate"), "UEVN");
  const json::object all = in(ask("GET", {"v1", "projects", "p", "locations", "-", "clusters"}));
  EXPECT_EQ(all.at("clusters").as_array().size(), 1U);
}

TEST_F(GoogleFaceTest, APoolIsCreatedListedAndLocked) {
  EXPECT_FALSE(in(ask("GET", pools)).contains("nodePools")) << "empty lists are left out";
  const Answer created = ask("POST", pools, {}, std::string(kPool));
  ASSERT_EQ(created.status, 200) << created.body;
  const json::object operation = in(created);
  EXPECT_EQ(operation.at("operationType"), "CREATE_NODE_POOL");
  EXPECT_THAT(std::string(operation.at("targetLink").as_string()),
              HasSubstr("/clusters/edge/nodePools/a"));
  EXPECT_EQ(ask("POST", pools, {}, std::string(kPool)).status, 409);
  world.advance(world.now() + Duration(10'000));
  const json::object pool = in(ask("GET", pools)).at("nodePools").at(0).as_object();
  EXPECT_EQ(pool.at("status"), "PROVISIONING");
  EXPECT_EQ(pool.at("config").at("labels").at("managed-by"), "falcon");
  EXPECT_FALSE(pool.at("management").as_object().contains("autoUpgrade")) << "false is left out";
  std::vector<std::string> one = pools;
  one.emplace_back("a");
  const Answer busy = ask("DELETE", one);
  EXPECT_EQ(busy.status, 400);
  EXPECT_EQ(in(busy).at("error").at("status"), "FAILED_PRECONDITION");
  EXPECT_EQ(in(busy).at("error").at("details").at(0).at("reason"), "CLUSTER_ALREADY_HAS_OPERATION");
  world.advance(world.now() + Duration(3'600'000));
  const Answer done = ask("GET", {"v1", "projects", "p", "locations", "us-east5", "operations",
                                  std::string(operation.at("name").as_string())});
  EXPECT_EQ(in(done).at("status"), "DONE");
  EXPECT_FALSE(in(done).contains("error"));
}

TEST_F(GoogleFaceTest, AFieldThatGoogleDoesNotKnowIsRefusedByName) {
  std::string text(kPool);
  text.replace(text.find("machineType"), 11, "machineTipe");
  const Answer answer = ask("POST", pools, {}, text);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("machineTipe"));
  EXPECT_EQ(in(answer).at("error").at("status"), "INVALID_ARGUMENT");
}

TEST_F(GoogleFaceTest, AFailedOperationIsDoneWithAnError) {
  world.set_capacity("us-east5-b", "ct6e-standard-4t", 0);
  const json::object operation = in(ask("POST", pools, {}, std::string(kPool)));
  world.advance(world.now() + Duration(3'600'000));
  const json::object done =
      in(ask("GET", {"v1", "projects", "p", "locations", "us-east5", "operations",
                     std::string(operation.at("name").as_string())}));
  EXPECT_EQ(done.at("status"), "DONE");
  EXPECT_EQ(done.at("error").at("code"), 8);
  EXPECT_THAT(std::string(done.at("error").at("message").as_string()),
              HasSubstr("ZONE_RESOURCE_POOL_EXHAUSTED"));
  const json::object pool = in(ask("GET", pools)).at("nodePools").at(0).as_object();
  EXPECT_EQ(pool.at("status"), "ERROR");
  EXPECT_EQ(pool.at("conditions").at(0).at("code"), "GCE_STOCKOUT");
}

TEST_F(GoogleFaceTest, ReservationsCountInTextsOrInChips) {
  world.add_reservation(
      {.id = {"p", "us-east5-b", "r"}, .machine_type = "ct6e-standard-4t", .total = 8});
  world.add_reservation({.id = {"p", "us-east5-b", "s"},
                         .machine_type = "ct6e-standard-4t",
                         .aggregate = true,
                         .total = 64,
                         .used_by_others = 4});
  const std::vector<std::string> path{"compute", "v1",         "projects",    "p",
                                      "zones",   "us-east5-b", "reservations"};
  const json::object list = in(ask("GET", path));
  EXPECT_EQ(list.at("items").at(0).at("specificReservation").at("count"), "8");
  EXPECT_EQ(list.at("items")
                .at(1)
                .at("aggregateReservation")
                .at("inUseResources")
                .at(0)
                .at("accelerator")
                .at("acceleratorCount"),
            4);
  std::vector<std::string> none = path;
  none.emplace_back("nowhere");
  EXPECT_EQ(ask("GET", none).status, 404);
}

TEST_F(GoogleFaceTest, AWorkloadPolicyIsMadeOnce) {
  const std::vector<std::string> path{"compute", "v1",       "projects",        "p",
                                      "regions", "us-east5", "resourcePolicies"};
  const std::string body =
      R"({"name":"w","workloadPolicy":{"type":"HIGH_THROUGHPUT","acceleratorTopology":"4x4x4"}})";
  EXPECT_EQ(ask("POST", path, {}, body).status, 200);
  EXPECT_EQ(ask("POST", path, {}, body).status, 409);
  EXPECT_EQ(in(ask("GET", path)).at("items").at(0).at("workloadPolicy").at("acceleratorTopology"),
            "4x4x4");
}

TEST_F(GoogleFaceTest, ABucketIsListedByPrefixAndReadInRanges) {
  const std::vector<std::string> objects{"storage", "v1", "b", "bucket", "o"};
  const json::object all = in(ask("GET", objects, {{"maxResults", "1"}}));
  EXPECT_EQ(all.at("items").at(0).at("name"), "logs/a.log");
  const std::string next(all.at("nextPageToken").as_string());
  EXPECT_EQ(in(ask("GET", objects, {{"pageToken", next}})).at("items").at(0).at("name"), "x");
  EXPECT_FALSE(in(ask("GET", objects, {{"prefix", "none/"}})).contains("items"));
  std::vector<std::string> one = objects;
  one.emplace_back("logs/a.log");
  EXPECT_EQ(in(ask("GET", one)).at("size"), "10");
  const Answer part = ask("GET", one, {{"alt", "media"}}, {}, {{"range", "bytes=4-"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "456789");
  EXPECT_EQ(ask("GET", one, {{"alt", "media"}}, {}, {{"range", "bytes=10-"}}).status, 416);
  one.back() = "../x";
  EXPECT_EQ(ask("GET", one, {{"alt", "media"}}).status, 404);
  EXPECT_EQ(ask("GET", {"storage", "v1", "b", "..", "o"}).status, 404);
}

TEST_F(GoogleFaceTest, OrdersOfTheOperatorAreUnderstoodOrExplained) {
  EXPECT_TRUE(apply_order(world, tokens, "stock-out,type=ct6e-standard-4t").has_value());
  EXPECT_TRUE(apply_order(world, tokens, "partial-nodes=3,times=1").has_value());
  EXPECT_THAT(apply_order(world, tokens, "stock-out,type=foo").error().what,
              HasSubstr("type=foo: no such TPU machine type; there are ct"));
  EXPECT_THAT(apply_order(world, tokens, "stock-out,tpye=foo").error().what,
              HasSubstr("stock-out takes no tpye=; it takes type, times, cluster"));
  EXPECT_THAT(apply_order(world, tokens, "expire-tokens,times=2").error().what,
              HasSubstr("expire-tokens takes no times="));
  EXPECT_EQ(world.armed().size(), 2U);
  EXPECT_EQ(world.armed()[1].argument, 3U);
  EXPECT_TRUE(apply_order(world, tokens, "clear=stock-out").has_value());
  EXPECT_EQ(world.armed().size(), 1U);
  EXPECT_THAT(apply_order(world, tokens, "stockout").error().what,
              HasSubstr("did you mean stock-out"));
  EXPECT_THAT(apply_order(world, tokens, "node-lost=n").error().what, HasSubstr("no node n"));
  EXPECT_TRUE(apply_order(world, tokens, "foreign-pool=falcon-theirs").has_value());
  const json::object status = json::parse(status_document(world)).as_object();
  EXPECT_EQ(status.at("pools").at(0).at("name"), "falcon-theirs");
  EXPECT_EQ(status.at("pools").at(0).at("falcon"), false);
}

}  // namespace
}  // namespace falcon::simserver
