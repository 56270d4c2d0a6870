// Who was served when in a queue. Kept for every (queue, actor), so that a restart changes nothing.
#pragma once

#include <compare>
#include <cstdint>

#include "model/ids.h"
#include "model/shape.h"

namespace falcon::model {

// One queue for each cluster row and shape.
struct QueueKey {
  ClusterId cluster;
  Shape shape;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
  friend bool operator==(const QueueKey&, const QueueKey&) = default;
};

struct TurnRow {
  QueueKey queue;
  Actor actor;
  std::uint64_t turn =
      0;          // rises by one with each job served in this queue; the largest is the last
  JobId job;      // who it was; empty when it went back to waiting
  WallTime at{};  // when it was picked
  friend bool operator==(const TurnRow&, const TurnRow&) = default;
};

// How long a job waits before it asks the cloud again after a stock-out.
struct BackoffRow {
  JobId job;
  std::uint32_t failures = 0;
  WallTime not_before{};
  std::string words;  // the cloud's
  friend bool operator==(const BackoffRow&, const BackoffRow&) = default;
};

}  // namespace falcon::model
