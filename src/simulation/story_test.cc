// Single lives told to the end: the real core in the simulated cloud, with one thing going wrong at
// a chosen moment. The laws are checked all the way; the tests read the trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "simulation/history.h"

namespace falcon::simulation {
namespace {

struct Line {
  double at = 0;
  std::string text;  // as History notes it, the number of a command included
};

class Story : public testing::Test {
 protected:
  // One cluster with machines for `machines`; nothing fails unless the story says so.
  Story() {
    plan_.seed = 7;
    model::ClusterRow row;
    row.id = model::ClusterId("c0");
    row.name = "gke0";
    row.project = "p";
    row.location = "us-east5";
    row.zone = "us-east5-b";
    row.gcs_bucket = "b";
    row.tpu_type = "v5p";
    row.version = 1;
    plan_.clusters.push_back(row);
    plan_.capacity = {{"ct5p-hightpu-4t", 2}};
    plan_.faults_stop = std::chrono::hours(2);
  }

  // Two pods on two hosts.
  JobPlan& add_job(const std::string& id, Duration submit_after) {
    JobPlan job;
    job.row.id = model::JobId(id);
    job.row.name = id;
    job.row.actor = model::Actor("ann");
    job.row.spec.image = "image";
    job.row.spec.command = {"run"};
    job.row.spec.tpu_type = "v5p";
    job.row.spec.topology = "2x2x2";
    job.row.spec.supply_mode = model::SupplyMode::kOnDemand;
    job.row.spec.timeout_seconds = 3'600;
    job.row.spec.termination_grace_seconds = 30;
    job.submit_after = submit_after;
    plan_.jobs.push_back(std::move(job));
    return plan_.jobs.back();
  }

  History& begin() { return history_.emplace(plan_, &trace_); }

  void tell() {
    const HistoryResult result = history_->run();
    EXPECT_EQ(result.violation, "");
    std::string text;
    while (std::getline(trace_, text)) {
      if (text.size() < 12 || text.find_first_not_of(" 0123456789.") != 12) continue;
      lines_.push_back({std::stod(text.substr(0, 11)), text.substr(12)});
    }
    ASSERT_FALSE(lines_.empty());
  }

  const model::JobRow& row(const std::string& id) {
    return history_->database().jobs().at(model::JobId(id));
  }
  std::vector<double> times_of(const std::string& kind, const std::string& words) const {
    std::vector<double> times;
    for (const Line& line : lines_)
      if (line.text.starts_with(kind) && line.text.find(words) != std::string::npos)
        times.push_back(line.at);
    return times;
  }
  std::optional<double> first(const std::string& kind, const std::string& words) const {
    const auto times = times_of(kind, words);
    return times.empty() ? std::nullopt : std::optional(times.front());
  }
  std::optional<double> last(const std::string& kind, const std::string& words) const {
    const auto times = times_of(kind, words);
    return times.empty() ? std::nullopt : std::optional(times.back());
  }

  // Looks ten times a second until `seen` holds, then acts, once.
  void once(std::function<bool()> seen, std::function<void()> act) {
    history_->after(Duration(100), [this, seen = std::move(seen), act = std::move(act)]() mutable {
      if (seen())
        act();
      else
        once(std::move(seen), std::move(act));
    });
  }
  bool some_pod_is(cloudsim::PodPhase phase) {
    return std::ranges::any_of(history_->world().inventory().pods,
                               [&](const auto& pod) { return pod.object->pod().phase == phase; });
  }
  bool some_job_is(std::string_view condition) {
    return std::ranges::any_of(history_->world().inventory().jobs, [&](const auto& job) {
      return cloudsim::find_condition(job.object->job(), condition) != nullptr;
    });
  }

  HistoryPlan plan_;
  std::optional<History> history_;
  std::stringstream trace_;
  std::vector<Line> lines_;
};

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

}  // namespace
}  // namespace falcon::simulation
