#include "core/queue.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "core/mutant.h"

namespace falcon::core {

void Queue::add(const Waiting* job) {
  const Waiting* before = head_of(job->actor);
  FALCON_CHECK(lines_.insert(job).second);
  if (before == nullptr || MoreSenior{}(job, before)) {
    if (before != nullptr) heads_.erase(before);
    heads_.insert(job);
  }
  const auto longer = all_longer_than_.find(line_of(*job));
  if (longer != all_longer_than_.end() && job->timeout_seconds <= longer->second)
    all_longer_than_.erase(longer);
}

void Queue::remove(const Waiting* job) {
  FALCON_CHECK(lines_.erase(job) == 1);
  if (!all_longer_than_.empty()) {
    const Line line = line_of(*job);
    const auto next = lines_.lower_bound(line);
    if (next == lines_.end() || line_of(**next) != line) all_longer_than_.erase(line);
  }
  if (!heads_.erase(job)) return;
  if (const Waiting* next = head_of(job->actor)) heads_.insert(next);
}

const Waiting* Queue::head_of(const model::Actor* actor) const {
  const Waiting* head = nullptr;
  for (auto it = lines_.lower_bound(Line{actor, 0}); it != lines_.end() && (*it)->actor == actor;
       it = lines_.lower_bound(Line{actor, supply_index((*it)->supply) + 1}))
    if (head == nullptr || MoreSenior{}(*it, head)) head = *it;
  return head;
}

bool Queue::Heads::erase(const Waiting* job) {
  const auto level = levels_.find(job->priority);
  if (level == levels_.end() || level->second.erase(job) == 0) return false;
  if (level->second.empty()) levels_.erase(level);
  return true;
}

const Waiting* Queue::Heads::first() const {
  const Waiting* first = nullptr;
  for (const auto& [priority, level] : levels_)
    if (first == nullptr || MoreSenior{}(*level.begin(), first)) first = *level.begin();
  return first;
}

const Waiting* Queue::Heads::first_but(const model::Actor* actor, std::int32_t priority) const {
  const Waiting* first = nullptr;
  for (const auto& [of_level, level] : levels_) {
    if (of_level < priority) break;
    auto head = level.begin();
    if ((*head)->actor == actor) ++head;
    if (head != level.end() && (first == nullptr || MoreSenior{}(*head, first))) first = *head;
  }
  return first;
}

void Queue::Heads::for_each_from(std::int32_t priority,
                                 const std::function<void(const Waiting*)>& take) const {
  for (const auto& [of_level, level] : levels_)
    if (of_level >= priority) std::ranges::for_each(level, take);
}

const Waiting* Queue::choose(const Heads& heads, const Turns& turns, bool full_rotation) {
  const Waiting* first = heads.first();
  if (first == nullptr || FALCON_MUTANT(kFairnessForgotten)) return first;
  if (full_rotation) {
    const Waiting* best = nullptr;
    std::uint64_t best_turn = 0;
    heads.for_each_from(first->priority, [&](const Waiting* head) {
      const auto found = turns.of.find(head->actor);
      const std::uint64_t turn = found == turns.of.end() ? 0 : found->second;
      const bool sooner =
          best == nullptr || turn < best_turn || (turn == best_turn && MoreSenior{}(head, best));
      if (!sooner) return;
      best = head;
      best_turn = turn;
    });
    return best;
  }
  if (first->actor != turns.last_actor) return first;
  const Waiting* other = heads.first_but(first->actor, first->priority);
  return other == nullptr ? first : other;
}

const Waiting* Queue::pick(bool full_rotation) const {
  return choose(heads_, turns_, full_rotation);
}

const Waiting* Queue::pick(bool full_rotation, const Offer& offer) {
  Heads heads;
  const Waiting* head = nullptr;  // of the actor whose lines are read
  for (auto it = lines_.begin(); it != lines_.end();) {
    const Line line = line_of(**it);
    const Waiting* first = offer.supplies[line.supply] ? first_of_line(it, offer) : nullptr;
    if (first != nullptr && (head == nullptr || MoreSenior{}(first, head))) head = first;
    it = lines_.lower_bound(Line{line.actor, line.supply + 1});
    const bool last_of_actor = it == lines_.end() || (*it)->actor != line.actor;
    if (last_of_actor && head != nullptr) heads.insert(std::exchange(head, nullptr));
  }
  return choose(heads, turns_, full_rotation);
}

const Waiting* Queue::first_of_line(Lines::const_iterator first, const Offer& offer) {
  const Line line = line_of(**first);
  const auto longer = all_longer_than_.find(line);
  if (longer != all_longer_than_.end() && longer->second >= offer.longest_timeout_seconds)
    return nullptr;
  bool all_longer = true;
  for (auto it = first; it != lines_.end() && line_of(**it) == line; ++it) {
    if ((*it)->timeout_seconds > offer.longest_timeout_seconds) continue;
    if (!offer.admits || offer.admits(**it)) return *it;
    all_longer = false;
  }
  if (all_longer) all_longer_than_[line] = offer.longest_timeout_seconds;
  return nullptr;
}

std::uint64_t Queue::served(const model::Actor* actor) {
  recall(actor, turns_.last + 1);
  return turns_.last;
}

std::uint64_t Queue::last_turn_of(const model::Actor* actor) const {
  const auto found = turns_.of.find(actor);
  return found == turns_.of.end() ? 0 : found->second;
}

void Queue::give_back(const model::Actor* actor, std::uint64_t before) {
  turns_.of[actor] = before;
  std::uint64_t last = 0;
  turns_.last_actor = nullptr;
  for (const auto& [each, turn] : turns_.of) {
    if (turn <= last) continue;
    last = turn;
    turns_.last_actor = each;
  }
}

bool Queue::recall(const model::Actor* actor, std::uint64_t turn) {
  turns_.of[actor] = turn;
  if (turn <= turns_.last) return false;
  turns_.last = turn;
  turns_.last_actor = actor;
  return true;
}

std::vector<const Waiting*> Queue::order(bool full_rotation) const {
  // Each actor's jobs in seniority, one actor after the other.
  std::vector<const Waiting*> jobs(lines_.begin(), lines_.end());
  std::unordered_map<const model::Actor*, std::pair<std::size_t, std::size_t>> rest;
  Heads heads;
  for (std::size_t begin = 0; begin < jobs.size();) {
    std::size_t end = begin;
    bool one_line = true;
    for (; end < jobs.size() && jobs[end]->actor == jobs[begin]->actor; ++end)
      one_line = one_line && jobs[end]->supply == jobs[begin]->supply;
    if (!one_line) std::sort(jobs.data() + begin, jobs.data() + end, MoreSenior{});
    heads.insert(jobs[begin]);
    rest[jobs[begin]->actor] = {begin, end};
    begin = end;
  }
  Turns turns;
  turns.last = turns_.last;
  turns.last_actor = turns_.last_actor;
  if (full_rotation) turns.of = turns_.of;
  std::vector<const Waiting*> order;
  order.reserve(jobs.size());
  while (const Waiting* next = choose(heads, turns, full_rotation)) {
    order.push_back(next);
    heads.erase(next);
    auto& [at, end] = rest[next->actor];
    if (++at != end) heads.insert(jobs[at]);
    turns.last_actor = next->actor;
    if (full_rotation) turns.of[next->actor] = ++turns.last;
  }
  return order;
}

}  // namespace falcon::core
