// Jobs, clusters, terms and the watch over REST: through real sockets, on SQLite.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <thread>

#include "api/test_api.h"

namespace falcon::api {
namespace {

class JobsTest : public ApiTest {
 protected:
  Answer add_cluster(const std::string& name = "c1", const std::string& type = "v6e") {
    return call("POST", "/v1/clusters",
                R"({"name":")" + name +
                    R"(","project":"p","location":"us-east5","zone":"us-east5-b","tpu_type":")" +
                    type + R"(","gcs_bucket":"bucket"})");
  }
  Answer finish(std::uint64_t term, const std::string& id, const std::string& status,
                const std::string& more = "") {
    const Answer job = call("GET", "/v1/jobs/" + id);
    return write_state(term, id, job.at("/version"), R"("status":")" + status + "\"" + more);
  }
};

TEST_F(JobsTest, ASubmittedJobIsThereExactlyAlsoAfterARestart) {
  const std::string spec =
      R"({"image":"busybox","command":["sh","-c","𝄞 日本語 \"q\" \\ \n"],"args":["","*"],)"
      R"("env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],)"
      R"("tpu_type":"v6e","topology":"4x4","supply_mode":"on-demand","timeout_seconds":3600,)"
      R"("termination_grace_seconds":0,"max_retries":2,"max_wait_seconds":900})";
  const Answer made = call(
      "POST", "/v1/jobs",
      R"({"name":"train","actor":"ann","priority":-5,"labels":{"a/b":"c"},"spec":)" + spec + "}");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.at("/spec"), boost::json::serialize(boost::json::parse(spec)));
  EXPECT_EQ(made.at("/labels"), R"({"a/b":"c"})");
  EXPECT_EQ(made.at("/priority"), "-5");
  EXPECT_EQ(made.at("/status"), "Pending");
  EXPECT_EQ(made.at("/reason"), "Waiting");
  EXPECT_NE(made.at("/message"), "");
  server_->stop();
  start();
  const Answer read = call("GET", "/v1/jobs/" + made.at("/id"));
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(read.body, made.body);
  EXPECT_EQ(call("GET", "/v1/jobs/train").at("/id"), made.at("/id"));
}

TEST_F(JobsTest, ListsNewestFirstByPagesAndFilters) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(submit(fmt::format("job-{}", i)).status, 201);
  EXPECT_EQ(submit("other", "bob").status, 201);
  std::vector<std::string> names;
  std::string token;
  do {
    const Answer page = call("GET", "/v1/jobs?actor=ann&limit=2&page_token=" + token);
    ASSERT_EQ(page.status, 200) << page.body;
    for (int i = 0; page.at(fmt::format("/items/{}", i)) != "-"; ++i)
      names.push_back(page.at(fmt::format("/items/{}/name", i)));
    token = page.at("/next_page_token");
  } while (!token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"job-4", "job-3", "job-2", "job-1", "job-0"}));
  EXPECT_EQ(call("GET", "/v1/jobs?name=other").at("/items/0/actor"), "bob");
  EXPECT_EQ(call("GET", "/v1/jobs?status=Running").at("/items"), "[]");
  EXPECT_EQ(call("GET", "/v1/jobs?open=true").at("/items/0/name"), "job-0");
}

// Else whoever compares two lists would take it for gone.
TEST_F(JobsTest, ARowThatCannotBeReadIsNamedInTheList) {
  server_->stop();
  std::mutex mutex;
  std::vector<std::string> logged;
  Settings settings;
  settings.log = [&](std::string_view line) {
    const std::scoped_lock lock(mutex);
    logged.emplace_back(line);
  };
  start(settings);
  const std::string good = submit("good").at("/id");
  const std::string bad = submit("bad").at("/id");
  EXPECT_EQ(call("GET", "/v1/jobs?open=true").at("/unreadable"), "-");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder_.path() + "/data/falcon.db").c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "UPDATE jobs SET status = 'Dreaming' WHERE name = 'bad'",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const Answer list = call("GET", "/v1/jobs?open=true");
  EXPECT_EQ(list.at("/items/0/id"), good);
  EXPECT_EQ(list.at("/items/1"), "-");
  EXPECT_EQ(list.at("/unreadable/0/id"), bad);
  EXPECT_NE(list.at("/unreadable/0/what").find("Dreaming"), std::string::npos);
  EXPECT_EQ(call("GET", "/v1/jobs/" + bad).status, 500);
  server_->stop();  // its threads log no more
  EXPECT_EQ(std::ranges::count_if(logged,
                                  [](const std::string& line) {
                                    return line.find(R"("severity":"error")") !=
                                               std::string::npos &&
                                           line.find("Dreaming") != std::string::npos;
                                  }),
            1);
}

