// Goal: what field cases and past mistakes did to users does not happen again. Method: single lives
// with one thing going wrong (story_fixture_test.h).
#include "simulation/story_fixture_test.h"

namespace falcon::simulation {
namespace {

void expect_ended_in_order(const model::JobRow& row) {
  ASSERT_TRUE(row.state.started_at && row.state.finished_at && row.state.dispatched_at);
  EXPECT_LE(*row.state.dispatched_at, *row.state.started_at);
  EXPECT_LE(*row.state.started_at, *row.state.finished_at);
  EXPECT_EQ(row.state.cleanup, model::Cleanup::kDone);
}

// Field case B08: the watch is cut at the first change, so that the end is all that is ever seen.
TEST_F(Story, AJobThatWasNeverSeenRunningSucceeds) {
  add_job("quick", Duration(0)).program.duration = Duration(300);
  History& history = begin();
  once([&] { return some_pod_is(cloudsim::PodPhase::kPending); },
       [&] { history.cut_watches(std::chrono::minutes(2)); });
  tell();
  EXPECT_FALSE(first("> pod", "phase 1"));  // that is the case
  EXPECT_EQ(row("quick").state.status, model::JobStatus::kSucceeded);
  expect_ended_in_order(row("quick"));
  const auto seen = first("> workload", "ended");
  const auto told = first("< write-job", "Succeeded");
  ASSERT_TRUE(seen && told);
  EXPECT_LE(*told - *seen, 5.0);
  EXPECT_TRUE(first("< delete-pool", ""));
}

// Field case B08, with a restart: the first list of the new process shows a Job that is over.
TEST_F(Story, AJobThatEndedWhileTheControllerWasAwaySucceeds) {
  add_job("quick", Duration(0)).program.duration = Duration(300);
  History& history = begin();
  once([&] { return some_pod_is(cloudsim::PodPhase::kPending); }, [&] { history.crash(); });
  tell();
  EXPECT_FALSE(first("> pod", "phase 1"));
  EXPECT_EQ(row("quick").state.status, model::JobStatus::kSucceeded);
  expect_ended_in_order(row("quick"));
}

// Field case B08, with a program that fails at once.
TEST_F(Story, AJobThatFailedUnseenHasItsExitCode) {
  JobPlan& job = add_job("quick", Duration(0));
  job.program.duration = Duration(100);
  job.program.exit_code = 2;
  History& history = begin();
  once([&] { return some_pod_is(cloudsim::PodPhase::kPending); }, [&] { history.crash(); });
  tell();
  EXPECT_EQ(row("quick").state.status, model::JobStatus::kFailed);
  EXPECT_EQ(row("quick").state.reason, model::Reason::kJobFailed);
  EXPECT_EQ(row("quick").state.exit_code, 2);
  expect_ended_in_order(row("quick"));
}

// Field case B18: pods write a checkpoint for 90 of their 120 s of grace; another job waits for the
// same machines.
TEST_F(Story, AbortedIsToldWhenThePodsAreGoneAndNotBefore) {
  JobPlan& first_job = add_job("first", Duration(0));
  first_job.program.never_ends = true;
  first_job.program.sigterm_takes = Duration(90'000);
  first_job.row.spec.termination_grace_seconds = 120;
  add_job("second", Duration(60'000)).program.duration = Duration(30'000);
  History& history = begin();
  once([&] { return row("first").state.status == model::JobStatus::kRunning; },
       [&] { history.after(Duration(30'000), [&] { history.abort(model::JobId("first")); }); });
  tell();
  EXPECT_EQ(row("first").state.status, model::JobStatus::kAborted);
  EXPECT_EQ(row("second").state.status, model::JobStatus::kSucceeded);
  const auto aborted = first("abort", "first");
  const auto told = first("< write-job", "Aborted");
  const auto second_made = last("< create-workload", "");
  ASSERT_TRUE(aborted && told && second_made);
  const auto vanished = times_of("> pod-vanished", "");
  ASSERT_GE(vanished.size(), 2U);
  const double both_gone = vanished[1];
  EXPECT_GE(both_gone - *aborted, 90.0);  // the whole time that they asked for
  EXPECT_GE(*told, both_gone);
  EXPECT_GE(*second_made, both_gone);
  for (const double deleted : times_of("< delete-pool", "")) EXPECT_GE(deleted, both_gone);
}

// Field case B18, where one pod never goes: its machine is lost.
TEST_F(Story, APodThatNeverGoesEndsWithItsPool) {
  JobPlan& job = add_job("first", Duration(0));
  job.program.never_ends = true;
  job.row.spec.termination_grace_seconds = 120;
  plan_.world.unreachable_toleration = std::chrono::hours(24);
  plan_.world.node_silence = Duration(40'000);
  plan_.world.chance(cloudsim::Fault::kSlowPool) = {};
  History& history = begin();
  once([&] { return row("first").state.status == model::JobStatus::kRunning; },
       [&] {
         const auto node = history.world().inventory().nodes.front();
         history.world().lose_node(node.cluster, model::NodeName(node.object->name));
         history.after(Duration(1'000), [&] { history.abort(model::JobId("first")); });
       });
  tell();
  EXPECT_EQ(row("first").state.status, model::JobStatus::kAborted);
  const auto aborted = first("abort", "first");
  const auto pool_deleted = first("< delete-pool", "");
  const auto told = first("< write-job", "Aborted");
  ASSERT_TRUE(aborted && pool_deleted && told);
  EXPECT_GE(*pool_deleted - *aborted, 120.0);  // the grace of whoever may still run
  EXPECT_GT(*told, *pool_deleted);
}

// Field case B19 d: the run is over, its news has not arrived, and the abort comes.
TEST_F(Story, AnAbortAfterTheEndLeavesTheResult) {
  add_job("done", Duration(0)).program.duration = Duration(20'000);
  History& history = begin();
  once([&] { return row("done").state.status == model::JobStatus::kRunning; },
       [&] { history.cut_watches(std::chrono::minutes(2)); });
  once([&] { return some_job_is("Complete"); }, [&] { history.abort(model::JobId("done")); });
  tell();
  ASSERT_TRUE(first("abort", "done"));
  EXPECT_EQ(row("done").state.status, model::JobStatus::kSucceeded);
  EXPECT_TRUE(row("done").aborting_at);
}

// A row that the database refuses waits alone; all others go on.
TEST_F(Story, ARefusedRowHoldsUpNobodyElse) {
  plan_.capacity = {{"ct5p-hightpu-4t", 8}};
  plan_.clusters.push_back(plan_.clusters.front());
  plan_.clusters.back().id = model::ClusterId("c1");
  plan_.clusters.back().name = "gke1";
  add_job("bad", Duration(0));
  for (int i = 0; i < 3; ++i) add_job("good" + std::to_string(i), Duration(1'000 + i * 300'000));
  History& history = begin();
  history.database().refuses = [](const core::StateChange& change) {
    const auto* pool = std::get_if<core::PutPool>(&change);
    return pool != nullptr && pool->row.owner == model::JobId("bad");
  };
  history.after(std::chrono::minutes(40), [&] {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(row("good" + std::to_string(i)).state.status, model::JobStatus::kSucceeded);
    EXPECT_EQ(row("bad").state.status, model::JobStatus::kPending);
    history.database().refuses = nullptr;
  });
  tell();
  EXPECT_EQ(row("bad").state.status, model::JobStatus::kSucceeded);
}

// Between the turn and the row of the job that took it: the job goes on, and takes no second turn.
TEST_F(Story, ACrashAfterTheTurnKeepsTheTurn) {
  add_job("first", Duration(0));
  History& history = begin();
  once([&] { return !history.database().snapshot().turns.empty(); }, [&] { history.crash(); });
  tell();
  EXPECT_EQ(row("first").state.status, model::JobStatus::kSucceeded);
  const auto turns = history.database().snapshot().turns;
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns.front().turn, 1U);
}

// Two creates leave, the first is late: it arrives when the Job that the second made has been
// deleted. The pool does not serve again, and what the late one made goes with it.
TEST_F(Story, ALateCreateOfAnEndedJobRunsNowhere) {
  add_job("first", Duration(0)).program.duration = Duration(5'000);
  History& history = begin();
  history.delay_once("create-workload", std::chrono::minutes(4));
  tell();
  ASSERT_EQ(times_of("late", "").size(), 1U);
  EXPECT_EQ(times_of("< create-workload", "").size(), 2U);
  EXPECT_EQ(row("first").state.status, model::JobStatus::kSucceeded);
  EXPECT_TRUE(history.world().inventory().jobs.empty());
  EXPECT_TRUE(history.world().inventory().pools.empty());
}

// The same with an abort, while Google is busy and the pool stays for half an hour: what the late
// create made is taken away as well, and only then the job is Aborted.
TEST_F(Story, WhatALateCreateOfAnAbortedJobMadeIsTakenAway) {
  add_job("first", Duration(0)).program.duration = Duration(7'200'000);
  History& history = begin();
  history.delay_once("create-workload", std::chrono::minutes(4));
  once([&] { return row("first").state.status == model::JobStatus::kRunning; },
       [&] {
         history.world().begin_cluster_operation(model::gke_cluster_of(plan_.clusters.front()),
                                                 std::chrono::minutes(30));
         history.abort(model::JobId("first"));
       });
  tell();
  ASSERT_EQ(times_of("late", "").size(), 1U);
  EXPECT_EQ(row("first").state.status, model::JobStatus::kAborted);
  const auto late = first("late", "");
  const auto told = first("< write-job", "Aborted");
  const auto deletes = times_of("< delete-workload", "");
  ASSERT_TRUE(late && told);
  ASSERT_EQ(deletes.size(), 2U);
  EXPECT_LT(deletes.back(), *late + 60) << "it does not run until the pool can go";
  EXPECT_GT(*told, deletes.back());
}

}  // namespace
}  // namespace falcon::simulation
