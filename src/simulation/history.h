// One history: the real core against the simulated cloud and database, under virtual time.
//
// Everything follows from the seed. The shell's part is played here: commands become calls with
// delays and faults, answers and watches become events, crashes throw the core away at any command
// and start an empty one from the database. After `faults_stop` the world is kind, and everything
// must come to rest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/time_queue.h"
#include "cloudsim/world.h"
#include "core/core.h"
#include "simulation/cloud_views.h"
#include "simulation/database.h"
#include "simulation/laws.h"
#include "simulation/plan.h"

namespace falcon::simulation {

struct HistoryResult {
  std::string violation;  // empty: all laws were kept
  std::uint64_t trace_hash = 0;
  std::uint32_t jobs = 0;
  std::uint32_t crashes = 0;
  std::uint32_t faults = 0;     // transport faults that struck, and armed ones
  std::uint64_t decisions = 0;  // events processed by the core
  Duration simulated{0};
};

class History {
 public:
  // `trace` may be null; else every event and command is printed there, a line each.
  History(const HistoryPlan& plan, std::ostream* trace);
  ~History();
  HistoryResult run();

  // For stories: what happens when, besides what the plan draws. Call before run(), or from there.
  void after(Duration delay, std::function<void()> act);
  void crash(std::optional<Duration> down = {});  // for so long, or for some time
  void abort(const model::JobId& id);
  void set_cluster(const model::ClusterId& id, model::ClusterStatus status);
  void cut_watches(Duration gap);  // of all clusters; noticed and made good after `gap`
  // The next command of that kind gets no answer and arrives so much later.
  void delay_once(std::string_view kind, Duration delay) { delayed_ = {std::string(kind), delay}; }
  cloudsim::World& world() { return world_; }
  Database& database() { return database_; }

 private:
  // What a cluster's watchers have been given, for synthetic deletes in a relist.
  struct Watch {
    bool connected = false;
    std::uint64_t generation = 0;
    std::uint64_t resource_version = 0;
    std::array<MonoTime, cloudsim::kKinds> last_delivery{};
    std::array<std::map<std::string, model::Uid>, cloudsim::kKinds> known;
  };

  void set_up_world();
  void schedule_load();
  void schedule_people();
  void start_core();
  void unreadable_for_a_while(const model::JobId& id);
  void feed(const core::Event& event);
  void carry_out(std::vector<core::Command>& commands);
  void call(core::Command command);
  void arrive_late(core::Command command, Duration delay);
  core::CommandDone execute(const core::Command& command);
  Result<core::Payload> perform(const core::Command& command);
  Result<core::Payload> create_workload(const core::CreateWorkload& c);
  Result<core::Payload> look_at_workload(const core::LookAtWorkload& c);
  void answer(std::uint64_t core_epoch, Duration delay, core::CommandDone done);
  void submit(const JobPlan& job);
  void job_changed(const model::JobId& id);
  void relist_jobs();
  void pump();
  bool pump(const model::GkeCluster& gke, Watch& watch);
  void deliver(const model::GkeCluster& gke, Watch& watch, const cloudsim::Change& change);
  void lose_watch(const model::GkeCluster& gke, Watch& watch, Duration gap);
  Duration some_gap() { return transport_.between(Duration(1'000), Duration(120'000)); }
  void relist(const model::GkeCluster& gke);
  void give(const model::GkeCluster& gke, Watch& watch, const cloudsim::Object& object,
            bool deleted);
  void stop_faults();
  void abort_hopeless();
  bool rests() const;
  void note(std::string_view kind, std::string_view what);
  const cloudsim::ProgramPlan& program_of(const model::JobId& id) const;
  WallTime wall() const { return kEpoch + now_.time_since_epoch(); }

  // Wall time zero and monotonic time zero fall together: a seed prints the same times everywhere.
  static constexpr WallTime kEpoch{};

  HistoryPlan plan_;
  std::ostream* trace_;
  model::Installation installation_{"sim"};
  Random transport_;
  Random entropy_;
  Random people_;
  Random lag_;
  MonoTime now_{};
  PoolViews pool_views_;
  TimeQueue queue_;
  std::vector<core::Command> commands_;  // kept for its memory
  Laws laws_;
  Database database_;
  cloudsim::World world_;
  std::uint64_t pumped_changes_ = 0;  // of the world, already given to the watches
  std::unique_ptr<core::Core> core_;
  std::uint64_t epoch_ = 0;       // of the core: rises with each crash
  std::uint64_t jobs_watch_ = 0;  // generation
  MonoTime last_job_delivery_{};
  std::map<model::GkeCluster, Watch> watches_;
  std::map<model::JobId, const JobPlan*> plans_;
  std::map<model::ClusterId, model::ClusterRow> clusters_;
  bool faults_on_ = true;
  std::pair<std::string, Duration> delayed_;  // kind of command; empty: none
  HistoryResult result_;
};

}  // namespace falcon::simulation
