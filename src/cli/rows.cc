#include "cli/rows.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"

namespace falcon::cli {
namespace {

namespace json = boost::json;

// Reads fields of one object; a field of another type is as good as missing.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  std::string text(std::string_view field) const {
    const json::value* value = object_.if_contains(field);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
  }
  std::int64_t number(std::string_view field, std::int64_t missing = 0) const {
    const json::value* value = object_.if_contains(field);
    return value != nullptr && value->is_int64() ? value->get_int64() : missing;
  }
  std::optional<WallTime> time(std::string_view field) const { return parse_rfc3339(text(field)); }
  std::vector<std::string> texts(std::string_view field) const {
    std::vector<std::string> list;
    const json::value* value = object_.if_contains(field);
    if (value != nullptr && value->is_array())
      for (const json::value& entry : value->get_array())
        if (entry.is_string()) list.emplace_back(entry.get_string());
    return list;
  }
  const json::object& object(std::string_view field) const {
    static const json::object kNone;
    const json::value* value = object_.if_contains(field);
    return value != nullptr && value->is_object() ? value->get_object() : kNone;
  }
  const json::array& array(std::string_view field) const {
    static const json::array kNone;
    const json::value* value = object_.if_contains(field);
    return value != nullptr && value->is_array() ? value->get_array() : kNone;
  }

 private:
  const json::object& object_;
};

std::unexpected<Error> no_row(const char* kind, std::string_view text) {
  return fail(
      ErrorKind::kInternal,
      fmt::format("the API server's answer is no {} that this falcon knows: {}; are both of "
                  "the same version?",
                  kind, clean_text(text, 120)));
}

json::value parse(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error || !value.is_object() ? json::value(json::object()) : value;
}

model::JobSpec spec_of(const Reader& reader) {
  model::JobSpec spec;
  spec.image = reader.text("image");
  spec.command = reader.texts("command");
  spec.args = reader.texts("args");
  for (const json::value& entry : reader.array("env")) {
    if (!entry.is_object()) continue;
    const Reader variable(entry.get_object());
    const Reader from(variable.object("valueFrom"));
    const Reader secret(from.object("secretKeyRef"));
    spec.env.push_back(
        {variable.text("name"), variable.text("value"), secret.text("name"), secret.text("key")});
  }
  spec.tpu_type = reader.text("tpu_type");
  spec.topology = reader.text("topology");
  spec.supply_mode = model::supply_mode_from_string(reader.text("supply_mode"));
  spec.timeout_seconds = reader.number("timeout_seconds", spec.timeout_seconds);
  spec.termination_grace_seconds =
      reader.number("termination_grace_seconds", spec.termination_grace_seconds);
  spec.max_retries = reader.number("max_retries", spec.max_retries);
  return spec;
}

model::JobState state_of(const Reader& reader) {
  model::JobState state;
  state.status = model::job_status_from_string(reader.text("status")).value_or(state.status);
  state.reason = model::reason_from_string(reader.text("reason")).value_or(model::Reason::kNone);
  state.message.code = model::message_code_from_string(reader.text("message_code"))
                           .value_or(model::MessageCode::kNone);
  state.message.arguments = reader.texts("message_arguments");
  state.cluster = model::ClusterId(reader.text("cluster"));
  state.node_pool_name = model::PoolName(reader.text("node_pool_name"));
  state.job_uid = model::Uid(reader.text("job_uid"));
  state.attempt = static_cast<std::uint32_t>(reader.number("attempt"));
  state.provision = static_cast<std::uint32_t>(reader.number("provision"));
  constexpr std::int64_t kNoCode = INT64_MIN;
  if (const std::int64_t code = reader.number("exit_code", kNoCode); code != kNoCode)
    state.exit_code = static_cast<std::int32_t>(code);
  state.dispatched_at = reader.time("dispatched_at");
  state.started_at = reader.time("started_at");
  state.finished_at = reader.time("finished_at");
  state.aborted_at = reader.time("aborted_at");
  state.cleanup =
      model::cleanup_from_string(reader.text("cleanup")).value_or(model::Cleanup::kNone);
  state.cleanup_error = reader.text("cleanup_error");
  return state;
}

}  // namespace

