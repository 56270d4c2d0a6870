// What a person can do next about a job, from its status and reason. docs/reasons.md says more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/condition.h"
#include "model/job.h"

namespace falcon::cli {

// Lines without an end, most useful first; never empty.
std::vector<std::string> advice_for(const model::JobRow& job);

// Why the cluster can't be had and what to do; empty while it can, or nobody has looked.
std::vector<std::string> advice_for(const model::ClusterRow& cluster,
                                    const std::optional<model::ClusterCondition>& condition);

// Commands that show the job's Kubernetes objects with Google's own tools.
std::vector<std::string> kubectl_lines(const model::JobRow& job, const model::ClusterRow& cluster);

}  // namespace falcon::cli
