// A job as a Kubernetes Job (and, for several hosts, its headless service). Pure.
//
// One job = one batch/v1 Job: Indexed, one pod a host, all of a host's chips, pinned to its pool.
// The program runs under a small POSIX shell script that keeps its arguments byte for byte, its
// exit code and its signals, and publishes its output to the bucket while it runs.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/job.h"

namespace falcon::kube {

struct WorkloadSpec {
  model::JobRow job;
  model::ClusterRow cluster;
  model::PoolName pool;
  model::SupplyMode supply = model::SupplyMode::kOnDemand;  // the pool's
  model::WorkloadName name;
  std::uint32_t attempt = 0;
  model::Installation installation;
};

std::string render_job(const WorkloadSpec& spec);
bool needs_service(const WorkloadSpec& spec);
std::string render_service(const WorkloadSpec& spec);

// The script that runs the program; its arguments are the program and the program's.
// Environment: FALCON_BUCKET (mount of the bucket), FALCON_SPOOL (local folder), FALCON_JOB_ID and
// FALCON_POD (for the log's name), FALCON_PUBLISH_SECONDS (default 5).
std::string_view log_script();

// Kubernetes expands $(NAME) in command and args; this makes a text come through unchanged.
std::string escape_expansion(const std::string& text);

}  // namespace falcon::kube
