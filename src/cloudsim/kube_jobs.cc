// The Job controller and the collector of garbage, after kubernetes' pkg/controller/job (1.33):
// the verdict (FailureTarget, SuccessCriteriaMet) first, the terminal condition only when no pod
// of the Job is active or terminating. Deleted pods count as failed unless podReplacementPolicy is
// Failed; so a Job that is being deleted may still get a verdict.
#include <fmt/format.h>

#include "cloudsim/kube.h"

namespace falcon::cloudsim {
namespace {

bool is_over(PodPhase phase) { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }

constexpr std::string_view kJobController = "job-controller";

// Five characters that no other pod of the cluster has.
std::string suffix(std::uint64_t serial) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";  // as Kubernetes' own
  std::string text(5, 'b');
  for (std::size_t i = text.size(); i-- > 0; serial /= kAlphabet.size())
    text[i] = kAlphabet[serial % kAlphabet.size()];
  return text;
}

}  // namespace

void Kube::ask_sync(Serial serial) {
  const auto found = jobs_.find(serial);
  if (found == jobs_.end() || found->second.sync_asked) return;
  found->second.sync_asked = true;
  context_.agenda.after(context_.draw(context_.settings.job_sync),
                        [this, serial] { sync(serial); });
}

void Kube::count(Job& job, Pod& pod) {
  if (pod.counted) return;
  const Object& object = **pod.shown;
  const PodObject& body = object.pod();
  if (body.phase == PodPhase::kSucceeded) {
    job.done_indexes.insert(body.index);
    pod.counted = true;
    return;
  }
  const bool replace_failed_only = body.request->replace_failed_only;
  if (body.phase != PodPhase::kFailed && (!object.deletion_at || replace_failed_only)) return;
  pod.counted = true;
  ++job.failed;
  const std::uint32_t failures = job.failures[body.index]++;
  const Duration backoff = context_.settings.replacement_backoff * (1LL << std::min(failures, 6U));
  job.not_before[body.index] = context_.now() + backoff;
}

Kube::Tally Kube::tally(Job& job) {
  Tally tally;
  for (const Serial serial : job.pods) {
    Pod& pod = pods_.at(serial);
    count(job, pod);
    const Object& object = **pod.shown;
    if (is_over(object.pod().phase)) continue;
    if (object.deletion_at) {
      ++tally.terminating;
      continue;
    }
    ++tally.active;
    if (object.pod().phase != PodPhase::kRunning) continue;
    const auto node = nodes_.find(object.pod().node.value());
    if (node != nodes_.end() && (*node->second.shown)->node().ready == Readiness::kTrue)
      ++tally.ready;
  }
  return tally;
}

// The reason of a failure, "CompletionsReached", or empty while there is no verdict.
std::string Kube::verdict(const Job& job, const Tally&) const {
  const JobObject& body = (*job.shown)->job();
  const JobRequest& request = *body.request;
  if (job.failed > request.backoff_limit) return "BackoffLimitExceeded";
  if (request.active_deadline && body.started_at &&
      context_.now() - *body.started_at >= *request.active_deadline)
    return "DeadlineExceeded";
  if (job.done_indexes.size() >= request.completions) return "CompletionsReached";
  return {};
}

void Kube::sync(Serial serial) {
  const auto found = jobs_.find(serial);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  job.sync_asked = false;
  if (job.finished) return;
  const ObjectPtr object = *job.shown;
  const JobRequest& request = *object->job().request;
  if (request.suspended) return;
  if (!object->job().started_at) {
    change(*job.shown,
           [&](Object& next) { std::get<JobObject>(next.body).started_at = context_.now(); });
    if (request.active_deadline)
      context_.agenda.after(*request.active_deadline, [this, serial] { ask_sync(serial); });
  }
  Tally now = tally(job);
  const bool failing = find_condition((*job.shown)->job(), "FailureTarget") != nullptr;
  const bool succeeding = find_condition((*job.shown)->job(), "SuccessCriteriaMet") != nullptr;
  std::vector<Condition> news;
  if (!failing && !succeeding) {
    const std::string reason = verdict(job, now);
    if (reason.empty()) {
      if (!object->deletion_at) make_pods(serial, job);
    } else if (reason == "CompletionsReached") {
      news.push_back({"SuccessCriteriaMet", true, reason,
                      "Reached expected number of succeeded pods", context_.now()});
    } else {
      news.push_back({"FailureTarget", true, reason,
                      reason == "DeadlineExceeded" ? "Job was active longer than specified deadline"
                                                   : "Job has reached the specified backoff limit",
                      context_.now()});
    }
    if (!news.empty()) stop_pods(job);
    now = tally(job);
  }
  write_status(job, now, std::move(news));
  const JobObject& body = (*job.shown)->job();
  const bool decided = find_condition(body, "FailureTarget") != nullptr ||
                       find_condition(body, "SuccessCriteriaMet") != nullptr;
  if (decided && now.active == 0 && now.terminating == 0) {
    // The interim condition is written first; the terminal one follows in a write of its own.
    if (failing || succeeding)
      finish_job(serial, job);
    else
      ask_sync(serial);
  }
}

