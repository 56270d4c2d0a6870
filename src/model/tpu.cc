#include "model/tpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace falcon::model {
namespace {

// Sources, read in 2026: GKE's own cluster-autoscaler (GoogleCloudPlatform/cluster-autoscaler
// @7d25050, pkg/cloudprovider/gke: machine types, labels, disks, chips), its device plugin
// (ai-on-gke/tpu-device-plugin @4626a9f: label grammar, cores), gcloud 578 (machine list), xpk
// @367c838 (largest slices, order of dimensions). Flex-start: not on v4 (autoscaler).
//
// 2x4 of v5e and v6e exists twice, as one machine of eight chips and as two of four. Falcon takes
// the single host: no slice network to wait for, half the machines to lose.
constexpr std::array kV4Machines{TpuMachine{"ct4p-hightpu-4t", 4}};
constexpr std::array kV5eMachines{TpuMachine{"ct5lp-hightpu-1t", 1},
                                  TpuMachine{"ct5lp-hightpu-8t", 8},
                                  TpuMachine{"ct5lp-hightpu-4t", 4}};
constexpr std::array kV5pMachines{TpuMachine{"ct5p-hightpu-4t", 4}};
constexpr std::array kV6eMachines{TpuMachine{"ct6e-standard-1t", 1},
                                  TpuMachine{"ct6e-standard-8t", 8},
                                  TpuMachine{"ct6e-standard-4t", 4}};
constexpr std::array kV7xMachines{TpuMachine{"tpu7x-standard-1t", 1},
                                  TpuMachine{"tpu7x-standard-4t", 4}};

constexpr std::array<std::string_view, 8> kFlat{"1x1", "2x2", "2x4",  "4x4",
                                                "4x8", "8x8", "8x16", "16x16"};
constexpr std::array<std::string_view, 7> kCubic{"2x2x1", "2x2x2", "2x2x4", "2x4x4",
                                                 "4x4x4", "4x4x8", "4x8x8"};
constexpr std::array<std::string_view, 8> kCubicWithOne{"1x1x1", "2x2x1", "2x2x2", "2x2x4",
                                                        "2x4x4", "4x4x4", "4x4x8", "4x8x8"};

constexpr std::array kGenerations{
    TpuGeneration{.type = "v4",
                  .accelerator_label = "tpu-v4-podslice",
                  .accelerator_prefix = "v4-",
                  .dimensions = 3,
                  .cores_per_chip = 2,
                  .chips_max = 4096,  // 64 cubes of 64 chips (xpk)
                  .sorted_dimensions = false,
                  .flex_start = false,
                  .disk_type = "pd-balanced",
                  .placement = SlicePlacement::kCompact,
                  .machines = kV4Machines,
                  .topologies = kCubic},
    TpuGeneration{.type = "v5e",
                  .accelerator_label = "tpu-v5-lite-podslice",  // single-host slices too
                  .accelerator_prefix = "v5litepod-",
                  .dimensions = 2,
                  .cores_per_chip = 1,
                  .chips_max = 256,
                  .sorted_dimensions = false,
                  .flex_start = true,
                  .disk_type = "pd-balanced",
                  .placement = SlicePlacement::kCompact,
                  .machines = kV5eMachines,
                  .topologies = kFlat},
    TpuGeneration{.type = "v5p",
                  .accelerator_label = "tpu-v5p-slice",
                  .accelerator_prefix = "v5p-",
                  .dimensions = 3,
                  .cores_per_chip = 2,
                  .chips_max = 8960,  // 140 cubes (xpk)
                  .sorted_dimensions = true,
                  .flex_start = true,
                  .disk_type = "pd-balanced",
                  .placement = SlicePlacement::kCompact,
                  .machines = kV5pMachines,
                  .topologies = kCubic},
    TpuGeneration{.type = "v6e",
                  .accelerator_label = "tpu-v6e-slice",
                  .accelerator_prefix = "v6e-",
                  .dimensions = 2,
                  .cores_per_chip = 1,
                  .chips_max = 256,
                  .sorted_dimensions = false,
                  .flex_start = true,
                  .disk_type = "hyperdisk-balanced",  // the only type accepted
                  .placement = SlicePlacement::kCompact,
                  .machines = kV6eMachines,
                  .topologies = kFlat},
    TpuGeneration{.type = "v7x",
                  .accelerator_label = "tpu7x",
                  .accelerator_prefix = "tpu7x-",
                  .dimensions = 3,
                  .cores_per_chip = 2,
                  .chips_max = 9216,  // 144 cubes (xpk)
                  .sorted_dimensions = true,
                  .flex_start = true,
                  .disk_type = "hyperdisk-balanced",
                  .placement = SlicePlacement::kWorkloadPolicy,  // COMPACT is refused
                  .machines = kV7xMachines,
                  .topologies = kCubicWithOne}};

// "4x4" -> {4, 4}. One to three digits each, no leading zero, nothing else (gcloud's grammar).
std::optional<std::vector<std::uint32_t>> dimensions_of(std::string_view topology) {
  std::vector<std::uint32_t> dimensions;
  std::uint32_t value = 0;
  std::size_t digits = 0;
  for (const char c : topology) {
    if (c >= '0' && c <= '9') {
      if (digits == 3 || (digits == 0 && c == '0')) return std::nullopt;
      value = value * 10 + static_cast<std::uint32_t>(c - '0');
      ++digits;
    } else if (c == 'x' && digits > 0) {
      dimensions.push_back(value);
      value = 0;
      digits = 0;
    } else {
      return std::nullopt;
    }
  }
  if (digits == 0) return std::nullopt;
  dimensions.push_back(value);
  return dimensions;
}

// 3-D slices past the named ones are built of cubes of 4x4x4.
bool is_made_of_cubes(const TpuGeneration& generation, std::span<const std::uint32_t> dimensions,
                      std::uint64_t chips) {
  if (generation.dimensions != 3 || dimensions.size() != 3) return false;
  if (chips > generation.chips_max) return false;
  if (!std::ranges::all_of(dimensions, [](std::uint32_t d) { return d % 4 == 0; })) return false;
  return !generation.sorted_dimensions || std::ranges::is_sorted(dimensions);
}

std::string offered(const TpuGeneration& generation) {
  std::string text = fmt::format("{}", fmt::join(generation.topologies, ", "));
  if (generation.dimensions == 3)
    text += fmt::format(" or AxBxC in multiples of 4{} up to {} chips",
                        generation.sorted_dimensions ? " with A<=B<=C" : "", generation.chips_max);
  return text;
}

}  // namespace

