// What the controller reads and writes, and the version.
#include <fmt/format.h>

#include "api/handlers.h"
#include "api/problem.h"
#include "base/text.h"

namespace falcon::api {
namespace {

// When a lease lives, ask again after so long.
constexpr int kTermRetrySeconds = 1;

std::string term_json(const store::Term& term) {
  return fmt::format("{{\"term\":{},\"holder\":{},\"lease_seconds\":{}}}\n", term.term,
                     wire::quoted(term.holder),
                     std::chrono::duration_cast<std::chrono::seconds>(term.lease).count());
}

http::ServerResponse no_term(const http::ServerRequest& request) {
  return invalid_field(
      "term", fmt::format("\"{}\" is no term; a whole number", clean_text(request.path[2], 40)));
}

}  // namespace

http::ServerResponse term_acquire(const Context& context, const http::ServerRequest& request) {
  const wire::Strict<wire::TermWish> wish = wire::read_term_wish(request.body);
  if (!wish) return problem(wish.error());
  if (wish->holder.empty())
    return invalid_field("holder", "is missing; who holds the term, for people");
  const Result<store::Term> term =
      context.store.acquire_term(wish->holder, std::chrono::seconds(wish->lease_seconds));
  if (term) return {201, term_json(*term)};
  http::ServerResponse response = problem(term.error());
  if (term.error().kind == ErrorKind::kConflict) {
    response.body.erase(response.body.rfind('}'));
    response.body += fmt::format(",\"retry_after_seconds\":{}}}\n", kTermRetrySeconds);
    response.headers.emplace_back("Retry-After", std::to_string(kTermRetrySeconds));
  }
  return response;
}

http::ServerResponse term_renew(const Context& context, const http::ServerRequest& request) {
  const auto number = whole_number(request.path[2]);
  if (!number) return no_term(request);
  const wire::Strict<wire::TermWish> wish = wire::read_term_wish(request.body);
  if (!wish) return problem(wish.error());
  const Result<store::Term> term =
      context.store.renew_term(*number, std::chrono::seconds(wish->lease_seconds));
  if (!term) return problem(term.error());
  return {200, term_json(*term)};
}

http::ServerResponse term_release(const Context& context, const http::ServerRequest& request) {
  const auto number = whole_number(request.path[2]);
  if (!number) return no_term(request);
  const auto released = context.store.release_term(*number);
  if (!released) return problem(released.error());
  return {204, ""};
}

http::ServerResponse state_get(const Context& context, const http::ServerRequest&) {
  const Result<model::OwnState> state = context.store.own_state();
  if (!state) return problem(state.error());
  return {200, wire::to_json(*state) + "\n"};
}

http::ServerResponse state_write(const Context& context, const http::ServerRequest& request) {
  const wire::Strict<wire::StateWrite> write = wire::read_state_write(request.body);
  if (!write) return problem(write.error());
  const auto stored = context.store.write_state(write->term, write->number, write->changes);
  if (!stored) return problem(stored.error());
  return {200, "{}\n"};
}

http::ServerResponse queues_list(const Context& context, const http::ServerRequest&) {
  const auto queues = context.store.queues();
  if (!queues) return problem(queues.error());
  std::string items;
  for (const store::Store::PublishedQueue& queue : *queues)
    items += (items.empty() ? "" : ",") + wire::to_json(queue.order, queue.published_at);
  return {200, "{\"items\":[" + items + "]}\n"};
}

http::ServerResponse queue_publish(const Context& context, const http::ServerRequest& request) {
  const wire::Strict<wire::QueueWrite> write = wire::read_queue_write(request.body);
  if (!write) return problem(write.error());
  const auto published = context.store.publish_queue(write->term, write->order);
  if (!published) return problem(published.error());
  return {200, "{}\n"};
}

http::ServerResponse condition_publish(const Context& context, const http::ServerRequest& request) {
  const wire::Strict<wire::ConditionWrite> write = wire::read_condition_write(request.body);
  if (!write) return problem(write.error());
  const auto published = context.store.publish_condition(write->term, write->condition);
  context.directory.forget();
  if (!published) return problem(published.error());
  return {200, "{}\n"};
}

http::ServerResponse pools_list(const Context& context, const http::ServerRequest&) {
  const Result<model::OwnState> state = context.store.own_state();
  if (!state) return problem(state.error());
  std::string items;
  for (const model::PoolRow& row : state->pools)
    items += (items.empty() ? "" : ",") + wire::to_json(row);
  return {200, "{\"items\":[" + items + "]}\n"};
}

http::ServerResponse version_get(const Context& context, const http::ServerRequest&) {
  const Identity& identity = context.identity;
  return {200, fmt::format("{{\"version\":{},\"schema\":{},\"language\":\"{}\",\"installation\":{},"
                           "\"storage_endpoint\":{},\"now\":\"{}\"}}\n",
                           wire::quoted(identity.version), context.store.schema_version(),
                           words::to_string(identity.language), wire::quoted(identity.installation),
                           wire::quoted(identity.storage_endpoint), to_rfc3339(context.now()))};
}

}  // namespace falcon::api
