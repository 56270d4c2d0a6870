// The laws that every history must keep, watched at every step.
//
// The watcher sees what is true (rows as they are written, the cloud as it is), never what the core
// believes. The first broken law is kept, in words; a history stops there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cloudsim/world.h"
#include "core/command.h"
#include "model/job.h"
#include "simulation/database.h"

namespace falcon::simulation {

class Laws : public Database::Watcher {
 public:
  explicit Laws(const model::Installation& installation) : installation_(installation) {}
  void watch(const Database* database) { database_ = database; }
  bool broken() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  void violate(int law, const std::string& words);

  // Database::Watcher: laws 2, 3, 4, 8, 9, 10, 11 as far as rows show them.
  void job_written(const model::JobState& before, const model::JobRow& after) override;
  void pool_written(const model::PoolRow& row) override;
  void attempt_written(const model::AttemptRow& row) override;
  void turn_taken(const model::TurnRow& row) override;
  void turn_written(const model::TurnRow& row) override;

  // Every change of a cluster's Kubernetes objects, in order: laws 3, 5, 10.
  void kubernetes_changed(const model::GkeCluster& gke, const cloudsim::Change& change);
  // A deletion of a pool that the cloud accepted: laws 6 (others' pools) and 7.
  void pool_deleted(const model::GkeCluster& gke, const cloudsim::PoolRequest& request);
  // Somebody deletes a Kubernetes Job by hand: its verdict may never be seen.
  void person_deletes(const cloudsim::Object& workload);
  // A new process: answers to the last one's calls reach nobody.
  void core_started();
  // A command as it leaves: intent before effect, nothing on a partial slice or a dying pool.
  void sent(const core::Command& command);
  // What the core was told; only that can be held against it.
  void told(const core::Event& event);
  // Each call to the outside, by kind and object: law 12.
  void called(std::size_t kind, const std::string& object, MonoTime now);
  // Rows of pools that are being removed while the cloud still has them: law 6.
  void rows_removed(const core::WriteState& write, const cloudsim::World& world);
  // Now and then: a free slot that nobody is given, law 4.
  void look_for_idle_slots();
  // When nothing more can happen: laws 2 and 6.
  void at_rest(cloudsim::World& world);

  std::uint32_t terminal_count() const { return terminal_count_; }

 private:
  struct PoolUse {
    std::map<model::JobId, std::uint32_t> running;  // pods, by job
    std::set<model::JobId> begun_after_end;         // whose pods began after its end or abort
    std::map<model::NodeName, bool> ready;
    std::optional<MonoTime> all_ready;
  };
  struct Reading {
    MonoTime asked{};
    MonoTime told{};
    core::ReservationView view;
  };
  void row_unreadable(const model::JobId& id);
  bool given_up(const model::JobId& job) const;
  bool row_was_known(const model::JobId& id, WallTime at) const;
  void pod_runs(const cloudsim::Object& object);
  void pod_ended(const model::Uid& uid);
  void node_gone(const model::NodeName& node);
  bool takes_idle_pool(const model::JobRow& row) const;
  bool turn_given_back(const model::TurnRow& row);
  bool being_cleared(const model::JobId& id, WallTime at) const;
  void pool_call_sent(const core::Command& command);
  void pool_call_answered(const core::CommandDone& done);
  void failure_sent(const core::WriteJob& write);
  void runs_again(const model::JobState& before, const model::JobRow& after);
  void count_waiting(const model::JobState& before, const model::JobRow& after);

  model::Installation installation_;
  const Database* database_ = nullptr;
  std::string violation_;
  std::map<model::PoolName, PoolUse> pools_;
  struct RunningPod {
    model::PoolName pool;
    model::JobId job;
    model::NodeName node;
    model::Uid workload;
  };
  std::map<model::Uid, RunningPod> running_pods_;
  std::map<model::JobId, WallTime> waiting_since_;
  std::map<model::JobId, std::uint32_t> idle_moves_;
  std::map<model::JobId, WallTime> cleared_at_;  // its last attempt that is over
  std::map<model::JobId, WallTime> runs_again_since_;
  std::map<model::JobId, std::set<model::Uid>> live_workloads_;
  std::map<model::NodeName, model::PoolName> node_pool_;
  std::map<std::pair<model::QueueKey, std::uint64_t>, model::Actor> turns_;
  std::map<model::QueueKey, std::pair<std::uint64_t, model::Actor>> last_turn_;
  std::map<model::QueueKey, std::set<model::JobId>> waiting_;
  std::map<model::QueueKey, std::set<model::JobId>> under_way_;  // with the slot or a free pool
  std::map<model::QueueKey, MonoTime> idle_since_;
  std::set<model::PoolName> told_stopping_;
  std::set<model::PoolName> told_autoscaled_;
  std::map<std::uint64_t, model::PoolName> creates_;   // by command
  std::map<model::PoolName, MonoTime> unknown_since_;  // creates that may have made a pool
  std::map<std::uint64_t, std::pair<model::GkeCluster, MonoTime>> listings_;  // by command
  std::map<model::GkeCluster, MonoTime> listed_;      // when the last complete one was asked
  std::set<model::Uid> told_disrupted_;               // Kubernetes Jobs
  std::map<model::JobId, WallTime> ended_by_itself_;  // verdict of a Job that nobody was deleting
  std::map<model::QueueKey, std::set<model::JobId>> acquiring_;
  std::map<model::JobId, model::QueueKey> acquiring_in_;
  std::map<std::uint64_t, model::JobId> job_calls_;              // by command
  std::map<model::JobId, std::uint32_t> failed_calls_;           // running
  std::map<model::JobId, WallTime> known_again_;                 // after failed calls
  std::set<model::JobId> was_unreadable_;                        // at some start
  std::map<model::Reservation, std::vector<Reading>> readings_;  // that the core was told: law 9
  std::map<std::uint64_t, std::pair<model::Reservation, MonoTime>> reads_;  // by command
  std::set<model::PoolName> judged_claims_;
  // By kind and object; the calls of the last minute at least.
  std::map<std::size_t, std::unordered_map<std::string, std::vector<MonoTime>>> calls_;
  std::uint32_t terminal_count_ = 0;
  MonoTime now_{};

 public:
  void tell_time(MonoTime now) { now_ = now; }
};

}  // namespace falcon::simulation
