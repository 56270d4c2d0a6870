#include "simserver/node_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;

struct Exit {
  std::int32_t code = 0;
  std::string reason;
  std::string message;
};

// What the agent reported, to be waited for.
class NodeAgentTest : public ::testing::Test {
 protected:
  NodeAgentTest() {
    static std::atomic<int> number = 0;
    data = fs::temp_directory_path() /
           ("agent-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
    start_agent();
  }
  ~NodeAgentTest() override {
    agent.reset();
    fs::remove_all(data);
  }
  void start_agent() {
    agent = std::make_unique<NodeAgent>(
        data, NodeAgent::Reports{.started =
                                     [this](const std::string& pod) {
                                       const std::lock_guard lock(mutex);
                                       started.push_back(pod);
                                       changed.notify_all();
                                     },
                                 .exited =
                                     [this](const std::string& pod, std::int32_t code,
                                            const std::string& reason, const std::string& message) {
                                       const std::lock_guard lock(mutex);
                                       exits[pod] = Exit{code, reason, message};
                                       changed.notify_all();
                                     }});
  }

  Program shell(const std::string& script) {
    Program program;
    program.argv = {"/bin/sh", "-c", script};
    program.environment = {{"PATH", "/usr/bin:/bin"}};
    return program;
  }
  bool wait(const std::function<bool()>& so) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(30), so);
  }
  Exit exit_of(const std::string& pod) {
    EXPECT_TRUE(wait([&] { return exits.contains(pod); }));
    return exits[pod];
  }
  // Files have no condition variable; looked at until it is so.
  bool eventually(const std::function<bool()>& so) {
    for (int i = 0; i < 3'000; ++i) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::string content(const fs::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  Program in_bucket(const std::string& script) {
    Program program = shell(script);
    program.mounts = {Mount{"/falcon/bucket", agent->folder_of("p") / "volumes" / "b", "bucket"}};
    program.environment.emplace_back("BUCKET", program.mounts[0].folder.string());
    return program;
  }

  fs::path data;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> started;
  std::map<std::string, Exit> exits;
  std::unique_ptr<NodeAgent> agent;
};

TEST_F(NodeAgentTest, AProgramsOutputAndExitCodeAreReported) {
  agent->start("p", shell("echo out; echo err >&2; exit 3"));
  const Exit exit = exit_of("p");
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(exit.reason, "Error");
  EXPECT_EQ(started, (std::vector<std::string>{"p"}));
  EXPECT_EQ(agent->log_of("p"), "out\nerr\n");
  EXPECT_EQ(agent->log_of("q"), std::nullopt);
}

