// Goal: a job that failed with retries left, or whose machines were lost, runs again, once at a
// time and as often as it may. Method: single lives (story_fixture_test.h).
#include "simulation/story_fixture_test.h"

namespace falcon::simulation {
namespace {

using model::JobStatus;
using model::Reason;

class RunsAgain : public Story {
 protected:
  // The next time that the job runs, something happens to it.
  void when_running(const std::string& id, std::function<void()> act) {
    once([this, id] { return row(id).state.status == JobStatus::kRunning; }, std::move(act));
  }
  void lose_a_node() {
    const auto nodes = history_->world().inventory().nodes;
    ASSERT_FALSE(nodes.empty());
    const auto& node = nodes.front();
    history_->world().lose_node(node.cluster, model::NodeName(node.object->name));
  }
  // Each next Kubernetes Job is asked for after the last one was seen to go.
  void expect_one_at_a_time() {
    const auto made = times_of("< create-workload", "");
    const auto gone = times_of("> workload-vanished", "");
    ASSERT_GE(gone.size() + 1, made.size());
    for (std::size_t i = 1; i < made.size(); ++i) EXPECT_GT(made[i], gone[i - 1]);
  }
};

TEST_F(RunsAgain, AFailedJobIsRetriedOnItsPoolUntilItSucceeds) {
  JobPlan& job = add_job("flaky", Duration(0));
  job.program.duration = Duration(10'000);
  job.program.exit_code = 3;
  job.heals_at_attempt = 3;
  job.row.spec.max_retries = 5;
  begin();
  tell();
  EXPECT_EQ(row("flaky").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("flaky").state.retries, 2U);
  EXPECT_EQ(row("flaky").state.attempt, 3U);
  EXPECT_EQ(row("flaky").state.disruptions, 0U);
  EXPECT_EQ(times_of("< create-pool", "").size(), 1U);
  EXPECT_EQ(times_of("< write-job", "Pending Waiting AttemptFailed").size(), 2U);
  expect_one_at_a_time();
}

TEST_F(RunsAgain, RetriesHaveAnEnd) {
  JobPlan& job = add_job("broken", Duration(0));
  job.program.duration = Duration(10'000);
  job.program.exit_code = 3;
  job.row.spec.max_retries = 1;
  begin();
  tell();
  EXPECT_EQ(row("broken").state.status, JobStatus::kFailed);
  EXPECT_EQ(row("broken").state.reason, Reason::kJobFailed);
  EXPECT_EQ(row("broken").state.exit_code, 3);
  EXPECT_EQ(row("broken").state.attempt, 2U);
  EXPECT_EQ(row("broken").state.retries, 1U);
}

// The pool of a job that is to run again is free for its moment: who waited longer, and was not
// served last, has it first.
TEST_F(RunsAgain, ARetryWaitsItsTurn) {
  JobPlan& job = add_job("broken", Duration(0));
  job.program.duration = Duration(10'000);
  job.program.exit_code = 3;
  job.row.spec.max_retries = 1;
  JobPlan& other = add_job("other", Duration(20'000));
  other.row.actor = model::Actor("bob");
  other.program.duration = Duration(10'000);
  begin();
  tell();
  EXPECT_EQ(row("other").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("broken").state.attempt, 2U);
  const auto made = times_of("< create-workload", "");
  ASSERT_EQ(made.size(), 3U);
  ASSERT_TRUE(row("other").state.finished_at && row("broken").state.finished_at);
  EXPECT_LT(*row("other").state.finished_at, *row("broken").state.finished_at);
}

// Field case B09: a machine falls silent, its pod gets a deletion time and seems to run for ever.
TEST_F(RunsAgain, ALostMachineEndsTheAttemptAndNotTheJob) {
  JobPlan& job = add_job("long", Duration(0));
  job.program.duration = Duration(1'200'000);
  job.row.spec.timeout_seconds = 7'200;
  job.row.spec.max_retries = 2;
  plan_.capacity = {{"ct5p-hightpu-4t", 8}};
  plan_.world.node_silence = Duration(40'000);
  plan_.world.unreachable_toleration = std::chrono::minutes(5);
  begin();
  when_running("long", [&] { history_->after(std::chrono::minutes(10), [&] { lose_a_node(); }); });
  tell();
  EXPECT_EQ(row("long").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("long").state.disruptions, 1U);
  EXPECT_EQ(row("long").state.retries, 0U);
  EXPECT_EQ(row("long").state.attempt, 2U);
  EXPECT_EQ(row("long").state.provision, 2U);  // the pool of the lost machine is not used again
  const auto told = first("< write-job", "AttemptDisrupted");
  const auto running = first("< write-job", "Running");
  ASSERT_TRUE(told && running);
  EXPECT_LE(*told - *running, 600 + 40 + 300 + 60);  // ten minutes, silence, grace, a minute
  EXPECT_GE(times_of("< delete-pool", "").size(), 2U);
}

// Field case B09, the variant: the machine and its pod vanish.
TEST_F(RunsAgain, APoolThatAPersonDeletesIsReplaced) {
  JobPlan& job = add_job("long", Duration(0));
  job.program.duration = Duration(600'000);
  plan_.capacity = {{"ct5p-hightpu-4t", 8}};
  begin();
  when_running("long", [&] {
    const auto pool = history_->world().inventory().pools.front();
    (void)history_->world().delete_pool(pool.cluster, pool.record.name);
  });
  tell();
  EXPECT_EQ(row("long").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("long").state.disruptions, 1U);
  expect_one_at_a_time();
}

TEST_F(RunsAgain, LostMachinesHaveAnEnd) {
  JobPlan& job = add_job("unlucky", Duration(0));
  job.program.duration = Duration(3'600'000);
  job.row.spec.timeout_seconds = 7'200;
  plan_.capacity = {{"ct5p-hightpu-4t", 8}};
  plan_.faults_stop = std::chrono::hours(24);
  begin();
  for (int i = 0; i < 6; ++i)
    history_->after(std::chrono::minutes(40 * (i + 1)), [this] {
      if (row("unlucky").state.status == JobStatus::kRunning) lose_a_node();
    });
  tell();
  EXPECT_EQ(row("unlucky").state.status, JobStatus::kFailed);
  EXPECT_EQ(row("unlucky").state.reason, Reason::kDisrupted);
  EXPECT_EQ(row("unlucky").state.disruptions, 3U);
  EXPECT_EQ(row("unlucky").state.attempt, 4U);
}

TEST_F(RunsAgain, AnAbortWhileTheLastAttemptIsClearedAwayIsTheEnd) {
  JobPlan& job = add_job("broken", Duration(0));
  job.program.duration = Duration(10'000);
  job.program.exit_code = 3;
  job.row.spec.max_retries = 10;
  begin();
  once([&] { return row("broken").state.attempts_over == 2; },
       [&] { history_->abort(model::JobId("broken")); });
  tell();
  EXPECT_EQ(row("broken").state.status, JobStatus::kAborted);
  EXPECT_EQ(row("broken").state.attempt, 2U);
}

TEST_F(RunsAgain, ARestartForgetsNoRetry) {
  JobPlan& job = add_job("flaky", Duration(0));
  job.program.duration = Duration(10'000);
  job.program.exit_code = 3;
  job.heals_at_attempt = 4;
  job.row.spec.max_retries = 3;
  begin();
  for (std::uint32_t over = 1; over <= 3; ++over)
    once([this, over] { return row("flaky").state.attempts_over == over; },
         [this] { history_->crash(); });
  tell();
  EXPECT_EQ(row("flaky").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("flaky").state.attempt, 4U);
  EXPECT_EQ(row("flaky").state.retries, 3U);
}

// The controller is away for longer than pods may take to start, and they started meanwhile.
TEST_F(RunsAgain, PodsThatStartedWhileTheControllerWasAwayAreNotLate) {
  JobPlan& job = add_job("fine", Duration(0));
  job.program.duration = Duration(3'000'000);
  History& history = begin();
  once([&] { return some_pod_is(cloudsim::PodPhase::kPending) && row("fine").state.dispatched_at; },
       [&] { history.crash(std::chrono::minutes(40)); });
  tell();
  EXPECT_EQ(row("fine").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("fine").state.attempt, 1U);
}

// Nothing tells that a Kubernetes Job is gone which no list ever showed.
TEST_F(RunsAgain, AKubernetesJobDeletedBeforeItWasListedIsMissed) {
  add_job("gone", Duration(0)).program.duration = Duration(600'000);
  begin();
  once([&] { return !history_->world().inventory().jobs.empty(); },
       [&] {
         history_->cut_watches(std::chrono::minutes(2));
         history_->after(Duration(20'000), [&] {
           for (const auto& job : history_->world().inventory().jobs)
             (void)history_->world().delete_job(job.cluster, job.object->kube_namespace,
                                                job.object->name, std::nullopt,
                                                cloudsim::Propagation::kBackground);
         });
       });
  tell();
  EXPECT_EQ(row("gone").state.status, JobStatus::kFailed);
  EXPECT_EQ(row("gone").state.reason, Reason::kJobFailed);
}

// What an earlier process was told about a create stays true: no process has to live long to learn
// that a pool is gone.
TEST_F(RunsAgain, AControllerThatDiesEveryMinuteStillLearnsThatAPoolIsGone) {
  add_job("train", Duration(0)).program.duration = Duration(900'000);
  begin();
  constexpr int kDeaths = 20;
  std::function<void(int)> die = [&](int left) {
    if (left == 0) return;
    history_->crash(Duration(5'000));
    history_->after(Duration(60'000), [&die, left] { die(left - 1); });
  };
  double begun = 0;
  when_running("train", [&] {
    begun = static_cast<double>(history_->world().now().time_since_epoch().count()) / 1'000;
    const auto pool = history_->world().inventory().pools.front();
    ASSERT_TRUE(history_->world().delete_pool(pool.cluster, pool.record.name));
    die(kDeaths);
  });
  tell();
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  const auto made = times_of("< create-workload", "");
  ASSERT_EQ(made.size(), 2U);
  EXPECT_LT(made[1], begun + kDeaths * 60);
}

// A machine is lost, and the program on the other one gives up at once, with an exit code, long
// before anybody knows of the machine: that is no failure of the job.
TEST_F(RunsAgain, AProgramThatLostItsPeerIsNotToBlame) {
  cloudsim::ProgramPlan& program = add_job("train", Duration(0)).program;
  program.duration = Duration(1'200'000);
  program.needs_peers = true;
  begin();
  when_running("train", [&] {
    const auto pod = history_->world().inventory().pods.front();
    history_->world().lose_node(pod.cluster, model::NodeName(pod.object->pod().node));
  });
  tell();
  EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded);
  EXPECT_EQ(row("train").state.disruptions, 1U);
  EXPECT_EQ(row("train").state.retries, 0U);
}

// The same exit code of its own doing is told soon: its peers end when they are told to.
TEST_F(RunsAgain, AFailureIsToldWhenThePeersHaveEnded) {
  cloudsim::ProgramPlan& program = add_job("train", Duration(0)).program;
  program.duration = Duration(60'000);
  program.exit_code = 3;
  begin();
  tell();
  EXPECT_EQ(row("train").state.exit_code, 3);
  const auto ended = first("> workload ", "ended");
  const auto told = first("< write-job", "Failed JobFailed");
  ASSERT_TRUE(ended && told);
  EXPECT_LT(*told, *ended + 30);
}

// A machine is lost while Falcon is away, and it comes back just when the other pod, told to go,
// has ended with an exit code: that pod is told first, and it is not the job's failure.
TEST_F(RunsAgain, AHalfToldListBlamesNobody) {
  add_job("train", Duration(0)).program.duration = Duration(1'200'000);
  const auto live = [&](Duration away) {
    std::optional<Duration> failed_after;
    begin();
    when_running("train", [&] {
      const MonoTime begun = history_->world().now();
      const auto pod_is = [this](const char* index, cloudsim::PodPhase phase) {
        return std::ranges::any_of(history_->world().inventory().pods, [&](const auto& pod) {
          return pod.object->name.find(index) != std::string::npos &&
                 pod.object->pod().phase == phase;
        });
      };
      for (const auto& pod : history_->world().inventory().pods)
        if (pod.object->name.find("-1-") != std::string::npos)
          history_->world().lose_node(pod.cluster, model::NodeName(pod.object->pod().node));
      history_->crash(away);
      once([pod_is] { return pod_is("-0-", cloudsim::PodPhase::kFailed); },
           [&failed_after, begun, this] { failed_after = history_->world().now() - begun; });
    });
    tell();
    return failed_after;
  };
  const auto failed_after = live(std::chrono::hours(1));
  ASSERT_TRUE(failed_after);
  for (int i = 0; i < 20; ++i) {
    live(*failed_after - Duration(200) * i);
    EXPECT_EQ(row("train").state.status, JobStatus::kSucceeded) << i;
    EXPECT_EQ(row("train").state.disruptions, 1U) << i;
  }
}

}  // namespace
}  // namespace falcon::simulation
