// Goal: machines that stand idle go back to GKE even while Falcon is dead, and a job whose machines
// went that way gets others. Method: single lives (story_fixture_test.h).
#include "simulation/story_fixture_test.h"

namespace falcon::simulation {
namespace {

using model::JobStatus;

constexpr Duration kHour{3'600'000};
constexpr Duration kQuarter{15 * 60'000};

class GivenBack : public Story {
 protected:
  std::size_t nodes() { return history_->world().inventory().nodes.size(); }
  bool all_ready() {
    const auto inventory = history_->world().inventory();
    return inventory.nodes.size() == 2 &&
           std::ranges::all_of(inventory.nodes, [](const auto& node) {
             return node.object->node().ready == cloudsim::Readiness::kTrue;
           });
  }
  // Falcon dies for an hour when all machines of the job are ready: how many there are 15 min
  // later.
  std::optional<std::size_t> nodes_left_by_a_death_before_dispatch() {
    add_job("train", Duration(0)).program.duration = Duration(60'000);
    begin();
    std::optional<std::size_t> left;
    once([this] { return all_ready(); }, [this] { history_->crash(kHour); });
    count_nodes([this] { return all_ready(); }, kQuarter, left);
    tell();
    return left;
  }
  // How many nodes there are after `delay` from the moment that `seen` holds.
  void count_nodes(std::function<bool()> seen, Duration delay, std::optional<std::size_t>& count) {
    once(std::move(seen),
         [this, delay, &count] { history_->after(delay, [this, &count] { count = nodes(); }); });
  }
};

TEST_F(GivenBack, FalconDiesBeforeTheJobIsSubmitted) {
  const auto left = nodes_left_by_a_death_before_dispatch();
  EXPECT_EQ(left, 0U) << "machines that nobody uses stand there while Falcon is dead";
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("train").state.disruptions, 0U) << "it had not run";
}

TEST_F(GivenBack, FalconDiesWhileAJobRunsAndComesBackAfterItsEnd) {
  add_job("train", Duration(0)).program.duration = Duration(600'000);
  begin();
  std::optional<std::size_t> left;
  const auto runs = [this] { return row("train").state.status == JobStatus::kRunning; };
  once(runs, [this] { history_->crash(kHour); });
  count_nodes(runs, Duration(600'000) + kQuarter, left);
  tell();
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("train").state.attempt, 1U);
}

// Where the cluster's version has no such thing, machines wait for Falcon.
TEST_F(GivenBack, AnOldClusterKeepsThemUntilFalconIsBack) {
  plan_.old_clusters = {"gke0"};
  const auto left = nodes_left_by_a_death_before_dispatch();
  EXPECT_EQ(left, 2U);
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(times_of("< create-pool", "").size(), 1U);
}

// A machine breaks while the others are still on their way: GKE takes the slice down, and brings it
// again for pods alone.
TEST_F(GivenBack, ASliceThatBrokeBeforeItWasWholeComesForThePods) {
  add_job("train", Duration(0)).program.duration = Duration(60'000);
  begin();
  once([this] { return nodes() > 0 && !all_ready(); },
       [this] {
         const auto node = history_->world().inventory().nodes.front();
         history_->world().lose_node(node.cluster, model::NodeName(node.object->name));
       });
  tell();
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("train").state.disruptions, 0U) << "it had not run";
}

}  // namespace
}  // namespace falcon::simulation
