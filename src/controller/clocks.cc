#include "controller/clocks.h"

#include <openssl/rand.h>

#include <chrono>

namespace falcon::controller {

WallTime wall_now() {
  return WallTime(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

MonoTime mono_now() {
  return MonoTime(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

std::uint64_t entropy() {
  std::uint64_t value = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&value), sizeof value);
  return value;
}

}  // namespace falcon::controller
