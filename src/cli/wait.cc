#include "cli/wait.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/spans.h"

namespace falcon::cli {
namespace {

using model::JobStatus;

bool may_pass(ErrorKind kind) {
  return kind == ErrorKind::kUnavailable || kind == ErrorKind::kUnknownOutcome ||
         kind == ErrorKind::kThrottled || kind == ErrorKind::kInternal;
}

// The way that jobs go; a job that is beyond a state has reached it.
int rank(JobStatus status) {
  switch (status) {
    case JobStatus::kPending:
      return 0;
    case JobStatus::kRunning:
      return 1;
    case JobStatus::kAborting:
      return 2;
    case JobStatus::kSucceeded:
    case JobStatus::kFailed:
    case JobStatus::kAborted:
      return 3;
  }
  std::abort();
}

bool is_reached(const Job& job, const WaitOptions& options) {
  const JobStatus now = job.row.state.status;
  if (!options.until) return model::is_terminal(now);
  if (now == *options.until) return true;
  // "Running" is reached by a job that ran and has ended since.
  return *options.until == JobStatus::kRunning && job.row.state.started_at.has_value() &&
         rank(now) > rank(JobStatus::kRunning);
}

}  // namespace

std::string status_text(const model::JobState& state) {
  std::string text(model::to_string(state.status));
  if (state.reason != model::Reason::kNone)
    text += fmt::format("/{}", model::to_string(state.reason));
  return text;
}

int exit_code_of(const Job& job) {
  switch (job.row.state.status) {
    case JobStatus::kFailed:
      return kExitJobFailed;
    case JobStatus::kAborted:
      return kExitJobAborted;
    case JobStatus::kPending:
    case JobStatus::kRunning:
    case JobStatus::kAborting:
    case JobStatus::kSucceeded:
      return kExitOk;
  }
  std::abort();
}

Result<std::optional<Job>> JobFollower::look() {
  Result<Job> job = context_.server.job(job_);
  if (job) {
    job_ = job->row.id.value();
    silent_since_.reset();
    return std::optional<Job>(*std::move(job));
  }
  if (!may_pass(job.error().kind)) return std::unexpected(job.error());
  const WallTime now = context_.io.now();
  if (!silent_since_) {
    silent_since_ = now;
    context_.io.err << "falcon: no answer, still trying: " << job.error().what << std::endl;
  }
  if (now - *silent_since_ >= kSilenceMax) return std::unexpected(job.error());
  return std::optional<Job>();
}

void JobFollower::tell(const Job& job) {
  std::string line = fmt::format("{}  {}", job.row.name, status_text(job.row.state));
  if (!job.message.empty()) line += "  " + job.message;
  if (line == told_) return;
  context_.io.err << line << std::endl;
  told_ = std::move(line);
}

int wait_for_job(Context& context, const std::string& job, const WaitOptions& options) {
  JobFollower follower(context, job);
  const WallTime begin = context.io.now();
  while (true) {
    const auto seen = follower.look();
    if (!seen) return report(context.io, seen.error());
    if (*seen) {
      const Job& now = **seen;
      follower.tell(now);
      if (is_reached(now, options)) return options.until ? kExitOk : exit_code_of(now);
      if (model::is_terminal(now.row.state.status)) {
        context.io.err << fmt::format("falcon: {} ended as {} and will never be {}\n", now.row.name,
                                      model::to_string(now.row.state.status),
                                      model::to_string(*options.until));
        return std::max(exit_code_of(now), kExitFailed);
      }
    }
    const Duration passed = context.io.now() - begin;
    if (options.limit && passed >= *options.limit) {
      context.io.err << fmt::format(
          "falcon: gave up waiting after {}; the job goes on: falcon describe job {}\n",
          format_span(*options.limit), follower.id());
      return kExitTimedOut;
    }
    context.io.sleep(options.limit ? std::min(kLookEvery, *options.limit - passed) : kLookEvery);
  }
}

int run_wait(Context& context, const std::vector<std::string>& jobs, const WaitOptions& options) {
  // One after the other: the whole lasts as long as the slowest, and the limit is for the whole.
  const WallTime begin = context.io.now();
  int worst = kExitOk;
  for (const std::string& job : jobs) {
    WaitOptions rest = options;
    if (rest.limit) rest.limit = std::max(*rest.limit - (context.io.now() - begin), Duration(0));
    worst = std::max(worst, wait_for_job(context, job, rest));
  }
  return worst;
}

}  // namespace falcon::cli