TEST_F(JobsTest, TextIsInTheLanguageOfTheReader) {
  const std::string id = submit("a").at("/id");
  http::Request english = request("GET", "/v1/jobs/" + id);
  english.headers.emplace_back("Accept-Language", "fr, en-US;q=0.8, zh;q=0.5");
  http::Request chinese = request("GET", "/v1/jobs/" + id);
  chinese.headers.emplace_back("Accept-Language", "zh-CN");
  const std::string default_text = call("GET", "/v1/jobs/" + id).at("/message");
  EXPECT_EQ(send(chinese).at("/message"), default_text);
  EXPECT_NE(send(english).at("/message"), default_text);
}

TEST_F(JobsTest, AnAbortIsAcceptedOnceAndNeverChangesAnEnd) {
  const std::string id = submit("a").at("/id");
  const Answer first = call("POST", "/v1/jobs/a:abort", "{}");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.at("/status"), "Aborting");
  const Answer second = call("POST", "/v1/jobs/" + id + ":abort", "{}");
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.at("/aborting_at"), first.at("/aborting_at"));
  const std::uint64_t term = lead();
  EXPECT_EQ(finish(term, id, "Aborted", R"(,"message_code":"Aborted")").status, 200);
  std::vector<int> statuses(2);  // both at once: the same answer
  {
    std::vector<std::jthread> callers;
    for (int& status : statuses)
      callers.emplace_back(
          [&] { status = call("POST", "/v1/jobs/" + id + ":abort", "{}").status; });
  }
  EXPECT_EQ(statuses, (std::vector<int>{409, 409}));
  const Answer unknown = call("POST", "/v1/jobs/nobody:abort", "{}");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.at("/code"), "not_found");
  EXPECT_EQ(call("POST", "/v1/jobs/" + id + ":abort", R"({"force":true})").status, 400);
}

TEST_F(JobsTest, ASucceededJobStaysSo) {
  const std::string id = submit("a").at("/id");
  const std::uint64_t term = lead();
  EXPECT_EQ(
      finish(term, id, "Running", R"(,"message_code":"Running","message_arguments":["4","4"])")
          .status,
      200);
  EXPECT_EQ(finish(term, id, "Succeeded", R"(,"exit_code":0)").status, 200);
  const Answer late = call("POST", "/v1/jobs/" + id + ":abort", "{}");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.at("/code"), "finished");
  EXPECT_NE(late.at("/detail").find("Succeeded"), std::string::npos);
  EXPECT_EQ(call("GET", "/v1/jobs/" + id).at("/status"), "Succeeded");
}

TEST_F(JobsTest, AJobThatEndedBeforeItsAbortWasSeenKeepsItsResult) {
  const std::string id = submit("a").at("/id");
  const std::uint64_t term = lead();
  EXPECT_EQ(
      finish(term, id, "Running", R"(,"message_code":"Running","message_arguments":["4","4"])")
          .status,
      200);
  const std::string before = call("GET", "/v1/jobs/" + id).at("/version");
  EXPECT_EQ(call("POST", "/v1/jobs/" + id + ":abort", "{}").status, 200);
  // Decided before the abort: refused; decided again: the result counts.
  EXPECT_EQ(write_state(term, id, before, R"("status":"Succeeded")").status, 409);
  EXPECT_EQ(finish(term, id, "Succeeded").status, 200);
  EXPECT_EQ(call("GET", "/v1/jobs/" + id).at("/status"), "Succeeded");
}

