// A shape is what queues, pools and reuse are keyed by: accelerator, type and topology.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace falcon::model {

// GPUs come later; the field exists so that keys and rows need not change then.
enum class Accelerator : std::uint8_t { kTpu };

struct Shape {
  Accelerator accelerator = Accelerator::kTpu;
  std::string type;      // "v6e"
  std::string topology;  // "4x4"
  friend auto operator<=>(const Shape&, const Shape&) = default;
  friend bool operator==(const Shape&, const Shape&) = default;
};

inline std::string to_string(const Shape& shape) { return shape.type + " " + shape.topology; }

}  // namespace falcon::model
