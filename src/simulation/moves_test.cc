// Goal: nobody waits in one cluster while another could serve him at once. Method: single lives
// (story_fixture_test.h).
#include "simulation/story_fixture_test.h"

namespace falcon::simulation {
namespace {

using model::ClusterStatus;
using model::JobStatus;

class Moves : public Story {
 protected:
  // A second cluster, which is in maintenance at first.
  Moves() {
    model::ClusterRow row = plan_.clusters.front();
    row.id = model::ClusterId("c1");
    row.name = "gke1";
    row.status = ClusterStatus::kMaintenance;
    plan_.clusters.push_back(row);
    plan_.capacity = {{"ct5p-hightpu-4t", 64}};
  }
  JobPlan& add(const std::string& id, Duration after, Duration duration) {
    JobPlan& job = add_job(id, after);
    job.program.duration = duration;
    return job;
  }
  double seconds_of(const std::optional<WallTime>& time) {
    return static_cast<double>(time->time_since_epoch().count()) / 1'000;
  }
  const model::ClusterId c0_{"c0"};
  const model::ClusterId c1_{"c1"};
};

TEST_F(Moves, AFreeQueueTakesWhoWouldBeNextElsewhere) {
  for (const char* id : {"one", "two", "three"}) add(id, Duration(0), Duration(30'000));
  History& history = begin();
  history.after(Duration(10'000), [&] { history.set_cluster(c1_, ClusterStatus::kActive); });
  tell();
  EXPECT_EQ(row("one").state.cluster, c0_);
  EXPECT_EQ(row("three").state.cluster, c1_);  // of one instant, the order is that of the ids
  for (const char* id : {"one", "two", "three"})
    EXPECT_EQ(row(id).state.status, JobStatus::kSucceeded);
  // Both acquire at the same time, so they begin at about the same time.
  EXPECT_LT(seconds_of(row("three").state.started_at) - seconds_of(row("one").state.started_at),
            60);
}

TEST_F(Moves, AnIdlePoolTakesWhoWaitsElsewhere) {
  plan_.clusters.back().status = ClusterStatus::kActive;
  plan_.clusters.front().status = ClusterStatus::kMaintenance;
  add("here", Duration(0), Duration(300'000));
  History& history = begin();
  history.after(std::chrono::minutes(3), [&] { history.set_cluster(c0_, ClusterStatus::kActive); });
  tell();
  const double ends = seconds_of(row("here").state.finished_at);
  ASSERT_GT(ends, 300);

  // The same again, and shortly before the pool of "here" becomes free others come: one takes the
  // slot of c0, one that can't use that pool takes the slot of c1, and the third waits in c0.
  const Duration before_end(static_cast<std::int64_t>(ends * 1'000) - 20'000);
  add("first", before_end, Duration(30'000));
  add("flex", before_end + Duration(1'500), Duration(30'000)).row.spec.supply_mode =
      model::SupplyMode::kFlexStart;
  add("third", before_end + Duration(3'000), Duration(30'000));
  History& again = begin();
  again.after(std::chrono::minutes(3), [&] { again.set_cluster(c0_, ClusterStatus::kActive); });
  tell();
  for (const char* id : {"here", "first", "flex", "third"})
    EXPECT_EQ(row(id).state.status, JobStatus::kSucceeded) << id;
  EXPECT_EQ(row("first").state.cluster, c0_);
  EXPECT_EQ(row("third").state.cluster, c1_);
  EXPECT_EQ(row("third").state.node_pool_name, row("here").state.node_pool_name);
  EXPECT_EQ(row("third").state.provision, 0U);
}

TEST_F(Moves, AClusterThatIsNotActiveTakesNobody) {
  for (const char* id : {"one", "two"}) add(id, Duration(0), Duration(30'000));
  begin();
  tell();
  EXPECT_EQ(row("one").state.cluster, c0_);
  EXPECT_EQ(row("two").state.cluster, c0_);
}

// C4: RUNNING without Ready nodes; a job of another shape lacks just these machines.
TEST_F(Moves, APoolWithoutMachinesGivesWayToAnotherShape) {
  plan_.clusters.pop_back();
  plan_.clusters.front().default_reservation = "r";
  cloudsim::ReservationSetup reservation;
  reservation.id = model::reservation_of(plan_.clusters.front());
  reservation.machine_type = "ct5p-hightpu-4t";
  reservation.total = 2;
  plan_.reservations.push_back(reservation);
  const auto reserved = [](JobPlan& job) { job.row.spec.supply_mode = std::nullopt; };
  reserved(add("big", Duration(0), Duration(30'000)));
  JobPlan& small = add("small", std::chrono::minutes(5), Duration(30'000));
  reserved(small);
  small.row.spec.topology = "2x2x1";
  small.row.actor = model::Actor("bob");
  plan_.faults_stop = std::chrono::hours(6);
  plan_.world.slow_ready = {std::chrono::hours(3), std::chrono::hours(3)};
  History& history = begin();
  history.world().arm({.fault = cloudsim::Fault::kSlowReady, .times = 1});
  tell();
  EXPECT_EQ(row("small").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("big").state.status, JobStatus::kSucceeded);
  EXPECT_LT(*row("small").state.started_at, *row("big").state.started_at);
  EXPECT_EQ(row("big").state.provision, 2U);
  const auto told = first("< write-job", "Pending Waiting GaveWay");
  const auto waits = first("< write-job", "Pending WaitingForNode");
  ASSERT_TRUE(told && waits);
  EXPECT_GE(*told - *waits, 15 * 60 - 60);
  EXPECT_LE(*told - *waits, 15 * 60 + 60);
}

TEST_F(Moves, APoolWithoutMachinesIsKeptWhereNobodyLacksThem) {
  plan_.clusters.pop_back();
  add("big", Duration(0), Duration(30'000));
  plan_.world.slow_ready = {std::chrono::hours(1), std::chrono::hours(1)};
  History& history = begin();
  history.world().arm({.fault = cloudsim::Fault::kSlowReady, .times = 1});
  tell();
  EXPECT_EQ(row("big").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("big").state.provision, 1U);
}

}  // namespace
}  // namespace falcon::simulation
