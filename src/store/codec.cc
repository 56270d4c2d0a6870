#include "store/codec.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"

namespace falcon::store {
namespace {

namespace json = boost::json;

json::value parse(std::string_view text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // what was accepted must be readable again
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  return error ? json::value() : value;
}

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }
std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

json::array array_of(const std::vector<std::string>& list) {
  json::array array;
  array.reserve(list.size());
  for (const std::string& item : list) array.emplace_back(view(item));
  return array;
}

std::vector<std::string> list_of(const json::value* value) {
  std::vector<std::string> list;
  if (value == nullptr || !value->is_array()) return list;
  for (const json::value& item : value->get_array())
    list.emplace_back(item.is_string() ? view(item.get_string()) : std::string_view());
  return list;
}

std::string string_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(view(key));
  return value != nullptr && value->is_string() ? std::string(view(value->get_string()))
                                                : std::string();
}

std::optional<std::int64_t> maybe_integer(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(view(key));
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

std::int64_t integer_of(const json::object& object, std::string_view key,
                        std::int64_t missing = 0) {
  return maybe_integer(object, key).value_or(missing);
}

std::optional<WallTime> maybe_time(const json::object& object, std::string_view key) {
  const auto value = maybe_integer(object, key);
  if (!value) return std::nullopt;
  return wall_time_from_unix_ms(*value);
}

void put_time(json::object& object, std::string_view key, const std::optional<WallTime>& time) {
  if (time) object[view(key)] = to_unix_ms(*time);
}

std::string unknown_word(std::string_view what, const std::string& name, std::string_view field,
                         const std::string& word) {
  return fmt::format(
      "the row of {} {} says {} \"{}\", which this version does not know; run the version that "
      "wrote it, or correct the row",
      what, name, field, clean_text(word, 80));
}

// The words of a row that decide. One that is not known must not read as another.
template <class Parse, class Word>
std::optional<Error> read_word(const model::JobId& id, std::string_view field,
                               const std::string& text, Parse parse, Word& word) {
  const auto known = parse(text);
  if (!known) return Error{ErrorKind::kInternal, unknown_word("job", id.value(), field, text)};
  word = *known;
  return std::nullopt;
}

std::optional<Error> read_words(const model::JobId& id, const std::string& status,
                                const std::string& reason, const std::string& cleanup,
                                model::JobState& state) {
  if (auto error = read_word(id, "status", status, model::job_status_from_string, state.status))
    return error;
  if (auto error = read_word(id, "reason", reason, model::reason_from_string, state.reason))
    return error;
  return read_word(id, "cleanup", cleanup, model::cleanup_from_string, state.cleanup);
}

model::ClusterStatus read_cluster_status(const std::string& name, const std::string& word,
                                         std::string& trouble) {
  if (const auto status = model::cluster_status_from_string(word)) return *status;
  trouble = unknown_word("cluster", name, "status", word) + "; until then it counts as offline";
  return model::ClusterStatus::kOffline;
}

}  // namespace

std::string to_text(const std::vector<std::string>& list) {
  return json::serialize(array_of(list));
}

std::vector<std::string> list_from_text(std::string_view text) {
  const json::value value = parse(text);
  return list_of(&value);
}

std::string to_text(const std::map<std::string, std::string>& map) {
  json::object object;
  for (const auto& [key, value] : map) object[view(key)] = view(value);
  return json::serialize(object);
}

std::map<std::string, std::string> map_from_text(std::string_view text) {
  std::map<std::string, std::string> map;
  const json::value value = parse(text);
  if (!value.is_object()) return map;
  for (const auto& pair : value.get_object())
    if (pair.value().is_string())
      map.emplace(std::string(pair.key().data(), pair.key().size()),
                  view(pair.value().get_string()));
  return map;
}

std::string to_text(const model::JobSpec& spec) {
  json::object object;
  object["image"] = view(spec.image);
  object["command"] = array_of(spec.command);
  object["args"] = array_of(spec.args);
  json::array env;
  for (const model::EnvironmentVariable& variable : spec.env)
    env.push_back({{"name", view(variable.name)},
                   {"value", view(variable.value)},
                   {"secret_name", view(variable.secret_name)},
                   {"secret_key", view(variable.secret_key)}});
  object["env"] = std::move(env);
  object["tpu_type"] = view(spec.tpu_type);
  object["topology"] = view(spec.topology);
  object["supply_mode"] = spec.supply_mode ? view(model::to_string(*spec.supply_mode)) : "";
  object["timeout_seconds"] = spec.timeout_seconds;
  object["termination_grace_seconds"] = spec.termination_grace_seconds;
  object["max_retries"] = spec.max_retries;
  object["max_wait_seconds"] = spec.max_wait_seconds;
  return json::serialize(object);
}