TEST_F(JobsTest, ANameMeansTheNewestAndAbortsOnlyWhenItIsClear) {
  EXPECT_EQ(submit("a").status, 201);
  const std::string second = submit("a").at("/id");
  EXPECT_EQ(call("GET", "/v1/jobs/a").at("/id"), second);
  const Answer unclear = call("POST", "/v1/jobs/a:abort", "{}");
  EXPECT_EQ(unclear.status, 409);
  EXPECT_EQ(unclear.at("/code"), "ambiguous");
  EXPECT_NE(unclear.at("/detail").find(second), std::string::npos);
}

TEST_F(JobsTest, WritesOfAnOldVersionOrALowerTermAreRefused) {
  const std::string id = submit("a").at("/id");
  const std::uint64_t term = lead();
  const std::string state =
      R"("status":"Pending","reason":"Dispatching","message_code":"Dispatching")";
  const Answer first = write_state(term, id, call("GET", "/v1/jobs/a").at("/version"), state);
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(call("GET", "/v1/jobs/a").at("/version"), first.at("/version"));
  EXPECT_EQ(write_state(term, id, "1000000", state).at("/code"), "conflict");
  EXPECT_EQ(write_state(term, "nobody", "1", state).status, 404);
  EXPECT_EQ(call("POST", "/v1/terms", R"({"holder":"other","lease_seconds":60})").status, 409);
  EXPECT_NE(call("POST", "/v1/terms", R"({"holder":"other","lease_seconds":60})")
                .at("/retry_after_seconds"),
            "-");
  EXPECT_EQ(call("DELETE", fmt::format("/v1/terms/{}", term)).status, 204);
  const std::uint64_t next = lead("other");
  EXPECT_GT(next, term);
  EXPECT_EQ(write_state(term, id, first.at("/version"), state).at("/code"), "fenced");
  EXPECT_EQ(call("PUT", fmt::format("/v1/terms/{}", term), R"({"lease_seconds":60})").at("/code"),
            "fenced");
  EXPECT_EQ(call("PUT", fmt::format("/v1/terms/{}", next), R"({"lease_seconds":60})").status, 200);
  EXPECT_EQ(call("PUT", "/v1/terms/x", R"({"lease_seconds":60})").status, 400);
}

TEST_F(JobsTest, EventsTellTheStory) {
  const std::string id = submit("a").at("/id");
  EXPECT_EQ(
      finish(lead(), id, "Running", R"(,"message_code":"Running","message_arguments":["4","4"])")
          .status,
      200);
  const Answer events = call("GET", "/v1/jobs/a/events");
  EXPECT_EQ(events.at("/items/0/status"), "Pending");
  EXPECT_EQ(events.at("/items/1/status"), "Running");
  EXPECT_NE(events.at("/items/1/message"), "");
}

TEST_F(JobsTest, PlacesComeFromThePublishedOrder) {
  const std::string cluster = add_cluster().at("/id");
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(submit(fmt::format("job-{}", i), i == 0 ? "ann" : "bob").at("/id"));
  const std::string order = fmt::format(
      R"({{"term":{},"cluster":"{}","shape":{{"type":"v6e","topology":"4x4"}},"version":1,"order":["{}"]}})",
      lead(), cluster, fmt::join(ids, "\",\""));
  ASSERT_EQ(call("PUT", "/v1/queues", order).status, 200);
  EXPECT_EQ(call("GET", "/v1/queues").at("/items/0/order/4"), ids[4]);
  server_->stop();  // the picture is a second old at most; a new server has none
  start();
  const Answer third = call("GET", "/v1/jobs/job-2");
  EXPECT_EQ(third.at("/message_code"), "QueuePosition");
  EXPECT_EQ(third.at("/message_arguments"), R"(["3","2","ann: job-0, bob: job-1"])");
  EXPECT_EQ(third.at("/message"), "队列位置 #3,前面有 2 个任务 (ann: job-0, bob: job-1)");
  EXPECT_NE(third.at("/queue_age_seconds"), "null");
  EXPECT_NE(call("GET", "/v1/jobs/job-4").at("/message").find("…等 4 个任务"), std::string::npos);
  EXPECT_EQ(call("GET", "/v1/jobs?open=true").at("/items/2/message_code"), "Queued");
}

