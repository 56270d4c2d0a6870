// SHA-256 and lower-case base32 (RFC 4648 alphabet a-z2-7, no padding).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace falcon {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
std::string base32_lower(std::span<const std::uint8_t> bytes);
std::string hex_lower(std::span<const std::uint8_t> bytes);

}  // namespace falcon
