// A seeded generator with the same numbers on every platform and compiler (integers only).
//
// Give each part its own generator, forked from the root seed, so that one more draw in one part
// does not shift another. One draw a statement: the order of arguments is unspecified in C++.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace falcon {

struct Chance {
  std::uint32_t numerator = 0;
  std::uint32_t denominator = 1;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // SplitMix64 (Steele, Lea, Flood 2014).
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) {  // REQUIRES: limit > 0
    FALCON_CHECK(limit > 0);
    return next() % limit;
  }
  Duration between(Duration low, Duration high) {  // both ends included
    FALCON_CHECK(low <= high);
    return low + Duration(static_cast<std::int64_t>(
                     below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }
  bool happens(Chance chance) {
    return chance.numerator > 0 && below(chance.denominator) < chance.numerator;
  }

 private:
  std::uint64_t state_;
};

}  // namespace falcon
