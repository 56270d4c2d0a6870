#include "api/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/problem.h"
#include "base/digest.h"
#include "base/text.h"

namespace falcon::api {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Of digests, so that neither the length nor a common beginning shows in the time taken.
bool same_secret(std::string_view a, std::string_view b) {
  const Sha256 left = sha256(a);
  const Sha256 right = sha256(b);
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    difference |= static_cast<unsigned>(left[i] ^ right[i]);
  return difference == 0;
}

std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(0, host.find(']') + 1));
  return lower(host.substr(0, host.rfind(':')));
}

bool is_json(std::string_view content_type) {
  std::string type = lower(content_type.substr(0, content_type.find(';')));
  while (type.ends_with(' ')) type.pop_back();
  return type == "application/json";
}

}  // namespace

std::optional<http::ServerResponse> Guard::refusal(const http::ServerRequest& request) const {
  const std::string host = without_port(request.header("host"));
  static constexpr std::array<std::string_view, 3> kLoopback{"localhost", "127.0.0.1", "[::1]"};
  const bool known =
      std::ranges::find(kLoopback, host) != kLoopback.end() ||
      std::ranges::any_of(host_names, [&](const std::string& name) { return lower(name) == host; });
  if (!known)
    return problem(403, "forbidden",
                   fmt::format("this server does not answer to the host name \"{}\"; start it with "
                               "--host-name if it should",
                               clean_text(host, 80)));
  if (!request.header("origin").empty())
    return problem(403, "forbidden", "requests of web pages (with an Origin) are refused");

  static constexpr std::string_view kBearer = "bearer ";
  const std::string_view authorization = request.header("authorization");
  if (token.empty() || lower(authorization.substr(0, kBearer.size())) != kBearer ||
      !same_secret(authorization.substr(kBearer.size()), token)) {
    http::ServerResponse response = problem(
        401, "unauthorized",
        authorization.empty()
            ? "no token; send Authorization: Bearer with the token of the server's data folder"
            : "the token is not this server's; it stands in the file \"token\" of its data "
              "folder");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  const bool writes =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if ((writes || !request.body.empty()) && !is_json(request.header("content-type")))
    return problem(415, "invalid",
                   fmt::format("the body's Content-Type is \"{}\"; send application/json",
                               clean_text(request.header("content-type"), 80)));
  return std::nullopt;
}

}  // namespace falcon::api
