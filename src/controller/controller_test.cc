#include "controller/controller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "controller/cloud_fixture_test.h"
#include "http/server.h"
#include "wire/wire.h"

namespace falcon::controller {
namespace {

using namespace std::chrono_literals;

std::string job_json(std::string_view id, int version) {
  return fmt::format(
      R"({{"id":"{}","name":"train","actor":"ann","spec":{{"image":"busybox","command":["true"],)"
      R"("args":[],"env":[],"tpu_type":"v6e","topology":"2x2","timeout_seconds":60,)"
      R"("termination_grace_seconds":30,"max_retries":0}},"created_at":"2026-12-01T08:30:00Z",)"
      R"("version":{},"status":"Pending","reason":"","message_code":"","message_arguments":[]}})",
      id, version);
}

std::string cluster_json(std::string_view id, std::string_view tpu_type, std::string_view status) {
  return fmt::format(
      R"({{"id":"{}","name":"c","project":"p","location":"us-east5","zone":"us-east5-b",)"
      R"("tpu_type":"{}","gcs_bucket":"b","status":"{}","created_at":"2026-12-01T08:30:00Z",)"
      R"("version":1}})",
      id, tpu_type, status);
}

std::string problem(int status, std::string_view code) {
  return fmt::format(R"({{"status":{},"title":"T","code":"{}","detail":"words"}})", status, code);
}

WallTime now() {
  return WallTime(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

// An API server that notes all that it is asked.
class FakeApi {
 public:
  struct Call {
    std::string method;
    std::string target;
    std::string body;
  };

  FakeApi()
      : server_({}, [this](http::ServerRequest request, const http::Reply& reply) {
          take(request, reply);
        }) {
    const auto port = server_.start();
    EXPECT_TRUE(port) << port.error().what;
    url_ = "http://127.0.0.1:" + std::to_string(port.value_or(0));
  }
  ~FakeApi() { server_.stop(); }

  const std::string& url() const { return url_; }

  // Changes how it answers, or looks at it, undisturbed.
  template <class Do>
  auto with(Do action) {
    const std::scoped_lock lock(mutex_);
    return action();
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, condition);
  }
  bool wait_for(std::string_view method, std::string_view target, std::ptrdiff_t times = 1) {
    return wait([&] { return count(method, target) >= times; });
  }
  // With the lock held (inside `with` or `wait`).
  std::ptrdiff_t count(std::string_view method, std::string_view target) const {
    return std::ranges::count_if(calls_, [&](const Call& call) {
      return call.method == method && call.target.starts_with(target);
    });
  }
  const std::vector<Call>& calls() const { return calls_; }
  void say(const std::string& line) {
    if (!streams_.empty()) streams_.back()->send(line + "\n");
  }
  bool watched() const { return !streams_.empty(); }
  void cut_watch() {
    for (const auto& stream : streams_) stream->end();
    streams_.clear();
  }
  std::uint64_t term() const { return term_; }  // the last one given
  std::string own_term() const { return "/v1/terms/" + std::to_string(term_); }

  std::vector<std::string> jobs;  // of the list of open ones
  std::string clusters;           // items of their list
  std::string unreadable;         // items that the list of jobs names
  std::uint64_t jobs_sequence = 40;
  std::uint64_t clusters_sequence = 41;
  bool other_leads = false;  // terms are refused
  int renew_status = 200;
  std::string renew_code;
  bool watch_too_old = false;  // once

 private:
  void take(const http::ServerRequest& request, const http::Reply& reply) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({request.method, request.target, request.body});
    if (request.target.starts_with("/v1/watch") && !watch_too_old)
      streams_.push_back(reply.stream({}));
    else
      reply.send(answer(request));
    changed_.notify_all();
  }

  http::ServerResponse answer(const http::ServerRequest& request) {
    const std::string& target = request.target;
    if (target == "/v1/version")
      return {200, R"({"version":"1","schema":1,"language":"en","installation":"test","now":")" +
                       to_rfc3339(now()) + "\"}"};
    if (target == "/v1/terms") {
      if (other_leads) return {409, problem(409, "conflict")};
      return {201, fmt::format(R"({{"term":{},"holder":"h","lease_seconds":20}})", ++term_)};
    }
    if (target.starts_with("/v1/terms/")) {
      if (request.method == "DELETE") return {204, ""};
      return {renew_status, problem(renew_status, renew_code)};
    }
    if (target == "/v1/state" && request.method == "GET")
      return {200, R"({"pools":[],"attempts":[],"turns":[],"backoffs":[]})"};
    if (target == "/v1/clusters")
      return {200, fmt::format(R"({{"items":[{}],"sequence":{}}})", clusters, clusters_sequence)};
    if (target.starts_with("/v1/jobs?")) {
      std::string items;
      for (const std::string& job : jobs) items += (items.empty() ? "" : ",") + job;
      return {200, fmt::format(R"({{"items":[{}],"next_page_token":"","sequence":{},)"
                               R"("unreadable":[{}]}})",
                               items, jobs_sequence, unreadable)};
    }
    if (target.starts_with("/v1/watch")) {
      watch_too_old = false;
      return {410, problem(410, "too_old")};
    }
    if (target.ends_with("/state") && request.method == "PUT") return {200, R"({"version":8})"};
    if (target.starts_with("/v1/jobs/")) return {404, problem(404, "not_found")};
    return {200, "{}"};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
  std::vector<std::shared_ptr<http::ServerStream>> streams_;
  std::uint64_t term_ = 6;
  std::string url_;
  http::Server server_;
};

class ControllerTest : public testing::Test {
 protected:
  void start(std::int64_t lease_seconds = 20, const std::string& google = "http://127.0.0.1:1") {
    controller_ = std::make_unique<Controller>(
        ControllerSettings{api_.url(), "secret", google, "here", lease_seconds});
    controller_->start();
  }
  FakeApi api_;
  std::unique_ptr<Controller> controller_;  // ends first
};

TEST_F(ControllerTest, LeadsThenReadsAllThenWatchesFromWhereTheFirstListWas) {
  start();
  ASSERT_TRUE(api_.wait_for("GET", "/v1/watch?since=40"));
  EXPECT_TRUE(controller_->leads());
  const auto order = api_.with([&] { return api_.calls(); });
  const auto place = [&](std::string_view target) {
    return std::ranges::find_if(order,
                                [&](const auto& c) { return c.target.starts_with(target); }) -
           order.begin();
  };
  EXPECT_LT(place("/v1/terms"), place("/v1/state"));
  EXPECT_LT(place("/v1/state"), place("/v1/clusters"));
  EXPECT_LT(place("/v1/clusters"), place("/v1/jobs?open=true"));
  EXPECT_LT(place("/v1/jobs?open=true"), place("/v1/watch"));
}

TEST_F(ControllerTest, StopsByGivingTheTermBack) {
  start();
  ASSERT_TRUE(api_.wait_for("GET", "/v1/watch"));
  controller_->stop();
  EXPECT_FALSE(controller_->leads());
  EXPECT_EQ(api_.with([&] { return api_.count("DELETE", "/v1/terms/7"); }), 1);
}

TEST_F(ControllerTest, WritesCarryTheTermAndTheVersionThatTheyWereDecidedOn) {
  api_.jobs = {job_json("j-1", 5)};
  start();
  ASSERT_TRUE(api_.wait_for("PUT", "/v1/jobs/j-1/state"));
  const auto calls = api_.with([&] { return api_.calls(); });
  const auto write = std::ranges::find_if(
      calls, [](const auto& call) { return call.target == "/v1/jobs/j-1/state"; });
  const auto read = wire::read_job_write(write->body);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->term, 7U);
  EXPECT_EQ(read->version, 5U);
  EXPECT_EQ(read->state.status, model::JobStatus::kPending);
  EXPECT_NE(read->state.reason, model::Reason::kNone);  // people who wait are told why
}

TEST_F(ControllerTest, AJobThatComesByTheWatchIsTakenUp) {
  start();
  ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
  api_.with([&] {
    api_.say(R"({"sequence":50,"kind":"job","change":"put","object":)" + job_json("j-2", 1) + "}");
  });
  EXPECT_TRUE(api_.wait_for("PUT", "/v1/jobs/j-2/state"));
}

TEST_F(ControllerTest, WhileAnotherLeadsNothingIsReadAndItIsAskedAgain) {
  api_.other_leads = true;
  api_.jobs = {job_json("j-1", 5)};
  start();
  ASSERT_TRUE(api_.wait_for("POST", "/v1/terms", 2));
  EXPECT_FALSE(controller_->leads());
  EXPECT_EQ(api_.with([&] { return api_.count("GET", "/v1/state"); }), 0);
  api_.with([&] { api_.other_leads = false; });
  EXPECT_TRUE(api_.wait_for("PUT", "/v1/jobs/j-1/state"));
  EXPECT_TRUE(controller_->leads());
}

TEST_F(ControllerTest, AFencedTermIsOverAndTheNextOneReadsAllAnew) {
  api_.renew_status = 409;
  api_.renew_code = "fenced";
  start();
  ASSERT_TRUE(api_.wait_for("PUT", "/v1/terms/7"));
  api_.with([&] { api_.renew_status = 200; });
  ASSERT_TRUE(api_.wait_for("PUT", "/v1/terms/8"));
  ASSERT_TRUE(api_.wait_for("GET", "/v1/watch"));
  EXPECT_TRUE(controller_->leads());
}

// The lease may be over although nobody has said so: from then on nothing is written in its name.
TEST_F(ControllerTest, NothingIsWrittenInATermWhoseLeaseMayBeOver) {
  api_.renew_status = 503;
  api_.renew_code = "unavailable";
  start(11);  // 1 s more than a call may last
  // The second renewal of a term is tried later than that.
  ASSERT_TRUE(api_.wait([&] { return api_.watched() && api_.count("PUT", api_.own_term()) >= 2; }));
  const std::uint64_t stale = api_.with([&] {
    api_.renew_status = 200;
    api_.jobs = {job_json("j-2", 1)};
    api_.say(R"({"sequence":50,"kind":"job","change":"put","object":)" + job_json("j-2", 1) + "}");
    return api_.term();
  });
  ASSERT_TRUE(api_.wait_for("PUT", "/v1/jobs/j-2/state"));
  for (const FakeApi::Call& call : api_.with([&] { return api_.calls(); }))
    if (call.target == "/v1/jobs/j-2/state")
      EXPECT_GT(wire::read_job_write(call.body)->term, stale) << call.body;
}

TEST_F(ControllerTest, AWatchThatIsTooOldListsAgain) {
  api_.watch_too_old = true;
  start();
  ASSERT_TRUE(api_.wait_for("GET", "/v1/watch", 2));
  EXPECT_EQ(api_.with([&] { return api_.count("GET", "/v1/jobs?open=true"); }), 2);
  EXPECT_EQ(api_.with([&] { return api_.count("GET", "/v1/clusters"); }), 2);
  EXPECT_EQ(api_.with([&] { return api_.count("POST", "/v1/terms"); }), 1);
}

TEST_F(ControllerTest, AClusterThatCanNotBeFoundIsReported) {
  api_.clusters =
      R"({"id":"c-1","name":"c1","project":"p","location":"us-east5","zone":"us-east5-a",)"
      R"("tpu_type":"v6e","gcs_bucket":"b","status":"active","kubernetes_namespace":"default",)"
      R"("created_at":"2026-12-01T08:30:00Z","version":1})";
  start();
  ASSERT_TRUE(api_.wait_for("PUT", "/v1/conditions"));
  const auto calls = api_.with([&] { return api_.calls(); });
  const auto write =
      std::ranges::find_if(calls, [](const auto& call) { return call.target == "/v1/conditions"; });
  const auto read = wire::read_condition_write(write->body);
  ASSERT_TRUE(read) << write->body;
  EXPECT_EQ(read->term, 7U);
  EXPECT_EQ(read->condition.cluster.value(), "c-1");
  EXPECT_EQ(read->condition.health, model::ClusterHealth::kUnreachable);
  EXPECT_NE(read->condition.words, "");
}

TEST_F(ControllerTest, AJobThatALaterListLacksIsLookedFor) {
  api_.jobs = {job_json("j-1", 5)};
  start();
  ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
  api_.with([&] {
    api_.jobs.clear();
    api_.watch_too_old = true;
    api_.cut_watch();
  });
  EXPECT_TRUE(api_.wait_for("GET", "/v1/jobs/j-1"));
}

// It stands in every watch from that place on: a list goes past it.
TEST_F(ControllerTest, AWatchThatCannotBeReadListsAgainAndGoesOnBehindIt) {
  start();
  ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
  api_.with([&] {
    api_.jobs_sequence = 51;
    api_.clusters_sequence = 51;
    api_.say(R"({"sequence":50,"kind":"job","change":"put","object":{"id":7}})");
  });
  EXPECT_TRUE(api_.wait_for("GET", "/v1/watch?since=51"));
  EXPECT_EQ(api_.with([&] { return api_.count("GET", "/v1/watch?since=40"); }), 1);
}

// A row that the server cannot read is there: it has not vanished, and nobody asks for it again.
TEST_F(ControllerTest, AJobThatTheListNamesAsUnreadableIsNotLookedFor) {
  api_.jobs = {job_json("j-1", 5), job_json("j-2", 5)};
  start();
  ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
  api_.with([&] {
    api_.jobs.clear();
    api_.unreadable = R"({"id":"j-1","what":"status Dreaming"})";
    api_.watch_too_old = true;
    api_.cut_watch();
  });
  ASSERT_TRUE(api_.wait_for("GET", "/v1/jobs/j-2"));
  ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
  EXPECT_EQ(api_.with([&] { return api_.count("GET", "/v1/jobs/j-1"); }), 0);
}

class ControllerClusterTest : public ControllerTest {
 protected:
  void SetUp() override {
    google_.with([&] {
      return google_.places.emplace(
          "c", FakeGoogle::Place{kubernetes_.endpoint(), kubernetes_.ca_pem()});
    });
    api_.clusters =
        cluster_json("one", "v6e", "active") + "," + cluster_json("two", "v5e", "active");
    start(20, google_.url());
    ASSERT_TRUE(api_.wait([&] { return api_.watched(); }));
    ASSERT_TRUE(watches(3));
  }
  bool watches(int count) {
    return kubernetes_.wait([&] { return kubernetes_.watches == count; });
  }
  void say(std::uint64_t sequence, std::string_view change, const std::string& cluster) {
    api_.with([&] {
      api_.say(fmt::format(R"({{"sequence":{},"kind":"cluster","change":"{}","object":{}}})",
                           sequence, change, cluster));
    });
  }
  void TearDown() override { controller_.reset(); }  // before what it calls

  FakeKubernetes kubernetes_;
  FakeGoogle google_;
};

TEST_F(ControllerClusterTest, AClusterIsWatchedWhileAnyOfItsRowsIsNotOffline) {
  say(50, "put", cluster_json("one", "v6e", "offline"));
  say(51, "put", cluster_json("two", "v5e", "maintenance"));
  say(52, "put", cluster_json("two", "v5e", "offline"));
  ASSERT_TRUE(watches(0));
  say(53, "put", cluster_json("two", "v5e", "active"));
  EXPECT_TRUE(watches(3));
}

TEST_F(ControllerClusterTest, AClusterWhoseRowsAreRemovedIsLetGo) {
  say(50, "delete", R"({"id":"one"})");
  say(51, "delete", R"({"id":"two"})");
  EXPECT_TRUE(watches(0));
}

}  // namespace
}  // namespace falcon::controller
