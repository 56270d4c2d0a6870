#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/handlers.h"
#include "api/problem.h"
#include "base/text.h"

namespace falcon::api {
namespace {

constexpr std::uint32_t kLimitDefault = 100;
constexpr std::uint32_t kLimitMax = 1'000;
constexpr std::uint32_t kOpenLimitDefault = 1'000;

std::string rendered(const Context& context, const http::ServerRequest& request,
                     const model::JobRow& row) {
  return render_job(row, *context.directory.picture(), language_of(context, request),
                    Codes::kRendered, context.now());
}

Error no_job(const std::string& id_or_name) {
  return {ErrorKind::kNotFound, fmt::format("there is no job \"{}\"", clean_text(id_or_name, 80))};
}

bool is_older(const model::JobRow& a, const model::JobRow& b) {
  return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
}

// All rows that an id or a name may mean: one, or several of that name that are not terminal.
Result<std::vector<model::JobRow>> find_jobs(const Context& context,
                                             const std::string& id_or_name) {
  if (!is_utf8(id_or_name)) return std::unexpected(no_job(id_or_name));
  Result<model::JobRow> by_id = context.store.job(model::JobId(id_or_name));
  if (by_id) return std::vector<model::JobRow>{*std::move(by_id)};
  if (by_id.error().kind != ErrorKind::kNotFound) return std::unexpected(by_id.error());
  FALCON_TRY(named, context.store.jobs_named(id_or_name));
  if (named.empty()) return std::unexpected(no_job(id_or_name));
  return named;
}

// The row that a reader means: the newest.
Result<model::JobRow> find_job(const Context& context, const std::string& id_or_name) {
  FALCON_TRY(rows, find_jobs(context, id_or_name));
  return std::move(*std::ranges::max_element(rows, is_older));
}

Result<store::JobFilter> filter_of(const Context& context, const http::ServerRequest& request,
                                   std::vector<model::FieldError>& errors) {
  store::JobFilter filter;
  const std::string_view open = request.parameter("open");
  if (request.has_parameter("open") && open != "true" && open != "false")
    errors.push_back({"open", "is neither true nor false"});
  filter.open_only = open == "true";
  filter.limit = filter.open_only ? kOpenLimitDefault : kLimitDefault;
  if (request.has_parameter("limit")) {
    const auto limit = whole_number(request.parameter("limit"));
    if (limit && *limit >= 1 && *limit <= kLimitMax)
      filter.limit = static_cast<std::uint32_t>(*limit);
    else
      errors.push_back(
          {"limit", fmt::format("\"{}\" is not in 1 to {}",
                                clean_text(request.parameter("limit"), 40), kLimitMax)});
  }
  if (request.has_parameter("status")) {
    filter.status = model::job_status_from_string(request.parameter("status"));
    if (!filter.status)
      errors.push_back(
          {"status", fmt::format("\"{}\" is no status; one of Pending, Running, Succeeded, Failed, "
                                 "Aborting, Aborted",
                                 clean_text(request.parameter("status"), 40))});
  }
  filter.actor = request.parameter("actor");
  filter.name = request.parameter("name");
  filter.page_token = request.parameter("page_token");
  if (!request.parameter("cluster").empty()) {
    FALCON_TRY(cluster, find_cluster(context, std::string(request.parameter("cluster"))));
    filter.cluster = cluster.id;
  }
  return filter;
}

}  // namespace

http::ServerResponse jobs_list(const Context& context, const http::ServerRequest& request) {
  static constexpr std::array<std::string_view, 7> kParameters{
      "status", "actor", "name", "cluster", "open", "limit", "page_token"};
  if (auto refusal = refuse_parameters(request, kParameters)) return *std::move(refusal);
  std::vector<model::FieldError> errors;
  const Result<store::JobFilter> filter = filter_of(context, request, errors);
  if (!errors.empty()) return problem(wire::Refusal{std::move(errors)});
  if (!filter) return problem(filter.error());
  const Result<store::JobPage> page = context.store.jobs(*filter);
  if (!page) return problem(page.error());
  const auto picture = context.directory.picture();
  const words::Language language = language_of(context, request);
  const Codes codes = filter->open_only ? Codes::kStored : Codes::kRendered;
  const WallTime now = context.now();
  std::string body = "{\"items\":[";
  for (std::size_t i = 0; i < page->items.size(); ++i) {
    if (i > 0) body += ',';
    body += render_job(page->items[i], *picture, language, codes, now);
  }
  body += fmt::format("],\"next_page_token\":{},\"sequence\":{}",
                      wire::quoted(page->next_page_token), page->sequence);
  for (std::size_t i = 0; i < page->unreadable.size(); ++i)
    body += fmt::format("{}{{\"id\":{},\"what\":{}}}", i == 0 ? ",\"unreadable\":[" : ",",
                        wire::quoted(page->unreadable[i].id.value()),
                        wire::quoted(page->unreadable[i].what));
  body += page->unreadable.empty() ? "}\n" : "]}\n";
  return {200, std::move(body)};
}

http::ServerResponse jobs_submit(const Context& context, const http::ServerRequest& request) {
  wire::Strict<model::JobRow> job = wire::read_submit(request.body);
  if (!job) return problem(job.error());
  const Result<model::JobRow> row = context.store.submit(*std::move(job));
  if (!row) return problem(row.error());
  return {201,
          rendered(context, request, *row) + "\n",
          "application/json",
          {{"Location", "/v1/jobs/" + row->id.value()}}};
}

http::ServerResponse job_get(const Context& context, const http::ServerRequest& request) {
  const Result<model::JobRow> row = find_job(context, request.path[2]);
  if (!row) return problem(row.error());
  return {200, rendered(context, request, *row) + "\n"};
}

http::ServerResponse job_abort(const Context& context, const http::ServerRequest& request) {
  const auto body = wire::read_nothing(request.body);
  if (!body) return problem(body.error());
  const std::string& segment = request.path[2];
  const std::string id_or_name = segment.substr(0, segment.rfind(':'));
  const Result<std::vector<model::JobRow>> rows = find_jobs(context, id_or_name);
  if (!rows) return problem(rows.error());
  if (rows->size() > 1) {
    std::string ids;
    for (const model::JobRow& row : *rows) ids += (ids.empty() ? "" : ", ") + row.id.value();
    return problem(
        409, "ambiguous",
        fmt::format("{} jobs of the name \"{}\" are not finished; abort one by its id: {}",
                    rows->size(), clean_text(id_or_name, 80), clean_text(ids, 1'000)));
  }
  const Result<model::JobRow> row = context.store.abort(rows->front().id);
  if (!row) return problem(row.error());
  if (model::is_terminal(row->state.status))
    return problem(409, "finished",
                   fmt::format("job {} ({}) is {} already; nothing was changed", row->name,
                               row->id.value(), to_string(row->state.status)));
  return {200, rendered(context, request, *row) + "\n"};
}

http::ServerResponse job_events(const Context& context, const http::ServerRequest& request) {
  const Result<model::JobRow> row = find_job(context, request.path[2]);
  if (!row) return problem(row.error());
  const Result<std::vector<store::JobEvent>> events = context.store.job_events(row->id);
  if (!events) return problem(events.error());
  const words::Language language = language_of(context, request);
  std::string body;
  for (const store::JobEvent& event : *events)
    body +=
        fmt::format("{}{{\"at\":\"{}\",\"status\":\"{}\",\"reason\":\"{}\",\"message\":{}}}",
                    body.empty() ? "" : ",", to_rfc3339(event.at), to_string(event.status),
                    to_string(event.reason), wire::quoted(words::render(event.message, language)));
  return {200, "{\"items\":[" + body + "]}\n"};
}

http::ServerResponse job_write(const Context& context, const http::ServerRequest& request) {
  const wire::Strict<wire::JobWrite> write = wire::read_job_write(request.body);
  if (!write) return problem(write.error());
  const Result<std::uint64_t> version = context.store.write_job(
      write->term, model::JobId(request.path[2]), write->version, write->state);
  if (!version) return problem(version.error());
  return {200, fmt::format("{{\"version\":{}}}\n", *version)};
}

}  // namespace falcon::api
