// One function for each verb, with its options as they were parsed. Each returns an exit code
// (cli/io.h) and has printed what there is to say. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/server.h"

namespace falcon::cli {

struct Context {
  const Io& io;
  Server& server;
};

enum class Output : std::uint8_t { kTable, kWide, kJson, kYaml, kName };

// Says what failed and what to do next, on one line each; gives the exit code that fits.
int report(const Io& io, const Error& error);

struct WaitOptions {
  std::optional<model::JobStatus> until;  // empty: the job's end
  std::optional<Duration> limit;
};

struct SubmitOptions {
  std::string file;  // "-": standard input; empty: by flags
  std::string name;
  std::string actor;
  std::int32_t priority = 0;
  std::string image;
  std::string tpu_type;
  std::string topology;
  std::string supply_mode;
  std::string timeout;
  std::string grace;
  std::string max_wait;
  std::int64_t max_retries = 0;
  std::vector<std::string> env;     // NAME=VALUE
  std::vector<std::string> labels;  // KEY=VALUE
  std::vector<std::string> command;
  bool wait = false;
  Output output = Output::kTable;
};
int run_submit(Context& context, const SubmitOptions& options);

struct GetOptions {
  std::string kind;  // "jobs", "clusters", "queues", "pools"
  std::string name;  // one of them; empty: all
  std::string status;
  std::string actor;
  std::string cluster;
  std::size_t count_max = 200;
  Output output = Output::kTable;
};
int run_get(Context& context, const GetOptions& options);

int run_describe(Context& context, const std::string& kind, const std::string& name);
int run_events(Context& context, const std::string& job);
int run_abort(Context& context, const std::vector<std::string>& jobs);
int run_wait(Context& context, const std::vector<std::string>& jobs, const WaitOptions& options);
int run_version(Context& context, const std::string& own_version);

struct LogsOptions {
  std::string job;
  std::string pod;  // the end of a pod's name; empty: all
  bool follow = false;
};
int run_logs(Context& context, const LogsOptions& options);

int run_cluster_add(Context& context, const model::ClusterRow& cluster);
int run_cluster_set(Context& context, const std::string& name, const Query& changes);
int run_cluster_remove(Context& context, const std::string& name);

}  // namespace falcon::cli
