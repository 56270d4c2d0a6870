#include "simserver/tokens.h"

#include <openssl/rand.h>

#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/digest.h"

namespace falcon::simserver {
namespace {

constexpr Duration kLife{3'599'000};
constexpr Duration kRenewBefore{300'000};

}  // namespace

Tokens::Token Tokens::get(MonoTime now) {
  std::erase_if(expiry_, [&](const auto& entry) { return entry.second <= now; });
  const auto known = expiry_.find(latest_);
  if (known != expiry_.end() && known->second - now > kRenewBefore)
    return Token{latest_, known->second - now};
  std::array<std::uint8_t, 24> bytes{};
  FALCON_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  latest_ = "sim." + base32_lower(bytes);
  expiry_[latest_] = now + kLife;
  return Token{latest_, kLife};
}

bool Tokens::valid(std::string_view header, MonoTime now) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (!header.starts_with(kBearer)) return false;
  const auto found = expiry_.find(header.substr(kBearer.size()));
  return found != expiry_.end() && found->second > now;
}

}  // namespace falcon::simserver
