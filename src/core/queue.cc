#include "core/queue.h"

#include "base/check.h"
#include "core/mutant.h"

namespace falcon::core {

void Queue::add(const Waiting* job) {
  Line& line = lines_[job->actor];
  if (!line.empty()) heads_.erase(*line.begin());
  FALCON_CHECK(line.insert(job).second);
  heads_.insert(*line.begin());
  ++size_;
}

void Queue::remove(const Waiting* job) {
  const auto found = lines_.find(job->actor);
  FALCON_CHECK(found != lines_.end());
  Line& line = found->second;
  heads_.erase(*line.begin());
  FALCON_CHECK(line.erase(job) == 1);
  --size_;
  if (line.empty())
    lines_.erase(found);
  else
    heads_.insert(*line.begin());
}

bool Queue::contains(const Waiting* job) const {
  const auto found = lines_.find(job->actor);
  return found != lines_.end() && found->second.contains(job);
}

const Waiting* Queue::choose(const std::set<const Waiting*, MoreSenior>& heads, const Turns& turns,
                             bool full_rotation) {
  if (heads.empty()) return nullptr;
  const Waiting* first = *heads.begin();
  if (FALCON_MUTANT(kFairnessForgotten)) return first;
  if (full_rotation) {
    const Waiting* best = nullptr;
    std::uint64_t best_turn = 0;
    for (const Waiting* head : heads) {
      if (head->priority_band != first->priority_band) break;
      const auto found = turns.of.find(head->actor);
      const std::uint64_t turn = found == turns.of.end() ? 0 : found->second;
      if (best == nullptr || turn < best_turn) {
        best = head;
        best_turn = turn;
      }
    }
    return best;
  }
  if (first->actor != turns.last_actor) return first;
  const auto second = std::next(heads.begin());
  if (second == heads.end() || (*second)->priority_band != first->priority_band) return first;
  return *second;
}

const Waiting* Queue::pick(bool full_rotation, const Fits& fits) const {
  if (!fits) return choose(heads_, turns_, full_rotation);
  std::set<const Waiting*, MoreSenior> heads;
  for (const auto& [actor, line] : lines_) {
    for (const Waiting* job : line) {
      if (!fits(*job)) continue;
      heads.insert(job);
      break;
    }
  }
  return choose(heads, turns_, full_rotation);
}

std::uint64_t Queue::served(const model::Actor* actor) {
  recall(actor, turns_.last + 1);
  return turns_.last;
}

std::uint64_t Queue::last_turn_of(const model::Actor* actor) const {
  const auto found = turns_.of.find(actor);
  return found == turns_.of.end() ? 0 : found->second;
}

bool Queue::recall(const model::Actor* actor, std::uint64_t turn) {
  turns_.of[actor] = turn;
  if (turn <= turns_.last) return false;
  turns_.last = turn;
  turns_.last_actor = actor;
  return true;
}

std::vector<const Waiting*> Queue::order(bool full_rotation) const {
  std::vector<const Waiting*> order;
  order.reserve(size_);
  std::map<const model::Actor*, std::pair<Line::const_iterator, Line::const_iterator>, ByName> rest;
  std::set<const Waiting*, MoreSenior> heads;
  for (const auto& [actor, line] : lines_) {
    rest[actor] = {line.begin(), line.end()};
    heads.insert(*line.begin());
  }
  Turns turns;
  turns.last = turns_.last;
  turns.last_actor = turns_.last_actor;
  if (full_rotation) turns.of = turns_.of;
  while (const Waiting* next = choose(heads, turns, full_rotation)) {
    order.push_back(next);
    heads.erase(next);
    auto& [at, end] = rest[next->actor];
    if (++at != end) heads.insert(*at);
    turns.last_actor = next->actor;
    if (full_rotation) turns.of[next->actor] = ++turns.last;
  }
  return order;
}

}  // namespace falcon::core
