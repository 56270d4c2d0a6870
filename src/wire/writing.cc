#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "wire/rows.h"
#include "wire/wire.h"

namespace falcon::wire {

namespace json = boost::json;

namespace {

void add_order(json::object& object, const model::QueueOrder& order) {
  add_queue_key(object, order.queue);
  object["version"] = order.version;
  json::array ids;
  ids.reserve(order.order.size());
  for (const model::JobId& id : order.order) ids.emplace_back(id.value());
  object["order"] = std::move(ids);
}

}  // namespace

std::string to_json(const model::JobRow& row, const JobExtras& extras) {
  json::object object{{"id", row.id.value()}};
  for (json::key_value_pair& pair : wish_object(row))
    object.emplace(pair.key(), std::move(pair.value()));
  object["created_at"] = to_rfc3339(row.created_at);
  object["aborting_at"] = time_value(row.aborting_at);
  object["version"] = row.version;
  add_state(object, row.state);
  object["message"] = extras.message;
  object["cluster_name"] = extras.cluster_name;
  object["log_prefix"] = extras.log_prefix;
  object["queue_age_seconds"] =
      extras.queue_age_seconds < 0 ? json::value(nullptr) : json::value(extras.queue_age_seconds);
  return json::serialize(object);
}

std::string to_json(const model::ClusterRow& row) {
  json::object object{{"id", row.id.value()}};
  for (json::key_value_pair& pair : cluster_wish_object(row))
    object.emplace(pair.key(), std::move(pair.value()));
  object["created_at"] = to_rfc3339(row.created_at);
  object["version"] = row.version;
  return json::serialize(object);
}

std::string to_json(const model::ClusterRow& row, const model::ClusterCondition* condition) {
  json::value value(nullptr);
  if (condition != nullptr)
    value = {{"health", to_string(condition->health)},
             {"words", condition->words},
             {"since", to_rfc3339(condition->since)}};
  std::string text = to_json(row);
  text.pop_back();  // the closing brace
  return text + ",\"condition\":" + json::serialize(value) + "}";
}

std::string to_json(const model::OwnState& state) {
  json::array pools;
  json::array attempts;
  json::array turns;
  json::array backoffs;
  for (const model::PoolRow& row : state.pools) pools.push_back(pool_object(row));
  for (const model::AttemptRow& row : state.attempts) attempts.push_back(attempt_object(row));
  for (const model::TurnRow& row : state.turns) turns.push_back(turn_object(row));
  for (const model::BackoffRow& row : state.backoffs) backoffs.push_back(backoff_object(row));
  return json::serialize(json::object{{"pools", std::move(pools)},
                                      {"attempts", std::move(attempts)},
                                      {"turns", std::move(turns)},
                                      {"backoffs", std::move(backoffs)}});
}

std::string to_json(const model::PoolRow& row) { return json::serialize(pool_object(row)); }

std::string to_json(const model::QueueOrder& order, WallTime published_at) {
  json::object object;
  add_order(object, order);
  object["published_at"] = to_rfc3339(published_at);
  return json::serialize(object);
}

std::string to_json(const JobWrite& write) {
  json::object state;
  add_state(state, write.state);
  return json::serialize(
      json::object{{"term", write.term}, {"version", write.version}, {"state", std::move(state)}});
}

std::string to_json(const StateWrite& write) {
  json::array changes;
  for (const model::StateChange& change : write.changes) changes.push_back(change_object(change));
  return json::serialize(json::object{
      {"term", write.term}, {"number", write.number}, {"changes", std::move(changes)}});
}

std::string to_json(const QueueWrite& write) {
  json::object object{{"term", write.term}};
  add_order(object, write.order);
  return json::serialize(object);
}

std::string to_json(const ConditionWrite& write) {
  return json::serialize(json::object{{"term", write.term},
                                      {"cluster", write.condition.cluster.value()},
                                      {"health", to_string(write.condition.health)},
                                      {"words", write.condition.words}});
}

std::string submit_json(const model::JobRow& row) { return json::serialize(wish_object(row)); }

std::string cluster_json(const model::ClusterRow& row) {
  return json::serialize(cluster_wish_object(row));
}

std::string quoted(std::string_view text) { return json::serialize(json::string(text)); }

}  // namespace falcon::wire