model::JobSpec spec_from_text(std::string_view text) {
  model::JobSpec spec;
  const json::value value = parse(text);
  if (!value.is_object()) return spec;
  const json::object& object = value.get_object();
  spec.image = string_of(object, "image");
  spec.command = list_of(object.if_contains("command"));
  spec.args = list_of(object.if_contains("args"));
  if (const json::value* env = object.if_contains("env"); env != nullptr && env->is_array())
    for (const json::value& item : env->get_array())
      if (const json::object* variable = item.if_object())
        spec.env.push_back({string_of(*variable, "name"), string_of(*variable, "value"),
                            string_of(*variable, "secret_name"),
                            string_of(*variable, "secret_key")});
  spec.tpu_type = string_of(object, "tpu_type");
  spec.topology = string_of(object, "topology");
  spec.supply_mode = model::supply_mode_from_string(string_of(object, "supply_mode"));
  spec.timeout_seconds = integer_of(object, "timeout_seconds", spec.timeout_seconds);
  spec.termination_grace_seconds =
      integer_of(object, "termination_grace_seconds", spec.termination_grace_seconds);
  spec.max_retries = integer_of(object, "max_retries", spec.max_retries);
  spec.max_wait_seconds = integer_of(object, "max_wait_seconds", spec.max_wait_seconds);
  return spec;
}

std::string change_text(const model::JobRow& row) {
  const model::JobState& state = row.state;
  json::object object;
  object["version"] = static_cast<std::int64_t>(row.version);
  put_time(object, "aborting_at", row.aborting_at);
  object["status"] = view(model::to_string(state.status));
  object["reason"] = view(model::to_string(state.reason));
  object["message_code"] = view(model::to_string(state.message.code));
  object["message_arguments"] = array_of(state.message.arguments);
  object["cluster"] = view(state.cluster.value());
  object["node_pool_name"] = view(state.node_pool_name.value());
  object["job_uid"] = view(state.job_uid.value());
  object["attempt"] = static_cast<std::int64_t>(state.attempt);
  object["provision"] = static_cast<std::int64_t>(state.provision);
  object["attempts_over"] = static_cast<std::int64_t>(state.attempts_over);
  object["retries"] = static_cast<std::int64_t>(state.retries);
  object["disruptions"] = static_cast<std::int64_t>(state.disruptions);
  if (state.exit_code) object["exit_code"] = static_cast<std::int64_t>(*state.exit_code);
  put_time(object, "dispatched_at", state.dispatched_at);
  put_time(object, "started_at", state.started_at);
  put_time(object, "finished_at", state.finished_at);
  put_time(object, "aborted_at", state.aborted_at);
  object["cleanup"] = view(model::to_string(state.cleanup));
  object["cleanup_error"] = view(state.cleanup_error);
  return json::serialize(object);
}

Result<std::monostate> apply_change(std::string_view text, model::JobRow& row) {
  const json::value value = parse(text);
  if (!value.is_object())
    return fail(ErrorKind::kInternal,
                fmt::format("a change of job {} is no JSON object", row.id.value()));
  const json::object& object = value.get_object();
  row.version = static_cast<std::uint64_t>(integer_of(object, "version"));
  row.aborting_at = maybe_time(object, "aborting_at");
  model::JobState& state = row.state;
  if (auto error = read_words(row.id, string_of(object, "status"), string_of(object, "reason"),
                              string_of(object, "cleanup"), state))
    return std::unexpected(*std::move(error));
  state.message.code = model::message_code_from_string(string_of(object, "message_code"))
                           .value_or(model::MessageCode::kNone);
  state.message.arguments = list_of(object.if_contains("message_arguments"));
  state.cluster = model::ClusterId(string_of(object, "cluster"));
  state.node_pool_name = model::PoolName(string_of(object, "node_pool_name"));
  state.job_uid = model::Uid(string_of(object, "job_uid"));
  state.attempt = static_cast<std::uint32_t>(integer_of(object, "attempt"));
  state.provision = static_cast<std::uint32_t>(integer_of(object, "provision"));
  state.attempts_over = static_cast<std::uint32_t>(integer_of(object, "attempts_over"));
  state.retries = static_cast<std::uint32_t>(integer_of(object, "retries"));
  state.disruptions = static_cast<std::uint32_t>(integer_of(object, "disruptions"));
  state.exit_code.reset();
  if (const auto code = maybe_integer(object, "exit_code"))
    state.exit_code = static_cast<std::int32_t>(*code);
  state.dispatched_at = maybe_time(object, "dispatched_at");
  state.started_at = maybe_time(object, "started_at");
  state.finished_at = maybe_time(object, "finished_at");
  state.aborted_at = maybe_time(object, "aborted_at");
  state.cleanup_error = string_of(object, "cleanup_error");
  return std::monostate{};
}

