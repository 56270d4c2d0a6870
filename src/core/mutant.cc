#include "core/mutant.h"

#include <cstdlib>

namespace falcon::core {

#ifdef FALCON_MUTANTS
thread_local Mutant active_mutant = Mutant::kNone;
#endif

std::string_view to_string(Mutant mutant) {
  switch (mutant) {
    case Mutant::kNone:
      return "none";
    case Mutant::kForgetIntent:
      return "forget-intent";
    case Mutant::kForgetJobIntent:
      return "forget-job-intent";
    case Mutant::kFailOnUnknownCreate:
      return "fail-on-unknown-create";
    case Mutant::kForgetUnknownPool:
      return "forget-unknown-pool";
    case Mutant::kDeleteOnPartialList:
      return "delete-on-partial-list";
    case Mutant::kSlotTooEarly:
      return "slot-too-early";
    case Mutant::kSlotNever:
      return "slot-never";
    case Mutant::kAbortedTooEarly:
      return "aborted-too-early";
    case Mutant::kDeletePoolUnderJob:
      return "delete-pool-under-job";
    case Mutant::kKeepPoolForNobody:
      return "keep-pool-for-nobody";
    case Mutant::kSweepForeign:
      return "sweep-foreign";
    case Mutant::kNoSweep:
      return "no-sweep";
    case Mutant::kNoWorkloadSweep:
      return "no-workload-sweep";
    case Mutant::kPartialSlice:
      return "partial-slice";
    case Mutant::kOverclaim:
      return "overclaim";
    case Mutant::kFairnessForgotten:
      return "fairness-forgotten";
    case Mutant::kTimeoutFromCreation:
      return "timeout-from-creation";
    case Mutant::kAbortOverResult:
      return "abort-over-result";
    case Mutant::kRetryWithoutLimit:
      return "retry-without-limit";
    case Mutant::kReuseUnverified:
      return "reuse-unverified";
    case Mutant::kStoppingIsCapacity:
      return "stopping-is-capacity";
    case Mutant::kNewNameOnRetry:
      return "new-name-on-retry";
    case Mutant::kCleanupForgotten:
      return "cleanup-forgotten";
    case Mutant::kRetryForEver:
      return "retry-for-ever";
    case Mutant::kDisruptionIsFailure:
      return "disruption-is-failure";
    case Mutant::kDisruptForEver:
      return "disrupt-for-ever";
    case Mutant::kAgainTooEarly:
      return "again-too-early";
    case Mutant::kWaitForGivenBack:
      return "wait-for-given-back";
    case Mutant::kEveryPoolScales:
      return "every-pool-scales";
    case Mutant::kWaitIsRunTime:
      return "wait-is-run-time";
    case Mutant::kPeersBlameless:
      return "peers-blameless";
  }
  std::abort();
}

}  // namespace falcon::core
