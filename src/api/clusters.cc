#include <fmt/format.h>

#include "api/handlers.h"
#include "api/problem.h"
#include "base/text.h"

namespace falcon::api {

namespace {

const model::ClusterCondition* condition_of(const store::Store::ClusterList& list,
                                            const model::ClusterId& id) {
  const auto found = list.conditions.find(id);
  return found == list.conditions.end() ? nullptr : &found->second;
}

Result<model::ClusterRow> pick(const store::Store::ClusterList& list,
                               const std::string& id_or_name) {
  std::vector<model::ClusterRow> named;
  for (const model::ClusterRow& row : list.items) {
    if (row.id.value() == id_or_name) return row;
    if (row.name == id_or_name) named.push_back(row);
  }
  if (named.size() == 1) return std::move(named.front());
  if (named.empty())
    return fail(ErrorKind::kNotFound,
                fmt::format("there is no cluster \"{}\"", clean_text(id_or_name, 80)));
  std::string rows;
  for (const model::ClusterRow& row : named)
    rows += fmt::format("{}{} ({})", rows.empty() ? "" : ", ", row.id, row.tpu_type);
  return fail(ErrorKind::kConflict, fmt::format("{} clusters have the name \"{}\"; take an id: {}",
                                                named.size(), id_or_name, rows));
}

// As problem(), but that several rows of one name are "ambiguous".
http::ServerResponse lookup_problem(const Error& error) {
  if (error.kind == ErrorKind::kConflict) return problem(409, "ambiguous", error.what);
  return problem(error);
}

}  // namespace

Result<model::ClusterRow> find_cluster(const Context& context, const std::string& id_or_name) {
  FALCON_TRY(list, context.store.clusters());
  return pick(list, id_or_name);
}

http::ServerResponse clusters_list(const Context& context, const http::ServerRequest& request) {
  if (auto refusal = refuse_parameters(request, {})) return *std::move(refusal);
  const auto list = context.store.clusters();
  if (!list) return problem(list.error());
  std::string items;
  for (const model::ClusterRow& row : list->items)
    items += (items.empty() ? "" : ",") + wire::to_json(row, condition_of(*list, row.id));
  return {200, fmt::format("{{\"items\":[{}],\"sequence\":{}}}\n", items, list->sequence)};
}

http::ServerResponse clusters_add(const Context& context, const http::ServerRequest& request) {
  wire::Strict<model::ClusterRow> cluster = wire::read_cluster(request.body);
  if (!cluster) return problem(cluster.error());
  const Result<model::ClusterRow> row = context.store.add_cluster(*std::move(cluster));
  context.directory.forget();
  if (!row) return problem(row.error());
  return {201,
          wire::to_json(*row) + "\n",
          "application/json",
          {{"Location", "/v1/clusters/" + row->id.value()}}};
}

http::ServerResponse cluster_get(const Context& context, const http::ServerRequest& request) {
  const auto list = context.store.clusters();
  if (!list) return problem(list.error());
  const Result<model::ClusterRow> row = pick(*list, request.path[2]);
  if (!row) return lookup_problem(row.error());
  return {200, wire::to_json(*row, condition_of(*list, row->id)) + "\n"};
}

http::ServerResponse cluster_patch(const Context& context, const http::ServerRequest& request) {
  const Result<model::ClusterRow> row = find_cluster(context, request.path[2]);
  if (!row) return lookup_problem(row.error());
  const wire::Strict<model::ClusterRow> wish = wire::read_cluster_patch(request.body, *row);
  if (!wish) return problem(wish.error());
  const Result<model::ClusterRow> stored = context.store.set_cluster(*wish);
  context.directory.forget();
  if (!stored) return problem(stored.error());
  return {200, wire::to_json(*stored) + "\n"};
}

http::ServerResponse cluster_remove(const Context& context, const http::ServerRequest& request) {
  const Result<model::ClusterRow> row = find_cluster(context, request.path[2]);
  if (!row) return lookup_problem(row.error());
  const auto removed = context.store.remove_cluster(row->id);
  context.directory.forget();
  if (!removed) return problem(removed.error());
  return {204, ""};
}

}  // namespace falcon::api
