// Rows of jobs and their history. Inside a transaction each; errors as in store.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/job.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace falcon::store {

struct StoredJob {
  std::int64_t n = 0;  // order of acceptance
  model::JobRow row;
};
Result<StoredJob> find_job(Connection& connection, const model::JobId& id);

Result<model::JobRow> submit_job(Connection& connection, model::JobRow job, WallTime now);
Result<model::JobRow> job_by_id(Connection& connection, const model::JobId& id);
Result<std::vector<model::JobRow>> jobs_named(Connection& connection, const std::string& name);
Result<JobPage> list_jobs(Connection& connection, const JobFilter& filter);
Result<std::vector<JobEvent>> events_of(Connection& connection, const model::JobId& id);
Result<model::JobRow> abort_job(Connection& connection, const model::JobId& id, WallTime now);
Result<std::uint64_t> write_job(Connection& connection, std::uint64_t term, const model::JobId& id,
                                std::uint64_t version, const model::JobState& state, WallTime now);

}  // namespace falcon::store
