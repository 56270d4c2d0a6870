// The calls of docs/design/rest-api.md, but for the watch: a request in, an answer out. Blocking
// (they use the store); any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/directory.h"
#include "http/server.h"
#include "store/store.h"
#include "words/words.h"

namespace falcon::api {

struct Identity {
  words::Language language = words::Language::kZh;  // for readers who name none
  std::string installation;
  std::string storage_endpoint;
  std::string version;
};

// What all handlers share.
struct Context {
  store::Store& store;
  Directory& directory;
  const Identity& identity;
  const std::function<WallTime()>& now;
};

// The whole API: finds the handler for method and path.
http::ServerResponse handle(const Context& context, const http::ServerRequest& request);

// --- for handlers ------------------------------------------------------------------------------
words::Language language_of(const Context& context, const http::ServerRequest& request);
// Empty: all parameters have names of `known`. Else the refusal.
std::optional<http::ServerResponse> refuse_parameters(const http::ServerRequest& request,
                                                      std::span<const std::string_view> known);
// A decimal number without sign, or nothing.
std::optional<std::uint64_t> whole_number(std::string_view text);

http::ServerResponse jobs_list(const Context& context, const http::ServerRequest& request);
http::ServerResponse jobs_submit(const Context& context, const http::ServerRequest& request);
http::ServerResponse job_get(const Context& context, const http::ServerRequest& request);
http::ServerResponse job_abort(const Context& context, const http::ServerRequest& request);
http::ServerResponse job_events(const Context& context, const http::ServerRequest& request);
http::ServerResponse job_write(const Context& context, const http::ServerRequest& request);

http::ServerResponse clusters_list(const Context& context, const http::ServerRequest& request);
http::ServerResponse clusters_add(const Context& context, const http::ServerRequest& request);
http::ServerResponse cluster_get(const Context& context, const http::ServerRequest& request);
http::ServerResponse cluster_patch(const Context& context, const http::ServerRequest& request);
http::ServerResponse cluster_remove(const Context& context, const http::ServerRequest& request);
// The one row with that id or name; kNotFound, or kConflict when several rows have the name.
Result<model::ClusterRow> find_cluster(const Context& context, const std::string& id_or_name);

http::ServerResponse term_acquire(const Context& context, const http::ServerRequest& request);
http::ServerResponse term_renew(const Context& context, const http::ServerRequest& request);
http::ServerResponse term_release(const Context& context, const http::ServerRequest& request);
http::ServerResponse state_get(const Context& context, const http::ServerRequest& request);
http::ServerResponse state_write(const Context& context, const http::ServerRequest& request);
http::ServerResponse queues_list(const Context& context, const http::ServerRequest& request);
http::ServerResponse queue_publish(const Context& context, const http::ServerRequest& request);
http::ServerResponse condition_publish(const Context& context, const http::ServerRequest& request);
http::ServerResponse pools_list(const Context& context, const http::ServerRequest& request);
http::ServerResponse version_get(const Context& context, const http::ServerRequest& request);

}  // namespace falcon::api