std::string change_text(const model::ClusterRow& row) {
  const json::object object{{"id", view(row.id.value())},
                            {"name", view(row.name)},
                            {"project", view(row.project)},
                            {"location", view(row.location)},
                            {"zone", view(row.zone)},
                            {"tpu_type", view(row.tpu_type)},
                            {"gcs_bucket", view(row.gcs_bucket)},
                            {"default_reservation", view(row.default_reservation)},
                            {"kubernetes_namespace", view(row.kubernetes_namespace)},
                            {"service_account", view(row.service_account)},
                            {"status", view(model::to_string(row.status))},
                            {"created_at", to_unix_ms(row.created_at)},
                            {"version", static_cast<std::int64_t>(row.version)}};
  return json::serialize(object);
}

std::optional<model::ClusterRow> cluster_from_change(std::string_view text, std::string& trouble) {
  const json::value value = parse(text);
  if (!value.is_object()) {
    trouble = "a change of a cluster is no JSON object";
    return std::nullopt;
  }
  const json::object& object = value.get_object();
  model::ClusterRow row;
  row.id = model::ClusterId(string_of(object, "id"));
  row.name = string_of(object, "name");
  row.project = string_of(object, "project");
  row.location = string_of(object, "location");
  row.zone = string_of(object, "zone");
  row.tpu_type = string_of(object, "tpu_type");
  row.gcs_bucket = string_of(object, "gcs_bucket");
  row.default_reservation = string_of(object, "default_reservation");
  row.kubernetes_namespace = string_of(object, "kubernetes_namespace");
  row.service_account = string_of(object, "service_account");
  row.status = read_cluster_status(row.name, string_of(object, "status"), trouble);
  row.created_at = wall_time_from_unix_ms(integer_of(object, "created_at"));
  row.version = static_cast<std::uint64_t>(integer_of(object, "version"));
  return row;
}

Result<model::JobRow> read_job(const Cursor& cursor) {
  model::JobRow row;
  int at = 0;  // `n` is for the caller
  row.id = model::JobId(cursor.text(++at));
  row.name = cursor.text(++at);
  row.actor = model::Actor(cursor.text(++at));
  row.priority = static_cast<std::int32_t>(cursor.integer(++at));
  row.labels = map_from_text(cursor.text(++at));
  row.spec = spec_from_text(cursor.text(++at));
  row.created_at = cursor.time(++at);
  row.aborting_at = cursor.maybe_time(++at);
  row.version = cursor.natural(++at);
  model::JobState& state = row.state;
  const std::string status = cursor.text(++at);
  const std::string reason = cursor.text(++at);
  state.message.code =
      model::message_code_from_string(cursor.text(++at)).value_or(model::MessageCode::kNone);
  state.message.arguments = list_from_text(cursor.text(++at));
  state.cluster = model::ClusterId(cursor.text(++at));
  state.node_pool_name = model::PoolName(cursor.text(++at));
  state.job_uid = model::Uid(cursor.text(++at));
  state.attempt = cursor.natural32(++at);
  state.provision = cursor.natural32(++at);
  state.attempts_over = cursor.natural32(++at);
  state.retries = cursor.natural32(++at);
  state.disruptions = cursor.natural32(++at);
  if (const auto code = cursor.maybe_integer(++at))
    state.exit_code = static_cast<std::int32_t>(*code);
  state.dispatched_at = cursor.maybe_time(++at);
  state.started_at = cursor.maybe_time(++at);
  state.finished_at = cursor.maybe_time(++at);
  state.aborted_at = cursor.maybe_time(++at);
  const std::string cleanup = cursor.text(++at);
  state.cleanup_error = cursor.text(++at);
  if (auto error = read_words(row.id, status, reason, cleanup, state))
    return std::unexpected(*std::move(error));
  return row;
}

model::ClusterRow read_cluster(const Cursor& cursor, std::string& trouble) {
  model::ClusterRow row;
  int at = 0;
  row.id = model::ClusterId(cursor.text(at));
  row.name = cursor.text(++at);
  row.project = cursor.text(++at);
  row.location = cursor.text(++at);
  row.zone = cursor.text(++at);
  row.tpu_type = cursor.text(++at);
  row.gcs_bucket = cursor.text(++at);
  row.default_reservation = cursor.text(++at);
  row.kubernetes_namespace = cursor.text(++at);
  row.service_account = cursor.text(++at);
  row.status = read_cluster_status(row.name, cursor.text(++at), trouble);
  row.created_at = cursor.time(++at);
  row.version = cursor.natural(++at);
  return row;
}

}  // namespace falcon::store
