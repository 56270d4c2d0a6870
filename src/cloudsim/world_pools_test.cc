// Node pools as GKE treats them.
#include <gmock/gmock.h>

#include "cloudsim/world_fixture_test.h"

namespace falcon::cloudsim {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(WorldTest, APoolTakesMinutesAndItsNodesComeOneByOne) {
  const auto create = world->create_pool(gke, v6e("a"));
  ASSERT_TRUE(create.has_value());
  EXPECT_FALSE(world->operation(gke, *create)->done);
  std::vector<std::size_t> seen;
  ASSERT_TRUE(until([&] {
    const std::size_t ready = ready_nodes("a");
    if (seen.empty() || seen.back() != ready) seen.push_back(ready);
    return ready == 4;
  }));
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_GE(world->now(), MonoTime(Duration(40s)));
  ASSERT_TRUE(until([&] { return world->operation(gke, *create)->done; }));
  EXPECT_EQ(world->operation(gke, *create)->error, std::nullopt);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunning);
  EXPECT_EQ(world->inventory().chips, 16);
}

TEST_F(WorldTest, NodesCarryTheLabelsThatPodsSelectBy) {
  PoolRequest request = v6e("a");
  request.labels["falcon-job"] = "j1";
  make_pool(request);
  const Labels& labels = *world->list(gke, Kind::kNode)->objects.front()->labels;
  EXPECT_EQ(labels.at("cloud.google.com/gke-nodepool"), "a");
  EXPECT_EQ(labels.at("cloud.google.com/gke-tpu-accelerator"), "tpu-v6e-slice");
  EXPECT_EQ(labels.at("cloud.google.com/gke-tpu-topology"), "4x4");
  EXPECT_EQ(labels.at("cloud.google.com/gke-accelerator-count"), "4");
  EXPECT_EQ(labels.at("falcon-job"), "j1");
}

TEST_F(WorldTest, AnAcceptedPoolIsNotFoundUntilItIsVisibleButItsNameIsTaken) {
  WorldSettings settings;
  settings.pool_visible = {5s, 5s};
  start(settings);
  ASSERT_TRUE(world->create_pool(gke, v6e("a")).has_value());
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(world->delete_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(world->create_pool(gke, v6e("a")).error().kind, ErrorKind::kAlreadyExists);
  EXPECT_THAT(*world->list_pools(gke), SizeIs(0));
  pass(5s);
  EXPECT_THAT(*world->list_pools(gke), SizeIs(1));
}

TEST_F(WorldTest, WhileACreateRunsADeleteIsBusy) {
  ASSERT_TRUE(world->create_pool(gke, v6e("a")).has_value());
  pass(10s);
  const auto refused = world->delete_pool(gke, model::PoolName("a"));
  EXPECT_EQ(refused.error().kind, ErrorKind::kBusy);
  EXPECT_THAT(refused.error().what, HasSubstr("incompatible operation operation-"));
  EXPECT_TRUE(world->create_pool(gke, v6e("b")).has_value()) << "other pools are not concerned";
}

TEST_F(WorldTest, ADeletedPoolKeepsItsNameUntilItIsGone) {
  make_pool(v6e("a"));
  const auto removal = world->delete_pool(gke, model::PoolName("a"));
  ASSERT_TRUE(removal.has_value());
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kStopping);
  EXPECT_EQ(world->create_pool(gke, v6e("a")).error().kind, ErrorKind::kAlreadyExists);
  EXPECT_EQ(world->delete_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kBusy);
  EXPECT_EQ(ended(removal).error, std::nullopt);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(world->inventory().chips, 0);
  EXPECT_THAT(world->inventory().nodes, SizeIs(0));
}

TEST_F(WorldTest, GkesOwnOperationLocksTheWholeCluster) {
  make_pool(v6e("a"));
  world->begin_cluster_operation(gke, 120s);
  EXPECT_EQ(world->create_pool(gke, v6e("b")).error().kind, ErrorKind::kBusy);
  EXPECT_EQ(world->delete_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kBusy);
  pass(120s);
  EXPECT_TRUE(world->create_pool(gke, v6e("b")).has_value());
}

TEST_F(WorldTest, WithoutMachinesACreateHoldsItsLockAndLeavesAPool) {
  world->set_capacity("us-east5-b", "ct6e-standard-4t", 3);
  const auto create = world->create_pool(gke, v6e("a"));
  pass(300s);
  EXPECT_EQ(world->delete_pool(gke, model::PoolName("a")).error().kind, ErrorKind::kBusy);
  EXPECT_EQ(ended(create).error->kind, ErrorKind::kOutOfCapacity);
  EXPECT_GE(world->now(), MonoTime(Duration(340s)));
  const PoolRecord record = *world->get_pool(gke, model::PoolName("a"));
  EXPECT_EQ(record.status, PoolStatus::kError);
  EXPECT_EQ(record.condition_code, "GCE_STOCKOUT");
  EXPECT_EQ(record.machines, 0U);
  EXPECT_EQ(ended(world->delete_pool(gke, model::PoolName("a"))).error, std::nullopt);
}

