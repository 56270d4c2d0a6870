// Calls over the wire: how each fares, and what it does to the cloud and the database.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/check.h"
#include "model/names.h"
#include "model/tpu.h"
#include "simulation/cloud_views.h"
#include "simulation/history.h"
#include "simulation/trace.h"

namespace falcon::simulation {
namespace {

// The shell's deadline of a call; a late request may arrive until well after it.
constexpr Duration kCallDeadline{30'000};
constexpr Duration kLateMax{300'000};
// Now and then a pool's create comes when nobody counts on it any more: the sweep's to find.
constexpr Duration kVeryLateMax{1'200'000};

bool is_own_row_write(const core::Command& command) {
  return std::holds_alternative<core::WriteState>(command.body);
}

bool is_database_call(const core::Command& command) {
  return is_own_row_write(command) || std::holds_alternative<core::WriteJob>(command.body) ||
         std::holds_alternative<core::ReadJob>(command.body) ||
         std::holds_alternative<core::PublishQueue>(command.body);
}

}  // namespace

void History::answer(std::uint64_t core_epoch, Duration delay, core::CommandDone done) {
  after(delay, [this, core_epoch, done = std::move(done)]() mutable {
    if (core_ && core_epoch == epoch_) feed(std::move(done));
  });
}

// One call over the wire: how it fares is drawn here.
void History::call(core::Command command) {
  laws_.called(command.body.index(), object_of(command.body), now_);
  laws_.sent(command);
  const TransportFaults& faults = plan_.faults;
  const Duration there = transport_.between(Duration(2), Duration(200));
  const Duration back = transport_.between(Duration(2), Duration(200));
  const bool refused = faults_on_ && transport_.happens(faults.refused);
  const bool lost_request = faults_on_ && transport_.happens(faults.lost_request);
  const bool lost_reply = faults_on_ && transport_.happens(faults.lost_reply);
  const bool late = faults_on_ && transport_.happens(faults.late_request);
  const std::uint64_t epoch = epoch_;
  const auto fault = [&](ErrorKind kind, Duration delay, const char* words) {
    ++result_.faults;
    core::CommandDone done;
    done.command = command.id;
    done.error = Error{kind, words};
    answer(epoch, delay, std::move(done));
  };
  if (!delayed_.first.empty() && name_of(command) == delayed_.first) {
    delayed_.first.clear();
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the request is late)");
    return arrive_late(std::move(command), delayed_.second);
  }
  if (refused) {
    const bool throttled = transport_.happens({1, 3});
    fault(throttled ? ErrorKind::kThrottled : ErrorKind::kUnavailable, there + back, "refused");
    return;
  }
  if (lost_request) {
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the request was lost)");
    return;
  }
  // A late write of Falcon's own rows is refused by its number in the term, so it equals a lost
  // one.
  if (late && !is_own_row_write(command)) {
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the request is late)");
    const bool very =
        std::holds_alternative<core::CreatePool>(command.body) && transport_.happens({1, 8});
    const Duration delay = transport_.between(Duration(1'000), very ? kVeryLateMax : kLateMax);
    arrive_late(std::move(command), delay);
    return;
  }
  if (lost_reply)
    fault(ErrorKind::kUnknownOutcome, kCallDeadline, "no answer (the reply was lost)");
  after(there, [this, epoch, lost_reply, back, command = std::move(command)] {
    if (is_database_call(command) && epoch != epoch_) return;  // fenced by the term
    core::CommandDone done = execute(command);
    pump();
    if (!lost_reply) answer(epoch, back, std::move(done));
  });
}

void History::arrive_late(core::Command command, Duration delay) {
  after(delay, [this, epoch = epoch_, command = std::move(command)] {
    if (is_database_call(command) && epoch != epoch_) return;  // fenced by the term
    note("late", describe(command));
    (void)execute(command);
    pump();
  });
}

core::CommandDone History::execute(const core::Command& command) {
  core::CommandDone done;
  done.command = command.id;
  auto result = perform(command);
  if (result)
    done.payload = *std::move(result);
  else
    done.error = std::move(result).error();
  return done;
}

const cloudsim::ProgramPlan& History::program_of(const model::JobId& id) const {
  return plans_.at(id)->program;
}

Result<core::Payload> History::perform(const core::Command& command) {
  struct Perform {
    History& h;
    Result<core::Payload> operator()(const core::WriteJob& c) const {
      auto version = h.database_.write(c);
      if (!version) return std::unexpected(version.error());
      h.job_changed(c.job);
      return core::Payload(core::JobWritten{*version});
    }
    Result<core::Payload> operator()(const core::ReadJob& c) const {
      const auto found = h.database_.jobs().find(c.job);
      if (found == h.database_.jobs().end()) return fail(ErrorKind::kNotFound, "no such job");
      return core::Payload(found->second);
    }
    Result<core::Payload> operator()(const core::WriteState& c) const {
      h.laws_.rows_removed(c, h.world_);
      auto written = h.database_.write(c);
      if (!written) return std::unexpected(written.error());
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::PublishQueue&) const {
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::CreatePool& c) const {
      auto operation = h.world_.create_pool(
          c.row.gke,
          pool_request(c.row, h.installation_, !h.plan_.old_clusters.contains(c.row.gke.name)));
      if (!operation) return std::unexpected(operation.error());
      return core::Payload(core::PoolAccepted{*operation});
    }
    Result<core::Payload> operator()(const core::DeletePool& c) const {
      const auto record = h.world_.get_pool(c.gke, c.name);
      auto operation = h.world_.delete_pool(c.gke, c.name);
      if (!operation) return std::unexpected(operation.error());
      if (record) h.laws_.pool_deleted(c.gke, *record->request);
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::ListPools& c) const {
      core::PoolListing listing;
      listing.pools.reserve(8);
      auto listed = h.world_.each_pool(c.gke, [&](const cloudsim::PoolRecord& record) {
        listing.pools.push_back(h.pool_views_.of(record));
      });
      if (!listed) return std::unexpected(std::move(listed).error());
      return core::Payload(std::move(listing));
    }
    Result<core::Payload> operator()(const core::ReadOperation& c) const {
      auto operation = h.world_.operation(c.gke, c.operation);
      if (!operation) return std::unexpected(operation.error());
      return core::Payload(operation_view(*operation));
    }
    Result<core::Payload> operator()(const core::ReadReservation& c) const {
      auto record = h.world_.reservation(c.reservation);
      if (!record) return std::unexpected(record.error());
      return core::Payload(reservation_view(*record));
    }
    Result<core::Payload> operator()(const core::CreateWorkload& c) const {
      return h.create_workload(c);
    }
    Result<core::Payload> operator()(const core::DeleteWorkload& c) const {
      auto deleted = h.world_.delete_job(c.gke, c.kube_namespace, c.name.value(), c.uid,
                                         cloudsim::Propagation::kForeground);
      if (!deleted) return std::unexpected(deleted.error());
      return core::Payload(std::monostate{});
    }
    Result<core::Payload> operator()(const core::LookAtWorkload& c) const {
      return h.look_at_workload(c);
    }
  };
  return std::visit(Perform{*this}, command.body);
}

Result<core::Payload> History::create_workload(const core::CreateWorkload& c) {
  const JobPlan& plan = *plans_.at(c.job);
  const auto slice = model::find_slice(plan.row.spec.tpu_type, plan.row.spec.topology);
  auto labels = std::make_shared<cloudsim::Labels>(
      cloudsim::Labels{{std::string(model::kManagedByLabel), "falcon"},
                       {std::string(model::kInstallationLabel), installation_.value()},
                       {std::string(model::kJobLabel), c.job.value()},
                       {std::string(model::kAttemptLabel), std::to_string(c.attempt)}});
  cloudsim::JobRequest request;
  request.name = c.name.value();
  request.labels = labels;
  request.pod_labels = labels;
  cloudsim::Labels selector{{"cloud.google.com/gke-nodepool", c.pool.value()}};
  if (c.supply == model::SupplyMode::kFlexStart)
    selector["cloud.google.com/gke-flex-start"] = "true";
  request.node_selector = std::make_shared<cloudsim::Labels>(std::move(selector));
  request.completions = slice->hosts;
  request.backoff_limit = 0;
  request.chips = slice->chips_per_host;
  request.grace = std::chrono::seconds(plan.row.spec.termination_grace_seconds);
  request.programs = {plan.program};
  if (plan.heals_at_attempt != 0 && c.attempt >= plan.heals_at_attempt) {
    request.programs.front().exit_code = 0;
    request.programs.front().out_of_memory = false;
  }
  auto created = world_.create_job(c.gke, request);
  if (!created && created.error().kind == ErrorKind::kAlreadyExists) {
    auto existing = world_.get(c.gke, cloudsim::Kind::kJob, request.kube_namespace, request.name);
    if (!existing) return fail(ErrorKind::kUnknownOutcome, existing.error().what);
    if ((*existing)->deletion_at) return fail(ErrorKind::kUnavailable, "the old one is going");
    return core::Payload(core::WorkloadCreated{(*existing)->uid});
  }
  if (!created) return std::unexpected(created.error());
  return core::Payload(core::WorkloadCreated{(*created)->uid});
}

Result<core::Payload> History::look_at_workload(const core::LookAtWorkload& c) {
  core::WorkloadLook look;
  auto job = world_.get(c.gke, cloudsim::Kind::kJob, c.kube_namespace, c.name.value());
  if (job)
    look.workload = workload_view(**job, kEpoch);
  else if (job.error().kind != ErrorKind::kNotFound)
    return std::unexpected(job.error());
  // Pods carry the Job's name as a label; those of a Job that is gone are found by it.
  auto pods = world_.list(c.gke, cloudsim::Kind::kPod);
  if (!pods) return std::unexpected(pods.error());
  for (const auto& pod : pods->objects)
    if (pod->pod().owner_name == c.name.value()) {
      ++look.pods;
      if (!pod->pod().finished_at) ++look.pods_left;
    }
  auto nodes = world_.list(c.gke, cloudsim::Kind::kNode);
  if (!nodes) return std::unexpected(nodes.error());
  for (const auto& node : nodes->objects) {
    const core::NodeView view = node_view(*node, kEpoch);
    if (view.pool == c.pool && view.ready) ++look.machines_ready;
  }
  return core::Payload(std::move(look));
}

}  // namespace falcon::simulation
