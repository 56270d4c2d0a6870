#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <limits>

#include "base/text.h"
#include "model/validation.h"
#include "wire/rows.h"

namespace falcon::wire {
namespace {

namespace json = boost::json;

// Runs `read` on the object in field `name`, and complains about what is left over in it.
template <class Read>
bool inside(Fields& fields, std::string_view name, Read read) {
  const json::object* object = fields.object(name);
  if (object == nullptr) return false;
  Fields inner(*object, fields.path_of(name), fields.reading(), fields.errors());
  read(inner);
  inner.done();
  return true;
}

model::EnvironmentVariable read_variable(Fields& fields) {
  model::EnvironmentVariable variable;
  variable.name = fields.text("name");
  variable.value = fields.text("value");
  inside(fields, "valueFrom", [&](Fields& from) {
    const bool found = inside(from, "secretKeyRef", [&](Fields& secret) {
      variable.secret_name = secret.required_text("name");
      variable.secret_key = secret.required_text("key");
    });
    if (!found) from.complain("secretKeyRef", "is missing");
    if (fields.has("value")) fields.complain("value", "stands beside valueFrom; give one of them");
  });
  return variable;
}

std::vector<model::EnvironmentVariable> read_environment(Fields& fields) {
  std::vector<model::EnvironmentVariable> environment;
  const json::array* entries = fields.array("env");
  if (entries == nullptr) return environment;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const std::string path = fields.path_of(fmt::format("env[{}]", i));
    const json::object* entry = (*entries)[i].if_object();
    if (entry == nullptr) {
      fields.errors().push_back({path, "is no object with name and value"});
      continue;
    }
    Fields variable(*entry, path, fields.reading(), fields.errors());
    environment.push_back(read_variable(variable));
    variable.done();
  }
  return environment;
}

// The limit that a complaint names. Answers of our own servers may hold rows from elsewhere.
std::int64_t limited(Fields& fields, std::string_view name, std::int64_t missing, std::int64_t low,
                     std::int64_t high) {
  const bool strict = fields.reading() == Reading::kStrict;
  return fields.number(name, missing, strict ? low : std::numeric_limits<std::int64_t>::min(),
                       strict ? high : std::numeric_limits<std::int64_t>::max());
}

std::optional<model::SupplyMode> read_supply(Fields& fields, std::string_view name) {
  if (!fields.has(name)) return std::nullopt;
  if (fields.reading() == Reading::kLenient && fields.text(name).empty()) return std::nullopt;
  const std::string text = fields.text(name);
  const auto mode = model::supply_mode_from_string(text);
  if (!mode && !fields.complained(name)) fields.complain(name, model::wrong_supply_mode(text));
  return mode;
}

void read_spec(Fields& fields, model::JobSpec& spec) {
  spec.image = fields.text("image");
  spec.command = fields.texts("command");
  spec.args = fields.texts("args");
  spec.env = read_environment(fields);
  spec.tpu_type = fields.text("tpu_type");
  spec.topology = fields.text("topology");
  spec.supply_mode = read_supply(fields, "supply_mode");
  spec.timeout_seconds = limited(fields, "timeout_seconds", spec.timeout_seconds,
                                 model::kTimeoutSecondsMin, model::kTimeoutSecondsMax);
  spec.termination_grace_seconds =
      limited(fields, "termination_grace_seconds", spec.termination_grace_seconds,
              model::kGraceSecondsMin, model::kGraceSecondsMax);
  spec.max_retries = limited(fields, "max_retries", 0, 0, model::kRetriesMax);
  spec.max_wait_seconds = limited(fields, "max_wait_seconds", 0, 0, model::kWaitSecondsMax);
}

model::Shape read_shape(Fields& fields) {
  model::Shape shape;
  const bool found = inside(fields, "shape", [&](Fields& inner) {
    shape.type = inner.required_text("type");
    shape.topology = inner.required_text("topology");
  });
  if (!found) fields.complain("shape", "is missing; {\"type\": …, \"topology\": …}");
  return shape;
}

model::Message read_message(Fields& fields) {
  model::Message message;
  const std::string code = fields.text("message_code", "None");
  const auto known = model::message_code_from_string(code);
  message.arguments = fields.texts("message_arguments");
  if (!known) {
    // A newer server may know more codes; its rendered text is there for people.
    if (fields.reading() == Reading::kStrict)
      fields.complain("message_code", "\"" + clean_text(code, 80) + "\" is no message code");
    message.arguments.clear();
    return message;
  }
  message.code = *known;
  const std::size_t needed = model::argument_names(*known).size();
  if (fields.reading() == Reading::kStrict && message.arguments.size() != needed)
    fields.complain("message_arguments", fmt::format("{} arguments; {} takes {}",
                                                     message.arguments.size(), code, needed));
  return message;
}

}  // namespace

