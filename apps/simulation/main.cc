// falcon-simulation: runs seeded histories of the real core against the simulated cloud.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>

#include "core/mutant.h"
#include "simulation/history.h"

namespace {

using falcon::simulation::draw_plan;
using falcon::simulation::History;
using falcon::simulation::HistoryPlan;
using falcon::simulation::HistoryResult;

struct Totals {
  std::uint64_t histories = 0;
  std::uint64_t jobs = 0;
  std::uint64_t crashes = 0;
  std::uint64_t faults = 0;
  std::uint64_t decisions = 0;
  std::int64_t simulated_hours = 0;
};

HistoryResult run_one(std::uint64_t seed) { return History(draw_plan(seed), nullptr).run(); }

// Every N-th seed runs twice: the same seed must give the same history.
constexpr std::uint64_t kTwiceEvery = 16;

int replay(std::uint64_t seed) {
  const HistoryPlan plan = draw_plan(seed);
  std::cout << falcon::simulation::to_string(plan);
  const HistoryResult result = History(plan, &std::cout).run();
  if (result.violation.empty()) {
    std::cout << fmt::format("seed {}: all laws kept, trace {:016x}\n", seed, result.trace_hash);
    return 0;
  }
  std::cout << fmt::format("seed {}: {}\n", seed, result.violation);
  return 1;
}

void add(Totals& totals, const HistoryResult& result) {
  ++totals.histories;
  totals.jobs += result.jobs;
  totals.crashes += result.crashes;
  totals.faults += result.faults;
  totals.decisions += result.decisions;
  totals.simulated_hours += result.simulated.count() / 3'600'000;
}

int run_seeds(std::uint64_t first, std::uint64_t count, bool as_bench) {
  Totals totals;
  std::uint64_t failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const HistoryResult result = run_one(seed);
    add(totals, result);
    if (!result.violation.empty()) {
      ++failed;
      std::cout << fmt::format("FAILED seed {}: {}\n  replay: make sim SEED={}\n", seed,
                               result.violation, seed)
                << std::flush;
      if (failed >= 10) break;
    } else if (seed % kTwiceEvery == 0 && !as_bench) {
      const HistoryResult again = run_one(seed);
      if (again.trace_hash != result.trace_hash) {
        ++failed;
        std::cout << fmt::format("FAILED seed {}: two runs differ ({:016x}, {:016x})\n", seed,
                                 result.trace_hash, again.trace_hash);
      }
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const auto n = static_cast<double>(std::max<std::uint64_t>(totals.histories, 1));
  std::cout << fmt::format(
      "{} histories in {:.1f} s: {} job lives ({:.1f} a history), {:.2f} crashes, {:.1f} faults, "
      "{:.0f} decisions a history, {} simulated hours\n",
      totals.histories, took.count(), totals.jobs, static_cast<double>(totals.jobs) / n,
      static_cast<double>(totals.crashes) / n, static_cast<double>(totals.faults) / n,
      static_cast<double>(totals.decisions) / n, totals.simulated_hours);
  if (as_bench)
    std::cout << fmt::format("figure sim_lives_per_s {:.0f} lives/s higher\n",
                             static_cast<double>(totals.jobs) / took.count());
  std::cout << fmt::format("{} passed, {} failed\n", totals.histories - failed, failed);
  return failed == 0 ? 0 : 1;
}

#ifdef FALCON_MUTANTS
// Each planted mistake must be caught within so many seeds.
int run_mutants(std::uint64_t first, std::uint64_t seeds_max) {
  std::uint64_t caught = 0;
  std::uint64_t survived = 0;
  for (std::uint8_t i = 1; i < falcon::core::kMutantCount; ++i) {
    falcon::core::active_mutant = static_cast<falcon::core::Mutant>(i);
    std::string violation;
    std::uint64_t seed = first;
    for (; seed < first + seeds_max && violation.empty(); ++seed)
      violation = run_one(seed).violation;
    if (violation.empty()) {
      ++survived;
      std::cout << fmt::format("{:<26} SURVIVED {} seeds\n", to_string(falcon::core::active_mutant),
                               seeds_max);
    } else {
      ++caught;
      std::cout << fmt::format("{:<26} caught by seed {:>4}: {}\n",
                               to_string(falcon::core::active_mutant), seed - 1, violation);
    }
    std::cout << std::flush;
  }
  std::cout << fmt::format("{} passed, {} failed\n", caught, survived);
  return survived == 0 ? 0 : 1;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Seeded histories of Falcon's core against a simulated cloud"};
  std::uint64_t seeds = 1'000;
  std::uint64_t first = 1;
  std::uint64_t seed = 0;
  bool bench = false;
  app.add_option("--seeds", seeds, "how many histories to run");
  app.add_option("--first-seed", first, "the first seed");
  auto* one = app.add_option("--seed", seed, "replay this one with its trace");
  app.add_flag("--bench", bench, "print job lives per second");
#ifdef FALCON_MUTANTS
  bool mutants = false;
  std::string mutant;
  app.add_flag("--mutants", mutants, "plant each mistake in turn; each must be caught");
  app.add_option("--mutant", mutant, "plant this mistake");
#endif
  CLI11_PARSE(app, argc, argv);
#ifdef FALCON_MUTANTS
  for (std::uint8_t i = 0; i < falcon::core::kMutantCount; ++i)
    if (to_string(static_cast<falcon::core::Mutant>(i)) == mutant)
      falcon::core::active_mutant = static_cast<falcon::core::Mutant>(i);
  if (mutants) return run_mutants(first, seeds);
#endif
  if (*one) return replay(seed);
  return run_seeds(first, seeds, bench);
}
