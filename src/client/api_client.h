// The controller's side of Falcon's REST API: jobs, Falcon's own state, terms, clusters, watches.
//
// Asynchronous: callbacks come on the HTTP client's thread and must not block; every call has a
// deadline. Errors follow the problem's `code`: conflict kConflict, fenced kFenced, not_found
// kNotFound, invalid kInvalid, unavailable kUnavailable; any other 5xx of a write is
// kUnknownOutcome.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/client.h"
#include "model/state_change.h"
#include "wire/wire.h"

namespace falcon::client {

class ApiClient {
 public:
  ApiClient(http::Client& client, std::string url, std::string token);

  template <class T>
  using On = std::function<void(Result<T>)>;
  void version(On<wire::ServerVersion> done);
  void acquire_term(const std::string& holder, std::int64_t lease_seconds, On<wire::TermRead> done);
  void renew_term(std::uint64_t term, std::int64_t lease_seconds, On<std::monostate> done);
  void release_term(std::uint64_t term, On<std::monostate> done);
  // All pages: jobs that are not terminal or whose clean-up is not done, and where to watch from.
  void open_jobs(On<wire::JobListRead> done);
  void job(const model::JobId& id, On<model::JobRow> done);
  void clusters(On<wire::ClusterListRead> done);
  void own_state(On<model::OwnState> done);
  void write_job(const model::JobId& id, const wire::JobWrite& write, On<std::uint64_t> done);
  void write_state(const wire::StateWrite& write, On<std::monostate> done);
  void publish_condition(const wire::ConditionWrite& write, On<std::monostate> done);
  void publish_queue(const wire::QueueWrite& write, On<std::monostate> done);

  struct WatchHandler {
    std::function<void(wire::WatchLine)> on_line;
    // Once, and last. kNotFound: too old, or of another database, list again; kInternal: a line
    // cannot be read, and will not be the next time: list again, too.
    std::function<void(std::optional<Error>)> on_end;
  };
  http::Client::StreamId watch(std::uint64_t since, WatchHandler handler);
  void close(http::Client::StreamId stream) { client_.close(stream); }

 private:
  http::Request request(std::string method, const std::string& path, std::string body) const;
  void call(std::string method, const std::string& path, std::string body,
            std::function<void(Result<std::string>)> done);
  void open_jobs_page(const std::string& token, const std::shared_ptr<wire::JobListRead>& so_far,
                      On<wire::JobListRead> done);

  http::Client& client_;
  std::string url_;
  std::string token_;
};

}  // namespace falcon::client
