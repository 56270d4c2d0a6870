#include "client/api_client.h"

#include <fmt/format.h>

#include <atomic>

#include "base/text.h"
#include "http/status.h"

namespace falcon::client {
namespace {

constexpr Duration kDeadline{10'000};
constexpr Duration kSilenceMax{35'000};  // bookmarks come every 10 s
constexpr std::size_t kLineBytesMax = 8U << 20U;
constexpr Duration kTermDeadline{4'000};  // one lost answer must not cost the lease

Error sort_answer(const http::Response& response, bool change) {
  const wire::Problem problem = wire::problem_from_json(response.body);
  const std::string what = problem.detail.empty()
                               ? fmt::format("the API server answers {}: {}", response.status,
                                             clean_text(response.body, 200))
                               : problem.detail;
  const auto error = [&](ErrorKind kind) { return Error{kind, what}; };
  if (problem.code == "fenced") return error(ErrorKind::kFenced);
  if (problem.code == "conflict") return error(ErrorKind::kConflict);
  if (problem.code == "unavailable") return error(ErrorKind::kUnavailable);
  return error(http::sort_status(response.status, change));
}

}  // namespace

ApiClient::ApiClient(http::Client& client, std::string url, std::string token)
    : client_(client), url_(std::move(url)), token_(std::move(token)) {}

http::Request ApiClient::request(std::string method, const std::string& path,
                                 std::string body) const {
  http::Request request;
  request.method = std::move(method);
  request.url = url_ + path;
  request.timeout = path.starts_with("/v1/terms") ? kTermDeadline : kDeadline;
  request.headers = {{"Authorization", "Bearer " + token_}, {"User-Agent", "falcon-controller"}};
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  return request;
}

void ApiClient::call(std::string method, const std::string& path, std::string body,
                     std::function<void(Result<std::string>)> done) {
  const bool change = method != "GET";
  client_.send(request(std::move(method), path, std::move(body)),
               [change, done = std::move(done)](Result<http::Response> answer) {
                 if (!answer) {
                   Error error = answer.error();
                   if (!change && error.kind == ErrorKind::kUnknownOutcome)
                     error.kind = ErrorKind::kUnavailable;
                   return done(std::unexpected(std::move(error)));
                 }
                 if (answer->status / 100 != 2)
                   return done(std::unexpected(sort_answer(*answer, change)));
                 done(std::move(answer->body));
               });
}

namespace {

template <class T, class Read>
std::function<void(Result<std::string>)> reading(std::function<void(Result<T>)> done, Read read) {
  return [done = std::move(done), read](Result<std::string> body) {
    if (!body) return done(std::unexpected(body.error()));
    done(read(*body));
  };
}

std::function<void(Result<std::string>)> nothing(std::function<void(Result<std::monostate>)> done) {
  return reading<std::monostate>(std::move(done), [](const std::string&) -> Result<std::monostate> {
    return std::monostate{};
  });
}

}  // namespace

void ApiClient::version(On<wire::ServerVersion> done) {
  call("GET", "/v1/version", {},
       reading<wire::ServerVersion>(
           std::move(done), [](const auto& body) { return wire::server_version_from_json(body); }));
}

void ApiClient::acquire_term(const std::string& holder, std::int64_t lease_seconds,
                             On<wire::TermRead> done) {
  call("POST", "/v1/terms",
       fmt::format(R"({{"holder": {}, "lease_seconds": {}}})", wire::quoted(holder), lease_seconds),
       reading<wire::TermRead>(std::move(done),
                               [](const auto& body) { return wire::term_from_json(body); }));
}

void ApiClient::renew_term(std::uint64_t term, std::int64_t lease_seconds,
                           On<std::monostate> done) {
  call("PUT", fmt::format("/v1/terms/{}", term),
       fmt::format(R"({{"lease_seconds": {}}})", lease_seconds), nothing(std::move(done)));
}

void ApiClient::release_term(std::uint64_t term, On<std::monostate> done) {
  call("DELETE", fmt::format("/v1/terms/{}", term), {}, nothing(std::move(done)));
}

void ApiClient::open_jobs(On<wire::JobListRead> done) {
  open_jobs_page({}, std::make_shared<wire::JobListRead>(), std::move(done));
}

void ApiClient::open_jobs_page(const std::string& token,
                               const std::shared_ptr<wire::JobListRead>& so_far,
                               On<wire::JobListRead> done) {
  std::string path = "/v1/jobs?open=true&limit=1000";
  const bool first = token.empty();
  if (!first) path += "&page_token=" + token;
  call("GET", path, {}, [this, so_far, first, done = std::move(done)](Result<std::string> body) {
    if (!body) return done(std::unexpected(body.error()));
    auto page = wire::job_list_from_json(*body);
    if (!page) return done(std::unexpected(page.error()));
    // The watch starts where the first page was read: what changed since comes again.
    if (first) so_far->sequence = page->sequence;
    for (wire::JobRead& item : page->items) so_far->items.push_back(std::move(item));
    for (auto& row : page->unreadable) so_far->unreadable.push_back(std::move(row));
    if (page->next_page_token.empty()) return done(std::move(*so_far));
    open_jobs_page(page->next_page_token, so_far, done);
  });
}

void ApiClient::job(const model::JobId& id, On<model::JobRow> done) {
  call("GET", "/v1/jobs/" + id.value(), {},
       reading<model::JobRow>(std::move(done), [](const auto& body) -> Result<model::JobRow> {
         FALCON_TRY(read, wire::job_from_json(body));
         return std::move(read.row);
       }));
}

void ApiClient::clusters(On<wire::ClusterListRead> done) {
  call("GET", "/v1/clusters", {},
       reading<wire::ClusterListRead>(
           std::move(done), [](const auto& body) { return wire::cluster_list_from_json(body); }));
}

void ApiClient::own_state(On<model::OwnState> done) {
  call("GET", "/v1/state", {}, reading<model::OwnState>(std::move(done), [](const auto& body) {
         return wire::own_state_from_json(body);
       }));
}

void ApiClient::write_job(const model::JobId& id, const wire::JobWrite& write,
                          On<std::uint64_t> done) {
  call("PUT", "/v1/jobs/" + id.value() + "/state", wire::to_json(write),
       reading<std::uint64_t>(std::move(done),
                              [](const auto& body) { return wire::version_from_json(body); }));
}

void ApiClient::write_state(const wire::StateWrite& write, On<std::monostate> done) {
  call("POST", "/v1/state", wire::to_json(write), nothing(std::move(done)));
}

void ApiClient::publish_condition(const wire::ConditionWrite& write, On<std::monostate> done) {
  call("PUT", "/v1/conditions", wire::to_json(write), nothing(std::move(done)));
}

void ApiClient::publish_queue(const wire::QueueWrite& write, On<std::monostate> done) {
  call("PUT", "/v1/queues", wire::to_json(write), nothing(std::move(done)));
}

http::Client::StreamId ApiClient::watch(std::uint64_t since, WatchHandler handler) {
  http::Request wanted =
      request("GET", fmt::format("/v1/watch?since={}&kinds=jobs,clusters", since), {});
  wanted.silence_max = kSilenceMax;
  struct State {
    WatchHandler handler;
    std::string rest;
    std::optional<Error> error;
    std::atomic<http::Client::StreamId> stream = 0;  // known once open() has returned
  };
  auto state = std::make_shared<State>();
  state->handler = std::move(handler);
  http::StreamHandler stream;
  stream.on_start = [state](const http::Response& start) {
    if (start.status / 100 == 2) return;
    state->error = sort_answer(start, false);
    // The one thing that can be wrong about a watch is its sequence.
    if (start.status == 400) state->error->kind = ErrorKind::kNotFound;
  };
  // A watch that cannot be read is over, or its reader would wait for ever.
  const auto give_up = [this, state](Error error) {
    state->error = std::move(error);
    client_.close(state->stream);
  };
  stream.on_bytes = [this, state, give_up](std::string_view bytes) {
    if (state->error) return client_.close(state->stream);
    state->rest.append(bytes);
    std::size_t begin = 0;
    for (std::size_t end = state->rest.find('\n'); end != std::string::npos;
         end = state->rest.find('\n', begin)) {
      const std::string_view line = std::string_view(state->rest).substr(begin, end - begin);
      begin = end + 1;
      if (line.empty()) continue;
      auto change = wire::watch_line_from_json(line);
      if (!change) return give_up(change.error());
      state->handler.on_line(*std::move(change));
    }
    state->rest.erase(0, begin);
    if (state->rest.size() > kLineBytesMax)
      give_up(Error{ErrorKind::kInternal, "a line of the watch is too long"});
  };
  stream.on_end = [state](std::optional<Error> error) {
    state->handler.on_end(state->error ? state->error : std::move(error));
  };
  state->stream = client_.open(std::move(wanted), std::move(stream));
  return state->stream;
}

}  // namespace falcon::client
