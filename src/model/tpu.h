// The TPU catalog: which slices exist, what machines they are made of, how Google spells them.
//
// All facts stand in one table in tpu.cc, each with its source; everything else (validation,
// node counts, labels, pool requests, the simulator) derives from it. Chips are what Kubernetes
// and topologies count; TensorCores are counted only inside TPU_ACCELERATOR_TYPE names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace falcon::model {

struct TpuMachine {
  std::string_view machine_type;  // "ct6e-standard-4t"
  std::uint32_t chips = 0;        // per VM; also `google.com/tpu` allocatable per node
};

// How the node pool request of a multi-host slice places its machines.
enum class SlicePlacement : std::uint8_t { kCompact, kWorkloadPolicy };

struct TpuGeneration {
  std::string_view type;               // what people write: "v6e"
  std::string_view accelerator_label;  // value of cloud.google.com/gke-tpu-accelerator
  std::string_view
      accelerator_prefix;        // prefix of TPU_ACCELERATOR_TYPE; the number after it is cores
  std::uint32_t dimensions = 0;  // of a topology: 2 or 3
  std::uint32_t cores_per_chip = 0;
  std::uint32_t chips_max = 0;     // of one slice
  bool sorted_dimensions = false;  // A <= B <= C is required
  bool flex_start = false;         // can be had by flex-start
  std::string_view disk_type;      // boot disk that Falcon asks for
  SlicePlacement placement = SlicePlacement::kCompact;
  std::span<const TpuMachine> machines;          // the last one serves multi-host slices
  std::span<const std::string_view> topologies;  // those with a name; 3-D ones go on in cubes of 4
};

// One slice of one generation: the machines that a job gets.
struct Slice {
  const TpuGeneration* generation = nullptr;
  std::string topology;  // canonical: "4x4"
  std::uint32_t chips = 0;
  std::uint32_t hosts = 0;  // nodes of the pool = completions = parallelism = pods
  std::uint32_t chips_per_host = 0;
  std::string_view machine_type;
  bool multi_host() const { return hosts > 1; }
};

std::span<const TpuGeneration> tpu_generations();
// Null when no generation has that name.
const TpuGeneration* find_tpu_generation(std::string_view type);
// kInvalid with words that name what is offered; pure, no allocation on the good path but the text.
Result<Slice> find_slice(std::string_view type, std::string_view topology);

}  // namespace falcon::model
