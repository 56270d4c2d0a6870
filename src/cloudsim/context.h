// What all parts of the world share: settings, time, dice, counters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cloudsim/agenda.h"
#include "cloudsim/settings.h"
#include "cloudsim/world.h"

namespace falcon::cloudsim {

// Decides whether something goes wrong, by chance or because it was asked for.
class Faults {
 public:
  Faults(const WorldSettings& settings, std::uint64_t seed) : settings_(settings), random_(seed) {}

  // The fault's argument when it strikes here and now; uses up one of an armed fault's times.
  std::optional<std::uint32_t> strikes(Fault fault, const model::GkeCluster* cluster = nullptr,
                                       std::string_view machine_type = {}) {
    if (kind_) return std::nullopt;
    for (auto it = armed_.begin(); it != armed_.end(); ++it) {
      if (!fits(*it, fault, cluster, machine_type)) continue;
      const std::uint32_t argument = it->argument;
      if (it->times == 1)
        armed_.erase(it);
      else if (it->times > 1)
        --it->times;
      return argument;
    }
    const Chance& chance = settings_.chance(fault);
    if (chance.numerator == 0 || !random_.happens(chance)) return std::nullopt;
    return 0U;
  }
  // True while it is armed without a number of times.
  bool holds(Fault fault, const model::GkeCluster* cluster,
             std::string_view machine_type = {}) const {
    for (const ArmedFault& armed : armed_)
      if (armed.times == 0 && fits(armed, fault, cluster, machine_type)) return true;
    return false;
  }
  void arm(const ArmedFault& fault) {
    kind_ = false;
    armed_.push_back(fault);
  }
  void clear(Fault fault) {
    std::erase_if(armed_, [&](const ArmedFault& armed) { return armed.fault == fault; });
  }
  void clear_all() {
    armed_.clear();
    kind_ = true;
  }
  const std::vector<ArmedFault>& armed() const { return armed_; }

 private:
  static bool fits(const ArmedFault& armed, Fault fault, const model::GkeCluster* cluster,
                   std::string_view machine_type) {
    if (armed.fault != fault) return false;
    if (armed.cluster && (cluster == nullptr || *armed.cluster != *cluster)) return false;
    return armed.machine_type.empty() || armed.machine_type == machine_type;
  }

  const WorldSettings& settings_;
  Random random_;
  std::vector<ArmedFault> armed_;
  bool kind_ = false;  // chances are off
};

struct Context {
  Context(const WorldSettings& s, std::uint64_t seed)
      : settings(s), faults(settings, Random(seed).next()), delays(seed ^ 0x5bd1e995U) {}

  const WorldSettings settings;
  Agenda agenda;
  Faults faults;
  Random delays;
  std::uint64_t object_changes = 0;  // of Kubernetes, in all clusters
  std::uint64_t last_serial = 0;

  std::uint64_t next_serial() { return ++last_serial; }
  Duration draw(const Delay& delay) {
    return delay.min == delay.max ? delay.min : delays.between(delay.min, delay.max);
  }
  MonoTime now() const { return agenda.now(); }
};

}  // namespace falcon::cloudsim