Result<model::JobRow> job_from_json(std::string_view text) {
  const json::value value = parse(text);
  const Reader reader(value.get_object());
  model::JobRow job;
  job.id = model::JobId(reader.text("id"));
  if (job.id.empty() || !model::job_status_from_string(reader.text("status")))
    return no_row("job", text);
  job.name = reader.text("name");
  job.actor = model::Actor(reader.text("actor"));
  job.priority = static_cast<std::int32_t>(reader.number("priority"));
  for (const json::key_value_pair& label : reader.object("labels"))
    if (label.value().is_string()) job.labels.emplace(label.key(), label.value().get_string());
  job.spec = spec_of(Reader(reader.object("spec")));
  job.created_at = reader.time("created_at").value_or(WallTime{});
  job.aborting_at = reader.time("aborting_at");
  job.state = state_of(reader);
  job.version = static_cast<std::uint64_t>(reader.number("version"));
  return job;
}

Result<model::ClusterRow> cluster_from_json(std::string_view text) {
  const json::value value = parse(text);
  const Reader reader(value.get_object());
  model::ClusterRow row;
  const auto status = model::cluster_status_from_string(reader.text("status"));
  row.id = model::ClusterId(reader.text("id"));
  if (row.id.empty() || !status) return no_row("cluster", text);
  row.status = *status;
  row.name = reader.text("name");
  row.project = reader.text("project");
  row.location = reader.text("location");
  row.zone = reader.text("zone");
  row.tpu_type = reader.text("tpu_type");
  row.gcs_bucket = reader.text("gcs_bucket");
  row.default_reservation = reader.text("default_reservation");
  row.kubernetes_namespace = reader.text("kubernetes_namespace");
  row.service_account = reader.text("service_account");
  row.created_at = reader.time("created_at").value_or(WallTime{});
  row.version = static_cast<std::uint64_t>(reader.number("version"));
  return row;
}

Result<model::PoolRow> pool_from_json(std::string_view text) {
  const json::value value = parse(text);
  const Reader reader(value.get_object());
  model::PoolRow row;
  const auto phase = model::pool_phase_from_string(reader.text("phase"));
  row.name = model::PoolName(reader.text("name"));
  if (row.name.empty() || !phase) return no_row("node pool", text);
  row.phase = *phase;
  row.cluster = model::ClusterId(reader.text("cluster"));
  const Reader shape(reader.object("shape"));
  row.shape.type = shape.text("type");
  row.shape.topology = shape.text("topology");
  row.supply = model::supply_mode_from_string(reader.text("supply")).value_or(row.supply);
  row.owner = model::JobId(reader.text("owner"));
  row.serves = model::JobId(reader.text("serves"));
  row.intent_at = reader.time("intent_at").value_or(WallTime{});
  row.last_error = reader.text("last_error");
  return row;
}

std::string new_job_to_json(const model::JobRow& job) {
  json::array environment;
  for (const model::EnvironmentVariable& variable : job.spec.env) {
    json::object entry{{"name", variable.name}};
    if (variable.secret_name.empty()) {
      entry["value"] = variable.value;
    } else {
      entry["valueFrom"] = {
          {"secretKeyRef", {{"name", variable.secret_name}, {"key", variable.secret_key}}}};
    }
    environment.push_back(std::move(entry));
  }
  json::object spec{{"image", job.spec.image},
                    {"command", json::array(job.spec.command.begin(), job.spec.command.end())},
                    {"args", json::array(job.spec.args.begin(), job.spec.args.end())},
                    {"env", std::move(environment)},
                    {"tpu_type", job.spec.tpu_type},
                    {"topology", job.spec.topology},
                    {"timeout_seconds", job.spec.timeout_seconds},
                    {"termination_grace_seconds", job.spec.termination_grace_seconds},
                    {"max_retries", job.spec.max_retries}};
  if (job.spec.supply_mode) spec["supply_mode"] = model::to_string(*job.spec.supply_mode);
  json::object labels;
  for (const auto& [key, label] : job.labels) labels[key] = label;
  return json::serialize(json::object{{"name", job.name},
                                      {"actor", job.actor.value()},
                                      {"priority", job.priority},
                                      {"labels", std::move(labels)},
                                      {"spec", std::move(spec)}});
}

std::string new_cluster_to_json(const model::ClusterRow& cluster) {
  return json::serialize(json::object{{"name", cluster.name},
                                      {"project", cluster.project},
                                      {"location", cluster.location},
                                      {"zone", cluster.zone},
                                      {"tpu_type", cluster.tpu_type},
                                      {"gcs_bucket", cluster.gcs_bucket},
                                      {"default_reservation", cluster.default_reservation},
                                      {"kubernetes_namespace", cluster.kubernetes_namespace},
                                      {"service_account", cluster.service_account}});
}

}  // namespace falcon::cli
