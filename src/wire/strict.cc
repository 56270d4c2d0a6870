#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <limits>

#include "base/text.h"
#include "wire/rows.h"
#include "wire/wire.h"

namespace falcon::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kChangesMax = 10'000;
constexpr std::int64_t kLeaseSecondsMax = 3'600;

// Parses, lets `read` take the fields, and refuses what is left over.
template <class T, class Read>
Strict<T> read_strictly(std::string_view text, Read read) {
  Errors errors;
  T value;
  if (const std::optional<json::object> object = parse_document(text, errors)) {
    Fields fields(*object, "", Reading::kStrict, errors);
    read(fields, value);
    fields.done();
  }
  if (!errors.empty()) return std::unexpected(Refusal{std::move(errors)});
  return value;
}

template <class T>
Strict<T> validated(Strict<T> value, Errors (*validate)(const T&)) {
  if (!value) return value;
  Errors errors = validate(*value);
  if (!errors.empty()) return std::unexpected(Refusal{std::move(errors)});
  return value;
}

}  // namespace

Strict<model::JobRow> read_submit(std::string_view json) {
  return validated(read_strictly<model::JobRow>(
                       json, [](Fields& fields, model::JobRow& row) { row = read_wish(fields); }),
                   model::validate_job);
}

Strict<model::ClusterRow> read_cluster(std::string_view json) {
  return validated(
      read_strictly<model::ClusterRow>(
          json, [](Fields& fields, model::ClusterRow& row) { row = read_cluster_row(fields); }),
      model::validate_cluster);
}

Strict<model::ClusterRow> read_cluster_patch(std::string_view json, const model::ClusterRow& row) {
  const auto read = [&](Fields& fields, model::ClusterRow& patched) {
    patched = row;
    for (const std::string_view name : {"id", "project", "location", "name", "tpu_type"})
      if (fields.has(name))
        fields.complain(name, "never changes; remove the cluster and add it anew");
    patched.zone = fields.text("zone", row.zone);
    patched.gcs_bucket = fields.text("gcs_bucket", row.gcs_bucket);
    patched.default_reservation = fields.text("default_reservation", row.default_reservation);
    patched.kubernetes_namespace = fields.text("kubernetes_namespace", row.kubernetes_namespace);
    patched.service_account = fields.text("service_account", row.service_account);
    if (fields.has("status"))
      patched.status =
          fields.word("status", model::cluster_status_from_string, model::kAllClusterStatuses);
  };
  return validated(read_strictly<model::ClusterRow>(json, read), model::validate_cluster);
}

Strict<JobWrite> read_job_write(std::string_view json) {
  return read_strictly<JobWrite>(json, [](Fields& fields, JobWrite& write) {
    write.term = fields.count("term");
    write.version = fields.count("version");
    const json::object* object = fields.object("state");
    if (object == nullptr) {
      if (fields.errors().empty()) fields.complain("state", "is missing");
      return;
    }
    Fields state(*object, "state", fields.reading(), fields.errors());
    write.state = read_state(state);
    state.done();
  });
}

Strict<StateWrite> read_state_write(std::string_view json) {
  return read_strictly<StateWrite>(json, [](Fields& fields, StateWrite& write) {
    write.term = fields.count("term");
    write.number = fields.count("number");
    const json::array* changes = fields.array("changes");
    if (changes == nullptr) {
      if (fields.errors().empty()) fields.complain("changes", "is missing; a list");
      return;
    }
    if (changes->size() > kChangesMax) {
      fields.complain("changes",
                      fmt::format("{} changes; at most {}", changes->size(), kChangesMax));
      return;
    }
    write.changes.reserve(changes->size());
    for (std::size_t i = 0; i < changes->size() && fields.errors().empty(); ++i) {
      const std::string path = fmt::format("changes[{}]", i);
      const json::object* entry = (*changes)[i].if_object();
      if (entry == nullptr) {
        fields.complain(path, "is no object");
        continue;
      }
      Fields change(*entry, path, fields.reading(), fields.errors());
      if (std::optional<model::StateChange> read = read_change(change))
        write.changes.push_back(*std::move(read));
    }
  });
}

Strict<QueueWrite> read_queue_write(std::string_view json) {
  return read_strictly<QueueWrite>(json, [](Fields& fields, QueueWrite& write) {
    write.term = fields.count("term");
    write.order.queue = read_queue_key(fields);
    write.order.version = fields.count("version");
    for (std::string& id : fields.texts("order")) write.order.order.emplace_back(std::move(id));
  });
}

Strict<ConditionWrite> read_condition_write(std::string_view json) {
  return read_strictly<ConditionWrite>(json, [](Fields& fields, ConditionWrite& write) {
    write.term = fields.count("term");
    write.condition.cluster = model::ClusterId(fields.required_text("cluster"));
    write.condition.health =
        fields.word("health", model::cluster_health_from_string, model::kAllClusterHealths);
    write.condition.words = fields.text("words");
  });
}

Strict<TermWish> read_term_wish(std::string_view json) {
  return read_strictly<TermWish>(json, [](Fields& fields, TermWish& wish) {
    wish.holder = fields.text("holder");
    if (wish.holder.size() > model::kActorLengthMax)
      fields.complain("holder", fmt::format("has {} bytes; at most {}", wish.holder.size(),
                                            model::kActorLengthMax));
    wish.lease_seconds = fields.number("lease_seconds", 0, 1, kLeaseSecondsMax);
    if (wish.lease_seconds == 0 && fields.errors().empty())
      fields.complain("lease_seconds", fmt::format("is missing; 1 to {}", kLeaseSecondsMax));
  });
}

Strict<std::monostate> read_nothing(std::string_view json) {
  if (json.empty()) return std::monostate();
  return read_strictly<std::monostate>(json, [](Fields&, std::monostate&) {});
}

}  // namespace falcon::wire
