// The simulated database: jobs and Falcon's own rows, as the API server keeps them.
//
// Writes of jobs are conditional on a version; every write is checked against the laws that can be
// seen at the row. Faults (lost requests, lost answers) are the transport's, not this class's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/command.h"
#include "core/event.h"
#include "model/job.h"
#include "model/pool.h"

namespace falcon::simulation {

class Database {
 public:
  struct Watcher {
    virtual ~Watcher() = default;
    virtual void job_written(const model::JobState& before, const model::JobRow& after) = 0;
    virtual void pool_written(const model::PoolRow& row) = 0;
    virtual void attempt_written(const model::AttemptRow& row) = 0;
    virtual void turn_taken(const model::TurnRow& row) = 0;  // all of a write, before the others
    virtual void turn_written(const model::TurnRow& row) = 0;
  };
  explicit Database(Watcher* watcher) : watcher_(watcher) {}

  void submit(model::JobRow row);
  // Sets Aborting unless the job is terminal; true when it did.
  bool abort(const model::JobId& id, WallTime at);
  Result<std::uint64_t> write(const core::WriteJob& write);
  Result<std::monostate> write(const core::WriteState& write);
  // Rows that are refused, and with them the whole write; for stories.
  std::function<bool(const core::StateChange&)> refuses;

  const std::map<model::JobId, model::JobRow>& jobs() const { return jobs_; }
  const std::map<model::PoolName, model::PoolRow>& pools() const { return pools_; }
  core::StateLoaded snapshot() const;
  bool has_open_attempt(const model::JobId& job, std::uint32_t number) const {
    const auto found = attempts_.find({job, number});
    return found != attempts_.end() && found->second.outcome == model::AttemptOutcome::kOpen;
  }
  bool has_attempt(const model::JobId& job, std::uint32_t number) const {
    return attempts_.contains({job, number});
  }
  // Jobs that are not terminal or whose clean-up is not done.
  std::vector<model::JobRow> open_jobs() const;
  std::size_t open_count() const { return open_count_; }
  std::uint64_t sequence() const { return sequence_; }

 private:
  Watcher* watcher_;
  std::map<model::JobId, model::JobRow> jobs_;
  std::map<model::PoolName, model::PoolRow> pools_;
  std::map<std::pair<model::JobId, std::uint32_t>, model::AttemptRow> attempts_;
  std::map<std::pair<model::QueueKey, model::Actor>, model::TurnRow> turns_;
  std::map<model::JobId, model::BackoffRow> backoffs_;
  std::size_t open_count_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace falcon::simulation
