// Jobs, pods and nodes as Kubernetes treats them.
#include <gmock/gmock.h>

#include <set>

#include "cloudsim/world_fixture_test.h"

namespace falcon::cloudsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(WorldTest, AWholeLifeFromPoolToNothing) {
  make_pool(v6e("a"));
  run_job(job_on("a", "j"));
  std::set<std::string> nodes;
  for (const ObjectPtr& pod : pods()) nodes.insert(pod->pod().node.value());
  EXPECT_THAT(nodes, SizeIs(4)) << "one pod a host";
  ASSERT_TRUE(until([&] { return has("j", "SuccessCriteriaMet"); }));
  EXPECT_FALSE(has("j", "Complete")) << "the verdict comes before the end";
  ASSERT_TRUE(until([&] { return has("j", "Complete"); }));
  EXPECT_EQ(job("j")->job().succeeded, 4U);
  EXPECT_TRUE(job("j")->job().completed_at.has_value());
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", job("j")->uid, Propagation::kForeground).has_value());
  ASSERT_TRUE(until([&] { return job("j") == nullptr; }));
  EXPECT_THAT(pods(), SizeIs(0));
  ended(world->delete_pool(gke, model::PoolName("a")));
  const Inventory rest = world->inventory();
  EXPECT_TRUE(rest.pools.empty() && rest.nodes.empty() && rest.jobs.empty() && rest.pods.empty());
  EXPECT_EQ(rest.chips, 0);
}

TEST_F(WorldTest, OneFailedPodEndsTheJobAfterTheOthersWereStopped) {
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.duration = 60s, .exit_code = 3},
                      ProgramPlan{.never_ends = true}};
  run_job(request);
  ASSERT_TRUE(until([&] { return has("j", "FailureTarget"); }));
  EXPECT_FALSE(has("j", "Failed"));
  EXPECT_GT(job("j")->job().terminating, 0U);
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_EQ(find_condition(job("j")->job(), "Failed")->reason, "BackoffLimitExceeded");
  EXPECT_EQ(job("j")->job().terminating, 0U);
  const auto left = pods();
  ASSERT_THAT(left, SizeIs(1)) << "a pod that failed by itself stays to be read";
  EXPECT_EQ(left.front()->pod().exit_code, 3);
  EXPECT_EQ(left.front()->pod().terminated_reason, "Error");
}

TEST_F(WorldTest, OutOfMemoryIsSaid) {
  make_pool(v6e("a", 1));
  JobRequest request = job_on("a", "j", 1);
  request.programs = {ProgramPlan{.out_of_memory = true}};
  run_job(request);
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_EQ(pods().front()->pod().exit_code, 137);
  EXPECT_EQ(pods().front()->pod().terminated_reason, "OOMKilled");
}

TEST_F(WorldTest, AProgramThatIgnoresSigtermIsKilledWhenItsGraceIsOver) {
  make_pool(v6e("a", 1));
  JobRequest request = job_on("a", "j", 1);
  request.grace = Duration(90s);
  request.programs = {ProgramPlan{.never_ends = true, .ignores_sigterm = true}};
  run_job(request);
  const MonoTime asked = world->now();
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", std::nullopt, Propagation::kForeground).has_value());
  ASSERT_TRUE(until([&] { return job("j") == nullptr; }));
  EXPECT_GE(world->now() - asked, Duration(90s));
  EXPECT_LE(world->now() - asked, Duration(95s));
}

TEST_F(WorldTest, AForegroundDeleteKeepsTheJobUntilItsPodsAreGone) {
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.never_ends = true, .sigterm_takes = 20s}};
  run_job(request);
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", std::nullopt, Propagation::kForeground).has_value());
  bool pods_outlived = false;
  ASSERT_TRUE(until([&] {
    const bool gone = job("j") == nullptr;
    if (gone) pods_outlived = !pods().empty();
    return gone;
  }));
  EXPECT_FALSE(pods_outlived);
}

