#include "api/handlers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/problem.h"
#include "base/text.h"

namespace falcon::api {
namespace {

using Handle = http::ServerResponse (*)(const Context&, const http::ServerRequest&);

// "*" stands for any one segment; a last segment "*:verb" for one that ends so.
struct Route {
  std::string_view method;
  std::array<std::string_view, 4> path;
  Handle handle;
};

constexpr std::array kRoutes{
    Route{"GET", {"v1", "jobs"}, jobs_list},
    Route{"POST", {"v1", "jobs"}, jobs_submit},
    Route{"POST", {"v1", "jobs", "*:abort"}, job_abort},
    Route{"GET", {"v1", "jobs", "*"}, job_get},
    Route{"GET", {"v1", "jobs", "*", "events"}, job_events},
    Route{"PUT", {"v1", "jobs", "*", "state"}, job_write},
    Route{"GET", {"v1", "clusters"}, clusters_list},
    Route{"POST", {"v1", "clusters"}, clusters_add},
    Route{"GET", {"v1", "clusters", "*"}, cluster_get},
    Route{"PATCH", {"v1", "clusters", "*"}, cluster_patch},
    Route{"DELETE", {"v1", "clusters", "*"}, cluster_remove},
    Route{"POST", {"v1", "terms"}, term_acquire},
    Route{"PUT", {"v1", "terms", "*"}, term_renew},
    Route{"DELETE", {"v1", "terms", "*"}, term_release},
    Route{"GET", {"v1", "state"}, state_get},
    Route{"POST", {"v1", "state"}, state_write},
    Route{"GET", {"v1", "queues"}, queues_list},
    Route{"PUT", {"v1", "queues"}, queue_publish},
    Route{"PUT", {"v1", "conditions"}, condition_publish},
    Route{"GET", {"v1", "pools"}, pools_list},
    Route{"GET", {"v1", "version"}, version_get},
};

bool fits(const Route& route, const std::vector<std::string>& path) {
  std::size_t length = 0;
  while (length < route.path.size() && !route.path[length].empty()) ++length;
  if (path.size() != length) return false;
  for (std::size_t i = 0; i < length; ++i) {
    const std::string_view wanted = route.path[i];
    if (wanted == "*") {
      if (path[i].empty() || path[i].find(':') != std::string::npos) return false;
    } else if (wanted.starts_with('*')) {
      if (!path[i].ends_with(wanted.substr(1)) || path[i].size() == wanted.size() - 1) return false;
    } else if (path[i] != wanted) {
      return false;
    }
  }
  return true;
}

}  // namespace

http::ServerResponse handle(const Context& context, const http::ServerRequest& request) {
  const std::string method = request.method == "HEAD" ? std::string("GET") : request.method;
  std::string allowed;
  for (const Route& route : kRoutes) {
    if (!fits(route, request.path)) continue;
    if (route.method == method) return route.handle(context, request);
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (allowed.empty())
    return problem(404, "not_found",
                   fmt::format("there is no {}", clean_text(request.target, 200)));
  http::ServerResponse response =
      problem(405, "invalid",
              fmt::format("{} is not possible here; {}", clean_text(request.method, 20), allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

words::Language language_of(const Context& context, const http::ServerRequest& request) {
  std::string_view wishes = request.header("accept-language");
  while (!wishes.empty()) {
    const std::size_t comma = std::min(wishes.find(','), wishes.size());
    std::string_view wish = wishes.substr(0, comma);
    wish = wish.substr(0, wish.find(';'));
    while (wish.starts_with(' ')) wish.remove_prefix(1);
    while (wish.ends_with(' ')) wish.remove_suffix(1);
    if (const auto language = words::language_from_string(wish)) return *language;
    wishes.remove_prefix(std::min(comma + 1, wishes.size()));
  }
  return context.identity.language;
}

std::optional<http::ServerResponse> refuse_parameters(const http::ServerRequest& request,
                                                      std::span<const std::string_view> known) {
  std::vector<model::FieldError> errors;
  for (std::size_t i = 0; i < request.query.size(); ++i) {
    const std::string& name = request.query[i].first;
    if (std::ranges::find(known, name) == known.end()) {
      const std::string_view close = closest_word(name, known);
      errors.push_back({clean_text(name, 80),
                        close.empty()
                            ? "there is no such parameter"
                            : fmt::format("there is no such parameter; did you mean {}?", close)});
    } else if (!is_utf8(request.query[i].second)) {
      errors.push_back({name, "is not valid UTF-8"});
    }
    for (std::size_t j = 0; j < i; ++j)
      if (request.query[j].first == name) errors.push_back({name, "is given twice"});
  }
  if (errors.empty()) return std::nullopt;
  return problem(wire::Refusal{std::move(errors)});
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return number;
}

}  // namespace falcon::api
