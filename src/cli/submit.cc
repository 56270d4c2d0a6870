#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_file.h"
#include "cli/spans.h"
#include "model/validation.h"

namespace falcon::cli {
namespace {

model::Actor default_actor(const Io& io) {
  for (const char* name : {"FALCON_ACTOR", "USER", "LOGNAME"})
    if (const auto value = io.environment(name); value && !value->empty())
      return model::Actor(*value);
  return model::Actor(io.user);
}

// The flag that a field of the job is given by.
std::string flag_of(std::string_view field) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kFlags{
      {{"name", "--name"},
       {"actor", "--actor"},
       {"priority", "--priority"},
       {"labels", "--label"},
       {"spec.image", "--image"},
       {"spec.command", "the command behind --"},
       {"spec.args", "the command behind --"},
       {"spec.env", "--env"},
       {"spec.tpu_type", "--tpu-type"},
       {"spec.topology", "--topology"},
       {"spec.timeout_seconds", "--timeout"},
       {"spec.termination_grace_seconds", "--grace"},
       {"spec.max_retries", "--max-retries"},
       {"spec.max_wait_seconds", "--max-wait"},
       {"spec.supply_mode", "--supply-mode"}}};
  for (const auto& [prefix, flag] : kFlags)
    if (field.starts_with(prefix)) return std::string(flag);
  return std::string(field);
}

std::int64_t seconds_of(const std::string& text, const char* flag, std::int64_t most,
                        std::vector<std::string>& problems) {
  const Result<Duration> span = parse_span(text, std::chrono::seconds(most));
  if (!span) {
    problems.push_back(fmt::format("{}: {}", flag, span.error().what));
    return 1;
  }
  return span->count() / 1000;
}

// Splits NAME=VALUE; complains when there is no '='.
std::pair<std::string, std::string> split_pair(const std::string& text, const char* flag,
                                               std::vector<std::string>& problems) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    problems.push_back(
        fmt::format("{}: \"{}\" has no =; write it as NAME=VALUE", flag, clean_text(text, 80)));
    return {text, ""};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

JobFile job_from_flags(const Io& io, const SubmitOptions& options) {
  JobFile file;
  model::JobRow job;
  job.name = options.name;
  job.actor = options.actor.empty() ? default_actor(io) : model::Actor(options.actor);
  job.priority = options.priority;
  for (const std::string& label : options.labels) {
    auto [key, value] = split_pair(label, "--label", file.problems);
    job.labels.insert_or_assign(std::move(key), std::move(value));
  }
  for (const std::string& variable : options.env) {
    auto [name, value] = split_pair(variable, "--env", file.problems);
    job.spec.env.push_back({std::move(name), std::move(value), "", ""});
  }
  job.spec.image = options.image;
  job.spec.command = options.command;
  job.spec.tpu_type = options.tpu_type;
  job.spec.topology = options.topology;
  job.spec.max_retries = options.max_retries;
  if (!options.timeout.empty())
    job.spec.timeout_seconds =
        seconds_of(options.timeout, "--timeout", model::kTimeoutSecondsMax, file.problems);
  if (!options.grace.empty())
    job.spec.termination_grace_seconds =
        seconds_of(options.grace, "--grace", model::kGraceSecondsMax, file.problems);
  if (!options.max_wait.empty())
    job.spec.max_wait_seconds =
        seconds_of(options.max_wait, "--max-wait", model::kWaitSecondsMax, file.problems);
  if (!options.supply_mode.empty()) {
    job.spec.supply_mode = model::supply_mode_from_string(options.supply_mode);
    if (!job.spec.supply_mode)
      file.problems.push_back("--supply-mode: " + model::wrong_supply_mode(options.supply_mode));
  }
  if (file.problems.empty())
    for (const model::FieldError& error : model::validate_job(job))
      file.problems.push_back(fmt::format("{}: {}", flag_of(error.field), error.what));
  file.jobs.push_back(std::move(job));
  return file;
}

JobFile read_jobs(const Io& io, const SubmitOptions& options) {
  if (options.file.empty()) return job_from_flags(io, options);
  if (options.file == "-") {
    std::string text(std::istreambuf_iterator<char>(io.in), {});
    return parse_job_file(text, "standard input", default_actor(io));
  }
  Result<std::string> text = io.read_file(options.file);
  if (!text) {
    JobFile file;
    file.problems.push_back(text.error().what);
    return file;
  }
  return parse_job_file(*text, options.file, default_actor(io));
}

void print_submitted(const Io& io, const std::vector<Job>& jobs, Output output) {
  switch (output) {
    case Output::kJson:
    case Output::kYaml:
      for (const Job& job : jobs) io.out << job.json << '\n';
      return;
    case Output::kName:
      for (const Job& job : jobs) io.out << job.row.id.value() << '\n';
      return;
    case Output::kTable:
    case Output::kWide:
      break;
  }
  for (const Job& job : jobs)
    io.out << fmt::format("job {} submitted ({}); follow it: falcon logs -f {}\n", job.row.name,
                          job.row.id, job.row.name);
}

}  // namespace

int run_submit(Context& context, const SubmitOptions& options) {
  const Io& io = context.io;
  const JobFile file = read_jobs(io, options);
  if (!file.problems.empty()) {
    for (const std::string& problem : file.problems) io.err << "falcon: " << problem << '\n';
    if (file.jobs.size() > 1) io.err << "falcon: nothing was submitted\n";
    return kExitUsage;
  }
  std::vector<Job> submitted;
  int exit_code = kExitOk;
  for (const model::JobRow& row : file.jobs) {
    Result<Job> job = context.server.submit(row);
    if (job) {
      submitted.push_back(*std::move(job));
      continue;
    }
    exit_code = report(io, job.error());
    if (job.error().kind == ErrorKind::kUnknownOutcome)
      io.err << fmt::format(
          "falcon: {} may have been submitted or not; look before you try again: falcon get jobs "
          "{}\n",
          row.name, row.name);
    if (file.jobs.size() > 1)
      io.err << fmt::format("falcon: {} of {} jobs were submitted, those behind {} were not\n",
                            submitted.size(), file.jobs.size(), row.name);
    break;
  }
  print_submitted(io, submitted, options.output);
  if (!options.wait || submitted.empty()) return exit_code;
  std::vector<std::string> ids;
  ids.reserve(submitted.size());
  for (const Job& job : submitted) ids.push_back(job.row.id.value());
  return std::max(exit_code, run_wait(context, ids, {}));
}

}  // namespace falcon::cli