TEST_F(WorldTest, MachinesThatBecomeFreeInTimeServeAWaitingCreate) {
  world->set_capacity("us-east5-b", "ct6e-standard-4t", 4);
  make_pool(v6e("a"));
  const auto second = world->create_pool(gke, v6e("b"));
  pass(130s);
  ASSERT_TRUE(world->delete_pool(gke, model::PoolName("a")).has_value());
  EXPECT_EQ(ended(second).error, std::nullopt);
  EXPECT_EQ(world->inventory().chips, 16);
}

TEST_F(WorldTest, ACreateThatWasAnsweredNotFoundHappensAllTheSame) {
  world->arm({.fault = Fault::kCreateNotFound, .times = 1});
  EXPECT_EQ(world->create_pool(gke, v6e("a")).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(until([&] { return ready_nodes("a") == 4; }));
}

TEST_F(WorldTest, PartialNodesEndInAnErrorWithThePoolStillThere) {
  world->arm({.fault = Fault::kPartialNodes, .times = 1, .argument = 3});
  const OperationRecord end = ended(world->create_pool(gke, v6e("a")));
  ASSERT_TRUE(end.error.has_value());
  EXPECT_THAT(end.error->what, HasSubstr("3 nodes out of 4"));
  EXPECT_EQ(ready_nodes("a"), 3U);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunningWithError);
  EXPECT_EQ(world->inventory().chips, 16) << "machines that do not register cost, too";
  EXPECT_EQ(ended(world->delete_pool(gke, model::PoolName("a"))).error, std::nullopt);
  EXPECT_EQ(world->inventory().chips, 0);
}

TEST_F(WorldTest, AFailedCreateMayFillUpMuchLater) {
  world->arm({.fault = Fault::kPoolRunningWithError, .times = 1});
  EXPECT_EQ(ended(world->create_pool(gke, v6e("a"))).error->kind, ErrorKind::kOutOfCapacity);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunningWithError);
  const MonoTime failed_at = world->now();
  ASSERT_TRUE(until([&] { return ready_nodes("a") == 4; }));
  EXPECT_GE(world->now() - failed_at, Duration(20min));
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kRunning);
}

TEST_F(WorldTest, AMultiHostPoolOfTheWrongSizeFailsLater) {
  PoolRequest request = v6e("a");
  request.initial_nodes = 3;
  EXPECT_EQ(ended(world->create_pool(gke, request)).error->kind, ErrorKind::kInvalid);
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kError);
}

TEST_F(WorldTest, ADeleteMayFailAndLeaveThePool) {
  make_pool(v6e("a"));
  world->arm({.fault = Fault::kDeleteFails, .times = 1});
  EXPECT_TRUE(ended(world->delete_pool(gke, model::PoolName("a"))).error.has_value());
  EXPECT_EQ(world->get_pool(gke, model::PoolName("a"))->status, PoolStatus::kError);
  EXPECT_EQ(ended(world->delete_pool(gke, model::PoolName("a"))).error, std::nullopt);
}

TEST_F(WorldTest, FaultsOfTheApiAreAnsweredAtOnceAndNothingHappens) {
  world->arm({.fault = Fault::kThrottled, .times = 1});
  EXPECT_EQ(world->create_pool(gke, v6e("a")).error().kind, ErrorKind::kThrottled);
  world->arm({.fault = Fault::kUnavailable, .times = 1});
  EXPECT_EQ(world->list_pools(gke).error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(world->inventory().pools, SizeIs(0));
}

struct Refusal {
  const char* why;
  std::function<void(PoolRequest&)> spoil;
};
class RefusedTest : public WorldTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(RefusedTest, IsInvalidAtOnce) {
  PoolRequest request = v6e("a");
  GetParam().spoil(request);
  const auto answer = world->create_pool(gke, request);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().kind, ErrorKind::kInvalid) << answer.error().what;
  EXPECT_THAT(world->inventory().pools, SizeIs(0));
}

void as_v7x(PoolRequest& request) {
  request.machine_type = "tpu7x-standard-4t";
  request.placement_topology = "2x2x2";
  request.initial_nodes = 2;
  request.compact = false;
}

PoolRequest flex_request() {
  PoolRequest request;
  request.name = model::PoolName("a");
  request.machine_type = "ct6e-standard-4t";
  request.compact = true;
  request.placement_topology = "4x4";
  request.supply = model::SupplyMode::kFlexStart;
  request.autoscaled = true;
  request.autoscaling_max = 4;
  return request;
}

