// The simulated cloud through real sockets, from token to log.
#include "simserver/sim_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "http/client.h"
#include "simserver/sim_command.h"
#include "simserver/sim_options.h"

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;

class SimServerTest : public ::testing::Test {
 protected:
  SimServerTest() {
    static std::atomic<int> number = 0;
    setup.data = fs::temp_directory_path() /
                 ("sim-server-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
    setup.speed = 2'000;
    EXPECT_TRUE(add_cluster("edge:p:us-east5:us-east5-b:v6e", setup).has_value());
  }
  ~SimServerTest() override {
    server.reset();
    fs::remove_all(setup.data);
  }

  void start() {
    auto started = SimServer::start(setup, 0);
    ASSERT_TRUE(started.has_value()) << started.error().what;
    server = *std::move(started);
    const http::Response answer =
        send("GET", server->url() + "/computeMetadata/v1/instance/service-accounts/default/token");
    token = text(json::parse(answer.body), "access_token");
    const json::value cluster = json::parse(
        send("GET", server->url() + "/v1/projects/p/locations/us-east5/clusters/edge").body);
    kubernetes = "https://" + text(cluster, "endpoint");
    std::ifstream ca(setup.data / "ca.pem");
    ca_pem.assign(std::istreambuf_iterator<char>(ca), {});
  }
  static std::string text(const json::value& object, std::string_view key) {
    return std::string(object.at(key).as_string());
  }
  http::Response send(std::string method, std::string url, std::string body = {}) {
    http::Request request;
    request.method = std::move(method);
    request.url = std::move(url);
    request.headers = {{"Metadata-Flavor", "Google"},
                       {"Authorization", "Bearer " + token},
                       {"Content-Type", "application/json"}};
    request.body = std::move(body);
    request.ca_pem = ca_pem;
    const auto answer = http::send_and_wait(client, std::move(request));
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().what);
    return answer.value_or(http::Response{});
  }
  // Asks until it is so.
  bool eventually(const std::function<bool()>& so) {
    for (int i = 0; i < 1'500; ++i) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void make_pool() {
    const http::Response made =
        send("POST", pools(), R"({"nodePool":{"name":"a","initialNodeCount":1,
        "config":{"machineType":"ct6e-standard-1t","labels":{"managed-by":"falcon"}}}})");
    ASSERT_EQ(made.status, 200) << made.body;
    ASSERT_TRUE(eventually([&] {
      return send("GET", kubernetes + "/api/v1/nodes").body.find("\"Ready\",\"status\":\"True\"") !=
             std::string::npos;
    }));
  }
  std::string pools() const {
    return server->url() + "/v1/projects/p/locations/us-east5/clusters/edge/nodePools";
  }
  std::string jobs() const { return kubernetes + "/apis/batch/v1/namespaces/default/jobs"; }
  static std::string job(const std::string& script) {
    return json::serialize(
        json::parse(R"({"kind":"Job","metadata":{"name":"j","labels":{"managed-by":"falcon"}},
      "spec":{"completions":1,"parallelism":1,"completionMode":"Indexed","backoffLimit":0,"template":{
        "metadata":{"annotations":{"gke-gcsfuse/volumes":"true"}},
        "spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":1,
          "nodeSelector":{"cloud.google.com/gke-nodepool":"a"},
          "volumes":[{"name":"b","csi":{"driver":"gcsfuse.csi.storage.gke.io","volumeAttributes":{"bucketName":"bucket"}}}],
          "containers":[{"name":"main","image":"busybox","command":["/bin/sh","-c",)" +
                    json::serialize(json::value(script)) + R"(],
            "env":[{"name":"BUCKET","value":"/falcon/bucket"},
                   {"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
            "volumeMounts":[{"name":"b","mountPath":"/falcon/bucket"}],
            "resources":{"limits":{"google.com/tpu":"1"}}}]}}}})"));
  }
  std::pair<int, std::string> command(std::vector<std::string> args) {
    std::ostringstream out;
    std::ostringstream err;
    args.insert(args.begin() + 1, {"--data", setup.data.string()});
    const int code = run_sim(args, out, err);
    return {code, out.str() + err.str()};
  }

  CloudSetup setup;
  std::unique_ptr<SimServer> server;
  http::Client client;
  std::string token = "none";
  std::string kubernetes;
  std::string ca_pem;
};

