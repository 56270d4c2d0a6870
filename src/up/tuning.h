// The numbers behind the controller's decisions that an operator may change: --set NAME=VALUE.
// What each is for stands in core/settings.h and gke/gke.h; docs/scheduling.md tells the story.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/settings.h"
#include "gke/gke.h"

namespace falcon::up {

struct Tuning {
  core::Settings core;
  gke::GkeSettings gke;
};

// "pool-timeout=15m". kInvalid: names the setting, the value and what it may be, or the setting
// that was meant; nothing is changed then.
Result<std::monostate> set(Tuning& tuning, std::string_view assignment);

// Settings that do not go together, in one line; empty: all do. Asked when all are set, so that
// their order does not matter.
std::string contradiction(const Tuning& tuning);

struct TunableRow {
  std::string name;
  std::string value;  // as it is in `tuning`
  std::string range;  // "1m to 1d", "true or false"
  std::string what;
};
std::vector<TunableRow> tunable(const Tuning& tuning);

}  // namespace falcon::up
