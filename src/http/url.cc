#include "http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "http/server.h"

namespace falcon::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view value_of(const std::vector<std::pair<std::string, std::string>>& pairs,
                          std::string_view name) {
  for (const auto& [key, value] : pairs)
    if (key == name) return value;
  return {};
}

}  // namespace

std::string encode_url(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string decode_url(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      decoded += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string_view ServerRequest::parameter(std::string_view name) const {
  return value_of(query, name);
}

std::string_view ServerRequest::header(std::string_view name) const {
  return value_of(headers, name);
}

bool ServerRequest::has_parameter(std::string_view name) const {
  return std::ranges::any_of(query, [&](const auto& pair) { return pair.first == name; });
}

}  // namespace falcon::http
