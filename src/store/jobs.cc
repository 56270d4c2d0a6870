#include "store/jobs.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text.h"
#include "store/changes.h"
#include "store/codec.h"
#include "store/terms.h"
#include "store/uuid.h"

namespace falcon::store {
namespace {

using model::JobRow;
using model::JobState;
using model::JobStatus;

constexpr std::uint32_t kLimitMax = 1'000;  // jobs on a page

std::string select_jobs(std::string_view rest) {
  return fmt::format("SELECT {} FROM jobs {}", kJobColumns, rest);
}

std::unexpected<Error> no_job(const model::JobId& id) {
  return fail(ErrorKind::kNotFound, fmt::format("there is no job {}", id.value()));
}

void add_event(Connection& connection, std::int64_t n, const JobState& state, WallTime now) {
  connection.run(
      "INSERT INTO job_events (job, at, status, reason, message_code, message_arguments) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      n, now, model::to_string(state.status), model::to_string(state.reason),
      model::to_string(state.message.code), to_text(state.message.arguments));
}

void store_state(Connection& connection, const StoredJob& stored) {
  const JobState& state = stored.row.state;
  connection.run(
      "UPDATE jobs SET aborting_at = ?, version = ?, status = ?, reason = ?, message_code = ?, "
      "message_arguments = ?, cluster = ?, node_pool_name = ?, job_uid = ?, attempt = ?, "
      "provision = ?, attempts_over = ?, retries = ?, disruptions = ?, exit_code = ?, "
      "dispatched_at = ?, started_at = ?, finished_at = ?, "
      "aborted_at = ?, cleanup = ?, cleanup_error = ? WHERE n = ?",
      stored.row.aborting_at, stored.row.version, model::to_string(state.status),
      model::to_string(state.reason), model::to_string(state.message.code),
      to_text(state.message.arguments), state.cluster, state.node_pool_name, state.job_uid,
      state.attempt, state.provision, state.attempts_over, state.retries, state.disruptions,
      state.exit_code, state.dispatched_at, state.started_at, state.finished_at, state.aborted_at,
      model::to_string(state.cleanup), state.cleanup_error, stored.n);
}

// The row gets its next version, a change of the feed, and a line of history where it tells more.
void replace_state(Connection& connection, StoredJob& stored, const JobState& state, WallTime now) {
  const JobState& before = stored.row.state;
  const bool tells = before.status != state.status || before.reason != state.reason ||
                     before.message.code != state.message.code;
  stored.row.state = state;
  ++stored.row.version;
  store_state(connection, stored);
  if (tells) add_event(connection, stored.n, state, now);
  note_change(connection, stored.row);
}

// The edges of the diagram in model/job.h that Falcon may write; Aborting itself comes from
// abort_job alone. A job may end before anybody saw it run, so Pending leads to Succeeded, too.
bool has_edge(JobStatus from, JobStatus to) {
  const bool ends = to == JobStatus::kSucceeded || to == JobStatus::kFailed;
  switch (from) {
    case JobStatus::kPending:
    case JobStatus::kRunning:
      return ends || to == JobStatus::kPending || to == JobStatus::kRunning;
    case JobStatus::kAborting:
      return ends || to == JobStatus::kAborting || to == JobStatus::kAborted;
    case JobStatus::kSucceeded:
    case JobStatus::kFailed:
    case JobStatus::kAborted:
      return to == from;
  }
  std::abort();
}

// Why this may not follow that; empty: it may.
std::string forbidden(const JobState& before, const JobState& after) {
  if (!has_edge(before.status, after.status))
    return fmt::format("it is {} and cannot become {}", model::to_string(before.status),
                       model::to_string(after.status));
  if (model::is_terminal(before.status)) {
    JobState allowed = before;
    allowed.message = after.message;
    allowed.cleanup = after.cleanup;
    allowed.cleanup_error = after.cleanup_error;
    if (allowed == after) return {};
    return fmt::format("it is {}, after which only message and clean-up change",
                       model::to_string(before.status));
  }
  if (after.attempt < before.attempt || after.provision < before.provision)
    return fmt::format("its numbers of attempts and pools ({}, {}) do not go back to ({}, {})",
                       before.attempt, before.provision, after.attempt, after.provision);
  if (after.attempts_over < before.attempts_over || after.retries < before.retries ||
      after.disruptions < before.disruptions)
    return fmt::format(
        "its attempts that are over, retries and disruptions ({}, {}, {}) do not go back to "
        "({}, {}, {})",
        before.attempts_over, before.retries, before.disruptions, after.attempts_over,
        after.retries, after.disruptions);
  return {};
}

}  // namespace

Result<StoredJob> find_job(Connection& connection, const model::JobId& id) {
  static const std::string sql = select_jobs("WHERE id = ?");
  Cursor cursor = connection.query(sql, id);
  if (!cursor.next()) return no_job(id);
  FALCON_TRY(row, read_job(cursor));
  return StoredJob{cursor.integer(0), std::move(row)};
}

Result<JobRow> submit_job(Connection& connection, JobRow job, WallTime now) {
  job.id = model::JobId(uuid_v7(now));
  job.created_at = now;
  job.aborting_at.reset();
  job.version = 1;
  job.state = JobState{};
  job.state.reason = model::Reason::kWaiting;
  job.state.message = model::make_message(model::MessageCode::kQueued);
  const JobState& state = job.state;
  connection.run(
      "INSERT INTO jobs (id, name, actor, priority, labels, spec, created_at, version, status, "
      "reason, message_code, message_arguments, cluster, node_pool_name, job_uid, attempt, "
      "provision, cleanup, cleanup_error) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', 0, 0, '', '')",
      job.id, job.name, job.actor, job.priority, to_text(job.labels), to_text(job.spec), now,
      job.version, model::to_string(state.status), model::to_string(state.reason),
      model::to_string(state.message.code), to_text(state.message.arguments));
  add_event(connection, connection.last_row(), state, now);
  note_change(connection, job);
  return job;
}

Result<JobRow> job_by_id(Connection& connection, const model::JobId& id) {
  FALCON_TRY(found, find_job(connection, id));
  return std::move(found.row);
}

Result<std::vector<JobRow>> jobs_named(Connection& connection, const std::string& name) {
  static const std::string open = select_jobs(
      fmt::format("WHERE name = ? AND is_terminal = 0 ORDER BY n DESC LIMIT {}", Store::kNamedMax));
  static const std::string ended =
      select_jobs("WHERE name = ? AND is_terminal = 1 ORDER BY n DESC LIMIT 1");
  std::vector<JobRow> rows;
  for (const std::string* sql : {&open, &ended}) {
    Cursor cursor = connection.query(*sql, name);
    while (cursor.next()) {
      FALCON_TRY(row, read_job(cursor));
      rows.push_back(std::move(row));
    }
    if (!rows.empty()) return rows;
  }
  return fail(ErrorKind::kNotFound, fmt::format("there is no job named \"{}\"", name));
}

Result<JobPage> list_jobs(Connection& connection, const JobFilter& filter) {
  if (filter.limit < 1 || filter.limit > kLimitMax)
    return fail(ErrorKind::kInvalid,
                fmt::format("limit {}: 1 to {} are allowed", filter.limit, kLimitMax));
  std::optional<std::int64_t> after;
  if (!filter.page_token.empty()) {
    const char* end = filter.page_token.data() + filter.page_token.size();
    std::int64_t value = 0;
    const auto read = std::from_chars(filter.page_token.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || value < 1)
      return fail(ErrorKind::kInvalid,
                  "page_token: not one of ours; take the next_page_token of the page before");
    after = value;
  }
  // Placeholders that do not apply are left out, so that each combination meets its index.
  std::string where = filter.open_only ? "WHERE is_open = 1" : "WHERE n > 0";
  if (after) where += filter.open_only ? " AND n > ?1" : " AND n < ?1";
  if (filter.status) where += " AND status = ?2";
  if (!filter.actor.empty()) where += " AND actor = ?3";
  if (!filter.name.empty()) where += " AND name = ?4";
  if (!filter.cluster.empty()) where += " AND cluster = ?5";
  where += filter.open_only ? " ORDER BY n LIMIT ?6" : " ORDER BY n DESC LIMIT ?6";

  JobPage page;
  page.sequence = newest_change(connection);
  Cursor cursor = connection.query(
      select_jobs(where), after,
      filter.status ? std::optional(model::to_string(*filter.status)) : std::nullopt, filter.actor,
      filter.name, filter.cluster, static_cast<std::int64_t>(filter.limit) + 1);
  std::uint32_t seen = 0;
  std::int64_t last = 0;
  while (cursor.next()) {
    if (seen == filter.limit) {
      page.next_page_token = std::to_string(last);
      break;
    }
    ++seen;
    last = cursor.integer(0);
    if (auto row = read_job(cursor))
      page.items.push_back(*std::move(row));
    else
      page.unreadable.push_back({model::JobId(cursor.text(1)), row.error().what});
  }
  return page;
}

Result<std::vector<JobEvent>> events_of(Connection& connection, const model::JobId& id) {
  FALCON_TRY(found, find_job(connection, id));
  std::vector<JobEvent> events;
  Cursor cursor = connection.query(
      "SELECT at, status, reason, message_code, message_arguments FROM job_events WHERE job = ? "
      "ORDER BY n",
      found.n);
  while (cursor.next()) {
    const auto status = model::job_status_from_string(cursor.text(1));
    if (!status)
      return fail(ErrorKind::kInternal,
                  fmt::format("the history of job {} has a line with status \"{}\", which this "
                              "version does not know; run the version that wrote it, or correct it",
                              id.value(), clean_text(cursor.text(1), 80)));
    JobEvent event{cursor.time(0), *status, model::Reason::kNone, {}};
    event.reason = model::reason_from_string(cursor.text(2)).value_or(model::Reason::kNone);
    event.message.code =
        model::message_code_from_string(cursor.text(3)).value_or(model::MessageCode::kNone);
    event.message.arguments = list_from_text(cursor.text(4));
    events.push_back(std::move(event));
  }
  return events;
}

Result<JobRow> abort_job(Connection& connection, const model::JobId& id, WallTime now) {
  FALCON_TRY(found, find_job(connection, id));
  const JobStatus status = found.row.state.status;
  if (model::is_terminal(status) || status == JobStatus::kAborting) return std::move(found.row);
  JobState state = found.row.state;
  state.status = JobStatus::kAborting;
  state.reason = model::Reason::kNone;
  state.message = model::make_message(model::MessageCode::kAborting);
  found.row.aborting_at = now;
  replace_state(connection, found, state, now);
  return std::move(found.row);
}

Result<std::uint64_t> write_job(Connection& connection, std::uint64_t term, const model::JobId& id,
                                std::uint64_t version, const JobState& state, WallTime now) {
  FALCON_TRY(checked, check_term(connection, term));
  static_cast<void>(checked);
  FALCON_TRY(found, find_job(connection, id));
  if (found.row.version != version)
    return fail(ErrorKind::kConflict,
                fmt::format("job {} has version {} now, the write was decided on version {}; read "
                            "it again",
                            id.value(), found.row.version, version));
  if (const std::string why = forbidden(found.row.state, state); !why.empty())
    return fail(ErrorKind::kConflict, fmt::format("job {}: {}", id.value(), why));
  replace_state(connection, found, state, now);
  return found.row.version;
}

}  // namespace falcon::store
