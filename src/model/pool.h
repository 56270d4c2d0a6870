// A row of `pools`: a node pool of Falcon's, from before its create leaves until it was seen gone.
//
//   intended --> accepted --> ready --> condemned --> (row removed once the pool was seen gone)
//       |            |                      ^
//       +------------+----------------------+
//
// The row is written durably before each effect, so that after any crash it tells what to look
// for. The strings are in the database: add, never rename.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/ids.h"
#include "model/shape.h"
#include "model/supply.h"

namespace falcon::model {

enum class PoolPhase : std::uint8_t {
  kIntended,   // the create may or may not have left
  kAccepted,   // Google answered with an operation, or the pool was seen
  kReady,      // all its nodes were Ready at once
  kCondemned,  // is to go, whatever it is doing; never capacity again
};
inline constexpr std::array kAllPoolPhases{PoolPhase::kIntended, PoolPhase::kAccepted,
                                           PoolPhase::kReady, PoolPhase::kCondemned};
constexpr std::string_view to_string(PoolPhase phase) {
  switch (phase) {
    case PoolPhase::kIntended:
      return "intended";
    case PoolPhase::kAccepted:
      return "accepted";
    case PoolPhase::kReady:
      return "ready";
    case PoolPhase::kCondemned:
      return "condemned";
  }
  std::abort();
}
constexpr std::optional<PoolPhase> pool_phase_from_string(std::string_view text) {
  for (const PoolPhase phase : kAllPoolPhases)
    if (to_string(phase) == text) return phase;
  return std::nullopt;
}

struct PoolRow {
  PoolName name;
  GkeCluster gke;
  ClusterId cluster;
  Shape shape;
  SupplyMode supply = SupplyMode::kOnDemand;
  Reservation reservation;      // empty unless supply is reservation
  JobId owner;                  // the job it was made for
  std::uint32_t provision = 0;  // of that job; name = pool_name(installation, owner, provision)
  PoolPhase phase = PoolPhase::kIntended;
  JobId serves;                      // the job that has it now; empty: free
  std::uint32_t serves_attempt = 0;  // that job's attempt here; 0: none was dispatched
  bool kept = false;  // was free once: whoever takes it now needs no slot of its queue
  WallTime intent_at{};
  WallTime phase_since{};
  std::optional<WallTime> accepted_at;  // NodePoolTimeout counts from here
  std::optional<WallTime>
      usable_until;  // machines with an end date (flex-start); empty: none known
  // A create whose answer was lost may reach the cloud until then; empty: none can.
  std::optional<WallTime> late_create_until;
  std::string last_error;  // the cloud's words
  friend bool operator==(const PoolRow&, const PoolRow&) = default;
};

}  // namespace falcon::model
