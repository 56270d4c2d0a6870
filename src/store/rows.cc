#include "store/rows.h"

#include <boost/json.hpp>

namespace falcon::store {
namespace {

namespace json = boost::json;

// A value that an older or newer program wrote and this one does not know is damage: say so.
template <class T>
T known(const std::optional<T>& value, const char* column) {
  if (!value) throw SqliteError(SQLITE_CORRUPT, std::string("unknown value in column ") + column);
  return *value;
}

std::string spec_to_column(const model::JobSpec& spec) {
  json::object object;
  object["image"] = spec.image;
  object["command"] = json::value_from(spec.command);
  object["args"] = json::value_from(spec.args);
  json::array env;
  for (const model::EnvironmentVariable& variable : spec.env)
    env.push_back(json::array{variable.name, variable.value, variable.secret_name,
                              variable.secret_key});
  object["env"] = std::move(env);
  object["tpu_type"] = spec.tpu_type;
  object["topology"] = spec.topology;
  if (spec.supply_mode) object["supply_mode"] = model::to_string(*spec.supply_mode);
  object["timeout_seconds"] = spec.timeout_seconds;
  object["termination_grace_seconds"] = spec.termination_grace_seconds;
  object["max_retries"] = spec.max_retries;
  return json::serialize(object);
}

std::string text_of(const json::value& value) { return std::string(value.as_string()); }

model::JobSpec spec_from_column(const std::string& column) {
  const json::value value = json::parse(column);
  const json::object& object = value.as_object();
  model::JobSpec spec;
  spec.image = text_of(object.at("image"));
  spec.command = json::value_to<std::vector<std::string>>(object.at("command"));
  spec.args = json::value_to<std::vector<std::string>>(object.at("args"));
  for (const json::value& item : object.at("env").as_array()) {
    const json::array& parts = item.as_array();
    spec.env.push_back(
        {text_of(parts.at(0)), text_of(parts.at(1)), text_of(parts.at(2)), text_of(parts.at(3))});
  }
  spec.tpu_type = text_of(object.at("tpu_type"));
  spec.topology = text_of(object.at("topology"));
  if (const json::value* supply = object.if_contains("supply_mode"))
    spec.supply_mode =
        known(model::supply_mode_from_string(std::string(supply->as_string())), "spec.supply_mode");
  spec.timeout_seconds = object.at("timeout_seconds").to_number<std::int64_t>();
  spec.termination_grace_seconds =
      object.at("termination_grace_seconds").to_number<std::int64_t>();
  spec.max_retries = object.at("max_retries").to_number<std::int64_t>();
  return spec;
}

model::Message read_message(Statement& row) {
  model::Message message;
  message.code = known(model::message_code_from_string(row.text()), "message_code");
  message.arguments = list_from_column(row.text());
  return message;
}

}  // namespace

std::string list_to_column(const std::vector<std::string>& list) {
  return json::serialize(json::value_from(list));
}

std::vector<std::string> list_from_column(const std::string& column) {
  return json::value_to<std::vector<std::string>>(json::parse(column));
}

model::JobRow read_job(Statement& row) {
  model::JobRow job;
  job.id = model::JobId(row.text());
  job.name = row.text();
  job.actor = model::Actor(row.text());
  job.priority = static_cast<std::int32_t>(row.number());
  job.labels = json::value_to<std::map<std::string, std::string>>(json::parse(row.text()));
  job.spec = spec_from_column(row.text());
  job.created_at = row.time();
  job.aborting_at = row.optional_time();
  job.version = row.unsigned_number();
  model::JobState& state = job.state;
  state.status = known(model::job_status_from_string(row.text()), "status");
  state.reason = known(model::reason_from_string(row.text()), "reason");
  state.message = read_message(row);
  state.cluster = model::ClusterId(row.text());
  state.node_pool_name = model::PoolName(row.text());
  state.job_uid = model::Uid(row.text());
  state.attempt = row.small_number();
  state.provision = row.small_number();
  state.exit_code = row.optional_number();
  state.dispatched_at = row.optional_time();
  state.started_at = row.optional_time();
  state.finished_at = row.optional_time();
  state.aborted_at = row.optional_time();
  state.cleanup = known(model::cleanup_from_string(row.text()), "cleanup");
  state.cleanup_error = row.text();
  return job;
}

void bind_job(Statement& statement, const model::JobRow& row) {
  const model::JobState& state = row.state;
  statement.bind(row.id.value())
      .bind(row.name)
      .bind(row.actor.value())
      .bind(row.priority)
      .bind(json::serialize(json::value_from(row.labels)))
      .bind(spec_to_column(row.spec))
      .bind(row.created_at)
      .bind(row.aborting_at)
      .bind(row.version)
      .bind(model::to_string(state.status))
      .bind(model::to_string(state.reason))
      .bind(model::to_string(state.message.code))
      .bind(list_to_column(state.message.arguments))
      .bind(state.cluster.value())
      .bind(state.node_pool_name.value())
      .bind(state.job_uid.value())
      .bind(state.attempt)
      .bind(state.provision)
      .bind(state.exit_code)
      .bind(state.dispatched_at)
      .bind(state.started_at)
      .bind(state.finished_at)
      .bind(state.aborted_at)
      .bind(model::to_string(state.cleanup))
      .bind(state.cleanup_error);
}

model::ClusterRow read_cluster(Statement& row) {
  model::ClusterRow cluster;
  cluster.id = model::ClusterId(row.text());
  cluster.name = row.text();
  cluster.project = row.text();
  cluster.location = row.text();
  cluster.zone = row.text();
  cluster.tpu_type = row.text();
  cluster.gcs_bucket = row.text();
  cluster.default_reservation = row.text();
  cluster.kubernetes_namespace = row.text();
  cluster.service_account = row.text();
  cluster.status = known(model::cluster_status_from_string(row.text()), "status");
  cluster.created_at = row.time();
  cluster.version = row.unsigned_number();
  return cluster;
}

void bind_cluster(Statement& statement, const model::ClusterRow& row) {
  statement.bind(row.id.value())
      .bind(row.name)
      .bind(row.project)
      .bind(row.location)
      .bind(row.zone)
      .bind(row.tpu_type)
      .bind(row.gcs_bucket)
      .bind(row.default_reservation)
      .bind(row.kubernetes_namespace)
      .bind(row.service_account)
      .bind(model::to_string(row.status))
      .bind(row.created_at)
      .bind(row.version);
}

model::PoolRow read_pool(Statement& row) {
  model::PoolRow pool;
  pool.name = model::PoolName(row.text());
  pool.gke.project = row.text();
  pool.gke.location = row.text();
  pool.gke.name = row.text();
  pool.cluster = model::ClusterId(row.text());
  pool.shape.type = row.text();
  pool.shape.topology = row.text();
  pool.supply = known(model::supply_mode_from_string(row.text()), "supply");
  pool.reservation.project = row.text();
  pool.reservation.zone = row.text();
  pool.reservation.name = row.text();
  pool.owner = model::JobId(row.text());
  pool.provision = row.small_number();
  pool.phase = known(model::pool_phase_from_string(row.text()), "phase");
  pool.serves = model::JobId(row.text());
  pool.serves_attempt = row.small_number();
  pool.intent_at = row.time();
  pool.phase_since = row.time();
  pool.accepted_at = row.optional_time();
  pool.usable_until = row.optional_time();
  pool.last_error = row.text();
  return pool;
}

void bind_pool(Statement& statement, const model::PoolRow& row) {
  statement.bind(row.name.value())
      .bind(row.gke.project)
      .bind(row.gke.location)
      .bind(row.gke.name)
      .bind(row.cluster.value())
      .bind(row.shape.type)
      .bind(row.shape.topology)
      .bind(model::to_string(row.supply))
      .bind(row.reservation.project)
      .bind(row.reservation.zone)
      .bind(row.reservation.name)
      .bind(row.owner.value())
      .bind(row.provision)
      .bind(model::to_string(row.phase))
      .bind(row.serves.value())
      .bind(row.serves_attempt)
      .bind(row.intent_at)
      .bind(row.phase_since)
      .bind(row.accepted_at)
      .bind(row.usable_until)
      .bind(row.last_error);
}

model::AttemptRow read_attempt(Statement& row) {
  model::AttemptRow attempt;
  attempt.job = model::JobId(row.text());
  attempt.number = row.small_number();
  attempt.cluster = model::ClusterId(row.text());
  attempt.pool = model::PoolName(row.text());
  attempt.uid = model::Uid(row.text());
  attempt.intent_at = row.time();
  attempt.dispatched_at = row.optional_time();
  attempt.started_at = row.optional_time();
  attempt.ended_at = row.optional_time();
  attempt.outcome = known(model::attempt_outcome_from_string(row.text()), "outcome");
  attempt.exit_code = row.optional_number();
  return attempt;
}

void bind_attempt(Statement& statement, const model::AttemptRow& row) {
  statement.bind(row.job.value())
      .bind(row.number)
      .bind(row.cluster.value())
      .bind(row.pool.value())
      .bind(row.uid.value())
      .bind(row.intent_at)
      .bind(row.dispatched_at)
      .bind(row.started_at)
      .bind(row.ended_at)
      .bind(model::to_string(row.outcome))
      .bind(row.exit_code);
}

model::TurnRow read_turn(Statement& row) {
  model::TurnRow turn;
  turn.queue.cluster = model::ClusterId(row.text());
  turn.queue.shape.type = row.text();
  turn.queue.shape.topology = row.text();
  turn.actor = model::Actor(row.text());
  turn.turn = row.unsigned_number();
  turn.job = model::JobId(row.text());
  return turn;
}

model::BackoffRow read_backoff(Statement& row) {
  model::BackoffRow backoff;
  backoff.job = model::JobId(row.text());
  backoff.failures = row.small_number();
  backoff.not_before = row.time();
  backoff.words = row.text();
  return backoff;
}

JobEvent read_event(Statement& row) {
  JobEvent event;
  event.at = row.time();
  event.status = known(model::job_status_from_string(row.text()), "status");
  event.reason = known(model::reason_from_string(row.text()), "reason");
  event.message = read_message(row);
  return event;
}

}  // namespace falcon::store
