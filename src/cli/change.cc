// Verbs that change something: abort, and the looking after clusters.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/wait.h"
#include "model/validation.h"

namespace falcon::cli {
namespace {

// The flag of `falcon cluster` that a field is given by.
std::string flag_of(std::string_view field) {
  if (field == "gcs_bucket") return "--bucket";
  if (field == "default_reservation") return "--reservation";
  if (field == "kubernetes_namespace") return "--namespace";
  std::string flag = "--" + std::string(field);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

// The server's complaints begin with the name of the field; people gave a flag.
Error with_flags(Error error, const Query& changes) {
  for (const auto& [field, value] : changes)
    if (error.what.starts_with(field + ": ")) error.what.replace(0, field.size(), flag_of(field));
  return error;
}

}  // namespace

int run_abort(Context& context, const std::vector<std::string>& jobs) {
  // All are looked up before the first is touched: a slip in one name changes nothing.
  int worst = kExitOk;
  for (const std::string& name : jobs)
    if (const Result<Job> job = context.server.job(name); !job)
      worst = std::max(worst, report(context.io, job.error()));
  if (worst != kExitOk) {
    if (jobs.size() > 1) context.io.err << "falcon: nothing was aborted\n";
    return worst;
  }
  for (const std::string& name : jobs) {
    const Result<Job> job = context.server.abort(name);
    if (!job) {
      worst = std::max(worst, report(context.io, job.error()));
      continue;
    }
    context.io.out << fmt::format("job {} is {}; wait for its end: falcon wait {}\n", job->row.name,
                                  status_text(job->row.state), job->row.id);
  }
  return worst;
}

int run_cluster_add(Context& context, const model::ClusterRow& cluster) {
  const std::vector<model::FieldError> errors = model::validate_cluster(cluster);
  for (const model::FieldError& error : errors)
    context.io.err << fmt::format("falcon: {}: {}\n", flag_of(error.field), error.what);
  if (!errors.empty()) return kExitUsage;
  const Result<Cluster> added = context.server.add_cluster(cluster);
  if (!added) return report(context.io, added.error());
  context.io.out << fmt::format("cluster {} added ({}), {}\n", added->row.name, added->row.id,
                                model::to_string(added->row.status));
  return kExitOk;
}

int run_cluster_set(Context& context, const std::string& name, const Query& changes) {
  if (changes.empty()) {
    context.io.err << "falcon: nothing to set; see falcon cluster set --help\n";
    return kExitUsage;
  }
  const Result<Cluster> cluster = context.server.set_cluster(name, changes);
  if (!cluster) return report(context.io, with_flags(cluster.error(), changes));
  context.io.out << fmt::format("cluster {} is {}\n", cluster->row.name,
                                model::to_string(cluster->row.status));
  return kExitOk;
}

int run_cluster_remove(Context& context, const std::string& name) {
  const Result<std::string> removed = context.server.remove_cluster(name);
  if (!removed) return report(context.io, removed.error());
  context.io.out << fmt::format("cluster {} removed\n", name);
  return kExitOk;
}

int run_version(Context& context, const std::string& own_version) {
  context.io.out << fmt::format("falcon {}\n", own_version);
  const Result<Version> version = context.server.version();
  if (!version) return report(context.io, version.error());
  context.io.out << fmt::format("API server {} (installation {})\n", version->version,
                                version->installation);
  return kExitOk;
}

}  // namespace falcon::cli
