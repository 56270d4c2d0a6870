#include "kube/informer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "http/server.h"

namespace falcon::kube {
namespace {

using namespace std::chrono_literals;

std::string object(std::string_view name, std::string_view uid, int version) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"default","uid":"{}","resourceVersion":"{}"}}}})",
      name, uid, version);
}

std::string list(std::string_view items, int version, std::string_view next = "") {
  return fmt::format(
      R"({{"kind":"List","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
      version, next, items);
}

std::string event(std::string_view type, std::string_view carried) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, carried);
}

// An API server of Kubernetes that says of pods what the test wants; of nodes and jobs it has none.
// It gives tokens, too.
class FakeKubernetes {
 public:
  FakeKubernetes()
      : server_({}, [this](const http::ServerRequest& request, const http::Reply& reply) {
          take(request, reply);
        }) {
    const auto port = server_.start();
    EXPECT_TRUE(port) << port.error().what;
    url_ = "http://127.0.0.1:" + std::to_string(port.value_or(0));
  }
  ~FakeKubernetes() { server_.stop(); }
  const std::string& url() const { return url_; }

  template <class Do>
  auto with(Do action) {
    const std::scoped_lock lock(mutex_);
    return action();
  }
  // The version from which the n-th watch of pods began; empty when none comes.
  std::string watched_from(std::size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 30s, [&] { return watches_.size() >= n; });
    return watches_.size() >= n ? watches_[n - 1] : std::string();
  }
  // With the lock held.
  void say(const std::string& bytes) { stream_->send(bytes); }
  void end() { stream_->end(); }
  const std::vector<std::string>& lists() const { return lists_; }
  // Between list n and the one before, in the order in which they were asked for.
  std::chrono::steady_clock::duration list_gap(std::size_t n) const {
    return list_times_.at(n) - list_times_.at(n - 1);
  }

  std::map<std::string, std::string> pages;  // continue token -> body of the list of pods
  std::vector<std::string> strange;          // answers to the first lists of pods
  int watch_status = 200;                    // the next watch of pods; then 200 again
  std::string first_words;                   // of every watch of pods
  bool end_at_once = false;                  // after them

 private:
  void take(const http::ServerRequest& request, const http::Reply& reply) {
    const std::scoped_lock lock(mutex_);
    const bool pods = request.target.starts_with("/api/v1/pods");
    if (request.target.starts_with("/computeMetadata")) {
      reply.send({200,
                  R"({"access_token":"t","expires_in":3600})",
                  "application/json",
                  {{"Metadata-Flavor", "Google"}}});
    } else if (request.has_parameter("watch")) {
      watch(pods, request, reply);
    } else if (pods) {
      lists_.push_back(request.target);
      list_times_.push_back(std::chrono::steady_clock::now());
      if (strange.empty()) {
        reply.send({200, pages[std::string(request.parameter("continue"))]});
      } else {
        reply.send({200, strange.front()});
        strange.erase(strange.begin());
      }
    } else {
      reply.send({200, list("", 5)});
    }
    changed_.notify_all();
  }
  void watch(bool pods, const http::ServerRequest& request, const http::Reply& reply) {
    if (!pods) {
      quiet_.push_back(reply.stream({}));
      return;
    }
    watches_.emplace_back(request.parameter("resourceVersion"));
    if (watch_status != 200)
      reply.send({watch_status, R"({"kind":"Status","reason":"Expired"})"});
    else
      stream_ = reply.stream({});
    watch_status = 200;
    if (!first_words.empty() && stream_) stream_->send(first_words);
    if (end_at_once && stream_) stream_->end();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lists_;
  std::vector<std::chrono::steady_clock::time_point> list_times_;
  std::vector<std::string> watches_;
  std::shared_ptr<http::ServerStream> stream_;
  std::vector<std::shared_ptr<http::ServerStream>> quiet_;
  std::string url_;
  http::Server server_;
};

class InformerTest : public testing::Test {
 protected:
  void start() {
    kubernetes_ =
        std::make_shared<Kubernetes>(http_, tokens_, gke::ControlPlane{api_.url(), "", "", ""});
    informer_ = std::make_unique<Informer>(kubernetes_, timers_, model::GkeCluster{"p", "l", "c"},
                                           model::Installation("test"),
                                           [this](const core::Event& told) { hear(told); });
    informer_->start();
  }
  void TearDown() override {
    if (informer_) informer_->stop();
  }
  void hear(const core::Event& told) {
    const std::scoped_lock lock(mutex_);
    if (const auto* seen = std::get_if<core::PodSeen>(&told))
      heard_.push_back("+" + seen->pod.name.value() + "/" + seen->pod.uid.value());
    if (const auto* gone = std::get_if<core::PodVanished>(&told))
      heard_.push_back("-" + gone->name.value() + "/" + gone->uid.value());
    if (const auto* sync = std::get_if<core::KubernetesSynced>(&told))
      heard_.push_back(sync->in_sync ? "in sync" : "out of sync");
    changed_.notify_all();
  }
  // What was told since the last call, once `last` has been.
  std::vector<std::string> heard_until(const std::string& last) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s,
                                  [&] { return std::ranges::find(heard_, last) != heard_.end(); }))
        << last << " was not told";
    return std::exchange(heard_, {});
  }
  using Told = std::vector<std::string>;

  FakeKubernetes api_;
  http::Client http_;
  http::Timers timers_;
  gke::TokenSource tokens_{http_, api_.url()};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::shared_ptr<Kubernetes> kubernetes_;
  std::unique_ptr<Informer> informer_;
};

