// Creates of Kubernetes Jobs whose answers were lost, after their attempt was given up. Such a
// request may reach its API server minutes later and make a second live Kubernetes Job of one job;
// so the next attempt waits until none can come any more and a live look says that none came.
#include <algorithm>

#include "core/state.h"
#include "model/names.h"

namespace falcon::core {

void Core::State::remember_late_create(Job& job, const model::AttemptRow& row, Gke& gke) {
  LateCreate late;
  late.row = row;
  late.name = model::workload_name(settings_.installation, row.job, row.number);
  late.gke = &gke;
  job.late_creates.push_back(std::move(late));
}

// True when no earlier attempt of the job can live. Else it asks for what it must know, and
// `waiting` is woken or marked when there is news.
bool Core::State::earlier_attempts_gone(Job& job, Record& waiting) {
  for (LateCreate& late : job.late_creates) {
    if (late.call != 0 || !due(waiting, mono() + (*late.row.late_create_until - wall()))) continue;
    if (!due(waiting, late.retry.not_before) || !calls_allowed(*late.gke)) continue;
    look_for(job, late);
  }
  return job.late_creates.empty();
}

void Core::State::look_for(Job& job, LateCreate& late) {
  const auto cluster = clusters_.find(late.row.cluster);
  std::string kube_namespace = cluster != clusters_.end()
                                   ? cluster->second->row.kubernetes_namespace
                                   : std::string("default");
  const model::JobId id = job.id;
  const std::uint32_t number = late.row.number;
  late.call = send(LookAtWorkload{late.gke->key, kube_namespace, late.name, late.row.pool},
                   [this, id, number, kube_namespace](const CommandDone& done) {
                     LateCreate* looked = find_late_create(id, number);
                     if (looked == nullptr) return;
                     looked->call = 0;
                     back_off(looked->retry, settings_.call_backoff);
                     if (!done.error) late_create_looked(*looked, kube_namespace, done);
                   });
}

void Core::State::late_create_looked(LateCreate& late, const std::string& kube_namespace,
                                     const CommandDone& done) {
  const WorkloadLook& look = std::get<WorkloadLook>(done.payload);
  Job& job = *jobs_.at(late.row.job);
  if (!look.workload && look.pods == 0) {
    late.row.late_create_until.reset();
    put(PutAttempt{late.row});
    std::erase_if(job.late_creates, [&](const LateCreate& other) { return &other == &late; });
    return;
  }
  if (!look.workload || look.workload->deleting) return;  // looked at again
  const std::uint32_t number = late.row.number;
  late.call = send(DeleteWorkload{late.gke->key, kube_namespace, late.name, look.workload->uid},
                   [this, id = job.id, number](const CommandDone&) {
                     if (LateCreate* removed = find_late_create(id, number)) removed->call = 0;
                   });
}

// The news marks whoever waits for it.
LateCreate* Core::State::find_late_create(const model::JobId& id, std::uint32_t number) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return nullptr;
  mark(found->second.get());
  mark(found->second->pool);
  const auto late = std::ranges::find_if(found->second->late_creates, [&](const LateCreate& each) {
    return each.row.number == number;
  });
  return late == found->second->late_creates.end() ? nullptr : &*late;
}

// A job that is over makes no more attempts; what still comes is swept.
void Core::State::forget_late_creates(Job& job) {
  for (LateCreate& late : job.late_creates) {
    late.row.late_create_until.reset();
    put(PutAttempt{late.row});
  }
  job.late_creates.clear();
}

}  // namespace falcon::core