TEST_F(WorldTest, ABackgroundDeleteTakesTheJobAtOnceAndThePodsLater) {
  make_pool(v6e("a"));
  run_job(job_on("a", "j"));
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", std::nullopt, Propagation::kBackground).has_value());
  EXPECT_EQ(job("j"), nullptr);
  EXPECT_THAT(pods(), SizeIs(4));
  EXPECT_TRUE(until([&] { return pods().empty(); }));
}

TEST_F(WorldTest, AnOrphaningDeleteLeavesThePodsRunning) {
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.never_ends = true}};
  run_job(request);
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", std::nullopt, Propagation::kOrphan).has_value());
  pass(1h);
  EXPECT_EQ(job("j"), nullptr);
  EXPECT_EQ(pods_in(PodPhase::kRunning), 4U);
  EXPECT_TRUE(pods().front()->pod().owner.empty());
}

TEST_F(WorldTest, ADeleteOfAnotherUidIsAConflict) {
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j")).has_value());
  EXPECT_EQ(world->delete_job(gke, "default", "j", model::Uid("u-9999"), Propagation::kForeground)
                .error()
                .kind,
            ErrorKind::kConflict);
  EXPECT_EQ(world->create_job(gke, job_on("a", "j")).error().kind, ErrorKind::kAlreadyExists);
  EXPECT_EQ(
      world->delete_job(gke, "default", "k", std::nullopt, Propagation::kForeground).error().kind,
      ErrorKind::kNotFound);
}

TEST_F(WorldTest, PodsWaitForNodesThatAreReadyAndFree) {
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j")).has_value());
  ASSERT_TRUE(until([&] { return pods().size() == 4 && !pods()[0]->pod().unschedulable.empty(); }));
  EXPECT_THAT(pods()[0]->pod().unschedulable, HasSubstr("0/0 nodes are available"));
  make_pool(v6e("a"));
  ASSERT_TRUE(until([&] { return pods_in(PodPhase::kRunning) == 4; }));
  ASSERT_TRUE(world->create_job(gke, job_on("a", "k")).has_value());
  ASSERT_TRUE(until([&] { return has("j", "Complete"); }));
  EXPECT_TRUE(until([&] { return has("k", "Complete"); }));
}

TEST_F(WorldTest, APodThatTakesNotAllChipsIsRefusedByTheKubelet) {
  make_pool(v6e("a", 1));
  JobRequest request = job_on("a", "j", 1);
  request.chips = 2;
  ASSERT_TRUE(world->create_job(gke, request).has_value());
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_EQ(pods().front()->pod().status_reason, "UnexpectedAdmissionError");
  EXPECT_EQ(pods().front()->pod().exit_code, std::nullopt);
}

TEST_F(WorldTest, AnImageThatCannotBePulledNeverFailsTheJob) {
  make_pool(v6e("a", 1));
  world->arm({.fault = Fault::kImagePull, .times = 1});
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j", 1)).has_value());
  pass(24h);
  EXPECT_EQ(pods().front()->pod().waiting_reason, "ImagePullBackOff");
  EXPECT_FALSE(has("j", "FailureTarget"));
}

TEST_F(WorldTest, ADeadlineEndsTheJob) {
  make_pool(v6e("a", 1));
  JobRequest request = job_on("a", "j", 1);
  request.active_deadline = Duration(300s);
  request.programs = {ProgramPlan{.never_ends = true}};
  run_job(request);
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_EQ(find_condition(job("j")->job(), "Failed")->reason, "DeadlineExceeded");
}

TEST_F(WorldTest, ABackoffLimitAboveZeroReplacesAFailedPod) {
  make_pool(v6e("a", 1));
  JobRequest request = job_on("a", "j", 1);
  request.backoff_limit = 1;
  request.programs = {ProgramPlan{.exit_code = 1}};
  ASSERT_TRUE(world->create_job(gke, request).has_value());
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_EQ(job("j")->job().failed, 2U);
}

