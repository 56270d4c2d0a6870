#include "base/digest.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace falcon {

Sha256 sha256(std::string_view bytes) {
  // Looked up once: the one-call functions look the algorithm up each time.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{
      EVP_MD_CTX_new(), EVP_MD_CTX_free};
  Sha256 digest{};
  FALCON_CHECK(EVP_DigestInit_ex2(context.get(), algorithm, nullptr) == 1 &&
               EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
               EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1);
  return digest;
}

std::string base32_lower(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  text.reserve((bytes.size() * 8 + 4) / 5);
  std::uint32_t buffer = 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += kAlphabet[(buffer >> bits) & 31U];
    }
    buffer &= (1U << bits) - 1U;
  }
  if (bits > 0) text += kAlphabet[(buffer << (5 - bits)) & 31U];
  return text;
}

std::string hex_lower(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace falcon
