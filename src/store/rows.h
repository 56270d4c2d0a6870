// Rows of the database as nouns, and nouns as rows. Column order is the schema's.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job.h"
#include "model/state_change.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

inline constexpr std::string_view kJobColumns =
    "id, name, actor, priority, labels, spec, created_at, aborting_at, version, status, reason, "
    "message_code, message_arguments, cluster, node_pool_name, job_uid, attempt, provision, "
    "exit_code, dispatched_at, started_at, finished_at, aborted_at, cleanup, cleanup_error";
inline constexpr std::string_view kClusterColumns =
    "id, name, project, location, zone, tpu_type, gcs_bucket, default_reservation, "
    "kubernetes_namespace, service_account, status, created_at, version";

model::JobRow read_job(Statement& row);
void bind_job(Statement& statement, const model::JobRow& row);  // all columns, in order
model::ClusterRow read_cluster(Statement& row);
void bind_cluster(Statement& statement, const model::ClusterRow& row);
model::PoolRow read_pool(Statement& row);
void bind_pool(Statement& statement, const model::PoolRow& row);
model::AttemptRow read_attempt(Statement& row);
void bind_attempt(Statement& statement, const model::AttemptRow& row);
model::TurnRow read_turn(Statement& row);
model::BackoffRow read_backoff(Statement& row);
JobEvent read_event(Statement& row);  // at, status, reason, message_code, message_arguments

std::string list_to_column(const std::vector<std::string>& list);
std::vector<std::string> list_from_column(const std::string& column);

}  // namespace falcon::store
