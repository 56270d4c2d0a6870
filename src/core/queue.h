// One queue: the jobs of one (cluster, shape) that wait, and who is served next.
//
// Pick rule (first specification, decision 4): of each actor the oldest waiting job; when more than
// one actor waits, the actor served last in this queue is left out; of the rest the oldest. With
// `full_rotation` the actor served longest ago goes first instead. Seniority is (priority band,
// created_at, id), so two jobs of one instant have an order that never changes.
//
// Cost: add, remove and pick are logarithmic in what waits; order() is linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace falcon::core {

// What the queue needs to know of a waiting job. Owned by whoever adds it; stays put while waiting.
struct Waiting {
  std::int32_t priority_band = 0;  // higher is served first; one band for now
  WallTime created_at{};
  const model::JobId* id = nullptr;
  const model::Actor* actor = nullptr;  // interned: equal actors have equal pointers
};

struct MoreSenior {
  bool operator()(const Waiting* a, const Waiting* b) const {
    if (a->priority_band != b->priority_band) return a->priority_band > b->priority_band;
    if (a->created_at != b->created_at) return a->created_at < b->created_at;
    return *a->id < *b->id;
  }
};

class Queue {
 public:
  void add(const Waiting* job);
  void remove(const Waiting* job);
  bool contains(const Waiting* job) const;
  std::size_t size() const { return size_; }

  using Fits = std::function<bool(const Waiting&)>;
  // Null when nobody waits, or nobody that fits. An empty `fits` admits everybody.
  const Waiting* pick(bool full_rotation, const Fits& fits = {}) const;

  // Records that the actor was served; gives the number of that turn.
  std::uint64_t served(const model::Actor* actor);
  std::uint64_t last_turn_of(const model::Actor* actor) const;  // 0: never served
  // As remembered from before a restart; true when it is the last turn of all so far.
  bool recall(const model::Actor* actor, std::uint64_t turn);

  // The order in which the pick rule would serve those who wait now.
  std::vector<const Waiting*> order(bool full_rotation) const;

 private:
  using Line = std::set<const Waiting*, MoreSenior>;
  struct ByName {
    bool operator()(const model::Actor* a, const model::Actor* b) const { return *a < *b; }
  };
  struct Turns {
    std::uint64_t last = 0;
    const model::Actor* last_actor = nullptr;
    std::map<const model::Actor*, std::uint64_t, ByName> of;
  };
  static const Waiting* choose(const std::set<const Waiting*, MoreSenior>& heads,
                               const Turns& turns, bool full_rotation);

  std::map<const model::Actor*, Line, ByName> lines_;
  std::set<const Waiting*, MoreSenior> heads_;  // invariant: the first of each line
  Turns turns_;
  std::size_t size_ = 0;
};

}  // namespace falcon::core
