#include "controller/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "controller/cloud_fixture_test.h"

namespace falcon::controller {
namespace {

class FleetTest : public testing::Test {
 protected:
  void SetUp() override {
    gke::GkeSettings settings;
    settings.container_url = google_.url();
    settings.compute_url = google_.url();
    gke_.emplace(http_, tokens_, settings);
    loop_.start();
  }
  void start(FleetSettings settings = {}) {
    on_loop([&] {
      fleet_.emplace(
          loop_, http_, timers_, tokens_, *gke_, model::Installation("test"),
          [this](const core::Event& event) { hear(event); },
          [this](const model::GkeCluster&, model::ClusterHealth health, const std::string& words) {
            hear_health(health, words);
          },
          settings);
    });
  }
  void TearDown() override {
    on_loop([&] { fleet_.reset(); });
    loop_.stop();
  }
  // Runs it on the loop's thread, and waits for that.
  void on_loop(const std::function<void()>& call) {
    std::promise<void> done;
    loop_.post([&] {
      call();
      done.set_value();
    });
    done.get_future().wait();
  }
  void hear(const core::Event& event) {
    told_.with([&] {
      if (const auto* sync = std::get_if<core::KubernetesSynced>(&event))
        heard_.push_back(sync->in_sync ? "in sync" : "out of sync");
      if (const auto* pod = std::get_if<core::PodSeen>(&event))
        heard_.push_back("+" + pod->pod.name.value());
      if (const auto* pod = std::get_if<core::PodVanished>(&event))
        heard_.push_back("-" + pod->name.value());
      return 0;
    });
  }
  void hear_health(model::ClusterHealth health, const std::string& words) {
    told_.with([&] {
      health_ = health;
      words_ = words;
      return 0;
    });
  }
  // What was told since the last call, once `last` has been.
  std::vector<std::string> heard_until(const std::string& last) {
    EXPECT_TRUE(told_.wait([&] { return std::ranges::find(heard_, last) != heard_.end(); }))
        << last;
    return told_.with([&] { return std::exchange(heard_, {}); });
  }
  void place(const std::string& endpoint, const std::string& ca_pem) {
    google_.with([&] {
      google_.places["c"] = {endpoint, ca_pem};
      return 0;
    });
  }
  static bool watched(FakeKubernetes& kubernetes, int watches) {
    return kubernetes.wait([&] { return kubernetes.watches == watches; });
  }
  using Told = std::vector<std::string>;
  static constexpr int kStreams = 3;  // jobs, pods, nodes

  const model::GkeCluster cluster_{"p", "l", "c"};
  FakeGoogle google_;
  FakeKubernetes kubernetes_;
  FakeKubernetes elsewhere_;
  Loop loop_{[] {}};
  http::Timers timers_;
  gke::TokenSource tokens_{http_, google_.url()};
  std::optional<gke::Gke> gke_;
  Watched told_;
  std::optional<model::ClusterHealth> health_;  // found last
  std::string words_;
  std::vector<std::string> heard_;
  std::optional<Fleet> fleet_;  // the loop's thread only
  http::Client http_;           // ends first: its last callbacks use the others
};

TEST_F(FleetTest, ADisconnectedClusterIsLetGoAndConnectedAgain) {
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  kubernetes_.with([&] { return (kubernetes_.pods = {"a", "b"}).size(); });
  start();
  on_loop([&] { fleet_->connect(cluster_); });
  EXPECT_EQ(heard_until("in sync").back(), "in sync");
  ASSERT_TRUE(watched(kubernetes_, kStreams));

  on_loop([&] {
    fleet_->disconnect(cluster_);
    EXPECT_EQ(fleet_->kubernetes(cluster_), nullptr);
  });
  EXPECT_EQ(heard_until("out of sync"), (Told{"out of sync"}));
  ASSERT_TRUE(watched(kubernetes_, 0));
  on_loop([&] { fleet_->disconnect(cluster_); });  // no effect

  // What vanished meanwhile is told.
  kubernetes_.with([&] { return (kubernetes_.pods = {"b"}).size(); });
  on_loop([&] { fleet_->connect(cluster_); });
  auto told = heard_until("in sync");
  EXPECT_EQ(told.back(), "in sync");
  EXPECT_EQ(std::ranges::count(told, "-a"), 1);
  EXPECT_EQ(std::ranges::count(told, "-b"), 0);
  ASSERT_TRUE(watched(kubernetes_, kStreams));
  on_loop([&] { EXPECT_NE(fleet_->kubernetes(cluster_), nullptr); });
}

TEST_F(FleetTest, OneThatIsNotFoundIsNoLongerAskedForOnceDisconnected) {
  start();
  on_loop([&] { fleet_->connect(cluster_); });
  ASSERT_TRUE(google_.wait([&] { return google_.asked["c"] >= 1; }));
  on_loop([&] {
    fleet_->disconnect(cluster_);
    fleet_->connect(cluster_);  // anew, and not twice
  });
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  ASSERT_TRUE(watched(kubernetes_, kStreams));
  on_loop([&] { EXPECT_NE(fleet_->kubernetes(cluster_), nullptr); });
}

TEST_F(FleetTest, TellsWhatEachLookFound) {
  start({Duration(20), 1'000, 2});
  on_loop([&] { fleet_->connect(cluster_); });
  ASSERT_TRUE(told_.wait([&] { return health_ == model::ClusterHealth::kNotFound; }));
  EXPECT_NE(told_.with([&] { return words_; }).find("no cluster"), std::string::npos);
  place(kubernetes_.endpoint(), elsewhere_.ca_pem());  // not the one that it shows
  ASSERT_TRUE(told_.wait([&] { return health_ == model::ClusterHealth::kUnreachable; }));
  EXPECT_NE(told_.with([&] { return words_; }), "");
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  ASSERT_TRUE(told_.wait([&] { return health_ == model::ClusterHealth::kReachable; }));
}

TEST_F(FleetTest, FollowsAClusterThatHasMoved) {
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  start({Duration(20), 3, 2});
  on_loop([&] { fleet_->connect(cluster_); });
  ASSERT_TRUE(watched(kubernetes_, kStreams));
  place(elsewhere_.endpoint(), elsewhere_.ca_pem());
  ASSERT_TRUE(watched(elsewhere_, kStreams));
  ASSERT_TRUE(watched(kubernetes_, 0));
}

TEST_F(FleetTest, FollowsANewCertificateOfTheSameAddress) {
  place(kubernetes_.endpoint(), elsewhere_.ca_pem());  // not the one that it shows
  start({Duration(20), 1'000, 2});
  on_loop([&] { fleet_->connect(cluster_); });
  ASSERT_TRUE(google_.wait([&] { return google_.asked["c"] >= 2; }));  // it is in trouble
  EXPECT_EQ(kubernetes_.with([&] { return kubernetes_.watches; }), 0);
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  ASSERT_TRUE(watched(kubernetes_, kStreams));
}

TEST_F(FleetTest, ItsEndEndsTheWatchesAndTellsNothing) {
  place(kubernetes_.endpoint(), kubernetes_.ca_pem());
  start();
  on_loop([&] { fleet_->connect(cluster_); });
  heard_until("in sync");
  ASSERT_TRUE(watched(kubernetes_, kStreams));
  on_loop([&] { fleet_.reset(); });
  told_.with([&] { return std::exchange(heard_, {}); });
  ASSERT_TRUE(watched(kubernetes_, 0));
  EXPECT_EQ(told_.with([&] { return heard_; }), Told{});
}

}  // namespace
}  // namespace falcon::controller
