// What one history is made of, drawn from its seed before it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "cloudsim/world.h"
#include "model/cluster.h"
#include "model/job.h"

namespace falcon::simulation {

struct JobPlan {
  model::JobRow row;
  Duration submit_after{0};
  std::optional<Duration> abort_after;  // of its submission
  cloudsim::ProgramPlan program;
  std::uint32_t heals_at_attempt = 0;  // from this attempt on it does not fail; 0: never
};

// What goes wrong on the way; each seed has its own mix and most lack some altogether, so that one
// mechanism (a restart, a relist) cannot hide the absence of another.
struct TransportFaults {
  Chance lost_request;
  Chance lost_reply;
  Chance late_request;
  Chance refused;     // an error answer, nothing happened
  Chance crash;       // of the controller, before or after any command
  Chance watch_gap;   // per delivered change
  Chance unreadable;  // a row at a start of the controller, for some minutes
  Duration lag_max{2'000};
};

struct HistoryPlan {
  std::uint64_t seed = 0;
  std::vector<model::ClusterRow> clusters;
  std::vector<cloudsim::ReservationSetup> reservations;
  std::vector<std::pair<std::string, std::int64_t>> capacity;  // machine type, machines
  std::vector<JobPlan> jobs;
  TransportFaults faults;
  cloudsim::WorldSettings world;
  std::uint32_t node_losses = 0;
  std::uint32_t person_deletes_job = 0;
  std::uint32_t person_deletes_pool = 0;
  std::uint32_t cluster_status_changes = 0;
  std::uint32_t reservation_changes = 0;
  bool foreign_pools = false;  // a person's with our prefix, another installation's with its label
  bool full_rotation = false;
  std::set<std::string> old_clusters;  // names of those whose pools have no consolidationDelay
  Duration faults_stop{0};             // then the world is kind and all must come to rest
};

HistoryPlan draw_plan(std::uint64_t seed);
// For people: what was drawn, in a few lines.
std::string to_string(const HistoryPlan& plan);

}  // namespace falcon::simulation
