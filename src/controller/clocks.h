// The clocks and the chance that the shell hands to the core. Any thread.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace falcon::controller {

WallTime wall_now();
MonoTime mono_now();      // of std::chrono::steady_clock
std::uint64_t entropy();  // 64 random bits

}  // namespace falcon::controller
