#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/spans.h"
#include "cli/table.h"
#include "cli/wait.h"
#include "model/tpu.h"

namespace falcon::cli {
namespace {

constexpr std::size_t kValueBytesMax = 256u << 10;  // more than a command may have

// As a person would have to type it into a shell.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=:,@%+").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string command_line(const model::JobSpec& spec) {
  std::vector<std::string> words;
  words.reserve(spec.command.size() + spec.args.size());
  for (const std::string& word : spec.command) words.push_back(shell_word(word));
  for (const std::string& word : spec.args) words.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(words, " "));
}

class Sheet {
 public:
  explicit Sheet(const Io& io) : io_(io) {}
  // Lines behind the first are indented to the value's column. Empty values are left out.
  void line(std::string_view title, std::string_view value) {
    if (value.empty()) return;
    io_.out << fmt::format("{:<13}", fmt::format("{}:", title));
    for (const char c : clean_text(value, kValueBytesMax)) {
      io_.out << c;
      if (c == '\n') io_.out << std::string(13, ' ');
    }
    io_.out << '\n';
  }
  void time(std::string_view title, const std::optional<WallTime>& at) {
    if (at) line(title, fmt::format("{} ({} ago)", to_rfc3339(*at), format_span(io_.now() - *at)));
  }
  void heading(std::string_view title) { io_.out << '\n' << title << '\n'; }
  void item(std::string_view text) { io_.out << "  " << text << '\n'; }

 private:
  const Io& io_;
};

std::string machines(const model::JobSpec& spec) {
  std::string text = model::to_string(model::shape_of(spec));
  const Result<model::Slice> slice = model::find_slice(spec.tpu_type, spec.topology);
  if (!slice) return text;
  return fmt::format("{} ({} chips on {} {} {})", text, slice->chips, slice->hosts,
                     slice->machine_type, slice->hosts == 1 ? "machine" : "machines");
}

void print_spec(Sheet& sheet, const model::JobSpec& spec) {
  sheet.line("Machines", machines(spec));
  sheet.line("Supply", spec.supply_mode ? std::string(model::to_string(*spec.supply_mode))
                                        : "the cluster's default");
  sheet.line("Image", spec.image);
  sheet.line("Command", command_line(spec));
  std::string environment;
  for (const model::EnvironmentVariable& variable : spec.env) {
    if (!environment.empty()) environment += '\n';
    environment += variable.secret_name.empty()
                       ? fmt::format("{}={}", variable.name, variable.value)
                       : fmt::format("{}=<secret {}, key {}>", variable.name, variable.secret_name,
                                     variable.secret_key);
  }
  sheet.line("Environment", environment);
  std::string limits =
      fmt::format("runs at most {}, {} to end after SIGTERM, {} retries",
                  format_span(Duration(spec.timeout_seconds * 1000)),
                  format_span(Duration(spec.termination_grace_seconds * 1000)), spec.max_retries);
  if (spec.max_wait_seconds > 0)
    limits +=
        fmt::format(", waits at most {}", format_span(Duration(spec.max_wait_seconds * 1000)));
  sheet.line("Limits", limits);
}

std::string attempts_text(const model::JobState& state) {
  if (state.attempt == 0) return {};
  std::string text = std::to_string(state.attempt);
  if (state.retries + state.disruptions > 0)
    text += fmt::format(" ({} after a failure, {} after lost machines)", state.retries,
                        state.disruptions);
  return text;
}

void print_state(Sheet& sheet, const Job& job) {
  const model::JobState& state = job.row.state;
  sheet.line("Status", status_text(state));
  sheet.line("Message", job.message);
  sheet.line("Exit code", state.exit_code ? std::to_string(*state.exit_code) : "");
  sheet.line("Cluster", job.cluster_name);
  sheet.line("Node pool", state.node_pool_name.value());
  sheet.line("Attempt", attempts_text(state));
  sheet.line("Clean-up", model::to_string(state.cleanup));
  sheet.line("Logs", job.log_prefix);
  sheet.time("Created", job.row.created_at);
  sheet.time("Dispatched", state.dispatched_at);
  sheet.time("Started", state.started_at);
  sheet.time("Abort asked", job.row.aborting_at);
  sheet.time("Finished", state.finished_at);
  sheet.time("Aborted", state.aborted_at);
}

void print_events(const Io& io, const std::vector<Event>& events, std::string_view indent) {
  for (const Event& event : events) {
    std::string state = event.status;
    if (!event.reason.empty()) state += "/" + event.reason;
    io.out << fmt::format("{}{}  {:<24}  {}\n", indent, to_rfc3339(event.at), state, event.message);
  }
}

