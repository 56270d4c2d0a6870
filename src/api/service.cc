#include "api/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include "api/problem.h"
#include "api/watch.h"
#include "api/workers.h"
#include "base/text.h"

namespace falcon::api {
namespace {

using SteadyClock = std::chrono::steady_clock;

WallTime system_now() {
  return wall_time_from_unix_ms(std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
}

// What the server itself refuses, in the API's form.
http::ServerResponse refuse(int status, std::string_view what) {
  const bool too_large = status == 413 || status == 431;
  return problem(status, too_large ? "too_large" : status >= 500 ? "internal" : "invalid", what);
}

bool is_path(const http::ServerRequest& request, std::initializer_list<std::string_view> path) {
  return std::ranges::equal(request.path, path);
}

// Reads that end as reads do, and what the controller says every few seconds, are no news.
bool is_news(const http::ServerRequest& request, int status) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads) return status >= 400 && status != 404 && status != 410;
  if (status >= 400 || request.path.size() < 2 || request.method != "PUT") return true;
  const std::string& what = request.path[1];
  return what != "terms" && what != "queues" && what != "conditions";
}

}  // namespace

class Service::Parts {
 public:
  Parts(store::Store& store, ServiceSettings settings)
      : store_(store), settings_(std::move(settings)) {
    if (!settings_.now) settings_.now = system_now;
    settings_.http.refuse = refuse;
    directory_.emplace(store_, settings_.now);
    std::random_device random;
    request_prefix_ = fmt::format("{:08x}", random());
  }

  Result<std::uint16_t> start() {
    watch_.emplace(store_, *directory_, settings_.now, settings_.bookmark_every);
    workers_.emplace(settings_.threads);
    server_.emplace(settings_.http, [this](http::ServerRequest request, http::Reply reply) {
      receive(std::move(request), std::move(reply));
    });
    Result<std::uint16_t> port = server_->start();
    if (!port) stop();
    return port;
  }

  void stop() {
    if (watch_) watch_->stop();
    if (server_) server_->stop();  // the workers answer what is under way meanwhile
    workers_.reset();
    server_.reset();
    watch_.reset();
  }

 private:
  struct Call {
    http::ServerRequest request;
    http::Reply reply;
    std::string id;
    SteadyClock::time_point begun = SteadyClock::now();
  };

  // On the server's thread.
  void receive(http::ServerRequest request, http::Reply reply) {
    const std::string id = fmt::format("{}-{}", request_prefix_, ++request_count_);
    const Call call{std::move(request), std::move(reply), id};
    if (is_path(call.request, {"healthz"})) return finish(call, {200, "ok\n", "text/plain", {}});
    const bool ready = is_path(call.request, {"readyz"});
    if (!ready)
      if (auto refusal = settings_.guard.refusal(call.request))
        return finish(call, *std::move(refusal));
    if (is_path(call.request, {"v1", "watch"}) && call.request.method == "GET")
      return watch_now(call);
    workers_->run([this, call, ready] { finish(call, ready ? readiness() : answer(call)); });
  }

  void watch_now(const Call& call) {
    workers_->run([this, call] {
      const Context context{store_, *directory_, settings_.identity, settings_.now};
      watch_->answer(call.request, call.reply, language_of(context, call.request));
    });
  }

  http::ServerResponse answer(const Call& call) {
    const Context context{store_, *directory_, settings_.identity, settings_.now};
    try {
      return handle(context, call.request);
    } catch (const std::exception& exception) {
      return problem(500, "internal", fmt::format("a bug of this server: {}", exception.what()));
    }
  }

  http::ServerResponse readiness() {
    if (const auto pong = store_.ping(); !pong)
      return problem(503, "unavailable", "the store does not answer: " + pong.error().what);
    return {200, "ok\n", "text/plain", {}};
  }

  void finish(const Call& call, http::ServerResponse response) {
    response.headers.emplace_back("X-Request-Id", call.id);
    if (settings_.log && is_news(call.request, response.status)) {
      const auto spent =
          std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - call.begun);
      settings_.log(
          fmt::format("{{\"time\":\"{}\",\"severity\":\"{}\",\"message\":\"request "
                      "answered\",\"request\":\"{}\",\"method\":{},"
                      "\"target\":{},\"status\":{},\"ms\":{:.3f}}}",
                      to_rfc3339(settings_.now()), response.status >= 500 ? "error" : "info",
                      call.id, wire::quoted(clean_text(call.request.method, 20)),
                      wire::quoted(clean_text(call.request.target, 500)), response.status,
                      static_cast<double>(spent.count()) / 1000));
    }
    call.reply.send(std::move(response));
  }

  store::Store& store_;
  ServiceSettings settings_;
  std::string request_prefix_;
  std::uint64_t request_count_ = 0;  // the server's thread only
  std::optional<Directory> directory_;
  std::optional<WatchHub> watch_;
  std::optional<Workers> workers_;
  std::optional<http::Server> server_;
};

Service::Service(store::Store& store, ServiceSettings settings)
    : parts_(std::make_unique<Parts>(store, std::move(settings))) {}

Service::~Service() { stop(); }

Result<std::uint16_t> Service::start() { return parts_->start(); }

void Service::stop() { parts_->stop(); }

}  // namespace falcon::api
