// How many events a second the decision core processes while many jobs wait, and what a waiting job
// costs. Prints `figure NAME VALUE UNIT BETTER` lines, and a comment with the mix of the load.
//
// Timed: Core::step and a walk over the commands that it made. Not timed: the ideal world around it
// (core_world.h), and loading. The virtual clock advances by 1 s for every 300,000 events, the load
// that the core is meant for, so that what the core does by time (orders of queues every few
// seconds) is in the figure in its due share. Everything else is faster by as much: some 1,100 jobs
// run at once, and a listing of a cluster's 140 pools comes about once a life, as it does when jobs
// run for ten minutes and clusters are listed every 5 s. Beside it, in the same run and over as
// many rows, what any core must do for an event at the least: look a row up by its id
// (std::unordered_map) and move it in an order (insert and erase in a std::set).
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "bench/core_world.h"
#include "core/core.h"

namespace falcon::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::uint64_t kEventsPerSecond = 300'000;  // on the virtual clock

// The core and its world, event by event.
class Drive {
 public:
  Drive() : core_(core_settings()), world_(WorldSetup{}) {}

  void load(std::size_t jobs) {
    world_.start(events_);
    run_batch();
    for (std::size_t i = 0; i < jobs; ++i) events_.push_back(world_.submit());
    world_.sync(events_);
    while (world_.lives() < 2'000) run_batch();  // all phases are peopled
    while (world_.jobs() < jobs + world_.running()) events_.push_back(world_.submit());
    run_batch();
    timed_ = {};
    decisions_ = 0;
    publishes_ = 0;
    listings_ = 0;
    by_kind_.assign(std::variant_size_v<core::Event>, 0);
    lives_at_begin_ = world_.lives();
    begin_ = world_.now().mono;
  }

  // Until `span` was spent in the core and the virtual clock went on by `virtual_span`.
  void measure(Seconds span, Duration virtual_span) {
    while (timed_ < span || world_.now().mono < begin_ + virtual_span) run_batch();
  }

  double decisions_per_s() const { return static_cast<double>(decisions_) / timed_.count(); }
  std::string mix() {
    const auto lives = static_cast<double>(world_.lives() - lives_at_begin_);
    std::string text = fmt::format(
        "{} decisions in {:.2f} s, {:.0f} lives/s, {:.1f} decisions and {:.1f} listings a life, {} "
        "orders published, {:.1f} virtual s; {} jobs there, {} pools, {} run\n",
        decisions_, timed_.count(), lives / timed_.count(), static_cast<double>(decisions_) / lives,
        static_cast<double>(listings_) / lives, publishes_,
        Seconds(world_.now().mono - begin_).count(), world_.jobs(), world_.pools(),
        world_.running());
    constexpr const char* kNames[] = {"StateLoaded",
                                      "ClusterObserved",
                                      "ClusterVanished",
                                      "ClustersListed",
                                      "JobObserved",
                                      "JobVanished",
                                      "JobUnreadable",
                                      "JobsListed",
                                      "KubernetesSynced",
                                      "NodeSeen",
                                      "NodeVanished",
                                      "WorkloadSeen",
                                      "WorkloadVanished",
                                      "PodSeen",
                                      "PodVanished",
                                      "ClockCompared",
                                      "Tick",
                                      "CommandDone"};
    static_assert(std::size(kNames) == std::variant_size_v<core::Event>);
    text += " ";
    for (std::size_t i = 0; i < by_kind_.size(); ++i)
      if (by_kind_[i] > 0)
        text +=
            fmt::format(" {} {:.1f} %", kNames[i],
                        100.0 * static_cast<double>(by_kind_[i]) / static_cast<double>(decisions_));
    return text;
  }

 private:
  void run_batch() {
    spent_ += events_.size();
    MonoTime now{Duration(static_cast<std::int64_t>(1'000 * spent_ / kEventsPerSecond)) + skipped_};
    if (events_.empty()) {
      const MonoTime next = std::min(world_.next_due(), core_.wake_at());
      FALCON_CHECK(next != MonoTime::max());  // or the world would stand still
      if (next > now) {
        skipped_ += next - now;
        now = next;
      }
    }
    world_.set_now(now);
    world_.act_due(events_);
    if (core_.wake_at() <= now) events_.emplace_back(core::Tick{});
    batch_.swap(events_);
    events_.clear();
    step_all();
    for (core::Command& command : commands_) {
      listings_ += std::holds_alternative<core::ListPools>(command.body) ? 1U : 0U;
      publishes_ += std::holds_alternative<core::PublishQueue>(command.body) ? 1U : 0U;
      world_.carry_out(std::move(command), events_);
    }
    commands_.clear();
  }

  void step_all() {
    std::vector<core::Now> nows(batch_.size());
    for (core::Now& now : nows) now = world_.now();
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < batch_.size(); ++i) core_.step(batch_[i], nows[i], commands_);
    for (const core::Command& command : commands_) read_ += command.id + command.body.index();
    timed_ += Clock::now() - begin;
    decisions_ += batch_.size();
    if (!by_kind_.empty())
      for (const core::Event& event : batch_) ++by_kind_[event.index()];
  }

  core::Core core_;
  World world_;
  std::vector<core::Event> events_;
  std::vector<core::Event> batch_;
  std::vector<core::Command> commands_;
  std::uint64_t spent_ = 0;  // events so far, on the virtual clock
  Duration skipped_{0};      // of the virtual clock, when nothing was to be done
  Seconds timed_{};
  std::uint64_t decisions_ = 0;
  std::uint64_t publishes_ = 0;
  std::uint64_t listings_ = 0;
  std::uint64_t lives_at_begin_ = 0;
  MonoTime begin_{};
  std::vector<std::uint64_t> by_kind_;
  volatile std::uint64_t read_ = 0;  // or the walk over the commands would be left out
};

// The least that an event costs with these containers and so many rows: see above.
double raw_ops_per_s(std::size_t rows, Seconds span) {
  using Place = std::pair<std::int64_t, const model::JobId*>;
  std::unordered_map<model::JobId, std::int64_t> by_id;
  std::set<Place> order;
  std::vector<model::JobId> ids;
  World world{WorldSetup{}};
  for (std::size_t i = 0; i < rows; ++i) ids.push_back(world.waiting_row().id);
  std::int64_t clock = 0;
  for (const model::JobId& id : ids)
    order.emplace(clock, &by_id.emplace(id, clock).first->first), ++clock;
  Random random(2);
  std::uint64_t count = 0;
  const auto begin = Clock::now();
  while (Clock::now() - begin < span)
    for (int i = 0; i < 1'000; ++i, ++count) {
      const auto found = by_id.find(ids[random.below(ids.size())]);
      order.erase({found->second, &found->first});
      found->second = clock++;
      order.emplace(found->second, &found->first);
    }
  return static_cast<double>(count) / Seconds(Clock::now() - begin).count();
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void figure(const std::string& name, double value, const char* unit, const char* better) {
  std::cout << fmt::format("figure {} {:.0f} {} {}\n", name, value, unit, better) << std::flush;
}

// A core that starts and hears of so many waiting jobs. Must come first: it counts resident bytes.
void measure_start(std::size_t jobs, const std::string& name) {
  World world{WorldSetup{}};
  std::vector<core::Event> events;
  std::vector<core::Command> commands;
  world.start(events);
  const std::int64_t before = resident_bytes();
  core::Core core(core_settings());
  Seconds timed{};
  const auto step = [&](const core::Event& event) {
    const core::Now now = world.now();
    const auto begin = Clock::now();
    core.step(event, now, commands);
    timed += Clock::now() - begin;
  };
  for (const core::Event& event : events) step(event);
  for (std::size_t i = 0; i < jobs; ++i) step(core::JobObserved{world.waiting_row()});
  events.clear();
  world.sync(events);
  for (const core::Event& event : events) step(event);
  commands.clear();
  commands.shrink_to_fit();
  const std::string wrong = core.check_indexes();
  FALCON_CHECK(wrong.empty());
  figure("core_start_" + name + "_ms", 1'000 * timed.count(), "ms", "lower");
  figure("core_bytes_per_waiting_job",
         static_cast<double>(resident_bytes() - before) / static_cast<double>(jobs), "bytes",
         "lower");
}

void measure_decisions(std::size_t jobs, const std::string& name, Seconds span,
                       Duration virtual_span) {
  Drive drive;
  drive.load(jobs);
  drive.measure(span, virtual_span);
  std::cout << "# " << name << ": " << drive.mix() << '\n';
  figure("core_decisions_per_s_" + name, drive.decisions_per_s(), "decisions/s", "higher");
  figure("raw_map_and_set_per_s_" + name, raw_ops_per_s(jobs, span / 2), "operations/s", "higher");
}

}  // namespace
}  // namespace falcon::bench

int main(int argc, char** argv) {
  using namespace falcon;
  using namespace falcon::bench;
  CLI::App app{"Speed of Falcon's decision core in an ideal world"};
  double seconds = 2;
  double virtual_seconds = 5;
  std::size_t scale = 1;
  std::size_t only = 0;
  app.add_option("--seconds", seconds, "measure for at least so long, in the core");
  app.add_option("--virtual-seconds", virtual_seconds, "and on the virtual clock");
  app.add_option("--fewer", scale, "so many times fewer jobs, to try the program out");
  app.add_option("--jobs", only, "measure this many waiting jobs alone");
  CLI11_PARSE(app, argc, argv);
  const Seconds span(seconds);
  const auto virtual_span = std::chrono::duration_cast<Duration>(Seconds(virtual_seconds));
  if (only != 0) {
    measure_decisions(only, std::to_string(only), span, virtual_span);
    return 0;
  }
  measure_start(100'000 / scale, "100k");
  measure_decisions(10'000 / scale, "10k", span, virtual_span);
  measure_decisions(100'000 / scale, "100k", span, virtual_span);
  return 0;
}
