// One queue: the jobs of one (cluster, shape) that wait, and who is served next.
//
// Pick rule (first specification, decision 4): of each actor the oldest waiting job; when more than
// one actor waits, the actor served last in this queue is left out; of the rest the oldest. With
// `full_rotation` the actor served longest ago goes first instead. Seniority is (priority band,
// created_at, id), so two jobs of one instant have an order that never changes.
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
  std::int32_t priority_band = 0;  // higher is served first; one band for now
  WallTime created_at{};
  const model::JobId* id = nullptr;
  const model::Actor* actor = nullptr;      // interned: equal actors have equal pointers
  std::optional<model::SupplyMode> supply;  // as asked for; empty: the cluster's default
  std::int64_t timeout_seconds = 0;
  Job* job = nullptr;  // its record; the queue never looks at it
};

struct MoreSenior {
  bool operator()(const Waiting* a, const Waiting* b) const {
    if (a->priority_band != b->priority_band) return a->priority_band > b->priority_band;
    if (a->created_at != b->created_at) return a->created_at < b->created_at;
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
  // As remembered from before a restart; true when it is the last turn of all so far.
  bool recall(const model::Actor* actor, std::uint64_t turn);

  // The order in which the pick rule would serve those who wait now.
  std::vector<const Waiting*> order(bool full_rotation) const;

 private:
  using Heads = std::set<const Waiting*, MoreSenior>;
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