TEST_F(WorldTest, ALostNodeLeavesItsPodStuckUntilTheNodeObjectIsGone) {
  WorldSettings settings;
  settings.node_removed = {600s, 600s};
  start(settings);
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.never_ends = true}};
  run_job(request);
  const ObjectPtr victim = pods().front();
  const MonoTime lost = world->now();
  ASSERT_TRUE(world->lose_node(gke, victim->pod().node));
  const auto node = [&] { return world->get(gke, Kind::kNode, "", victim->pod().node.value()); };
  const auto pod = [&] { return world->get(gke, Kind::kPod, "default", victim->name); };
  ASSERT_TRUE(until([&] { return (*node())->node().ready == Readiness::kUnknown; }));
  EXPECT_EQ(world->now() - lost, Duration(50s));
  EXPECT_FALSE((*pod())->deletion_at.has_value());
  ASSERT_TRUE(until([&] { return (*pod())->deletion_at.has_value(); }));
  EXPECT_EQ(world->now() - lost, Duration(350s));
  EXPECT_EQ((*pod())->pod().disruption, "DeletionByTaintManager");
  pass(200s);
  EXPECT_FALSE(has("j", "Failed")) << "a pod is still there";
  ASSERT_TRUE(until([&] { return !node().has_value(); }));
  ASSERT_TRUE(until([&] { return !pod().has_value(); }));
  EXPECT_GE(world->now() - lost, Duration(620s));
  EXPECT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_TRUE(until([&] { return ready_nodes("a") == 4; })) << "the slice is made anew";
}

TEST_F(WorldTest, AnnouncedMaintenanceDrainsTheWholeSlice) {
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.never_ends = true}};
  run_job(request);
  ASSERT_TRUE(world->maintain_node(gke, pods().front()->pod().node, 1h));
  pass(1h);
  std::vector<std::string> reasons;
  for (const ObjectPtr& pod : pods()) reasons.push_back(pod->pod().disruption.value_or(""));
  EXPECT_THAT(reasons, ElementsAre("EvictionByEvictionAPI", "EvictionByEvictionAPI",
                                   "EvictionByEvictionAPI", "EvictionByEvictionAPI"));
  EXPECT_TRUE(until([&] { return has("j", "Failed"); }));
  EXPECT_TRUE(until([&] { return ready_nodes("a") == 4; }));
}

TEST_F(WorldTest, DeletingAPoolEndsTheProgramsOnIt) {
  make_pool(v6e("a"));
  JobRequest request = job_on("a", "j");
  request.programs = {ProgramPlan{.never_ends = true, .ignores_sigterm = true}};
  request.grace = Duration(1h);
  run_job(request);
  ended(world->delete_pool(gke, model::PoolName("a")));
  EXPECT_TRUE(until([&] { return has("j", "Failed"); }, 1h));
  EXPECT_THAT(pods(), SizeIs(0));
}

TEST_F(WorldTest, AFlexStartPoolGetsNodesWhenAPodWantsThem) {
  ended(world->create_pool(gke, flex("a")));
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunning);
  pass(1h);
  EXPECT_EQ(ready_nodes("a"), 0U);
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j")).has_value());
  ASSERT_TRUE(until([&] { return has("j", "Complete"); }));
  ASSERT_TRUE(world->list(gke, Kind::kNode)->objects[0]->node().usable_until.has_value());
  const MonoTime idle = world->now();
  ASSERT_TRUE(until([&] { return world->inventory().nodes.empty(); }));
  EXPECT_GE(world->now() - idle, Duration(590s)) << "the consolidation delay";
  EXPECT_EQ(world->inventory().chips, 0);
  EXPECT_THAT(*world->list_pools(gke), SizeIs(1));
}

TEST_F(WorldTest, AFlexStartPoolThatFindsNoMachinesShowsNoError) {
  world->arm({.fault = Fault::kStockOut});
  ended(world->create_pool(gke, flex("a")));
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j")).has_value());
  pass(2h);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunning);
  EXPECT_EQ(pods_in(PodPhase::kPending), 4U);
  world->clear(Fault::kStockOut);
  EXPECT_TRUE(until([&] { return has("j", "Complete"); }));
}

TEST_F(WorldTest, MachinesEndWithTheirMaxRunDuration) {
  PoolRequest request = flex("a");
  request.max_run_duration = Duration(3600s);
  ended(world->create_pool(gke, request));
  JobRequest endless = job_on("a", "j");
  endless.programs = {ProgramPlan{.never_ends = true}};
  run_job(endless);
  ASSERT_TRUE(until([&] { return has("j", "Failed"); }, 2h));
}

