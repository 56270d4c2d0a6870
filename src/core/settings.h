// Every number that a decision depends on, with its unit and why it has its default.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/ids.h"

namespace falcon::core {

struct Backoff {
  Duration base{2'000};
  Duration cap{120'000};
  std::uint32_t factor = 2;
};

struct Settings {
  model::Installation installation{"falcon"};

  // How often pools are listed. Where the next state of a pool is told by a listing alone: every
  // 5 s, or after a sixteenth of the time since anything moved there; so a deletion of 8 minutes
  // costs 25 calls, not 100. At most every 30 s where operations or nodes tell the most, every
  // 5 min where nothing is under way. Operations are read at the same pace.
  Duration pools_busy_interval{5'000};
  Duration pools_slow_interval{30'000};
  std::int32_t pools_slowing = 16;
  Duration pools_idle_interval{300'000};
  // How long a reading of a reservation may decide a claim; and how often a busy one is asked.
  Duration reservation_fresh{20'000};
  Duration reservation_interval{15'000};
  // A create that was accepted but not seen in listings counts as "not yet visible" for so long.
  Duration create_visibility_grace{120'000};
  // A call whose answer was lost may still arrive at the cloud for so long after it left.
  Duration late_call_max{600'000};
  // NodePoolTimeout: 10 min + 1 min for every 4 hosts, from the accepted operation.
  Duration pool_timeout{600'000};
  Duration pool_timeout_per_4_hosts{60'000};
  // Pods that have not started so long after dispatch end the job (image, mounts).
  Duration start_deadline{1'200'000};
  // Stock-out: retried after 5 min, doubling to 1 h.
  Backoff capacity_backoff{Duration(300'000), Duration(3'600'000), 2};
  // Calls that failed in passing: per object, with jitter of up to half.
  Backoff call_backoff{Duration(2'000), Duration(60'000), 2};
  // Deletions that keep failing: slower, for ever.
  Backoff delete_backoff{Duration(10'000), Duration(600'000), 2};
  std::uint32_t delete_failures_alarm = 10;  // from then on cleanup=failed, still retried
  // A pool of ours that no row explains is removed when it was seen in listings for so long.
  Duration orphan_grace{300'000};
  // A pool that is RUNNING without all its nodes is kept so long, then given up for a job of
  // another shape that waits for its machines; that job's turn lasts so long, and no job gives way
  // more often than twice in an hour.
  Duration give_way_after{900'000};
  Duration give_way_for{1'800'000};
  std::uint32_t give_ways_an_hour = 2;
  // A kept pool that its job has not taken by then is deleted.
  Duration keep_limit{600'000};
  // Pods that outlive their grace by this much are ended with their pool.
  Duration pod_gone_margin{120'000};
  // A machine of a running job that nobody hears of counts as lost after this: kubelets fall silent
  // for a minute or two and come back.
  Duration node_lost_grace{300'000};
  // Lost machines make a job run again so many times; then it fails as Disrupted.
  std::uint32_t disruptions_max = 3;
  // Queues are published at most so often.
  Duration publish_interval{2'000};
  // A job that waits moves to another cluster that can serve it at once, while its own cannot.
  bool move_waiting_jobs = true;
  // true: the actor served longest ago goes first; false: the first specification's rule.
  bool full_rotation = false;
};

}  // namespace falcon::core