model::JobRow read_wish(Fields& fields) {
  model::JobRow row;
  row.name = fields.text("name");
  row.actor = model::Actor(fields.text("actor"));
  row.priority = static_cast<std::int32_t>(
      fields.number("priority", 0, model::kPriorityMin, model::kPriorityMax));
  if (const json::object* labels = fields.object("labels"))
    for (const json::key_value_pair& pair : *labels) {
      if (pair.value().is_string())
        row.labels.emplace(std::string_view(pair.key()),
                           std::string_view(pair.value().get_string()));
      else
        fields.complain(fmt::format("labels[{}]", clean_text(pair.key(), 80)),
                        clean_text(json::serialize(pair.value()), 80) + " is no text");
    }
  if (!inside(fields, "spec", [&](Fields& spec) { read_spec(spec, row.spec); }) &&
      fields.errors().empty())
    fields.complain("spec", "is missing; what the job asks for");
  return row;
}

model::JobState read_state(Fields& fields) {
  model::JobState state;
  state.status = fields.word("status", model::job_status_from_string, model::kAllJobStatuses);
  state.reason = fields.word("reason", model::reason_from_string, model::kAllReasons);
  state.message = read_message(fields);
  state.cluster = model::ClusterId(fields.text("cluster"));
  state.node_pool_name = model::PoolName(fields.text("node_pool_name"));
  state.job_uid = model::Uid(fields.text("job_uid"));
  state.attempt = fields.small_count("attempt");
  state.provision = fields.small_count("provision");
  state.attempts_over = fields.small_count("attempts_over");
  state.retries = fields.small_count("retries");
  state.disruptions = fields.small_count("disruptions");
  state.exit_code = fields.maybe_number("exit_code");
  state.dispatched_at = fields.maybe_time("dispatched_at");
  state.started_at = fields.maybe_time("started_at");
  state.finished_at = fields.maybe_time("finished_at");
  state.aborted_at = fields.maybe_time("aborted_at");
  state.cleanup = fields.word("cleanup", model::cleanup_from_string, model::kAllCleanups);
  state.cleanup_error = fields.text("cleanup_error");
  return state;
}

model::ClusterRow read_cluster_row(Fields& fields) {
  model::ClusterRow row;
  row.name = fields.text("name");
  row.project = fields.text("project");
  row.location = fields.text("location");
  // A zonal cluster has its node pools where it stands: REGION-LETTER, for example us-east5-b.
  const bool zonal = std::ranges::count(row.location, '-') >= 2;
  row.zone = fields.text("zone", zonal ? std::string_view(row.location) : std::string_view());
  row.tpu_type = fields.text("tpu_type");
  row.gcs_bucket = fields.text("gcs_bucket");
  row.default_reservation = fields.text("default_reservation");
  row.kubernetes_namespace = fields.text("kubernetes_namespace", row.kubernetes_namespace);
  row.service_account = fields.text("service_account");
  if (fields.has("status"))
    row.status =
        fields.word("status", model::cluster_status_from_string, model::kAllClusterStatuses);
  return row;
}