TEST_F(SimServerTest, AJobRunsAsAProcessAndItsLogIsInTheBucket) {
  start();
  make_pool();
  EXPECT_EQ(
      send("POST", jobs(), job("echo hello from $POD > $BUCKET/out.log; echo printed")).status,
      201);
  ASSERT_TRUE(eventually(
      [&] { return send("GET", jobs() + "/j").body.find("\"Complete\"") != std::string::npos; }));
  const http::Response log =
      send("GET", server->url() + "/storage/v1/b/bucket/o/out.log?alt=media");
  EXPECT_THAT(log.body, HasSubstr("hello from j-0-"));
  const json::value pod =
      json::parse(send("GET", kubernetes + "/api/v1/pods").body).at("items").at(0);
  const json::value& ended =
      pod.at("status").at("containerStatuses").at(0).at("state").at("terminated");
  EXPECT_EQ(ended.at("exitCode"), 0);
  EXPECT_EQ(send("GET", kubernetes + "/api/v1/namespaces/default/pods/" +
                            text(pod.at("metadata"), "name") + "/log")
                .body,
            "printed\n");
  EXPECT_EQ(command({"status", "--expect-empty"}).first, 1);
  const http::Response gone =
      send("DELETE", jobs() + "/j", R"({"propagationPolicy":"Foreground"})");
  EXPECT_EQ(gone.status, 200);
  ASSERT_TRUE(eventually([&] { return send("GET", jobs() + "/j").status == 404; }));
  ASSERT_TRUE(eventually([&] { return send("DELETE", pools() + "/a").status == 200; }));
  ASSERT_TRUE(eventually([&] { return send("GET", pools() + "/a").status == 404; }));
  const auto [code, words] = command({"status", "--expect-empty"});
  EXPECT_EQ(code, 0) << words;
  EXPECT_THAT(words, HasSubstr("chips: 0"));
}

// What came over a watch.
struct Stream {
  std::mutex mutex;
  std::string bytes;
  bool begun = false;
  bool ended = false;
  std::optional<Error> how;

  http::StreamHandler handler() {
    return {.on_start =
                [this](const http::Response& head) {
                  EXPECT_EQ(head.status, 200);
                  const std::lock_guard lock(mutex);
                  begun = true;
                },
            .on_bytes =
                [this](std::string_view piece) {
                  const std::lock_guard lock(mutex);
                  bytes += piece;
                },
            .on_end =
                [this](std::optional<Error> error) {
                  const std::lock_guard lock(mutex);
                  ended = true;
                  how = std::move(error);
                }};
  }
  bool has(std::string_view what) {
    const std::lock_guard lock(mutex);
    return bytes.find(what) != std::string::npos;
  }
  bool has_begun() {
    const std::lock_guard lock(mutex);
    return begun;
  }
  bool is_over() {
    const std::lock_guard lock(mutex);
    return ended;
  }
};

TEST_F(SimServerTest, AWatchStreamsWhatHappensAndEndsInOrder) {
  start();
  http::Request request;
  request.headers = {{"Authorization", "Bearer " + token}};
  request.ca_pem = ca_pem;
  Stream live;
  request.url = jobs() + "?watch=1&timeoutSeconds=600";
  const auto id = client.open(request, live.handler());
  EXPECT_TRUE(eventually([&] { return live.has_begun(); }));  // or it begins with the job's end
  EXPECT_EQ(send("POST", jobs(), job("true")).status, 201);
  EXPECT_TRUE(eventually([&] { return live.has("\"ADDED\"") && live.has("\"MODIFIED\""); }));
  client.close(id);
  EXPECT_TRUE(eventually([&] { return live.is_over(); }));
  Stream brief;
  request.url = jobs() + "?watch=1&timeoutSeconds=1";
  client.open(request, brief.handler());
  EXPECT_TRUE(eventually([&] { return brief.is_over(); }));
  EXPECT_TRUE(brief.has("\"ADDED\""));
  EXPECT_FALSE(brief.how.has_value()) << brief.how->what;
}

