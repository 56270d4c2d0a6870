#include "simulation/database.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace falcon::simulation {
namespace {

bool is_open(const model::JobState& state) {
  return !model::is_terminal(state.status) || state.cleanup == model::Cleanup::kPending ||
         state.cleanup == model::Cleanup::kFailed;
}

}  // namespace

void Database::submit(model::JobRow row) {
  row.version = ++sequence_;
  const auto [at, inserted] = jobs_.emplace(row.id, row);
  FALCON_CHECK(inserted && is_open(row.state));
  ++open_count_;
}

bool Database::abort(const model::JobId& id, WallTime at) {
  model::JobRow& row = jobs_.at(id);
  if (model::is_terminal(row.state.status) || row.state.status == model::JobStatus::kAborting)
    return false;
  const model::JobState before = row.state;
  row.state.status = model::JobStatus::kAborting;
  row.state.reason = model::Reason::kNone;
  row.state.message = model::make_message(model::MessageCode::kAborting);
  row.aborting_at = at;
  row.version = ++sequence_;
  watcher_->job_written(before, row);
  return true;
}

Result<std::uint64_t> Database::write(const core::WriteJob& write) {
  const auto found = jobs_.find(write.job);
  if (found == jobs_.end()) return fail(ErrorKind::kNotFound, "no such job");
  model::JobRow& row = found->second;
  if (row.version != write.version) return fail(ErrorKind::kConflict, "another version");
  const model::JobState before = std::exchange(row.state, write.state);
  row.version = ++sequence_;
  if (is_open(before) && !is_open(row.state)) --open_count_;
  if (!is_open(before) && is_open(row.state)) ++open_count_;
  watcher_->job_written(before, row);
  return row.version;
}

Result<std::monostate> Database::write(const core::WriteState& write) {
  if (refuses && std::ranges::any_of(write.changes, refuses))
    return fail(ErrorKind::kInvalid, "a row is refused");
  for (const core::StateChange& change : write.changes) {
    if (const auto* pool = std::get_if<core::PutPool>(&change)) {
      pools_[pool->row.name] = pool->row;
    } else if (const auto* removed = std::get_if<core::RemovePool>(&change)) {
      pools_.erase(removed->name);
    } else if (const auto* attempt = std::get_if<core::PutAttempt>(&change)) {
      attempts_[{attempt->row.job, attempt->row.number}] = attempt->row;
    } else if (const auto* turn = std::get_if<core::PutTurn>(&change)) {
      turns_[{turn->row.queue, turn->row.actor}] = turn->row;
    } else if (const auto* backoff = std::get_if<core::PutBackoff>(&change)) {
      backoffs_[backoff->row.job] = backoff->row;
    } else if (const auto* over = std::get_if<core::RemoveBackoff>(&change)) {
      backoffs_.erase(over->job);
    }
  }
  // One transaction: it is judged when all of it is there.
  for (const core::StateChange& change : write.changes) {
    if (const auto* turn = std::get_if<core::PutTurn>(&change)) watcher_->turn_taken(turn->row);
    if (const auto* attempt = std::get_if<core::PutAttempt>(&change))
      watcher_->attempt_written(attempt->row);
  }
  for (const core::StateChange& change : write.changes) {
    if (const auto* pool = std::get_if<core::PutPool>(&change)) watcher_->pool_written(pool->row);
    if (const auto* turn = std::get_if<core::PutTurn>(&change)) watcher_->turn_written(turn->row);
  }
  return {};
}

core::StateLoaded Database::snapshot() const {
  core::StateLoaded loaded;
  for (const auto& [name, row] : pools_) loaded.pools.push_back(row);
  for (const auto& [key, row] : attempts_)
    if (row.outcome == model::AttemptOutcome::kOpen || row.late_create_until)
      loaded.attempts.push_back(row);
  for (const auto& [key, row] : turns_) loaded.turns.push_back(row);
  for (const auto& [key, row] : backoffs_) loaded.backoffs.push_back(row);
  return loaded;
}

std::vector<model::JobRow> Database::open_jobs() const {
  std::vector<model::JobRow> open;
  for (const auto& [id, row] : jobs_)
    if (is_open(row.state)) open.push_back(row);
  return open;
}

}  // namespace falcon::simulation
