// How machines are obtained. These strings are in the database and in the API: add, never rename.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace falcon::model {

enum class SupplyMode : std::uint8_t { kReservation, kOnDemand, kFlexStart };
inline constexpr std::array kAllSupplyModes{SupplyMode::kReservation, SupplyMode::kOnDemand,
                                            SupplyMode::kFlexStart};

constexpr std::string_view to_string(SupplyMode mode) {
  switch (mode) {
    case SupplyMode::kReservation:
      return "reservation";
    case SupplyMode::kOnDemand:
      return "on-demand";
    case SupplyMode::kFlexStart:
      return "flex-start";
  }
  std::abort();
}

constexpr std::optional<SupplyMode> supply_mode_from_string(std::string_view text) {
  for (const SupplyMode mode : kAllSupplyModes)
    if (to_string(mode) == text) return mode;
  return std::nullopt;
}

}  // namespace falcon::model