model::PoolRow read_pool(Fields& fields) {
  model::PoolRow row;
  row.name = model::PoolName(fields.required_text("name"));
  const bool found = inside(fields, "gke", [&](Fields& gke) {
    row.gke.project = gke.required_text("project");
    row.gke.location = gke.required_text("location");
    row.gke.name = gke.required_text("name");
  });
  if (!found) fields.complain("gke", "is missing; {\"project\": …, \"location\": …, \"name\": …}");
  row.cluster = model::ClusterId(fields.text("cluster"));
  row.shape = read_shape(fields);
  row.supply = fields.word("supply", model::supply_mode_from_string, model::kAllSupplyModes);
  inside(fields, "reservation", [&](Fields& reservation) {
    row.reservation.project = reservation.text("project");
    row.reservation.zone = reservation.text("zone");
    row.reservation.name = reservation.text("name");
  });
  row.owner = model::JobId(fields.text("owner"));
  row.provision = fields.small_count("provision");
  row.phase = fields.word("phase", model::pool_phase_from_string, model::kAllPoolPhases);
  row.serves = model::JobId(fields.text("serves"));
  row.serves_attempt = fields.small_count("serves_attempt");
  row.kept = fields.flag("kept");
  row.intent_at = fields.required_time("intent_at");
  row.phase_since = fields.required_time("phase_since");
  row.accepted_at = fields.maybe_time("accepted_at");
  row.usable_until = fields.maybe_time("usable_until");
  row.late_create_until = fields.maybe_time("late_create_until");
  row.last_error = fields.text("last_error");
  return row;
}

model::AttemptRow read_attempt(Fields& fields) {
  model::AttemptRow row;
  row.job = model::JobId(fields.required_text("job"));
  row.number = fields.small_count("number");
  row.cluster = model::ClusterId(fields.text("cluster"));
  row.pool = model::PoolName(fields.text("pool"));
  row.uid = model::Uid(fields.text("uid"));
  row.intent_at = fields.required_time("intent_at");
  row.dispatched_at = fields.maybe_time("dispatched_at");
  row.started_at = fields.maybe_time("started_at");
  row.ended_at = fields.maybe_time("ended_at");
  row.outcome =
      fields.word("outcome", model::attempt_outcome_from_string, model::kAllAttemptOutcomes);
  row.exit_code = fields.maybe_number("exit_code");
  row.late_create_until = fields.maybe_time("late_create_until");
  row.node_lost = fields.flag("node_lost");
  return row;
}

model::QueueKey read_queue_key(Fields& fields) {
  model::QueueKey key;
  key.cluster = model::ClusterId(fields.required_text("cluster"));
  key.shape = read_shape(fields);
  return key;
}

model::TurnRow read_turn(Fields& fields) {
  model::TurnRow row;
  row.queue = read_queue_key(fields);
  row.actor = model::Actor(fields.required_text("actor"));
  row.turn = fields.count("turn");
  row.job = model::JobId(fields.text("job"));
  row.at = fields.required_time("at");
  return row;
}

model::BackoffRow read_backoff(Fields& fields) {
  model::BackoffRow row;
  row.job = model::JobId(fields.required_text("job"));
  row.failures = fields.small_count("failures");
  row.not_before = fields.required_time("not_before");
  row.words = fields.text("words");
  return row;
}

std::optional<model::StateChange> read_change(Fields& fields) {
  std::optional<model::StateChange> change;
  std::size_t found = 0;
  const auto put = [&](std::string_view name, auto read, auto make) {
    found += inside(fields, name, [&](Fields& inner) { change = make(read(inner)); }) ? 1 : 0;
  };
  put("put_pool", read_pool, [](auto row) { return model::PutPool{std::move(row)}; });
  put("put_attempt", read_attempt, [](auto row) { return model::PutAttempt{std::move(row)}; });
  put("put_turn", read_turn, [](auto row) { return model::PutTurn{std::move(row)}; });
  put("put_backoff", read_backoff, [](auto row) { return model::PutBackoff{std::move(row)}; });
  if (fields.has("remove_pool")) {
    ++found;
    change = model::RemovePool{model::PoolName(fields.required_text("remove_pool"))};
  }
  if (fields.has("remove_backoff")) {
    ++found;
    change = model::RemoveBackoff{model::JobId(fields.required_text("remove_backoff"))};
  }
  fields.done();
  if (found != 1 && fields.errors().empty())
    fields.complain("put_pool", fmt::format("{} changes in one entry; exactly one of put_pool, "
                                            "remove_pool, put_attempt, put_turn, put_backoff, "
                                            "remove_backoff",
                                            found));
  return change;
}

}  // namespace falcon::wire
