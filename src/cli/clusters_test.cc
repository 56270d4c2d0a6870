// Clusters on the command line: adding, changing, and what was found of them.
#include <gmock/gmock.h>

#include "cli/test_cli.h"

namespace falcon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string cluster_json(const std::string& condition) {
  return R"({"id":"c-id","name":"c1","project":"p","location":"us-east5-a","zone":"us-east5-a",)"
         R"("tpu_type":"v6e","gcs_bucket":"b","default_reservation":"","kubernetes_namespace":)"
         R"("default","service_account":"","status":"maintenance","created_at":)"
         R"("2026-12-01T07:00:00Z","version":1,"condition":)" +
         condition + "}";
}

const std::string kMissing = R"j({"health":"not-found","words":"Not found: clusters/c1 (404)",)j"
                             R"j("since":"2026-12-01T08:00:00Z"})j";

TEST_F(Cli, LooksAfterClusters) {
  const std::string row = cluster_json("null");
  answer("POST /v1/clusters", 201, row);
  EXPECT_EQ(run({"cluster", "add", "c1", "--project", "p", "--location", "us-east5-a", "--tpu-type",
                 "v6e", "--bucket", "logs"}),
            kExitOk)
      << err();
  EXPECT_THAT(requests_.back().body, HasSubstr(R"("zone":"us-east5-a")"));
  EXPECT_EQ(run({"cluster", "add", "c1", "--project", "p", "--location", "us-east5-a", "--tpu-type",
                 "v9", "--bucket", "logs"}),
            kExitUsage);
  EXPECT_THAT(err(), HasSubstr("falcon: --tpu-type: "));
  answer("PATCH /v1/clusters/c1", 200, row);
  EXPECT_EQ(run({"cluster", "set", "c1", "--status", "maintenance"}), kExitOk);
  EXPECT_EQ(requests_.back().body, R"({"status":"maintenance"})");
  EXPECT_THAT(out(), HasSubstr("cluster c1 is maintenance\n"));
  answer(
      "DELETE /v1/clusters/c1", 409,
      R"({"status":409,"title":"Conflict","code":"conflict","detail":"cluster c1 has 2 node pools"})");
  EXPECT_EQ(run({"cluster", "remove", "c1"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("falcon: cluster c1 has 2 node pools\n"));
}

TEST_F(Cli, ChecksAClusterBeforeItIsSent) {
  const auto add = [&](const std::string& flag, const std::string& value) {
    std::map<std::string, std::string> flags{{"--name", "c1"},           {"--project", "proj-1"},
                                             {"--location", "us-east5"}, {"--zone", "us-east5-a"},
                                             {"--tpu-type", "v6e"},      {"--bucket", "logs"}};
    flags[flag] = value;
    std::vector<std::string> args{"cluster", "add"};
    for (const auto& [name, given] : flags)
      if (given != "-") args.insert(args.end(), {name, given});
    const std::size_t before = err().size();
    EXPECT_EQ(run(args), kExitUsage) << flag << value;
    return err().substr(before);
  };
  EXPECT_EQ(add("--zone", "us-east5"), "falcon: --zone: \"us-east5\" is no zone like us-east5-a\n");
  EXPECT_EQ(add("--zone", "-"),
            "falcon: --zone: is missing; the zone of the node pools, us-east5-a say\n");
  EXPECT_THAT(add("--bucket", "gs://logs"), HasSubstr("falcon: --bucket: "));
  EXPECT_THAT(add("--reservation", "a/b"), HasSubstr("falcon: --reservation: "));
  EXPECT_THAT(requests_, ::testing::IsEmpty());
  answer(
      "PATCH /v1/clusters/c1", 400,
      R"({"status":400,"title":"Bad Request","code":"invalid","detail":"gcs_bucket: \"B\" is no",)"
      R"("errors":[{"field":"gcs_bucket","what":"\"B\" is no"}]})");
  EXPECT_EQ(run({"cluster", "set", "c1", "--bucket", "B"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("falcon: --bucket: \"B\" is no\n"));
}

TEST_F(Cli, ListsWhatWasFoundOfEachCluster) {
  answer(
      "GET /v1/clusters", 200,
      "{\"items\":[" + cluster_json(kMissing) + "," + cluster_json("null") + "],\"sequence\":3}");
  EXPECT_EQ(run({"get", "clusters"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("STATUS       CONDITION  PROJECT  LOCATION    ZONE"));
  EXPECT_THAT(out(), HasSubstr("maintenance  not-found  p        us-east5-a  us-east5-a"));
  EXPECT_THAT(out(), HasSubstr("Not found: clusters/c1 (404)\n"));
  EXPECT_THAT(out(), HasSubstr("maintenance  -          p"));
  EXPECT_EQ(run({"get", "clusters", "-o", "yaml"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("health: not-found"));
}

TEST_F(Cli, DescribesWhyAClusterCanNotBeHad) {
  answer("GET /v1/clusters/c1", 200, cluster_json(kMissing));
  answer("GET /v1/clusters/c1", 200, cluster_json("null"));
  answer("GET /v1/pools", 200, R"({"items":[]})");
  EXPECT_EQ(run({"describe", "cluster", "c1"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("Condition:   not-found: Not found: clusters/c1 (404)\n"));
  EXPECT_THAT(out(), HasSubstr("Found so:    2026-12-01T08:00:00Z (2m5s ago)\n"));
  EXPECT_THAT(out(), HasSubstr("gcloud container clusters list --project p\n"));
  EXPECT_THAT(out(), Not(HasSubstr("no controller has looked")));
  EXPECT_EQ(run({"describe", "cluster", "c1"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("Condition:   unknown; no controller has looked yet\n"));
}

TEST_F(Cli, AJobThatWaitsForAMissingClusterIsToldWhatToDo) {
  answer("GET /v1/jobs/train", 200, job_json({.status = "Pending", .reason = "Waiting"}));
  answer("GET " + kJobPath + "/events", 200, R"({"items":[]})");
  answer("GET /v1/clusters/c-id", 200, cluster_json(kMissing));
  EXPECT_EQ(run({"describe", "job", "train"}), kExitOk) << err();
  EXPECT_THAT(out(), HasSubstr("Google knows no such cluster"));
}

}  // namespace
}  // namespace falcon::cli