TEST_F(JobsTest, ClustersAreAddedChangedAndRemoved) {
  const Answer made = add_cluster();
  ASSERT_EQ(made.status, 201) << made.body;
  const Answer again = add_cluster();
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.at("/code"), "already_exists");
  EXPECT_EQ(add_cluster("c1", "v5p").status, 201);
  EXPECT_EQ(call("GET", "/v1/clusters/c1").at("/code"), "ambiguous");
  EXPECT_EQ(call("GET", "/v1/clusters/nowhere").status, 404);
  const std::string path = "/v1/clusters/" + made.at("/id");
  EXPECT_EQ(call("PATCH", path, R"({"status":"offline"})").at("/status"), "offline");
  EXPECT_EQ(call("PATCH", path, R"({"tpu_type":"v4"})").status, 400);
  EXPECT_EQ(call("PATCH", path, R"({"status":"resting"})").status, 400);
  EXPECT_EQ(call("GET", path).at("/status"), "offline");
  EXPECT_EQ(call("DELETE", path).status, 204);
  EXPECT_EQ(call("GET", path).status, 404);
  EXPECT_EQ(call("GET", "/v1/clusters").at("/items/1"), "-");
}

TEST_F(JobsTest, AJobSaysThatItsClusterCanNotBeHad) {
  const std::string cluster = add_cluster().at("/id");
  const std::string id = submit("train").at("/id");
  const std::uint64_t term = lead();
  ASSERT_EQ(write_state(term, id, "1",
                        R"("status":"Pending","reason":"Waiting","message_code":"Queued",)"
                        R"("message_arguments":[],"cluster":")" +
                            cluster + "\"")
                .status,
            200);
  EXPECT_EQ(call("GET", "/v1/clusters/c1").at("/condition"), "null");
  const auto found = [&](const std::string& health, const std::string& words) {
    return call("PUT", "/v1/conditions",
                fmt::format(R"({{"term":{},"cluster":"{}","health":"{}","words":"{}"}})", term,
                            cluster, health, words));
  };
  ASSERT_EQ(found("not-found", "no cluster c1 (404)").status, 200);
  EXPECT_EQ(call("GET", "/v1/clusters/c1").at("/condition/health"), "not-found");
  EXPECT_EQ(call("GET", "/v1/clusters").at("/items/0/condition/words"), "no cluster c1 (404)");
  EXPECT_EQ(call("GET", "/v1/clusters/c1").at("/status"), "active");
  http::Request english = request("GET", "/v1/jobs/train");
  english.headers.emplace_back("Accept-Language", "en");
  Answer job = send(english);
  EXPECT_EQ(job.at("/message_code"), "ClusterUnavailable");
  EXPECT_EQ(job.at("/message"),
            "Cluster c1 is not available (not-found: no cluster c1 (404)), waiting for it...");
  // Also when it was placed nowhere, because there is no other.
  const Answer other = submit("other");
  ASSERT_EQ(write_state(term, other.at("/id"), "1",
                        R"("status":"Pending","reason":"Waiting","message_code":"NoCluster",)"
                        R"("message_arguments":["v6e"])")
                .status,
            200);
  EXPECT_EQ(call("GET", "/v1/jobs/other").at("/message_code"), "ClusterUnavailable");
  // The controller compares with what is stored.
  EXPECT_EQ(call("GET", "/v1/jobs?open=true").at("/items/0/message_code"), "Queued");
  ASSERT_EQ(found("reachable", "").status, 200);
  EXPECT_EQ(call("GET", "/v1/jobs/train").at("/message_code"), "Queued");
  EXPECT_EQ(call("GET", "/v1/jobs/other").at("/message_code"), "NoCluster");
  EXPECT_EQ(found("asleep", "").status, 400);
}

