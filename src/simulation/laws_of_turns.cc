// Law 8: who is served, in what order.
#include <fmt/format.h>

#include <algorithm>

#include "core/queue.h"
#include "simulation/laws.h"

namespace falcon::simulation {

using model::JobRow;

void Laws::attempt_written(const model::AttemptRow& row) {
  if (row.outcome != model::AttemptOutcome::kOpen)
    cleared_at_[row.job] = WallTime{} + now_.time_since_epoch();
}

void Laws::turn_taken(const model::TurnRow& row) {
  waiting_since_.erase(row.job);  // its own row follows, perhaps in another cluster
}

// A job that gave way had its turn for nothing: its actor's last one is an earlier one again.
bool Laws::turn_given_back(const model::TurnRow& row) {
  const auto given_back = [&](const auto& entry) {
    return entry.first.first == row.queue && entry.second == row.actor &&
           entry.first.second > row.turn;
  };
  if (std::erase_if(turns_, given_back) == 0) return false;
  auto& last = last_turn_[row.queue];
  last = {};
  for (const auto& [key, actor] : turns_)
    if (key.first == row.queue && key.second > last.first) last = {key.second, actor};
  return true;
}

void Laws::turn_written(const model::TurnRow& row) {
  if (turn_given_back(row)) return;
  const auto [at, inserted] = turns_.emplace(std::make_pair(row.queue, row.turn), row.actor);
  if (!inserted) {
    if (at->second != row.actor) violate(8, "a turn of a queue was given twice");
    return;
  }
  auto& last = last_turn_[row.queue];
  const bool twice = row.turn == last.first + 1 && last.second == row.actor;
  if (row.turn > last.first) last = {row.turn, row.actor};
  if (!twice) return;
  // An idle pool is for the next job that it fits.
  const bool took_idle = std::ranges::any_of(database_->pools(), [&](const auto& entry) {
    return entry.second.serves == row.job && (entry.second.owner != row.job || entry.second.kept);
  });
  if (took_idle) return;
  // Aborted before its turn was durable: whether it took an idle pool can't be told any more.
  const auto served = database_->jobs().find(row.job);
  if (served != database_->jobs().end() && served->second.aborting_at) return;
  const auto waiting = waiting_.find(row.queue);
  if (waiting == waiting_.end()) return;
  // Each other actor stands in the queue with its most senior job.
  std::map<model::Actor, std::pair<WallTime, model::JobId>> heads;
  for (const model::JobId& id : waiting->second) {
    const JobRow& job = database_->jobs().at(id);
    if (job.actor == row.actor) continue;
    // Past its limit it waits for nothing any more, whatever its row still says.
    const auto limit = job.created_at + std::chrono::seconds(job.spec.max_wait_seconds);
    if (job.spec.max_wait_seconds != 0 && row.at >= limit) continue;
    const std::pair<WallTime, model::JobId> place{core::senior_since(job.created_at, job.priority),
                                                  id};
    const auto [head, first] = heads.try_emplace(job.actor, place);
    if (!first) head->second = std::min(head->second, place);
  }
  for (const auto& [actor, head] : heads) {
    const model::JobId& id = head.second;
    const auto since = waiting_since_.find(id);
    const bool waited = since != waiting_since_.end() && since->second < row.at &&
                        row_was_known(id, row.at) && !being_cleared(id, row.at);
    if (waited && (served == database_->jobs().end() ||
                   database_->jobs().at(id).priority >= served->second.priority))
      violate(8, fmt::format("{} was served twice running while {} waits", row.actor.value(),
                             id.value()));
  }
}

// As Falcon's own rows say it: at that time its last attempt had not been cleared away, so it could
// not be next.
bool Laws::being_cleared(const model::JobId& id, WallTime at) const {
  const auto cleared = cleared_at_.find(id);
  return (cleared != cleared_at_.end() && cleared->second >= at) ||
         database_->has_open_attempt(id, database_->jobs().at(id).state.attempts_over);
}

// The core may go on without a job whose row it could neither write nor read three times running.
bool Laws::row_was_known(const model::JobId& id, WallTime at) const {
  const auto failed = failed_calls_.find(id);
  const auto again = known_again_.find(id);
  return !was_unreadable_.contains(id) && (failed == failed_calls_.end() || failed->second < 3) &&
         (again == known_again_.end() || again->second < at);
}

}  // namespace falcon::simulation
