// Between rows of the model and what the tables hold. Private to this folder.
//
// Reading never fails a whole list: text that is no JSON reads as an empty value (an empty spec is
// refused by whoever uses it), a job whose words are unknown is an error of its own, and a cluster
// whose status is unknown reads as offline: nothing is begun or ended there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "model/job.h"
#include "store/sqlite.h"

namespace falcon::store {

std::string to_text(const std::vector<std::string>& list);
std::vector<std::string> list_from_text(std::string_view text);
std::string to_text(const std::map<std::string, std::string>& map);
std::map<std::string, std::string> map_from_text(std::string_view text);
std::string to_text(const model::JobSpec& spec);
model::JobSpec spec_from_text(std::string_view text);

// What may change of a job, and the whole of a cluster, as a change of the feed holds them.
std::string change_text(const model::JobRow& row);
Result<std::monostate> apply_change(std::string_view text, model::JobRow& row);
std::string change_text(const model::ClusterRow& row);
// `trouble`: what could not be read; else it stays as it is.
std::optional<model::ClusterRow> cluster_from_change(std::string_view text, std::string& trouble);

// Columns of `jobs`, in the order that read_job expects, and of `clusters`.
inline constexpr std::string_view kJobColumns =
    "n, id, name, actor, priority, labels, spec, created_at, aborting_at, version, status, reason, "
    "message_code, message_arguments, cluster, node_pool_name, job_uid, attempt, provision, "
    "attempts_over, retries, disruptions, exit_code, dispatched_at, started_at, finished_at, "
    "aborted_at, cleanup, cleanup_error";
inline constexpr std::string_view kClusterColumns =
    "id, name, project, location, zone, tpu_type, gcs_bucket, default_reservation, "
    "kubernetes_namespace, service_account, status, created_at, version";
Result<model::JobRow> read_job(const Cursor& cursor);  // kInternal: which row, what it says
model::ClusterRow read_cluster(const Cursor& cursor, std::string& trouble);

}  // namespace falcon::store
