#include "store/uuid.h"

#include <sys/random.h>

#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/digest.h"

namespace falcon::store {

std::string uuid_v7(WallTime now) {
  std::array<std::uint8_t, 16> bytes{};
  // Up to 256 bytes come whole once the kernel's generator is up (getrandom(2)).
  FALCON_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  const auto milliseconds = static_cast<std::uint64_t>(to_unix_ms(now));
  for (std::size_t i = 0; i < 6; ++i)
    bytes.at(i) = static_cast<std::uint8_t>(milliseconds >> (8 * (5 - i)));
  bytes[6] = static_cast<std::uint8_t>(0x70 | (bytes[6] & 0x0f));  // version
  bytes[8] = static_cast<std::uint8_t>(0x80 | (bytes[8] & 0x3f));  // variant
  std::string text = hex_lower(bytes);
  for (const std::size_t at : {8UZ, 13UZ, 18UZ, 23UZ}) text.insert(at, 1, '-');
  return text;
}

}  // namespace falcon::store
