// Waiting for a job, telling what changes meanwhile.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"

namespace falcon::cli {

// How often a job is looked at.
inline constexpr Duration kLookEvery{1'000};
// For so long an API server may be silent before a wait gives up.
inline constexpr Duration kSilenceMax{60'000};

// A job that is looked at again and again. Passing errors of the network are bridged.
class JobFollower {
 public:
  JobFollower(Context& context, std::string job) : context_(context), job_(std::move(job)) {}

  // Looks once. Empty: no answer this time (said once on the error stream); an error: give up.
  Result<std::optional<Job>> look();
  // One line on the error stream, if status, reason or message are not those of the last call.
  void tell(const Job& job);
  // From the first answer on the id is used: a name may pass on to a younger job.
  const std::string& id() const { return job_; }

 private:
  Context& context_;
  std::string job_;
  std::string told_;
  std::optional<WallTime> silent_since_;
};

// 0, or what the end of the job means for a script.
int exit_code_of(const Job& job);
// "Pending/Waiting", "Running".
std::string status_text(const model::JobState& state);

// Until the job is in the state that was asked for or can't come there any more.
int wait_for_job(Context& context, const std::string& job, const WaitOptions& options);

}  // namespace falcon::cli
