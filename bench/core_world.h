// An ideal world for the decision core: every command succeeds at once, nothing fails, nothing is
// slow, and people hand in a new job for each one that is over. Virtual clock, no I/O, one thread.
//
// A job's whole life goes through it: submitted, queued, pool made, nodes Ready, dispatched,
// running, succeeded, Kubernetes Job deleted and pods gone, pool taken over or deleted. Each pool
// serves two jobs, the one that it was made for and one that takes it over; then its machines
// announce their end date and it is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "core/command.h"
#include "core/event.h"
#include "core/settings.h"
#include "model/cluster.h"

namespace falcon::bench {

struct WorldSetup {
  std::uint32_t clusters = 8;  // times four shapes: 32 queues
  std::uint32_t actors = 20;
  Duration pool_takes{4};   // from the create until it is RUNNING
  Duration nodes_take{2};   // from then until its nodes are Ready
  Duration job_takes{200};  // from the start of its pods until they have ended
};

// Settings of a core in this world: as by default, but pools are listed as fast as they come.
core::Settings core_settings();

class World {
 public:
  explicit World(const WorldSetup& setup);

  // What a controller that starts hears before the jobs, and after them.
  void start(std::vector<core::Event>& events) const;
  void sync(std::vector<core::Event>& events) const;

  // A new job, as its row comes from the database.
  core::Event submit();
  // A job's row as `submit` makes it, that waits in its queue already; the world forgets it.
  model::JobRow waiting_row();

  // Carries the command out and appends what the core hears of it.
  void carry_out(core::Command&& command, std::vector<core::Event>& events);

  void set_now(MonoTime now) { now_ = now; }
  core::Now now() { return {now_, wall(), random_.next()}; }
  MonoTime next_due() const;
  void act_due(std::vector<core::Event>& events);  // all that is due by now

  std::uint64_t lives() const { return lives_; }  // jobs that are over and cleaned up
  std::size_t jobs() const { return jobs_.size(); }
  std::size_t pools() const;
  std::size_t running() const { return workloads_.size(); }

 private:
  struct Pool {
    core::PoolView view;
    std::uint32_t hosts = 0;
    std::uint32_t served = 0;
  };
  struct Workload {
    core::WorkloadView view;
    model::PoolName pool;
    std::vector<core::PodView> pods;
  };
  using Act = std::function<void(std::vector<core::Event>&)>;

  WallTime wall() const;
  model::JobRow new_row();
  void after(Duration delay, Act act);
  core::NodeView node(const Pool& pool, std::uint32_t index, bool ready) const;
  void answer(const core::Command& command, core::Payload payload,
              std::vector<core::Event>& events) const;
  void write(const core::WriteJob& command, const core::Command& whole,
             std::vector<core::Event>& events);
  void create(const core::CreatePool& command, std::vector<core::Event>& events);
  void remove(const core::DeletePool& command, std::vector<core::Event>& events);
  void create(const core::CreateWorkload& command, const core::Command& whole,
              std::vector<core::Event>& events);
  void end_pods(const model::GkeCluster& gke, const model::WorkloadName& name,
                std::vector<core::Event>& events);
  void remove(const core::DeleteWorkload& command, std::vector<core::Event>& events);

  WorldSetup setup_;
  Random random_{1};
  MonoTime now_{};
  std::vector<model::ClusterRow> clusters_;
  std::unordered_map<model::JobId, model::JobRow> jobs_;
  std::map<model::GkeCluster, std::map<model::PoolName, Pool>> pools_;
  std::unordered_map<model::WorkloadName, Workload> workloads_;
  std::multimap<MonoTime, Act> agenda_;
  std::uint64_t versions_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t uids_ = 0;
  std::uint64_t lives_ = 0;
};

}  // namespace falcon::bench
