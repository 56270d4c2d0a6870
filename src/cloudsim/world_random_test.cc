// Random histories of a world with every fault on: it never contradicts itself, and when people
// clean up, nothing stays.
#include <gtest/gtest.h>

#include "base/random.h"
#include "cloudsim/world_fixture_test.h"

namespace falcon::cloudsim {
namespace {

class RandomWorldTest : public WorldTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void one_deed(Random& random) {
    const std::string pool = "pool-" + std::to_string(random.below(6));
    const std::string name = "job-" + std::to_string(random.below(6));
    switch (random.below(12)) {
      case 0:
      case 1:
        (void)world->create_pool(gke, v6e(pool, random.below(2) == 0 ? 4 : 1));
        break;
      case 2:
        (void)world->create_pool(gke, flex(pool));
        break;
      case 3:
      case 4: {
        JobRequest request = job_on(pool, name, random.below(2) == 0 ? 4 : 1);
        request.programs = {ProgramPlan{.duration = random.between(1s, 900s),
                                        .exit_code = static_cast<std::int32_t>(random.below(2)),
                                        .never_ends = random.below(5) == 0,
                                        .ignores_sigterm = random.below(3) == 0}};
        request.backoff_limit = static_cast<std::uint32_t>(random.below(3));
        request.replace_failed_only = random.below(2) == 0;
        (void)world->create_job(gke, request);
        break;
      }
      case 5:
        (void)world->delete_pool(gke, model::PoolName(pool));
        break;
      case 6:
        (void)world->delete_job(gke, "default", name, std::nullopt,
                                static_cast<Propagation>(random.below(3)));
        break;
      case 7:
        if (const auto nodes = world->inventory().nodes; !nodes.empty()) {
          const model::NodeName node(nodes[random.below(nodes.size())].object->name);
          if (random.below(2) == 0)
            world->lose_node(gke, node);
          else
            world->maintain_node(gke, node, random.between(0s, 600s));
        }
        break;
      case 8:
        if (const auto all = world->inventory().pods; !all.empty())
          (void)world->delete_pod(gke, "default", all[random.below(all.size())].object->name,
                                  std::nullopt, random.between(0s, 60s));
        break;
      case 9:
        world->begin_cluster_operation(gke, random.between(1s, 300s));
        break;
      default:
        break;
    }
  }

  // Deletes everything, patiently, and lets the world come to rest.
  void clean_up() {
    world->clear_all_faults();
    for (int round = 0; round < 200; ++round) {
      const Inventory now = world->inventory();
      if (now.pools.empty() && now.jobs.empty() && now.pods.empty() && now.nodes.empty()) return;
      for (const auto& item : now.jobs)
        (void)world->delete_job(gke, "default", item.object->name, item.object->uid,
                                Propagation::kForeground);
      for (const auto& item : now.pods)  // of Jobs that were orphaned
        if (item.object->pod().owner.empty())
          (void)world->delete_pod(gke, "default", item.object->name, std::nullopt, std::nullopt);
      for (const auto& pool : now.pools) (void)world->delete_pool(gke, pool.record.name);
      pass(Duration(1800s));
    }
  }
};

TEST_P(RandomWorldTest, NeverContradictsItselfAndLeavesNothing) {
  WorldSettings settings;
  for (Chance& chance : settings.chances) chance = Chance{1, 12};
  settings.events = true;
  settings.history_max = 100;
  start(settings, GetParam());
  world->set_capacity("us-east5-b", "ct6e-standard-4t", 12);
  Random random(GetParam() + 1);
  for (int step = 0; step < 400; ++step) {
    one_deed(random);
    pass(random.between(0s, 120s));
    ASSERT_EQ(world->check(), "") << "step " << step;
    ASSERT_LE(world->inventory().chips, 48);
  }
  clean_up();
  const Inventory rest = world->inventory();
  EXPECT_TRUE(rest.pools.empty());
  EXPECT_TRUE(rest.nodes.empty());
  EXPECT_TRUE(rest.jobs.empty());
  EXPECT_TRUE(rest.pods.empty());
  EXPECT_EQ(rest.chips, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorldTest, ::testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace falcon::cloudsim
