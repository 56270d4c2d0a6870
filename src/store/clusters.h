// Rows of clusters. Inside a transaction each; errors as in store.h.
#pragma once

#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

Result<model::ClusterRow> add_cluster(Connection& connection, model::ClusterRow row, WallTime now);
Result<model::ClusterRow> set_cluster(Connection& connection, model::ClusterRow row);
Result<std::monostate> remove_cluster(Connection& connection, const model::ClusterId& id);
Result<std::monostate> publish_condition(Connection& connection, std::uint64_t term,
                                         const model::ClusterCondition& condition, WallTime now);
// `troubles`: of rows that could not be read as they stand.
Result<Store::ClusterList> list_clusters(Connection& connection,
                                         std::vector<std::string>& troubles);

}  // namespace falcon::store
