#include "store/own_state.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "store/codec.h"
#include "store/terms.h"

namespace falcon::store {
namespace {

// Carries one change of Falcon's own rows out; each replaces the row as a whole.
struct Apply {
  Connection& connection;

  void operator()(const model::PutPool& put) const {
    const model::PoolRow& row = put.row;
    connection.run(
        "INSERT OR REPLACE INTO pools (name, gke_project, gke_location, gke_name, cluster, "
        "shape_type, shape_topology, supply, reservation_project, reservation_zone, "
        "reservation_name, owner, provision, phase, serves, serves_attempt, intent_at, "
        "phase_since, accepted_at, usable_until, last_error, late_create_until, kept) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row.name, row.gke.project, row.gke.location, row.gke.name, row.cluster, row.shape.type,
        row.shape.topology, model::to_string(row.supply), row.reservation.project,
        row.reservation.zone, row.reservation.name, row.owner, row.provision,
        model::to_string(row.phase), row.serves, row.serves_attempt, row.intent_at, row.phase_since,
        row.accepted_at, row.usable_until, row.last_error, row.late_create_until, row.kept ? 1 : 0);
  }
  void operator()(const model::RemovePool& remove) const {
    connection.run("DELETE FROM pools WHERE name = ?", remove.name);
  }
  void operator()(const model::PutAttempt& put) const {
    const model::AttemptRow& row = put.row;
    connection.run(
        "INSERT OR REPLACE INTO attempts (job, number, cluster, pool, uid, intent_at, "
        "dispatched_at, started_at, ended_at, outcome, exit_code, late_create_until, node_lost) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row.job, row.number, row.cluster, row.pool, row.uid, row.intent_at, row.dispatched_at,
        row.started_at, row.ended_at, model::to_string(row.outcome), row.exit_code,
        row.late_create_until, row.node_lost ? 1 : 0);
  }
  void operator()(const model::PutTurn& put) const {
    const model::TurnRow& row = put.row;
    connection.run(
        "INSERT OR REPLACE INTO turns (cluster, shape_type, shape_topology, actor, turn, job, at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        row.queue.cluster, row.queue.shape.type, row.queue.shape.topology, row.actor, row.turn,
        row.job, row.at);
  }
  void operator()(const model::PutBackoff& put) const {
    const model::BackoffRow& row = put.row;
    connection.run(
        "INSERT OR REPLACE INTO backoffs (job, failures, not_before, words) VALUES (?, ?, ?, ?)",
        row.job, row.failures, row.not_before, row.words);
  }
  void operator()(const model::RemoveBackoff& remove) const {
    connection.run("DELETE FROM backoffs WHERE job = ?", remove.job);
  }
};

// A controller that went on without such a row would take what it stands for for an orphan.
std::unexpected<Error> unknown_word(std::string_view what, const std::string& name,
                                    const std::string& word) {
  return fail(ErrorKind::kInternal,
              fmt::format("the row of {} {} says \"{}\", which this version does not know; run the "
                          "version that wrote it, or correct the row",
                          what, name, word));
}

Result<std::vector<model::PoolRow>> read_pools(Connection& connection) {
  std::vector<model::PoolRow> pools;
  Cursor cursor = connection.query(
      "SELECT name, gke_project, gke_location, gke_name, cluster, shape_type, shape_topology, "
      "supply, reservation_project, reservation_zone, reservation_name, owner, provision, phase, "
      "serves, serves_attempt, intent_at, phase_since, accepted_at, usable_until, last_error, "
      "late_create_until, kept FROM pools ORDER BY name");
  while (cursor.next()) {
    model::PoolRow row;
    row.name = model::PoolName(cursor.text(0));
    row.gke = {cursor.text(1), cursor.text(2), cursor.text(3)};
    row.cluster = model::ClusterId(cursor.text(4));
    row.shape = {model::Accelerator::kTpu, cursor.text(5), cursor.text(6)};
    const auto supply = model::supply_mode_from_string(cursor.text(7));
    if (!supply) return unknown_word("pool", row.name.value(), cursor.text(7));
    row.supply = *supply;
    row.reservation = {cursor.text(8), cursor.text(9), cursor.text(10)};
    row.owner = model::JobId(cursor.text(11));
    row.provision = cursor.natural32(12);
    const auto phase = model::pool_phase_from_string(cursor.text(13));
    if (!phase) return unknown_word("pool", row.name.value(), cursor.text(13));
    row.phase = *phase;
    row.serves = model::JobId(cursor.text(14));
    row.serves_attempt = cursor.natural32(15);
    row.intent_at = cursor.time(16);
    row.phase_since = cursor.time(17);
    row.accepted_at = cursor.maybe_time(18);
    row.usable_until = cursor.maybe_time(19);
    row.last_error = cursor.text(20);
    row.late_create_until = cursor.maybe_time(21);
    row.kept = cursor.integer(22) != 0;
    pools.push_back(std::move(row));
  }
  return pools;
}

// The controller takes the time out of the row when it has seen that nothing came, or when the job
// is over. What is older than this belongs to jobs that are long gone.
constexpr Duration kLateCreatesRead = std::chrono::hours(7 * 24);

Result<std::vector<model::AttemptRow>> read_attempts(Connection& connection, WallTime now) {
  std::vector<model::AttemptRow> attempts;
  const auto rows_where = [](std::string_view condition) {
    return fmt::format(
        "SELECT job, number, cluster, pool, uid, intent_at, dispatched_at, started_at, ended_at, "
        "outcome, exit_code, late_create_until, node_lost FROM attempts WHERE {}",
        condition);
  };
  Cursor cursor = connection.query(
      rows_where("outcome = 'open'") + " UNION " + rows_where("pool IN (SELECT name FROM pools)") +
          " UNION " + rows_where("late_create_until > ?") + " ORDER BY job, number",
      now - kLateCreatesRead);
  while (cursor.next()) {
    model::AttemptRow row;
    row.job = model::JobId(cursor.text(0));
    row.number = cursor.natural32(1);
    row.cluster = model::ClusterId(cursor.text(2));
    row.pool = model::PoolName(cursor.text(3));
    row.uid = model::Uid(cursor.text(4));
    row.intent_at = cursor.time(5);
    row.dispatched_at = cursor.maybe_time(6);
    row.started_at = cursor.maybe_time(7);
    row.ended_at = cursor.maybe_time(8);
    const auto outcome = model::attempt_outcome_from_string(cursor.text(9));
    if (!outcome) return unknown_word("an attempt of job", row.job.value(), cursor.text(9));
    row.outcome = *outcome;
    if (const auto code = cursor.maybe_integer(10))
      row.exit_code = static_cast<std::int32_t>(*code);
    row.late_create_until = cursor.maybe_time(11);
    row.node_lost = cursor.integer(12) != 0;
    attempts.push_back(std::move(row));
  }
  return attempts;
}

model::QueueKey queue_key(const Cursor& cursor) {
  return {model::ClusterId(cursor.text(0)),
          {model::Accelerator::kTpu, cursor.text(1), cursor.text(2)}};
}

}  // namespace

Result<std::monostate> write_state(Connection& connection, std::uint64_t term, std::uint64_t number,
                                   const std::vector<model::StateChange>& changes) {
  FALCON_TRY(checked, check_term(connection, term));
  if (number == 0)
    return fail(ErrorKind::kInvalid, "the number of a state write is 0: they start at 1");
  std::uint64_t last = 0;
  {
    Cursor row = connection.query("SELECT last_number FROM terms WHERE term = ?", term);
    if (row.next()) last = row.natural(0);
  }
  if (number == last) return checked;
  if (number < last)
    return fail(ErrorKind::kConflict,
                fmt::format("state write {} of term {} comes after write {}; it is out of date",
                            number, term, last));
  for (const model::StateChange& change : changes) std::visit(Apply{connection}, change);
  connection.run("UPDATE terms SET last_number = ? WHERE term = ?", number, term);
  return checked;
}

Result<model::OwnState> read_state(Connection& connection, WallTime now) {
  model::OwnState state;
  FALCON_TRY(pools, read_pools(connection));
  FALCON_TRY(attempts, read_attempts(connection, now));
  state.pools = std::move(pools);
  state.attempts = std::move(attempts);
  Cursor turns = connection.query(
      "SELECT cluster, shape_type, shape_topology, actor, turn, job, at FROM turns "
      "ORDER BY cluster, shape_type, shape_topology, actor");
  while (turns.next())
    state.turns.push_back({queue_key(turns), model::Actor(turns.text(3)), turns.natural(4),
                           model::JobId(turns.text(5)), turns.time(6)});
  Cursor backoffs =
      connection.query("SELECT job, failures, not_before, words FROM backoffs ORDER BY job");
  while (backoffs.next())
    state.backoffs.push_back({model::JobId(backoffs.text(0)), backoffs.natural32(1),
                              backoffs.time(2), backoffs.text(3)});
  return state;
}

Result<std::monostate> publish_queue(Connection& connection, std::uint64_t term,
                                     const model::QueueOrder& order, WallTime now) {
  FALCON_TRY(checked, check_term(connection, term));
  std::vector<std::string> jobs;
  jobs.reserve(order.order.size());
  for (const model::JobId& job : order.order) jobs.push_back(job.value());
  // Versions are counted within a term; a new leader starts again.
  connection.run(
      "INSERT INTO queues (cluster, shape_type, shape_topology, term, version, jobs, published_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (cluster, shape_type, shape_topology) DO UPDATE SET term = excluded.term, "
      "version = excluded.version, jobs = excluded.jobs, published_at = excluded.published_at "
      "WHERE (excluded.term, excluded.version) > (term, version)",
      order.queue.cluster, order.queue.shape.type, order.queue.shape.topology, term, order.version,
      to_text(jobs), now);
  return checked;
}

Result<std::vector<Store::PublishedQueue>> read_queues(Connection& connection) {
  std::vector<Store::PublishedQueue> queues;
  Cursor cursor = connection.query(
      "SELECT cluster, shape_type, shape_topology, version, jobs, published_at FROM queues "
      "ORDER BY cluster, shape_type, shape_topology");
  while (cursor.next()) {
    Store::PublishedQueue queue;
    queue.order.queue = queue_key(cursor);
    queue.order.version = cursor.natural(3);
    for (std::string& job : list_from_text(cursor.text(4)))
      queue.order.order.emplace_back(std::move(job));
    queue.published_at = cursor.time(5);
    queues.push_back(std::move(queue));
  }
  return queues;
}

}  // namespace falcon::store
