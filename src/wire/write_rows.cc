#include <boost/json/array.hpp>

#include "wire/rows.h"

namespace falcon::wire {

namespace json = boost::json;

namespace {

json::array texts(const std::vector<std::string>& list) {
  json::array array;
  array.reserve(list.size());
  for (const std::string& text : list) array.emplace_back(text);
  return array;
}

json::object variable_object(const model::EnvironmentVariable& variable) {
  json::object object{{"name", variable.name}};
  if (variable.secret_name.empty() && variable.secret_key.empty())
    object["value"] = variable.value;
  else
    object["valueFrom"] = {
        {"secretKeyRef", {{"name", variable.secret_name}, {"key", variable.secret_key}}}};
  return object;
}

json::object spec_object(const model::JobSpec& spec) {
  json::array environment;
  environment.reserve(spec.env.size());
  for (const model::EnvironmentVariable& variable : spec.env)
    environment.push_back(variable_object(variable));
  json::object object{{"image", spec.image},       {"command", texts(spec.command)},
                      {"args", texts(spec.args)},  {"env", std::move(environment)},
                      {"tpu_type", spec.tpu_type}, {"topology", spec.topology}};
  if (spec.supply_mode) object["supply_mode"] = to_string(*spec.supply_mode);
  object["timeout_seconds"] = spec.timeout_seconds;
  object["termination_grace_seconds"] = spec.termination_grace_seconds;
  object["max_retries"] = spec.max_retries;
  object["max_wait_seconds"] = spec.max_wait_seconds;
  return object;
}

json::value code_value(const std::optional<std::int32_t>& code) {
  return code ? json::value(*code) : json::value(nullptr);
}

}  // namespace

json::value time_value(const std::optional<WallTime>& time) {
  return time ? json::value(to_rfc3339(*time)) : json::value(nullptr);
}

json::object wish_object(const model::JobRow& row) {
  json::object labels;
  for (const auto& [key, value] : row.labels) labels[key] = value;
  return json::object{{"name", row.name},
                      {"actor", row.actor.value()},
                      {"priority", row.priority},
                      {"labels", std::move(labels)},
                      {"spec", spec_object(row.spec)}};
}

void add_state(json::object& object, const model::JobState& state) {
  object["status"] = to_string(state.status);
  object["reason"] = to_string(state.reason);
  object["message_code"] = to_string(state.message.code);
  object["message_arguments"] = texts(state.message.arguments);
  object["cluster"] = state.cluster.value();
  object["node_pool_name"] = state.node_pool_name.value();
  object["job_uid"] = state.job_uid.value();
  object["attempt"] = state.attempt;
  object["provision"] = state.provision;
  object["attempts_over"] = state.attempts_over;
  object["retries"] = state.retries;
  object["disruptions"] = state.disruptions;
  object["exit_code"] = code_value(state.exit_code);
  object["dispatched_at"] = time_value(state.dispatched_at);
  object["started_at"] = time_value(state.started_at);
  object["finished_at"] = time_value(state.finished_at);
  object["aborted_at"] = time_value(state.aborted_at);
  object["cleanup"] = to_string(state.cleanup);
  object["cleanup_error"] = state.cleanup_error;
}

json::object cluster_wish_object(const model::ClusterRow& row) {
  return json::object{{"name", row.name},
                      {"project", row.project},
                      {"location", row.location},
                      {"zone", row.zone},
                      {"tpu_type", row.tpu_type},
                      {"gcs_bucket", row.gcs_bucket},
                      {"default_reservation", row.default_reservation},
                      {"kubernetes_namespace", row.kubernetes_namespace},
                      {"service_account", row.service_account},
                      {"status", to_string(row.status)}};
}

void add_queue_key(json::object& object, const model::QueueKey& key) {
  object["cluster"] = key.cluster.value();
  object["shape"] = {{"type", key.shape.type}, {"topology", key.shape.topology}};
}

json::object pool_object(const model::PoolRow& row) {
  json::object object{
      {"name", row.name.value()},
      {"gke",
       {{"project", row.gke.project}, {"location", row.gke.location}, {"name", row.gke.name}}}};
  add_queue_key(object, {row.cluster, row.shape});
  object["supply"] = to_string(row.supply);
  object["reservation"] = {{"project", row.reservation.project},
                           {"zone", row.reservation.zone},
                           {"name", row.reservation.name}};
  object["owner"] = row.owner.value();
  object["provision"] = row.provision;
  object["phase"] = to_string(row.phase);
  object["serves"] = row.serves.value();
  object["serves_attempt"] = row.serves_attempt;
  object["kept"] = row.kept;
  object["intent_at"] = to_rfc3339(row.intent_at);
  object["phase_since"] = to_rfc3339(row.phase_since);
  object["accepted_at"] = time_value(row.accepted_at);
  object["usable_until"] = time_value(row.usable_until);
  object["late_create_until"] = time_value(row.late_create_until);
  object["last_error"] = row.last_error;
  return object;
}

json::object attempt_object(const model::AttemptRow& row) {
  return json::object{{"job", row.job.value()},
                      {"number", row.number},
                      {"cluster", row.cluster.value()},
                      {"pool", row.pool.value()},
                      {"uid", row.uid.value()},
                      {"intent_at", to_rfc3339(row.intent_at)},
                      {"dispatched_at", time_value(row.dispatched_at)},
                      {"started_at", time_value(row.started_at)},
                      {"ended_at", time_value(row.ended_at)},
                      {"outcome", to_string(row.outcome)},
                      {"exit_code", code_value(row.exit_code)},
                      {"late_create_until", time_value(row.late_create_until)},
                      {"node_lost", row.node_lost}};
}

json::object turn_object(const model::TurnRow& row) {
  json::object object;
  add_queue_key(object, row.queue);
  object["actor"] = row.actor.value();
  object["turn"] = row.turn;
  object["job"] = row.job.value();
  object["at"] = to_rfc3339(row.at);
  return object;
}

json::object backoff_object(const model::BackoffRow& row) {
  return json::object{{"job", row.job.value()},
                      {"failures", row.failures},
                      {"not_before", to_rfc3339(row.not_before)},
                      {"words", row.words}};
}

json::object change_object(const model::StateChange& change) {
  struct Writer {
    json::object operator()(const model::PutPool& c) { return {{"put_pool", pool_object(c.row)}}; }
    json::object operator()(const model::RemovePool& c) {
      return {{"remove_pool", c.name.value()}};
    }
    json::object operator()(const model::PutAttempt& c) {
      return {{"put_attempt", attempt_object(c.row)}};
    }
    json::object operator()(const model::PutTurn& c) { return {{"put_turn", turn_object(c.row)}}; }
    json::object operator()(const model::PutBackoff& c) {
      return {{"put_backoff", backoff_object(c.row)}};
    }
    json::object operator()(const model::RemoveBackoff& c) {
      return {{"remove_backoff", c.job.value()}};
    }
  };
  return std::visit(Writer{}, change);
}

}  // namespace falcon::wire