void Kube::stop_pods(const Job& job) {
  const std::vector<Serial> pods(job.pods.begin(), job.pods.end());
  for (const Serial serial : pods) {
    const Object& object = **pods_.at(serial).shown;
    if (is_over(object.pod().phase) || object.deletion_at) continue;
    terminate_pod(serial, object.pod().request->grace, "");
  }
}

void Kube::make_pods(Serial serial, Job& job) {
  const JobRequest& request = *(*job.shown)->job().request;
  std::vector<bool> taken(request.completions, false);
  for (const std::uint32_t index : job.done_indexes) taken[index] = true;
  for (const Serial pod : job.pods) {
    const Object& object = **pods_.at(pod).shown;
    const bool terminating_counts = request.replace_failed_only || !object.deletion_at;
    if (!is_over(object.pod().phase) && terminating_counts) taken[object.pod().index] = true;
  }
  for (std::uint32_t index = 0; index < request.completions; ++index) {
    if (taken[index]) continue;
    if (const auto wait = job.not_before.find(index);
        wait != job.not_before.end() && wait->second > context_.now()) {
      context_.agenda.after(wait->second - context_.now(), [this, serial] { ask_sync(serial); });
      continue;
    }
    make_pod(serial, job, index);
  }
}

void Kube::make_pod(Serial job_serial, Job& job, std::uint32_t index) {
  const Serial serial = context_.next_serial();
  const Object& owner = **job.shown;
  Object object;
  object.kind = Kind::kPod;
  object.kube_namespace = owner.kube_namespace;
  object.name = fmt::format("{}-{}-{}", owner.name, index, suffix(serial));
  object.labels = owner.job().request->pod_labels;
  PodObject body;
  body.owner = owner.uid;
  body.owner_name = owner.name;
  body.index = index;
  body.request = owner.job().request;
  object.body = std::move(body);
  emit(owner, false, "SuccessfulCreate", fmt::format("Created pod: {}", object.name),
       kJobController);
  Pod& pod = pods_[serial];
  pod.job = job_serial;
  pod.shown = add(serial, std::move(object));
  job.pods.insert(serial);
  unscheduled_.insert(serial);
  kick_scheduler();
}

void Kube::write_status(Job& job, const Tally& tally, std::vector<Condition> news) {
  const JobObject& old = (*job.shown)->job();
  const auto succeeded = static_cast<std::uint32_t>(job.done_indexes.size());
  if (news.empty() && old.active == tally.active && old.ready == tally.ready &&
      old.terminating == tally.terminating && old.succeeded == succeeded &&
      old.failed == job.failed)
    return;
  change(*job.shown, [&](Object& next) {
    auto& body = std::get<JobObject>(next.body);
    body.active = tally.active;
    body.ready = tally.ready;
    body.terminating = tally.terminating;
    body.succeeded = succeeded;
    body.failed = job.failed;
    for (Condition& condition : news) body.conditions.push_back(std::move(condition));
  });
}

void Kube::finish_job(Serial serial, Job& job) {
  job.finished = true;
  const Condition* failure = find_condition((*job.shown)->job(), "FailureTarget");
  const Condition* success = find_condition((*job.shown)->job(), "SuccessCriteriaMet");
  Condition last = failure != nullptr ? *failure : *success;
  last.type = failure != nullptr ? "Failed" : "Complete";
  last.since = context_.now();
  emit(**job.shown, failure != nullptr, failure != nullptr ? last.reason : "Completed",
       failure != nullptr ? last.message : "Job completed", kJobController);
  change(*job.shown, [&](Object& next) {
    auto& body = std::get<JobObject>(next.body);
    if (failure == nullptr) body.completed_at = context_.now();
    body.conditions.push_back(std::move(last));
  });
  const JobRequest& request = *(*job.shown)->job().request;
  if (!request.ttl_after_finished) return;
  context_.agenda.after(*request.ttl_after_finished, [this, serial] {
    const auto found = jobs_.find(serial);
    if (found == jobs_.end()) return;
    const std::vector<Serial> pods(found->second.pods.begin(), found->second.pods.end());
    remove_job(serial);
    for (const Serial pod : pods) pods_.at(pod).job = 0;
    collect_pods(pods);
  });
}

void Kube::remove_job(Serial serial) {
  const auto found = jobs_.find(serial);
  const Key key{(*found->second.shown)->kube_namespace, (*found->second.shown)->name};
  erase(Kind::kJob, key);
  jobs_.erase(found);
}

void Kube::collect_pods(const std::vector<Serial>& pods) {
  for (const Serial serial : pods) {
    const Pod* pod = find_pod(serial);
    if (pod == nullptr) continue;
    terminate_pod(serial, (*pod->shown)->pod().request->grace, "");
  }
}

void Kube::collect_if_empty(Serial serial) {
  const auto found = jobs_.find(serial);
  if (found == jobs_.end()) return;
  if ((*found->second.shown)->foreground_deletion && found->second.pods.empty()) remove_job(serial);
}

}  // namespace falcon::cloudsim