TEST_F(NodeAgentTest, SigtermReachesTheProgramAndSigkillItsWholeGroup) {
  agent->start("polite", shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"));
  agent->start("stubborn", shell("trap '' TERM; echo up; sleep 1000 & wait; sleep 1000"));
  ASSERT_TRUE(eventually(
      [&] { return agent->log_of("polite") == "up\n" && agent->log_of("stubborn") == "up\n"; }));
  agent->terminate("polite");
  agent->terminate("stubborn");
  EXPECT_EQ(exit_of("polite").code, 7);
  agent->kill("stubborn");
  EXPECT_EQ(exit_of("stubborn").code, 137);
}

TEST_F(NodeAgentTest, AProgramThatCannotBeStartedSaysWhy) {
  Program program;
  program.argv = {"/no/such/program"};
  agent->start("p", program);
  const Exit exit = exit_of("p");
  EXPECT_EQ(exit.code, 128);
  EXPECT_EQ(exit.reason, "StartError");
  EXPECT_THAT(exit.message, HasSubstr("/no/such/program"));
}

TEST_F(NodeAgentTest, MoreMemoryThanTheLimitEndsIt) {
  Program program;
  program.argv = {"python3", "-c", "x = bytearray(200_000_000); import time; time.sleep(1000)"};
  program.environment = {{"PATH", "/usr/bin:/bin"}};
  program.memory_bytes_max = 100'000'000;
  agent->start("p", program);
  const Exit exit = exit_of("p");
  EXPECT_EQ(exit.code, 137);
  EXPECT_EQ(exit.reason, "OOMKilled");
}

TEST_F(NodeAgentTest, AFileShowsNothingInTheBucketUntilItIsClosed) {
  const fs::path log = data / "buckets" / "bucket" / "logs" / "j" / "p.log";
  const fs::path go = data / "go";
  agent->start("p",
               in_bucket("mkdir -p $BUCKET/logs/j; exec 3>>$BUCKET/logs/j/p.log; echo one >&3; "
                         "echo written; while [ ! -e " +
                         go.string() +
                         " ]; do sleep 0.02; done; "
                         "exec 3>&-; echo two >>$BUCKET/logs/j/p.log; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return agent->log_of("p") == "written\n"; }));
  EXPECT_EQ(content(log), "");
  std::ofstream(go) << "go";
  EXPECT_TRUE(eventually([&] { return content(log) == "one\ntwo\n"; }));
}

TEST_F(NodeAgentTest, RenamedAndDeletedFilesFollowIntoTheBucket) {
  const fs::path bucket = data / "buckets" / "bucket";
  agent->start("p", in_bucket("cd $BUCKET; echo a >a.tmp; mv a.tmp a; echo b >b; rm b; echo c >c"));
  EXPECT_EQ(exit_of("p").code, 0);
  EXPECT_EQ(content(bucket / "a"), "a\n");
  EXPECT_EQ(content(bucket / "c"), "c\n");
  EXPECT_FALSE(fs::exists(bucket / "a.tmp"));
  EXPECT_FALSE(fs::exists(bucket / "b"));
}

TEST_F(NodeAgentTest, ARelativeDataFolderIsTheSameForProgramsInOtherFolders) {
  agent.reset();
  data = fs::relative(data);
  start_agent();
  EXPECT_TRUE(agent->folder_of("p").is_absolute());
  agent->start("p", in_bucket("echo a > $BUCKET/a"));
  EXPECT_EQ(exit_of("p").code, 0);
  EXPECT_EQ(content(data / "buckets" / "bucket" / "a"), "a\n");
}

TEST_F(NodeAgentTest, APodSeesWhatWasInTheBucketWhenItStarted) {
  fs::create_directories(data / "buckets" / "bucket" / "in");
  std::ofstream(data / "buckets" / "bucket" / "in" / "x") << "input";
  agent->start("p", in_bucket("cat $BUCKET/in/x"));
  EXPECT_EQ(exit_of("p").code, 0);
  EXPECT_EQ(agent->log_of("p"), "input");
}

TEST_F(NodeAgentTest, TheEndOfTheAgentEndsItsPrograms) {
  agent->start("p", shell("trap '' TERM; echo $$; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return agent->log_of("p").value_or("") != ""; }));
  agent.reset();
  EXPECT_EQ(exit_of("p").code, 137);
}

json::object pod(const std::string& container, const std::string& volumes = "[]") {
  return json::parse(R"({"metadata":{"name":"j-0-x","namespace":"default","labels":{"l":"v"},
             "annotations":{"batch.kubernetes.io/job-completion-index":"0","gke-gcsfuse/volumes":"true"}},
             "spec":{"hostname":"j-0","containers":[)" +
                     container + R"(],"volumes":)" + volumes + "}}")
      .as_object();
}

TEST(ProgramTest, ReferencesAreExpandedAsKubernetesDoes) {
  const auto program =
      program_of(pod(R"({"command":["/bin/sh","-c"],"args":["$(A) $$(A) $(NONE) $B $$ 5$"],
              "env":[{"name":"A","value":"1"},{"name":"C","value":"$(A)2"}]})"),
                 "/f");
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(program->argv.back(), "1 $(A) $(NONE) $B $ 5$");
  EXPECT_EQ(program->environment.back(), (std::pair<std::string, std::string>("C", "12")));
}

TEST(ProgramTest, TheDownwardApiAndMountsAreInTheEnvironment) {
  const auto program = program_of(
      pod(R"({"command":["x"],"volumeMounts":[{"name":"b","mountPath":"/falcon/bucket"},{"name":"s","mountPath":"/falcon/spool/"}],
              "env":[{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
                     {"name":"L","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['l']"}}},
                     {"name":"B","value":"/falcon/bucket/logs"},{"name":"S","value":"/falcon/spool"},
                     {"name":"N","value":"/falcon/bucketeer"}],
              "resources":{"limits":{"memory":"512Mi"}}})",
          R"([{"name":"b","csi":{"driver":"gcsfuse.csi.storage.gke.io","volumeAttributes":{"bucketName":"my-bucket"}}},
              {"name":"s","emptyDir":{}}])"),
      "/f");
  ASSERT_TRUE(program.has_value()) << program.error().what;
  const std::map<std::string, std::string> env(program->environment.begin(),
                                               program->environment.end());
  EXPECT_EQ(env.at("POD"), "j-0-x");
  EXPECT_EQ(env.at("L"), "v");
  EXPECT_EQ(env.at("B"), "/f/volumes/b/logs");
  EXPECT_EQ(env.at("S"), "/f/volumes/s");
  EXPECT_EQ(env.at("N"), "/falcon/bucketeer");
  EXPECT_EQ(env.at("JOB_COMPLETION_INDEX"), "0");
  EXPECT_EQ(program->mounts[0].bucket, "my-bucket");
  EXPECT_EQ(program->memory_bytes_max, 512 * 1024 * 1024);
}

TEST(ProgramTest, WhatAKubeletCouldNotStartIsRefused) {
  EXPECT_FALSE(program_of(pod(R"({"image":"busybox"})"), "/f").has_value());
  EXPECT_FALSE(
      program_of(pod(R"({"command":["x"],"volumeMounts":[{"name":"n","mountPath":"/n"}]})"), "/f"));
  EXPECT_FALSE(program_of(
      pod(R"({"command":["x"],"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]})"),
      "/f"));
}

TEST(ProgramTest, QuantitiesAreExact) {
  EXPECT_EQ(bytes_of_quantity("1Gi"), 1'073'741'824);
  EXPECT_EQ(bytes_of_quantity("1.5M"), 1'500'000);
  EXPECT_EQ(bytes_of_quantity("2e3"), 2'000);
  EXPECT_EQ(bytes_of_quantity("1500m"), 2);
  EXPECT_EQ(bytes_of_quantity("1GB"), std::nullopt);
  EXPECT_EQ(bytes_of_quantity("-1"), std::nullopt);
}

}  // namespace
}  // namespace falcon::simserver