int describe_job(Context& context, const std::string& name) {
  const Result<Job> job = context.server.job(name);
  if (!job) return report(context.io, job.error());
  Sheet sheet(context.io);
  sheet.line("Name", job->row.name);
  sheet.line("Id", job->row.id.value());
  sheet.line("Actor", job->row.actor.value());
  sheet.line("Priority", job->row.priority == 0 ? "" : std::to_string(job->row.priority));
  std::vector<std::string> labels;
  for (const auto& [key, value] : job->row.labels) labels.push_back(key + "=" + value);
  sheet.line("Labels", fmt::format("{}", fmt::join(labels, ", ")));
  print_state(sheet, *job);
  print_spec(sheet, job->row.spec);
  sheet.heading("Events:");
  const Result<std::vector<Event>> events = context.server.events(job->row.id.value());
  if (!events) return report(context.io, events.error());
  print_events(context.io, *events, "  ");
  // The row may be gone; then all that is known is said below.
  std::optional<Cluster> cluster;
  if (!job->row.state.cluster.empty())
    if (Result<Cluster> found = context.server.cluster(job->row.state.cluster.value()))
      cluster = *std::move(found);
  sheet.heading("What to do next:");
  if (cluster && job->row.state.status == model::JobStatus::kPending)
    for (const std::string& line : advice_for(cluster->row, cluster->condition)) sheet.item(line);
  for (const std::string& line : advice_for(job->row)) sheet.item(line);
  if (!cluster) return kExitOk;
  sheet.heading("In Kubernetes:");
  for (const std::string& line : kubectl_lines(job->row, cluster->row)) sheet.item(line);
  return kExitOk;
}

void print_condition(Sheet& sheet, const Cluster& cluster) {
  if (!cluster.condition) {
    sheet.line("Condition", "unknown; no controller has looked yet");
    return;
  }
  const model::ClusterCondition& condition = *cluster.condition;
  sheet.line("Condition",
             condition.words.empty()
                 ? std::string(model::to_string(condition.health))
                 : fmt::format("{}: {}", model::to_string(condition.health), condition.words));
  sheet.time("Found so", condition.since);
}

int describe_cluster(Context& context, const std::string& name) {
  const Result<Cluster> cluster = context.server.cluster(name);
  if (!cluster) return report(context.io, cluster.error());
  const model::ClusterRow& row = cluster->row;
  Sheet sheet(context.io);
  sheet.line("Name", row.name);
  sheet.line("Id", row.id.value());
  sheet.line("Status", model::to_string(row.status));
  print_condition(sheet, *cluster);
  sheet.line("TPU type", row.tpu_type);
  sheet.line("Project", row.project);
  sheet.line("Location", row.location);
  sheet.line("Zone", row.zone);
  sheet.line("Bucket", row.gcs_bucket);
  sheet.line("Reservation", row.default_reservation);
  sheet.line("Namespace", row.kubernetes_namespace);
  sheet.line("Account", row.service_account);
  sheet.time("Created", row.created_at);
  const Result<std::vector<Pool>> pools = context.server.pools();
  if (!pools) return report(context.io, pools.error());
  sheet.heading("Node pools:");
  bool any = false;
  for (const Pool& pool : *pools) {
    if (pool.row.cluster != row.id) continue;
    any = true;
    sheet.item(fmt::format("{}  {}  {}", pool.row.name, model::to_string(pool.row.shape),
                           model::to_string(pool.row.phase)));
  }
  if (!any) sheet.item("none");
  sheet.heading("What to do next:");
  for (const std::string& line : advice_for(cluster->row, cluster->condition)) sheet.item(line);
  sheet.item(fmt::format("its jobs: falcon get jobs --cluster {}", row.name));
  if (row.status == model::ClusterStatus::kActive)
    sheet.item(
        fmt::format("before work on it: falcon cluster set {} --status maintenance", row.name));
  else
    sheet.item(fmt::format("to use it again: falcon cluster set {} --status active", row.name));
  return kExitOk;
}

}  // namespace

int run_describe(Context& context, const std::string& kind, const std::string& name) {
  return kind == "cluster" ? describe_cluster(context, name) : describe_job(context, name);
}

int run_events(Context& context, const std::string& job) {
  const Result<std::vector<Event>> events = context.server.events(job);
  if (!events) return report(context.io, events.error());
  print_events(context.io, *events, "");
  return kExitOk;
}

}  // namespace falcon::cli
