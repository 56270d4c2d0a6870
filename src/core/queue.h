// One queue: the jobs of one (cluster, shape) that wait, and who is served next.
//
// Pick rule (first specification, decision 4): of each actor the oldest waiting job; when more than
// one actor waits, the actor served last in this queue is left out; of the rest the oldest. With
// `full_rotation` the actor served longest ago goes first instead. Nobody steps back for a job of
// lower priority.
//
// Seniority is (created_at - priority x kPriorityWeight, id): a higher priority goes first, and yet
// nobody starves, since a job that waits longer than the difference is worth goes before it. Two
// jobs of one instant have an order that never changes.
//
// Cost: add, remove and pick are logarithmic in what waits. What an offer cannot serve is passed
// over a line at a time, a line being one actor's jobs of one supply mode, and a line that is known
// to hold nothing short enough is not read again. order() is linear.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/supply.h"

namespace falcon::core {

struct Job;

// What the queue needs to know of a waiting job. Owned by whoever adds it; stays put, and stays
// what it is, while waiting.
struct Waiting {
  std::int32_t priority = 0;  // higher goes first
  WallTime created_at{};
  WallTime senior_since{};  // senior_since(created_at, priority)
  const model::JobId* id = nullptr;
  const model::Actor* actor = nullptr;      // interned: equal actors have equal pointers
  std::optional<model::SupplyMode> supply;  // as asked for; empty: the cluster's default
  std::int64_t timeout_seconds = 0;
  Job* job = nullptr;  // its record; the queue never looks at it
};

// One point of priority weighs as much as so long a wait: 10 points are 50 minutes, 1,000 some
// three days and a half.
inline constexpr Duration kPriorityWeight{300'000};
inline WallTime senior_since(WallTime created_at, std::int32_t priority) {
  return created_at - kPriorityWeight * priority;
}

struct MoreSenior {
  bool operator()(const Waiting* a, const Waiting* b) const {
    if (a->senior_since != b->senior_since) return a->senior_since < b->senior_since;
    return *a->id < *b->id;
  }
};

// What a free node pool can serve: the supply modes asked for, and how long a job may be.
struct Offer {
  static constexpr std::size_t kSupplies = 4;  // none asked for, and the three modes
  std::array<bool, kSupplies> supplies{true, true, true, true};
  std::int64_t longest_timeout_seconds = std::numeric_limits<std::int64_t>::max();
  std::function<bool(const Waiting&)> admits;  // what else is asked of the job; empty: nothing
};

// Index into Offer::supplies.
constexpr std::size_t supply_index(const std::optional<model::SupplyMode>& supply) {
  return supply ? 1 + static_cast<std::size_t>(*supply) : 0;
}

class Queue {
 public:
  void add(const Waiting* job);
  void remove(const Waiting* job);
  bool contains(const Waiting* job) const { return lines_.contains(job); }
  std::size_t size() const { return lines_.size(); }

  // Null when nobody waits.
  const Waiting* pick(bool full_rotation) const;
  // Null when nobody waits that the offer can serve.
  const Waiting* pick(bool full_rotation, const Offer& offer);

  // Records that the actor was served; gives the number of that turn.
  std::uint64_t served(const model::Actor* actor);
  std::uint64_t last_turn_of(const model::Actor* actor) const;  // 0: never served
  // The actor's turn of that number was for nothing: its last one is the one before again. The
  // number is not used a second time.
  void give_back(const model::Actor* actor, std::uint64_t before);
  // As remembered from before a restart; true when it is the last turn of all so far.
  bool recall(const model::Actor* actor, std::uint64_t turn);

  // The order in which the pick rule would serve those who wait now.
  std::vector<const Waiting*> order(bool full_rotation) const;

 private:
  // The most senior job of each actor, by its priority; few priorities are in use at a time.
  class Heads {
   public:
    void insert(const Waiting* job) { levels_[job->priority].insert(job); }
    bool erase(const Waiting* job);
    const Waiting* first() const;
    // The most senior of those with that priority or a higher one, `actor` left out.
    const Waiting* first_but(const model::Actor* actor, std::int32_t priority) const;
    void for_each_from(std::int32_t priority,
                       const std::function<void(const Waiting*)>& take) const;

   private:
    std::map<std::int32_t, std::set<const Waiting*, MoreSenior>, std::greater<>> levels_;
  };
  struct Line {
    const model::Actor* actor;
    std::size_t supply;
    auto operator<=>(const Line&) const = default;
  };
  static Line line_of(const Waiting& job) { return {job.actor, supply_index(job.supply)}; }
  // Line by line, each in seniority; a Line stands before its first job. The order of lines means
  // nothing: no decision depends on where an actor lies in memory.
  struct ByLine {
    using is_transparent = void;
    bool operator()(const Waiting* a, const Waiting* b) const {
      const auto order = line_of(*a) <=> line_of(*b);
      return order == 0 ? MoreSenior{}(a, b) : order < 0;
    }
    bool operator()(const Waiting* a, const Line& b) const { return line_of(*a) < b; }
    bool operator()(const Line& a, const Waiting* b) const { return a <= line_of(*b); }
  };
  using Lines = std::set<const Waiting*, ByLine>;
  struct Turns {
    std::uint64_t last = 0;
    const model::Actor* last_actor = nullptr;
    std::map<const model::Actor*, std::uint64_t> of;
  };
  static const Waiting* choose(const Heads& heads, const Turns& turns, bool full_rotation);
  const Waiting* head_of(const model::Actor* actor) const;
  const Waiting* first_of_line(Lines::const_iterator first, const Offer& offer);

  Lines lines_;
  Heads heads_;  // invariant: the most senior job of each actor
  // Lines without a job that is at most so long; forgotten when one joins.
  std::map<Line, std::int64_t> all_longer_than_;
  Turns turns_;
};

}  // namespace falcon::core
