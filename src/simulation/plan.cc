#include "simulation/plan.h"

#include <fmt/format.h>

#include "model/tpu.h"

namespace falcon::simulation {
namespace {

struct Shaped {
  const char* type;
  const char* topology;
};
constexpr Shaped kShapes[] = {{"v6e", "1x1"}, {"v6e", "2x2"},   {"v6e", "2x4"},
                              {"v6e", "4x4"}, {"v5p", "2x2x1"}, {"v5p", "2x2x2"}};

Duration seconds_between(Random& random, std::int64_t low, std::int64_t high) {
  return random.between(Duration(low * 1'000), Duration(high * 1'000));
}

// About half of all faults exist in a seed at all; those that do are rare to frequent.
Chance maybe(Random& random, std::uint32_t rarest) {
  const bool exists = random.happens({1, 2});
  const auto one_in = static_cast<std::uint32_t>(5 + random.below(rarest));
  return exists ? Chance{1, one_in} : Chance{};
}

void draw_clusters(HistoryPlan& plan, Random& random) {
  const auto count = 1 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    model::ClusterRow row;
    row.id = model::ClusterId(fmt::format("c{}", i));
    // Sometimes two rows of one GKE cluster: one per TPU type.
    const bool second_row = i > 0 && random.happens({1, 4});
    const bool v5p = random.happens({1, 3});
    row.tpu_type = v5p ? "v5p" : "v6e";
    if (second_row) {
      row.name = plan.clusters.back().name;
      row.tpu_type = plan.clusters.back().tpu_type == "v6e" ? "v5p" : "v6e";
      if (plan.clusters.size() > 1 && plan.clusters[plan.clusters.size() - 2].name == row.name)
        row.name = fmt::format("gke{}", i);
    } else {
      row.name = fmt::format("gke{}", i);
    }
    row.project = "p";
    row.location = "us-east5";
    row.zone = "us-east5-b";
    row.gcs_bucket = "b";
    row.version = 1;
    if (random.happens({1, 2})) {
      // Two clusters may draw on one reservation.
      const bool shared = random.happens({1, 2});
      row.default_reservation =
          shared ? "projects/p/reservations/r-" + row.tpu_type : fmt::format("r{}", i);
    }
    plan.clusters.push_back(row);
  }
  for (const model::ClusterRow& row : plan.clusters) {
    const model::Reservation id = model::reservation_of(row);
    if (id.empty()) continue;
    bool known = false;
    for (const auto& reservation : plan.reservations) known = known || reservation.id == id;
    if (known) continue;
    cloudsim::ReservationSetup setup;
    setup.id = id;
    setup.machine_type = row.tpu_type == "v6e" ? "ct6e-standard-4t" : "ct5p-hightpu-4t";
    setup.aggregate = row.tpu_type == "v6e" ? true : random.happens({1, 2});
    setup.total = static_cast<std::int64_t>(2 + random.below(7)) * (setup.aggregate ? 8 : 2);
    if (setup.aggregate) setup.total = std::max<std::int64_t>(setup.total, 16);
    plan.reservations.push_back(setup);
  }
}

void draw_program(JobPlan& job, Random& random) {
  cloudsim::ProgramPlan& program = job.program;
  program.duration = seconds_between(random, 1, random.happens({1, 4}) ? 7'200 : 600);
  const auto kind = random.below(20);
  if (kind < 3) program.exit_code = static_cast<std::int32_t>(1 + random.below(100));
  if (kind == 3) {
    program.out_of_memory = true;
    program.exit_code = 137;
  }
  if (kind == 4) program.never_ends = true;
  program.ignores_sigterm = random.happens({1, 8});
  program.sigterm_takes = seconds_between(random, 0, 40);
  if (random.happens({1, 8})) program.sigterm_exit = 0;
  program.needs_peers = random.happens({1, 2});
  job.row.spec.timeout_seconds =
      random.happens({1, 5}) ? static_cast<std::int64_t>(30 + random.below(600)) : 14'400;
  job.row.spec.termination_grace_seconds = static_cast<std::int64_t>(random.below(121));
}

void draw_jobs(HistoryPlan& plan, Random& random) {
  const auto shape_count = 1 + random.below(4);
  std::vector<Shaped> shapes;
  for (std::uint64_t i = 0; i < shape_count; ++i)
    shapes.push_back(kShapes[random.below(std::size(kShapes))]);
  const auto actor_count = 1 + random.below(5);
  const bool few = random.happens({1, 2});
  const bool priorities = random.happens({1, 4});
  const auto job_count = 1 + random.below(few ? 20 : 60);
  const auto spread = seconds_between(random, 60, 7'200);
  for (std::uint64_t i = 0; i < job_count; ++i) {
    JobPlan job;
    job.row.id = model::JobId(fmt::format("j{}", i));
    job.row.name = fmt::format("job-{}", i);
    job.row.actor =
        model::Actor(std::string(1, static_cast<char>('a' + random.below(actor_count))));
    const Shaped& shape = shapes[random.below(shapes.size())];
    job.row.spec.image = "image";
    job.row.spec.command = {"run"};
    job.row.spec.tpu_type = shape.type;
    job.row.spec.topology = shape.topology;
    const auto supply = random.below(4);
    if (supply == 0) job.row.spec.supply_mode = model::SupplyMode::kOnDemand;
    if (supply == 1) job.row.spec.supply_mode = model::SupplyMode::kFlexStart;
    if (supply == 2) job.row.spec.supply_mode = model::SupplyMode::kReservation;
    draw_program(job, random);
    if (priorities) job.row.priority = static_cast<std::int32_t>(random.below(4)) * 4 - 4;
    if (random.happens({1, 3})) {
      job.row.spec.max_retries = static_cast<std::int64_t>(random.below(4));
      job.heals_at_attempt = static_cast<std::uint32_t>(random.below(5));
    }
    if (random.happens({1, 12}))
      job.row.spec.max_wait_seconds = static_cast<std::int64_t>(300 + random.below(3'600));
    if (random.happens({1, 40})) job.row.spec.topology = "3x5";  // a poisonous row
    job.submit_after = random.between(Duration(0), spread);
    if (random.happens({1, 6})) job.abort_after = seconds_between(random, 0, 3'600);
    plan.jobs.push_back(std::move(job));
  }
}

void draw_faults(HistoryPlan& plan, Random& random) {
  TransportFaults& faults = plan.faults;
  faults.lost_request = maybe(random, 60);
  faults.lost_reply = maybe(random, 60);
  faults.late_request = maybe(random, 60);
  faults.refused = maybe(random, 60);
  faults.watch_gap = maybe(random, 200);
  if (random.happens({1, 4})) faults.unreadable = {1, 30};
  if (random.happens({2, 3}))
    faults.crash = Chance{1, static_cast<std::uint32_t>(50 + random.below(400))};
  faults.lag_max = random.happens({1, 4}) ? Duration(20'000) : Duration(1'000);
  using cloudsim::Fault;
  for (const Fault fault :
       {Fault::kSlowPool, Fault::kPartialNodes, Fault::kPoolError, Fault::kPoolRunningWithError,
        Fault::kQuota, Fault::kCreateNotFound, Fault::kBusyWhenTaken, Fault::kDeleteFails,
        Fault::kClusterBusy, Fault::kThrottled, Fault::kUnavailable, Fault::kKubernetesThrottled,
        Fault::kSlowImage, Fault::kStockOut, Fault::kImagePull, Fault::kSlowReady}) {
    Chance chance = maybe(random, 40);
    if (chance.numerator > 0 && fault == Fault::kQuota) chance.denominator *= 4;
    if (random.happens({1, 2})) chance = {};
    plan.world.chance(fault) = chance;
  }
  if (random.happens({1, 3}))
    plan.node_losses =
        static_cast<std::uint32_t>(1 + random.below(random.happens({1, 4}) ? 30 : 4));
  if (random.happens({1, 5})) plan.person_deletes_job = 1;
  if (random.happens({1, 4}))
    plan.person_deletes_pool = static_cast<std::uint32_t>(1 + random.below(6));
  if (random.happens({1, 4})) plan.cluster_status_changes = 2;
  if (random.happens({1, 3})) plan.reservation_changes = 2;
  plan.foreign_pools = random.happens({1, 2});
  plan.full_rotation = random.happens({1, 5});
  if (random.happens({1, 3}))
    plan.capacity.emplace_back(random.happens({1, 2}) ? "ct6e-standard-4t" : "ct5p-hightpu-4t",
                               static_cast<std::int64_t>(4 + random.below(8)));
}

}  // namespace

HistoryPlan draw_plan(std::uint64_t seed) {
  Random root(seed);
  HistoryPlan plan;
  plan.seed = seed;
  Random clusters(root.next());
  Random jobs(root.next());
  Random faults(root.next());
  draw_clusters(plan, clusters);
  draw_jobs(plan, jobs);
  draw_faults(plan, faults);
  Random end(root.next());
  plan.faults_stop = seconds_between(end, 3'600, 10'800);
  Random versions(root.next());
  for (const model::ClusterRow& row : plan.clusters)
    if (versions.happens({1, 4})) plan.old_clusters.insert(row.name);
  return plan;
}

std::string to_string(const HistoryPlan& plan) {
  const TransportFaults& f = plan.faults;
  const auto shown = [](Chance c) {
    return c.numerator == 0 ? std::string("-") : fmt::format("1/{}", c.denominator);
  };
  std::string text = fmt::format(
      "seed {}: {} clusters, {} reservations, {} jobs; faults until {} s\n"
      "  requests lost {}, late {}, refused {}; replies lost {}; crash {}; watch gap {}; row "
      "unreadable {}; lag {} ms\n",
      plan.seed, plan.clusters.size(), plan.reservations.size(), plan.jobs.size(),
      plan.faults_stop.count() / 1'000, shown(f.lost_request), shown(f.late_request),
      shown(f.refused), shown(f.lost_reply), shown(f.crash), shown(f.watch_gap),
      shown(f.unreadable), f.lag_max.count());
  text += "  cloud:";
  for (const cloudsim::Fault fault : cloudsim::kAllFaults)
    if (plan.world.chance(fault).numerator > 0)
      text += fmt::format(" {} {}", cloudsim::to_string(fault), shown(plan.world.chance(fault)));
  text +=
      fmt::format("\n  nodes lost {}, Jobs deleted by a person {}, pools {}; cluster changes {}\n",
                  plan.node_losses, plan.person_deletes_job, plan.person_deletes_pool,
                  plan.cluster_status_changes);
  return text;
}

}  // namespace falcon::simulation