INSTANTIATE_TEST_SUITE_P(
    Pools, RefusedTest,
    ::testing::Values(
        Refusal{"NameOf41", [](auto& r) { r.name = model::PoolName(std::string(41, 'a')); }},
        Refusal{"NameStartsWithDigit", [](auto& r) { r.name = model::PoolName("1a"); }},
        Refusal{"NameEndsWithDash", [](auto& r) { r.name = model::PoolName("a-"); }},
        Refusal{"UnknownMachine", [](auto& r) { r.machine_type = "ct6e-standard-2t"; }},
        Refusal{"WrongDisk", [](auto& r) { r.disk_type = "pd-balanced"; }},
        Refusal{"TopologyOfNoMachines", [](auto& r) { r.placement_topology = "3x3"; }},
        Refusal{"SingleHostWithTopology",
                [](auto& r) {
                  r.placement_topology = "2x2";
                  r.initial_nodes = 1;
                }},
        Refusal{"V7xWithCompact",
                [](auto& r) {
                  as_v7x(r);
                  r.compact = true;
                }},
        Refusal{"V7xWithoutPolicy", [](auto& r) { as_v7x(r); }},
        Refusal{"V7xWithPolicyThatIsNot",
                [](auto& r) {
                  as_v7x(r);
                  r.policy_name = "none";
                }},
        Refusal{"FlexWithNodes",
                [](auto& r) {
                  r.supply = model::SupplyMode::kFlexStart;
                  r.autoscaled = true;
                  r.autoscaling_max = 4;
                }},
        Refusal{"FlexWithReservation",
                [](auto& r) {
                  r = flex_request();
                  r.reservation = "r";
                }},
        Refusal{"FlexThatRunsTooLong",
                [](auto& r) {
                  r = flex_request();
                  r.max_run_duration = Duration(604'801s);
                }},
        Refusal{"AutoscalingToLessThanASlice",
                [](auto& r) {
                  r = flex_request();
                  r.autoscaling_max = 3;
                }},
        Refusal{"ReservedLabel", [](auto& r) { r.labels["kubernetes.io/x"] = "y"; }},
        Refusal{"OtherZone", [](auto& r) { r.zone = "us-east5-c"; }}),
    [](const auto& info) { return std::string(info.param.why); });

TEST_F(WorldTest, V7xMultiHostWantsAWorkloadPolicyOfItsRegion) {
  ASSERT_TRUE(world->create_policy({"p", "us-east5", "ct-2x2x2", "2x2x2"}).has_value());
  EXPECT_EQ(world->create_policy({"p", "us-east5", "ct-2x2x2", "2x2x2"}).error().kind,
            ErrorKind::kAlreadyExists);
  PoolRequest request = v6e("a");
  as_v7x(request);
  request.policy_name = "ct-2x2x2";
  make_pool(request);
}

TEST_F(WorldTest, ASpecificReservationCountsMachines) {
  const model::Reservation id{"owner", "us-east5-b", "r"};
  world->add_reservation(
      {.id = id, .machine_type = "ct6e-standard-4t", .total = 6, .shared = true});
  PoolRequest request = v6e("a");
  request.supply = model::SupplyMode::kReservation;
  request.reservation = "projects/owner/reservations/r";
  make_pool(request);
  EXPECT_EQ(world->reservation(id)->in_use, 4);
  request.name = model::PoolName("b");
  const OperationRecord refused = ended(world->create_pool(gke, request));
  EXPECT_EQ(refused.error->kind, ErrorKind::kOutOfCapacity);
  EXPECT_THAT(refused.error->what, HasSubstr("does not have available resources"));
  world->take_from_reservation(id, 2);
  EXPECT_EQ(world->reservation(id)->in_use, 6);
  ended(world->delete_pool(gke, model::PoolName("a")));
  EXPECT_EQ(world->reservation(id)->in_use, 2);
}

TEST_F(WorldTest, AnAggregateReservationCountsChips) {
  const model::Reservation id{"p", "us-east5-b", "r"};
  world->add_reservation(
      {.id = id, .machine_type = "ct6e-standard-8t", .aggregate = true, .total = 20});
  PoolRequest request = v6e("a");
  request.supply = model::SupplyMode::kReservation;
  request.reservation = "r";
  make_pool(request);
  EXPECT_EQ(world->reservation(id)->in_use, 16);
}

TEST_F(WorldTest, AReservationThatIsNotThereFailsTheOperation) {
  PoolRequest request = v6e("a");
  request.supply = model::SupplyMode::kReservation;
  request.reservation = "nowhere";
  EXPECT_EQ(ended(world->create_pool(gke, request)).error->kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace falcon::cloudsim