std::span<const TpuGeneration> tpu_generations() { return kGenerations; }

const TpuGeneration* find_tpu_generation(std::string_view type) {
  const auto found = std::ranges::find(kGenerations, type, &TpuGeneration::type);
  return found == kGenerations.end() ? nullptr : &*found;
}

Result<Slice> find_slice(std::string_view type, std::string_view topology) {
  const TpuGeneration* generation = find_tpu_generation(type);
  if (generation == nullptr) {
    std::vector<std::string_view> types;
    for (const TpuGeneration& known : kGenerations) types.push_back(known.type);
    const std::string_view close = closest_word(type, types);
    return fail(ErrorKind::kInvalid,
                fmt::format("unknown TPU type \"{}\"{}; known types: {}", clean_text(type, 64),
                            close.empty() ? "" : fmt::format(", did you mean \"{}\"?", close),
                            fmt::join(types, ", ")));
  }
  const auto dimensions = dimensions_of(topology);
  std::uint64_t chips = 1;
  if (dimensions)
    for (const std::uint32_t d : *dimensions) chips *= d;
  const bool named =
      std::ranges::find(generation->topologies, topology) != generation->topologies.end();
  if (!dimensions || (!named && !is_made_of_cubes(*generation, *dimensions, chips)))
    return fail(ErrorKind::kInvalid,
                fmt::format("topology \"{}\" is not offered for {}; offered: {}",
                            clean_text(topology, 64), type, offered(*generation)));
  const TpuMachine* machine = &generation->machines.back();
  for (const TpuMachine& candidate : generation->machines)
    if (candidate.chips == chips) machine = &candidate;
  FALCON_CHECK(chips % machine->chips == 0);
  return Slice{.generation = generation,
               .topology = std::string(topology),
               .chips = static_cast<std::uint32_t>(chips),
               .hosts = static_cast<std::uint32_t>(chips / machine->chips),
               .chips_per_host = machine->chips,
               .machine_type = machine->machine_type};
}

}  // namespace falcon::model
