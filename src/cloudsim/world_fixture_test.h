// A small world and short words for what tests do with it. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "cloudsim/world.h"

namespace falcon::cloudsim {

class WorldTest : public ::testing::Test {
 protected:
  void SetUp() override { start(WorldSettings{}); }

  void start(const WorldSettings& settings, std::uint64_t seed = 1) {
    world = std::make_unique<World>(settings, seed);
    world->add_cluster({.gke = gke, .zone = "us-east5-b"});
  }

  // Lets time pass, event by event, until it is so; false when it is not within `most`.
  bool until(const std::function<bool()>& so, Duration most = Duration(48h)) {
    const MonoTime end = world->now() + most;
    while (!so()) {
      if (world->next_due() > end) return false;
      world->advance(world->next_due());
      EXPECT_EQ(world->check(), "");
    }
    return true;
  }
  void pass(Duration time) { world->advance(world->now() + time); }

  static PoolRequest v6e(const std::string& name, std::uint32_t hosts = 4) {
    PoolRequest request;
    request.name = model::PoolName(name);
    request.machine_type = "ct6e-standard-4t";
    request.disk_type = "hyperdisk-balanced";
    request.initial_nodes = hosts;
    request.compact = hosts > 1;
    if (hosts == 4) request.placement_topology = "4x4";
    return request;
  }
  static PoolRequest flex(const std::string& name, std::uint32_t hosts = 4) {
    PoolRequest request = v6e(name, hosts);
    request.supply = model::SupplyMode::kFlexStart;
    request.initial_nodes = 0;
    request.autoscaled = true;
    request.autoscaling_max = hosts;
    return request;
  }
  static JobRequest job_on(const std::string& pool, const std::string& name,
                           std::uint32_t pods = 4) {
    JobRequest request;
    request.name = name;
    request.completions = pods;
    request.backoff_limit = 0;
    request.chips = 4;
    request.node_selector =
        std::make_shared<const Labels>(Labels{{"cloud.google.com/gke-nodepool", pool}});
    request.programs = {ProgramPlan{.duration = 60s}};
    return request;
  }

  std::size_t ready_nodes(const std::string& pool) {
    const auto nodes = world->list(gke, Kind::kNode);
    return static_cast<std::size_t>(std::ranges::count_if(nodes->objects, [&](const ObjectPtr& n) {
      return n->node().pool.value() == pool && n->node().ready == Readiness::kTrue;
    }));
  }
  std::vector<ObjectPtr> pods() { return world->list(gke, Kind::kPod)->objects; }
  std::size_t pods_in(PodPhase phase) {
    const auto all = pods();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const ObjectPtr& p) { return p->pod().phase == phase; }));
  }
  ObjectPtr job(const std::string& name) {
    const auto object = world->get(gke, Kind::kJob, "default", name);
    return object ? *object : nullptr;
  }
  bool has(const std::string& name, const std::string& condition) {
    const ObjectPtr object = job(name);
    return object && find_condition(object->job(), condition) != nullptr;
  }
  OperationRecord ended(const Result<model::OperationName>& name) {
    EXPECT_TRUE(name.has_value()) << (name ? "" : name.error().what);
    EXPECT_TRUE(until([&] { return world->operation(gke, *name)->done; }));
    return *world->operation(gke, *name);
  }
  void make_pool(const PoolRequest& request) {
    ASSERT_EQ(ended(world->create_pool(gke, request)).error, std::nullopt);
    ASSERT_TRUE(until([&] { return ready_nodes(request.name.value()) == request.initial_nodes; }));
  }
  void run_job(const JobRequest& request) {
    ASSERT_TRUE(world->create_job(gke, request).has_value());
    ASSERT_TRUE(until([&] { return pods_in(PodPhase::kRunning) == request.completions; }));
  }

  const model::GkeCluster gke{"p", "us-east5", "edge-1"};
  std::unique_ptr<World> world;
};

}  // namespace falcon::cloudsim
