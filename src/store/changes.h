// The change feed: jobs and clusters, numbered in commit order. Inside a transaction each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

void note_change(Connection& connection, const model::JobRow& row);
void note_change(Connection& connection, const model::ClusterRow& row);
void note_removal(Connection& connection, const model::ClusterId& id);
std::uint64_t newest_change(Connection& connection);  // 0: none yet
// Forgets all but the newest `kept` (at least one); gives the number of the newest.
std::uint64_t compact_changes(Connection& connection, std::size_t kept);
// `troubles`: of changes that could not be read, and are left out.
Result<Store::Changes> changes_after(Connection& connection, std::uint64_t since, std::size_t limit,
                                     std::vector<std::string>& troubles);

}  // namespace falcon::store
