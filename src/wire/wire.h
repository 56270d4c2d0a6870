// JSON forms of the nouns, as docs/design/rest-api.md has them. Pure.
//
// Two ways to read. Strict, for what people and programs ask for: unknown fields (with "did you
// mean"), wrong types, numbers out of range or with fractions, null where it means nothing, a key
// twice, more than 32 levels, text after the end and invalid UTF-8 are refused, each with its
// field. Lenient, for answers of our own servers: unknown fields are passed over.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/condition.h"
#include "model/job.h"
#include "model/state_change.h"
#include "model/validation.h"

namespace falcon::wire {

// What a strict reader found wrong; `errors` is never empty then.
struct Refusal {
  std::vector<model::FieldError> errors;
};
template <class T>
using Strict = std::expected<T, Refusal>;

// --- strict ----------------------------------------------------------------------------------
// Body of a submit: name, actor, priority, labels, spec. Validated (model/validation.h) as well.
Strict<model::JobRow> read_submit(std::string_view json);
// Body of POST /v1/clusters; id, created_at, version are not accepted. Validated as well.
Strict<model::ClusterRow> read_cluster(std::string_view json);
// Body of PATCH /v1/clusters: the fields given replace those of `row`; identity fields are refused.
Strict<model::ClusterRow> read_cluster_patch(std::string_view json, const model::ClusterRow& row);
struct JobWrite {
  std::uint64_t term = 0;
  std::uint64_t version = 0;
  model::JobState state;
};
Strict<JobWrite> read_job_write(std::string_view json);  // PUT /v1/jobs/{id}/state
struct StateWrite {
  std::uint64_t term = 0;
  std::uint64_t number = 0;
  std::vector<model::StateChange> changes;
};
Strict<StateWrite> read_state_write(std::string_view json);  // POST /v1/state
struct QueueWrite {
  std::uint64_t term = 0;
  model::QueueOrder order;
};
Strict<QueueWrite> read_queue_write(std::string_view json);  // PUT /v1/queues
struct ConditionWrite {
  std::uint64_t term = 0;
  model::ClusterCondition condition;  // without `since`
};
Strict<ConditionWrite> read_condition_write(std::string_view json);  // PUT /v1/conditions
struct TermWish {
  std::string holder;  // empty where the call has none
  std::int64_t lease_seconds = 0;
};
Strict<TermWish> read_term_wish(std::string_view json);
// A body that says nothing: empty, or an object without fields.
Strict<std::monostate> read_nothing(std::string_view json);

// --- writing ---------------------------------------------------------------------------------
// What the API renders beside a job's own fields.
struct JobExtras {
  std::string message;  // rendered for the reader
  std::string cluster_name;
  std::string log_prefix;               // "gs://bucket/logs/ID/"; empty while there is no cluster
  std::int64_t queue_age_seconds = -1;  // -1: no place is shown
};
std::string to_json(const model::JobRow& row, const JobExtras& extras);
std::string to_json(const model::ClusterRow& row);
// With what was found of the cluster; null: nobody has looked yet.
std::string to_json(const model::ClusterRow& row, const model::ClusterCondition* condition);
std::string to_json(const model::OwnState& state);
std::string to_json(const model::PoolRow& row);
std::string to_json(const model::QueueOrder& order, WallTime published_at);
std::string to_json(const JobWrite& write);
std::string to_json(const StateWrite& write);
std::string to_json(const QueueWrite& write);
std::string to_json(const ConditionWrite& write);
std::string submit_json(const model::JobRow& row);       // the body of a submit
std::string cluster_json(const model::ClusterRow& row);  // the body of POST /v1/clusters
std::string quoted(std::string_view text);               // a JSON string

// --- lenient ---------------------------------------------------------------------------------
struct JobRead {
  model::JobRow row;
  JobExtras extras;
};
Result<JobRead> job_from_json(std::string_view json);
Result<model::ClusterRow> cluster_from_json(std::string_view json);
// Of a cluster's JSON; empty when nobody has looked yet, or it says what this program doesn't know.
std::optional<model::ClusterCondition> condition_of_cluster_json(std::string_view json);
Result<model::OwnState> own_state_from_json(std::string_view json);
struct JobListRead {
  struct Unreadable {  // a row that the server cannot read: it is there
    model::JobId id;
    std::string what;
  };
  std::vector<JobRead> items;
  std::vector<Unreadable> unreadable;
  std::string next_page_token;
  std::uint64_t sequence = 0;
};
Result<JobListRead> job_list_from_json(std::string_view json);
struct ClusterListRead {
  std::vector<model::ClusterRow> items;
  std::uint64_t sequence = 0;
};
Result<ClusterListRead> cluster_list_from_json(std::string_view json);
// One line of a watch.
struct WatchLine {
  enum class Kind : std::uint8_t { kJob, kCluster, kBookmark, kUnknown };
  Kind kind = Kind::kUnknown;
  bool removed = false;
  std::uint64_t sequence = 0;
  model::JobRow job;          // its id alone when removed
  model::ClusterRow cluster;  // its id alone when removed
};
Result<WatchLine> watch_line_from_json(std::string_view json);
struct TermRead {
  std::uint64_t term = 0;
  std::int64_t lease_seconds = 0;
};
Result<TermRead> term_from_json(std::string_view json);
Result<std::uint64_t> version_from_json(std::string_view json);  // {"version": n}
struct ServerVersion {
  std::string version;
  std::string language;
  std::string installation;
  std::string storage_endpoint;
  std::string now;
};
Result<ServerVersion> server_version_from_json(std::string_view json);
// A problem+json body: code and detail (with its field errors joined); empty when it is none.
struct Problem {
  std::string code;
  std::string detail;
};
Problem problem_from_json(std::string_view json);

}  // namespace falcon::wire
