// Planted mistakes, to test the tester: each must be caught by the simulation.
//
// Only the build with FALCON_MUTANTS has them (target falcon-simulation-mutants); everywhere else
// FALCON_MUTANT is the constant false and leaves no trace in the program.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace falcon::core {

enum class Mutant : std::uint8_t {
  kNone,
  kForgetIntent,         // create before the pool's row is durable
  kForgetJobIntent,      // create before the job's row shows the provision
  kFailOnUnknownCreate,  // a create whose answer was lost counts as failed for good
  kForgetUnknownPool,    // ... and its pool's row is removed without a look
  kDeleteOnPartialList,  // pools missing from a failed listing count as gone
  kSlotTooEarly,         // the slot is given up when the Job was created
  kSlotNever,            // the slot is kept after Running
  kAbortedTooEarly,      // Aborted as soon as the Job's delete was accepted
  kDeletePoolUnderJob,   // the pool goes before the Job's pods are gone
  kKeepPoolForNobody,    // a free pool that nobody waits for is kept
  kSweepForeign,         // pools of other installations are swept as orphans
  kNoSweep,              // orphans are never swept
  kNoWorkloadSweep,      // Kubernetes Jobs that nothing explains are left alone
  kPartialSlice,         // dispatch when one node is Ready
  kOverclaim,            // open claims are not counted
  kFairnessForgotten,    // the oldest job first, whoever was served last
  kTimeoutFromCreation,  // the run limit counts from the submission
  kAbortOverResult,      // a job that had ended before its abort becomes Aborted
  kRetryWithoutLimit,    // failed calls are repeated at once
  kReuseUnverified,      // a pool is reused before the last job's pods are gone
  kStoppingIsCapacity,   // a pool that is being deleted is offered for reuse
  kNewNameOnRetry,       // a create is repeated under a new name without looking
  kCleanupForgotten,     // the Kubernetes Job is not deleted after the end
  kRetryForEver,         // a failed job runs again, whatever its max_retries
  kDisruptionIsFailure,  // a job whose machines were lost fails as if by its own fault
  kDisruptForEver,       // lost machines are never too many
  kAgainTooEarly,        // the next attempt begins before the last one's pods are gone
  kWaitForGivenBack,     // machines that GKE took back are waited for without pods
  kEveryPoolScales,      // a Job is sent to any pool without nodes, as if GKE scaled it
  kWaitIsRunTime,        // the limit on waiting is not counted from the submission
  kPeersBlameless,       // a failed pod is blamed before its peers have ended
};
inline constexpr std::uint8_t kMutantCount = static_cast<std::uint8_t>(Mutant::kPeersBlameless) + 1;

std::string_view to_string(Mutant mutant);

#ifdef FALCON_MUTANTS
extern thread_local Mutant active_mutant;
#define FALCON_MUTANT(name) (::falcon::core::active_mutant == ::falcon::core::Mutant::name)
#else
#define FALCON_MUTANT(name) false
#endif

}  // namespace falcon::core