TEST_F(JobsTest, FalconsOwnStateIsWrittenInOrder) {
  const std::string cluster = add_cluster().at("/id");
  const std::uint64_t term = lead();
  const auto write = [&](int number, const std::string& changes) {
    return call("POST", "/v1/state",
                fmt::format(R"({{"term":{},"number":{},"changes":[{}]}})", term, number, changes));
  };
  const std::string pool = fmt::format(
      R"({{"put_pool":{{"name":"falcon-x","gke":{{"project":"p","location":"us-east5","name":"c1"}},)"
      R"("cluster":"{}","shape":{{"type":"v6e","topology":"4x4"}},"supply":"on-demand","owner":"j",)"
      R"("provision":1,"phase":"intended","intent_at":"2026-12-01T00:00:00Z",)"
      R"("phase_since":"2026-12-01T00:00:00Z"}}}})",
      cluster);
  const Answer first = write(1, pool);
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(call("GET", "/v1/pools").at("/items/0/name"), "falcon-x");
  EXPECT_EQ(call("GET", "/v1/state").at("/pools/0/phase"), "intended");
  EXPECT_EQ(call("DELETE", "/v1/clusters/" + cluster).at("/code"), "conflict");
  EXPECT_EQ(write(2, R"({"remove_pool":"falcon-x"})").status, 200);
  EXPECT_EQ(write(2, R"({"remove_pool":"falcon-x"})").status, 200);
  EXPECT_EQ(write(1, pool).at("/code"), "conflict");
  EXPECT_EQ(call("GET", "/v1/pools").at("/items"), "[]");
}

TEST_F(JobsTest, AWatchGoesOnFromItsListWithoutAGap) {
  EXPECT_EQ(submit("before").status, 201);
  const std::string sequence = call("GET", "/v1/jobs").at("/sequence");
  Watch watch(client_, request("GET", "/v1/watch?kinds=jobs&since=" + sequence));
  EXPECT_EQ(watch.status(), 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(submit(fmt::format("job-{}", i)).status, 201);
  EXPECT_EQ(add_cluster().status, 201);
  const std::vector<Answer> lines = watch.lines(20);
  ASSERT_EQ(lines.size(), 20u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("/object/name"), fmt::format("job-{}", i));
    EXPECT_EQ(lines[i].at("/kind"), "job");
  }
  // One that broke off in the middle goes on where it was.
  Watch resumed(client_, request("GET", "/v1/watch?since=" + lines[9].at("/sequence")));
  const std::vector<Answer> rest = resumed.lines(11);
  ASSERT_EQ(rest.size(), 11u);
  EXPECT_EQ(rest[0].body, lines[10].body);
  EXPECT_EQ(rest[10].at("/kind"), "cluster");
}

TEST_F(JobsTest, ManyWatchersSeeTheSame) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 20; ++i)
    watches.push_back(std::make_unique<Watch>(client_, request("GET", "/v1/watch?since=0")));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(submit(fmt::format("job-{}", i)).status, 201);
  for (const auto& watch : watches) {
    const std::vector<Answer> lines = watch->lines(30);
    ASSERT_EQ(lines.size(), 30u);
    EXPECT_EQ(lines[29].at("/object/name"), "job-29");
  }
  server_->stop();
  for (const auto& watch : watches) EXPECT_TRUE(watch->wait_for_end());
}

TEST_F(JobsTest, AWatchFromASequenceNeverGivenIsRefused) {
  const Answer future = call("GET", "/v1/watch?since=1000000");
  EXPECT_EQ(future.status, 400);
  EXPECT_EQ(future.at("/code"), "invalid");
  EXPECT_EQ(future.at("/errors/0/field"), "since");
  EXPECT_NE(future.at("/detail").find("sequence 1000000 is later than the newest, 0"),
            std::string::npos)
      << future.body;
  EXPECT_EQ(call("GET", "/v1/watch").status, 400);
  EXPECT_EQ(call("GET", "/v1/watch?since=0&kinds=pools").status, 400);
}

TEST_F(JobsTest, SixteenClientsSubmitAtOnceAndNothingIsLost) {
  constexpr int kEach = 10;
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < 16; ++c)
      clients.emplace_back([&, c] {
        for (int i = 0; i < kEach; ++i)
          EXPECT_EQ(submit(fmt::format("job-{}-{}", c, i)).status, 201);
      });
  }
  std::size_t count = 0;
  const Answer list = call("GET", "/v1/jobs?limit=1000");
  while (list.at(fmt::format("/items/{}/id", count)) != "-") ++count;
  EXPECT_EQ(count, 16u * kEach);
}

}  // namespace
}  // namespace falcon::api
