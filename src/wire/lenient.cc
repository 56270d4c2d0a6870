#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "wire/rows.h"
#include "wire/wire.h"

namespace falcon::wire {
namespace {

namespace json = boost::json;

std::unexpected<Error> not_ours(std::string_view kind, const Errors& errors) {
  return fail(ErrorKind::kInternal,
              fmt::format("the answer is no {} that this falcon understands ({}); are both of the "
                          "same version, and is it the API server?",
                          kind, model::join_field_errors(errors)));
}

template <class T, class Read>
Result<T> read_leniently(std::string_view kind, std::string_view text, Read read) {
  Errors errors;
  T value;
  if (const std::optional<json::object> object = parse_document(text, errors)) {
    Fields fields(*object, "", Reading::kLenient, errors);
    read(fields, value);
  }
  if (!errors.empty()) return not_ours(kind, errors);
  return value;
}

// Runs `read` on each object of the list in field `name`.
template <class Read>
void each(Fields& fields, std::string_view name, Read read) {
  const json::array* entries = fields.array(name);
  if (entries == nullptr) return;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const json::object* entry = (*entries)[i].if_object();
    const std::string path = fields.path_of(fmt::format("{}[{}]", name, i));
    if (entry == nullptr) {
      fields.errors().push_back({path, "is no object"});
      continue;
    }
    Fields inner(*entry, path, fields.reading(), fields.errors());
    read(inner);
  }
}

void read_job(Fields& fields, JobRead& job) {
  job.row = read_wish(fields);
  job.row.id = model::JobId(fields.required_text("id"));
  job.row.created_at = fields.required_time("created_at");
  job.row.aborting_at = fields.maybe_time("aborting_at");
  job.row.state = read_state(fields);
  job.row.version = fields.count("version");
  job.extras.message = fields.text("message");
  job.extras.cluster_name = fields.text("cluster_name");
  job.extras.log_prefix = fields.text("log_prefix");
  job.extras.queue_age_seconds = fields.number("queue_age_seconds", -1, 0, INT64_MAX);
}

void read_cluster_whole(Fields& fields, model::ClusterRow& row) {
  row = read_cluster_row(fields);
  row.id = model::ClusterId(fields.required_text("id"));
  row.created_at = fields.required_time("created_at");
  row.version = fields.count("version");
}

void read_watch_object(Fields& fields, std::string_view kind, WatchLine& line) {
  const json::object* object = fields.object("object");
  if (object == nullptr) {
    fields.complain("object", "is missing");
    return;
  }
  Fields inner(*object, "object", fields.reading(), fields.errors());
  if (kind == "job") {
    JobRead job;
    if (line.removed)
      job.row.id = model::JobId(inner.required_text("id"));
    else
      read_job(inner, job);
    line.job = std::move(job.row);
  } else if (line.removed) {
    line.cluster.id = model::ClusterId(inner.required_text("id"));
  } else {
    read_cluster_whole(inner, line.cluster);
  }
}

}  // namespace

Result<JobRead> job_from_json(std::string_view json) {
  return read_leniently<JobRead>("job", json, read_job);
}

Result<model::ClusterRow> cluster_from_json(std::string_view json) {
  return read_leniently<model::ClusterRow>("cluster", json, read_cluster_whole);
}

std::optional<model::ClusterCondition> condition_of_cluster_json(std::string_view json) {
  Errors errors;
  const std::optional<json::object> cluster = parse_document(json, errors);
  if (!cluster) return std::nullopt;
  Fields fields(*cluster, "", Reading::kLenient, errors);
  const json::object* object = fields.object("condition");
  if (object == nullptr) return std::nullopt;
  Fields inner(*object, "condition", Reading::kLenient, errors);
  const auto health = model::cluster_health_from_string(inner.text("health"));
  if (!health) return std::nullopt;
  model::ClusterCondition condition;
  condition.cluster = model::ClusterId(fields.text("id"));
  condition.health = *health;
  condition.words = inner.text("words");
  condition.since = inner.maybe_time("since").value_or(WallTime{});
  return condition;
}

Result<model::OwnState> own_state_from_json(std::string_view json) {
  return read_leniently<model::OwnState>("state", json, [](Fields& fields, model::OwnState& state) {
    each(fields, "pools", [&](Fields& row) { state.pools.push_back(read_pool(row)); });
    each(fields, "attempts", [&](Fields& row) { state.attempts.push_back(read_attempt(row)); });
    each(fields, "turns", [&](Fields& row) { state.turns.push_back(read_turn(row)); });
    each(fields, "backoffs", [&](Fields& row) { state.backoffs.push_back(read_backoff(row)); });
  });
}

Result<JobListRead> job_list_from_json(std::string_view json) {
  return read_leniently<JobListRead>("list of jobs", json, [](Fields& fields, JobListRead& list) {
    each(fields, "items", [&](Fields& row) { read_job(row, list.items.emplace_back()); });
    each(fields, "unreadable", [&](Fields& row) {
      list.unreadable.push_back({model::JobId(row.required_text("id")), row.text("what")});
    });
    list.next_page_token = fields.text("next_page_token");
    list.sequence = fields.count("sequence");
  });
}

Result<ClusterListRead> cluster_list_from_json(std::string_view json) {
  return read_leniently<ClusterListRead>(
      "list of clusters", json, [](Fields& fields, ClusterListRead& list) {
        each(fields, "items",
             [&](Fields& row) { read_cluster_whole(row, list.items.emplace_back()); });
        list.sequence = fields.count("sequence");
      });
}

Result<WatchLine> watch_line_from_json(std::string_view json) {
  return read_leniently<WatchLine>("line of a watch", json, [](Fields& fields, WatchLine& line) {
    line.sequence = fields.count("sequence");
    const std::string kind = fields.text("kind");
    line.removed = fields.text("change") == "delete";
    if (kind == "bookmark") line.kind = WatchLine::Kind::kBookmark;
    if (kind == "job") line.kind = WatchLine::Kind::kJob;
    if (kind == "cluster") line.kind = WatchLine::Kind::kCluster;
    if (kind == "job" || kind == "cluster") read_watch_object(fields, kind, line);
  });
}

Result<TermRead> term_from_json(std::string_view json) {
  return read_leniently<TermRead>("term", json, [](Fields& fields, TermRead& term) {
    term.term = fields.count("term");
    term.lease_seconds = fields.number("lease_seconds", 0, 0, INT64_MAX);
  });
}

Result<std::uint64_t> version_from_json(std::string_view json) {
  return read_leniently<std::uint64_t>("version", json, [](Fields& fields, std::uint64_t& version) {
    version = fields.count("version");
  });
}

Result<ServerVersion> server_version_from_json(std::string_view json) {
  return read_leniently<ServerVersion>("version", json, [](Fields& fields, ServerVersion& server) {
    server.version = fields.required_text("version");
    server.language = fields.text("language");
    server.installation = fields.text("installation");
    server.storage_endpoint = fields.text("storage_endpoint");
    server.now = fields.text("now");
  });
}

Problem problem_from_json(std::string_view json) {
  Errors errors;
  Problem problem;
  const std::optional<json::object> object = parse_document(json, errors);
  if (!object) return problem;
  Fields fields(*object, "", Reading::kLenient, errors);
  problem.code = fields.text("code");
  problem.detail = fields.text("detail");
  Errors complaints;
  each(fields, "errors",
       [&](Fields& entry) { complaints.push_back({entry.text("field"), entry.text("what")}); });
  if (!complaints.empty()) problem.detail = model::join_field_errors(complaints);
  return problem;
}

}  // namespace falcon::wire