TEST_F(WorldTest, TheHistoryTellsEveryChangeInOrder) {
  const std::uint64_t before = world->resource_version(gke);
  make_pool(v6e("a"));
  run_job(job_on("a", "j"));
  ASSERT_TRUE(until([&] { return has("j", "Complete"); }));
  const Changes changes = world->changes_since(gke, before);
  ASSERT_EQ(changes.state, WatchState::kOpen);
  std::uint64_t last = before;
  for (const Change& change : changes.changes) {
    EXPECT_EQ(change.resource_version, last + 1);
    EXPECT_EQ(change.object->resource_version, change.resource_version);
    last = change.resource_version;
  }
  EXPECT_EQ(last, world->resource_version(gke));
  EXPECT_EQ(world->changes_since(gke, last).changes.size(), 0U);
}

TEST_F(WorldTest, AVersionThatLeftTheHistoryIsGone) {
  WorldSettings settings;
  settings.history_max = 10;
  start(settings);
  const std::uint64_t before = world->resource_version(gke);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(world
                    ->create_plain(gke, Kind::kService, "default", "s" + std::to_string(i), {},
                                   PlainObject{})
                    .has_value());
  EXPECT_EQ(world->changes_since(gke, before).state, WatchState::kGone);
  const std::uint64_t now = world->resource_version(gke);
  EXPECT_EQ(world->changes_since(gke, now - 10).changes.size(), 10U);
}

TEST_F(WorldTest, WhileKubernetesIsDownPodsGoOn) {
  make_pool(v6e("a"));
  run_job(job_on("a", "j"));
  world->arm({.fault = Fault::kKubernetesDown});
  EXPECT_EQ(world->list(gke, Kind::kPod).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(world->changes_since(gke, world->resource_version(gke)).state, WatchState::kDown);
  pass(120s);
  world->clear(Fault::kKubernetesDown);
  EXPECT_TRUE(has("j", "Complete"));
}

TEST_F(WorldTest, ProgramsCanRunOutside) {
  WorldSettings settings;
  settings.external_programs = true;
  start(settings);
  make_pool(v6e("a", 1));
  ASSERT_TRUE(world->create_job(gke, job_on("a", "j", 1)).has_value());
  std::vector<PodOrder> orders;
  ASSERT_TRUE(until([&] { return !(orders = world->take_pod_orders()).empty(); }));
  ASSERT_EQ(orders[0].what, PodOrder::What::kStart);
  const model::Uid uid = orders[0].pod->uid;
  world->pod_started(gke, uid);
  EXPECT_EQ(pods_in(PodPhase::kRunning), 1U);
  ASSERT_TRUE(
      world->delete_job(gke, "default", "j", std::nullopt, Propagation::kForeground).has_value());
  ASSERT_TRUE(until([&] { return !(orders = world->take_pod_orders()).empty(); }));
  EXPECT_EQ(orders[0].what, PodOrder::What::kTerminate);
  ASSERT_TRUE(until([&] { return !(orders = world->take_pod_orders()).empty(); }));
  EXPECT_EQ(orders[0].what, PodOrder::What::kKill);
  world->pod_exited(gke, uid, 137, "Error", "");
  EXPECT_TRUE(until([&] { return job("j") == nullptr; }));
}

TEST_F(WorldTest, TheSameSeedGivesTheSameWorld) {
  const auto history = [&](std::uint64_t seed) {
    start(WorldSettings{}, seed);
    make_pool(v6e("a"));
    run_job(job_on("a", "j"));
    until([&] { return has("j", "Complete"); });
    std::string text;
    for (const Change& change : world->changes_since(gke, 1).changes)
      text += change.object->name + std::to_string(change.resource_version) +
              std::to_string(static_cast<int>(change.type)) + " ";
    return text + std::to_string(world->now().time_since_epoch().count());
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

}  // namespace
}  // namespace falcon::cloudsim
