// Goal: a job that has no machines within its own limit ends and leaves nothing; one that has them
// never ends for that. Method: single lives (story_fixture_test.h).
#include "simulation/story_fixture_test.h"

namespace falcon::simulation {
namespace {

using model::JobStatus;
using model::Reason;

class WaitLimit : public Story {
 protected:
  double waited(const std::string& id) {
    const model::JobRow& job = row(id);
    return static_cast<double>((*job.state.finished_at - job.created_at).count()) / 1'000;
  }
};

TEST_F(WaitLimit, AJobBehindALongOneGivesUpInTime) {
  add_job("long", Duration(0)).program.duration = Duration(1'800'000);
  JobPlan& second = add_job("second", Duration(60'000));
  second.row.actor = model::Actor("bob");
  second.row.spec.max_wait_seconds = 600;
  second.program.duration = Duration(10'000);
  begin();
  tell();
  EXPECT_EQ(row("long").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("second").state.status, JobStatus::kFailed);
  EXPECT_EQ(row("second").state.reason, Reason::kWaitTimeout);
  EXPECT_GE(waited("second"), 600);
  EXPECT_LT(waited("second"), 605);
  EXPECT_FALSE(row("second").state.started_at);
}

TEST_F(WaitLimit, PassesWhileFalconIsAway) {
  add_job("long", Duration(0)).program.duration = Duration(3'000'000);
  JobPlan& second = add_job("second", Duration(60'000));
  second.row.spec.max_wait_seconds = 600;
  begin();
  history_->after(Duration(90'000), [this] { history_->crash(Duration(1'800'000)); });
  tell();
  EXPECT_EQ(row("second").state.reason, Reason::kWaitTimeout);
  EXPECT_LT(waited("second"), 1'900);
}

// Flex-start: the Kubernetes Job stands and waits for machines. It is taken back first.
TEST_F(WaitLimit, AFlexStartJobWhoseMachinesDoNotComeIsTakenBack) {
  plan_.capacity = {{"ct5p-hightpu-4t", 1}};  // one of two
  JobPlan& job = add_job("flex", Duration(0));
  job.row.spec.supply_mode = model::SupplyMode::kFlexStart;
  job.row.spec.max_wait_seconds = 900;
  begin();
  tell();
  EXPECT_EQ(row("flex").state.reason, Reason::kWaitTimeout);
  EXPECT_EQ(times_of("< create-workload", "").size(), 1U);
  EXPECT_GE(times_of("< delete-workload", "").size(), 1U);
}

// The limit is for machines: a job that has them goes on, however long its pods take, and a job
// that ran before goes on waiting.
TEST_F(WaitLimit, EndsWithTheMachines) {
  JobPlan& job = add_job("train", Duration(0));
  job.row.spec.max_wait_seconds = 600;
  job.row.spec.max_retries = 1;
  job.program.duration = Duration(900'000);
  job.program.exit_code = 3;
  job.heals_at_attempt = 2;
  begin();
  tell();
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("train").state.attempt, 2U);
}

// The machines came in time, while Falcon was away; it comes back when the limit has passed.
TEST_F(WaitLimit, MachinesThatCameWhileFalconWasAwayCount) {
  JobPlan& job = add_job("train", Duration(0));
  job.row.spec.max_wait_seconds = 200;
  job.program.duration = Duration(60'000);
  begin();
  once(
      [this] {
        return !history_->database().pools().empty() &&
               history_->database().pools().begin()->second.phase == model::PoolPhase::kAccepted;
      },
      [this] { history_->crash(Duration(300'000)); });
  tell();
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
}

}  // namespace
}  // namespace falcon::simulation
