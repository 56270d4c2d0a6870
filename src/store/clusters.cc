#include "store/clusters.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/text.h"
#include "store/changes.h"
#include "store/codec.h"
#include "store/terms.h"
#include "store/uuid.h"

namespace falcon::store {
namespace {

using model::ClusterRow;

constexpr std::size_t kWordsBytesMax = 2'000;

std::optional<ClusterRow> find_cluster(Connection& connection, const model::ClusterId& id) {
  static const std::string sql =
      fmt::format("SELECT {} FROM clusters WHERE id = ?", kClusterColumns);
  Cursor cursor = connection.query(sql, id);
  std::string trouble;  // lists tell it
  return cursor.next() ? std::optional(read_cluster(cursor, trouble)) : std::nullopt;
}

std::unexpected<Error> no_cluster(const model::ClusterId& id) {
  return fail(ErrorKind::kNotFound, fmt::format("there is no cluster {}", id.value()));
}

}  // namespace

Result<ClusterRow> add_cluster(Connection& connection, ClusterRow row, WallTime now) {
  {
    Cursor same = connection.query(
        "SELECT id FROM clusters WHERE project = ? AND location = ? AND name = ? AND tpu_type = ?",
        row.project, row.location, row.name, row.tpu_type);
    if (same.next())
      return fail(ErrorKind::kAlreadyExists,
                  fmt::format("cluster {} of project {} in {} is there already for {} (id {}); "
                              "change that row, or remove it first",
                              row.name, row.project, row.location, row.tpu_type, same.text(0)));
  }
  row.id = model::ClusterId(uuid_v7(now));
  row.created_at = now;
  row.version = 1;
  static const std::string sql = fmt::format(
      "INSERT INTO clusters ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kClusterColumns);
  connection.run(sql, row.id, row.name, row.project, row.location, row.zone, row.tpu_type,
                 row.gcs_bucket, row.default_reservation, row.kubernetes_namespace,
                 row.service_account, model::to_string(row.status), row.created_at, row.version);
  note_change(connection, row);
  return row;
}

Result<ClusterRow> set_cluster(Connection& connection, ClusterRow row) {
  const auto before = find_cluster(connection, row.id);
  if (!before) return no_cluster(row.id);
  if (row.project != before->project || row.location != before->location ||
      row.name != before->name || row.tpu_type != before->tpu_type)
    return fail(ErrorKind::kInvalid,
                fmt::format("cluster {}: project, location, name and tpu_type never change; add "
                            "another row instead",
                            before->name));
  if (row.version != before->version)
    return fail(ErrorKind::kConflict,
                fmt::format("cluster {} has version {} now, the change was made to version {}; "
                            "read it again",
                            before->name, before->version, row.version));
  row.created_at = before->created_at;
  ++row.version;
  connection.run(
      "UPDATE clusters SET zone = ?, gcs_bucket = ?, default_reservation = ?, "
      "kubernetes_namespace = ?, service_account = ?, status = ?, version = ? WHERE id = ?",
      row.zone, row.gcs_bucket, row.default_reservation, row.kubernetes_namespace,
      row.service_account, model::to_string(row.status), row.version, row.id);
  note_change(connection, row);
  return row;
}

Result<std::monostate> remove_cluster(Connection& connection, const model::ClusterId& id) {
  const auto before = find_cluster(connection, id);
  if (!before) return no_cluster(id);
  {
    Cursor pools = connection.query("SELECT COUNT(*), MIN(name) FROM pools WHERE cluster = ?", id);
    if (pools.next() && pools.integer(0) > 0)
      return fail(ErrorKind::kConflict,
                  fmt::format("cluster {} still has {} node pool(s), the first is {}; set it to "
                              "maintenance and wait until they are gone",
                              before->name, pools.integer(0), pools.text(1)));
  }
  connection.run("DELETE FROM clusters WHERE id = ?", id);
  connection.run("DELETE FROM cluster_conditions WHERE cluster = ?", id);
  connection.run("DELETE FROM queues WHERE cluster = ?", id);
  connection.run("DELETE FROM turns WHERE cluster = ?", id);
  note_removal(connection, id);
  return std::monostate{};
}

Result<std::monostate> publish_condition(Connection& connection, std::uint64_t term,
                                         const model::ClusterCondition& condition, WallTime now) {
  FALCON_TRY(checked, check_term(connection, term));
  if (!find_cluster(connection, condition.cluster)) return no_cluster(condition.cluster);
  connection.run(
      "INSERT INTO cluster_conditions (cluster, health, words, since) VALUES (?, ?, ?, ?) "
      "ON CONFLICT (cluster) DO UPDATE SET "
      "since = CASE WHEN health = excluded.health THEN since ELSE excluded.since END, "
      "health = excluded.health, words = excluded.words",
      condition.cluster, model::to_string(condition.health),
      clean_text(condition.words, kWordsBytesMax), now);
  return checked;
}

Result<Store::ClusterList> list_clusters(Connection& connection,
                                         std::vector<std::string>& troubles) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM clusters ORDER BY name, tpu_type, project, location", kClusterColumns);
  Store::ClusterList list;
  list.sequence = newest_change(connection);
  Cursor cursor = connection.query(sql);
  while (cursor.next()) {
    std::string trouble;
    list.items.push_back(read_cluster(cursor, trouble));
    if (!trouble.empty()) troubles.push_back(std::move(trouble));
  }
  Cursor found = connection.query("SELECT cluster, health, words, since FROM cluster_conditions");
  while (found.next())
    if (const auto health = model::cluster_health_from_string(found.text(1))) {
      model::ClusterId id(found.text(0));
      list.conditions.emplace(id,
                              model::ClusterCondition{id, *health, found.text(2), found.time(3)});
    }
  return list;
}

}  // namespace falcon::store