TEST_F(SimServerTest, AnAbortedProgramGetsSigtermAndThenSigkill) {
  start();
  make_pool();
  ASSERT_EQ(send("POST", jobs(),
                 job("trap 'echo term >> $BUCKET/t' TERM; echo up > $BUCKET/up; "
                     "while :; do sleep 0.05; done"))
                .status,
            201);
  const fs::path bucket = setup.data / "buckets" / "bucket";
  ASSERT_TRUE(eventually([&] { return fs::exists(bucket / "up"); }));
  EXPECT_EQ(send("DELETE", jobs() + "/j", R"({"propagationPolicy":"Foreground"})").status, 200);
  EXPECT_TRUE(eventually([&] { return fs::exists(bucket / "t"); }));
  EXPECT_TRUE(eventually([&] { return send("GET", jobs() + "/j").status == 404; }));
}

TEST_F(SimServerTest, AProgramThatNeedsMoreThanItsMachineHasIsOutOfMemory) {
  setup.machine_memory_bytes = 100'000'000;
  start();
  make_pool();
  ASSERT_EQ(send("POST", jobs(),
                 job("exec python3 -c 'import time; x=bytearray(300000000); time.sleep(1000)'"))
                .status,
            201);
  ASSERT_TRUE(eventually(
      [&] { return send("GET", jobs() + "/j").body.find("\"Failed\"") != std::string::npos; }));
  EXPECT_THAT(send("GET", kubernetes + "/api/v1/pods").body, HasSubstr("\"OOMKilled\""));
}

TEST_F(SimServerTest, StrangersAreTurnedAway) {
  start();
  token = "made-up";
  EXPECT_EQ(send("GET", kubernetes + "/api/v1/pods").status, 401);
  EXPECT_EQ(send("GET", pools()).status, 401);
}

TEST_F(SimServerTest, FaultsAreOrderedOverTheCommandLine) {
  start();
  const auto [code, words] = command({"fault", "throttled,times=1"});
  EXPECT_EQ(code, 0) << words;
  EXPECT_EQ(send("GET", pools()).status, 429);
  EXPECT_EQ(send("GET", pools()).status, 200);
  const auto wrong = command({"fault", "trottled"});
  EXPECT_EQ(wrong.first, 1);
  EXPECT_THAT(wrong.second, HasSubstr("did you mean throttled"));
}

TEST_F(SimServerTest, WhatCannotStartSaysWhy) {
  start();
  const auto second = SimServer::start(setup, 0);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists);
  EXPECT_THAT(second.error().what, HasSubstr("another simulated cloud runs in"));
  server.reset();
  EXPECT_FALSE(fs::exists(setup.data / "sim.json"));
  const auto [code, words] = command({"status"});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(words, HasSubstr("no simulated cloud runs in"));
}

TEST(SimOptionsTest, WrongFlagsAreExplained) {
  const auto complaint = [](std::vector<std::string> args) {
    std::ostringstream out;
    std::ostringstream err;
    const auto options = parse_sim_options(args, out, err);
    EXPECT_FALSE(options.has_value());
    return err.str();
  };
  EXPECT_THAT(complaint({"--cluster", "a:b:c"}), HasSubstr("NAME:PROJECT:LOCATION:ZONE:TYPE"));
  EXPECT_THAT(complaint({"--cluster", "a:b:c:d:v9"}), HasSubstr("no TPU type v9"));
  EXPECT_THAT(complaint({"--capacity", "x=1"}), HasSubstr("no TPU machine type x"));
  EXPECT_THAT(complaint({"--machine-memory", "1GB"}), HasSubstr("512Mi"));
  EXPECT_THAT(complaint({"--speed", "0"}), HasSubstr("--speed 0"));
  EXPECT_THAT(complaint({"--nonsense"}), HasSubstr("--help"));
}

TEST(SimOptionsTest, ThereAreTwoClustersUnlessToldOtherwise) {
  std::ostringstream out;
  std::ostringstream err;
  const std::vector<std::string> none;
  EXPECT_EQ(parse_sim_options(none, out, err)->cloud.clusters.size(), 2U);
  const std::vector<std::string> one{"--cluster", "a:p:l:l-a:v6e:r=16"};
  const auto options = parse_sim_options(one, out, err);
  ASSERT_EQ(options->cloud.clusters.size(), 1U);
  EXPECT_EQ(options->cloud.reservations.at(0).total, 16);
}

}  // namespace
}  // namespace falcon::simserver
