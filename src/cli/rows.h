// JSON forms of rows as the command line reads and writes them (docs/design/rest-api.md). Fields
// that are not known are ignored, those that are missing keep their default.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/pool.h"

namespace falcon::cli {

// kInternal when it is no such row: without id, or with a status that is unknown here.
Result<model::JobRow> job_from_json(std::string_view json);
Result<model::ClusterRow> cluster_from_json(std::string_view json);
Result<model::PoolRow> pool_from_json(std::string_view json);

// The fields that a client may give.
std::string new_job_to_json(const model::JobRow& job);
std::string new_cluster_to_json(const model::ClusterRow& cluster);

}  // namespace falcon::cli