TEST_F(InformerTest, TellsAllPagesBeforeItIsInSyncAndWatchesFromTheList) {
  api_.pages = {{"", list(object("a", "1", 3), 7, "more")}, {"more", list(object("b", "2", 4), 7)}};
  start();
  EXPECT_EQ(heard_until("in sync"), (Told{"+a/1", "+b/2", "in sync"}));
  EXPECT_EQ(api_.watched_from(1), "7");
  const auto lists = api_.with([&] { return api_.lists(); });
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_NE(lists[0].find("falcon-installation%3Dtest"), std::string::npos) << lists[0];
}

TEST_F(InformerTest, GoesOnFromTheLastVersionWhenAWatchEndsInOrder) {
  api_.pages = {{"", list("", 7)}};
  start();
  heard_until("in sync");
  ASSERT_EQ(api_.watched_from(1), "7");
  api_.with([&] {
    const std::string added = event("ADDED", object("a", "1", 8));
    api_.say(added.substr(0, 20));  // a line is cut anywhere
    api_.say(added.substr(20));
    api_.say(event("MODIFIED", object("a", "1", 9)) + event("DELETED", object("a", "1", 10)));
    api_.say(event("BOOKMARK", R"({"metadata":{"resourceVersion":"25"}})"));
    api_.end();
  });
  EXPECT_EQ(api_.watched_from(2), "25");
  EXPECT_EQ(heard_until("-a/1"), (Told{"+a/1", "+a/1", "-a/1"}));
  EXPECT_EQ(api_.with([&] { return api_.lists().size(); }), 1U);  // no new list
}

TEST_F(InformerTest, AnErrorInsideAWatchMeansANewListThatTellsWhatHasVanished) {
  api_.pages = {{"", list(object("a", "1", 3) + "," + object("b", "2", 4), 7)}};
  start();
  heard_until("in sync");
  ASSERT_EQ(api_.watched_from(1), "7");
  api_.with([&] {
    // a is gone, b is another one of that name, c is new
    api_.pages = {{"", list(object("b", "3", 8) + "," + object("c", "4", 8), 9)}};
    api_.say(event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})"));
  });
  auto told = heard_until("in sync");
  ASSERT_EQ(told.size(), 6U);
  EXPECT_EQ(told.front(), "out of sync");
  EXPECT_EQ(told.back(), "in sync");
  std::ranges::sort(told);
  EXPECT_EQ(told, (Told{"+b/3", "+c/4", "-a/1", "-b/2", "in sync", "out of sync"}));
  EXPECT_EQ(api_.watched_from(2), "9");
}

TEST_F(InformerTest, AWatchRefusedAsTooOldMeansANewList) {
  api_.pages = {{"", list(object("a", "1", 3), 7)}};
  api_.watch_status = 410;
  start();
  EXPECT_EQ(heard_until("out of sync"), (Told{"+a/1", "in sync", "out of sync"}));
  EXPECT_EQ(heard_until("in sync"), (Told{"+a/1", "in sync"}));
  EXPECT_EQ(api_.watched_from(2), "7");
}

// Else a stranger's "{}" would tell that all is gone, and Falcon would act on it.
TEST_F(InformerTest, AnAnswerThatIsNoListTellsNothing) {
  api_.strange = {"{}", R"({"kind":"List","metadata":{},"items":[]})"};
  api_.pages = {{"", list(object("a", "1", 3), 7)}};
  start();
  EXPECT_EQ(heard_until("in sync"), (Told{"+a/1", "in sync"}));
  EXPECT_EQ(api_.with([&] { return api_.lists().size(); }), 3U);
}

// It may stand in every watch from now on: ever slower, and whoever asks is told why.
TEST_F(InformerTest, AWatchThatCannotBeReadIsListedAnewEverSlowerAndTold) {
  api_.pages = {{"", list(object("a", "1", 3), 7)}};
  api_.first_words = "{\"type\":\"ADD\n";
  start();
  EXPECT_FALSE(api_.watched_from(3).empty());
  api_.with([&] {
    EXPECT_GE(api_.list_gap(1), 800ms);
    EXPECT_GE(api_.list_gap(2), 1600ms);
  });
  // Also while the list after it was fine and the next watch is young.
  EXPECT_NE(informer_->trouble().find("not readable"), std::string::npos) << informer_->trouble();
  EXPECT_NE(informer_->trouble().find("\"ADD"), std::string::npos) << informer_->trouble();
}

TEST_F(InformerTest, AWatchThatEndsAtOnceIsNotOpenedAgainAtOnce) {
  api_.pages = {{"", list("", 7)}};
  api_.first_words = event("ADDED", object("a", "1", 8));
  api_.end_at_once = true;
  start();
  ASSERT_FALSE(api_.watched_from(1).empty());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(api_.watched_from(3), "8");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 1500ms);
  EXPECT_EQ(api_.with([&] { return api_.lists().size(); }), 1U);
}

// What a list lacks has vanished: an item that cannot be read must not count as lacking.
TEST_F(InformerTest, AListWithAnItemThatCannotBeReadTellsNothing) {
  api_.strange = {list(object("a", "1", 3) + ",7", 7), list(object("", "1", 3), 7),
                  R"({"kind":"List","metadata":{"resourceVersion":"7"},"items":{}})"};
  api_.pages = {{"", list(object("a", "1", 3), 7)}};
  start();
  EXPECT_EQ(heard_until("in sync"), (Told{"+a/1", "in sync"}));
  EXPECT_EQ(api_.with([&] { return api_.lists().size(); }), 4U);
}

}  // namespace
}  // namespace falcon::kube
