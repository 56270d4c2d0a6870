// Single lives told to the end: the real core in the simulated cloud, with one thing going wrong at
// a chosen moment. The laws are checked all the way; the tests read the trace.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "simulation/history.h"

namespace falcon::simulation {

struct Line {
  double at = 0;
  std::string text;  // as History notes it, the number of a command included
};

class Story : public testing::Test {
 protected:
  // One cluster with machines for `machines`; nothing fails unless the story says so.
  Story() {
    plan_.seed = 7;
    model::ClusterRow row;
    row.id = model::ClusterId("c0");
    row.name = "gke0";
    row.project = "p";
    row.location = "us-east5";
    row.zone = "us-east5-b";
    row.gcs_bucket = "b";
    row.tpu_type = "v5p";
    row.version = 1;
    plan_.clusters.push_back(row);
    plan_.capacity = {{"ct5p-hightpu-4t", 2}};
    plan_.faults_stop = std::chrono::hours(2);
  }

  // Two pods on two hosts.
  JobPlan& add_job(const std::string& id, Duration submit_after) {
    JobPlan job;
    job.row.id = model::JobId(id);
    job.row.name = id;
    job.row.actor = model::Actor("ann");
    job.row.spec.image = "image";
    job.row.spec.command = {"run"};
    job.row.spec.tpu_type = "v5p";
    job.row.spec.topology = "2x2x2";
    job.row.spec.supply_mode = model::SupplyMode::kOnDemand;
    job.row.spec.timeout_seconds = 3'600;
    job.row.spec.termination_grace_seconds = 30;
    job.submit_after = submit_after;
    plan_.jobs.push_back(std::move(job));
    return plan_.jobs.back();
  }

  History& begin() {
    trace_.clear();
    trace_.str({});
    lines_.clear();
    return history_.emplace(plan_, &trace_);
  }

  void tell() {
    const HistoryResult result = history_->run();
    EXPECT_EQ(result.violation, "");
    std::string text;
    while (std::getline(trace_, text)) {
      if (text.size() < 12 || text.find_first_not_of(" 0123456789.") != 12) continue;
      lines_.push_back({std::stod(text.substr(0, 11)), text.substr(12)});
    }
    ASSERT_FALSE(lines_.empty());
  }

  const model::JobRow& row(const std::string& id) {
    return history_->database().jobs().at(model::JobId(id));
  }
  std::vector<double> times_of(const std::string& kind, const std::string& words) const {
    std::vector<double> times;
    for (const Line& line : lines_)
      if (line.text.starts_with(kind) && line.text.find(words) != std::string::npos)
        times.push_back(line.at);
    return times;
  }
  std::optional<double> first(const std::string& kind, const std::string& words) const {
    const auto times = times_of(kind, words);
    return times.empty() ? std::nullopt : std::optional(times.front());
  }
  std::optional<double> last(const std::string& kind, const std::string& words) const {
    const auto times = times_of(kind, words);
    return times.empty() ? std::nullopt : std::optional(times.back());
  }

  // Looks ten times a second until `seen` holds, then acts, once.
  void once(std::function<bool()> seen, std::function<void()> act) {
    history_->after(Duration(100), [this, seen = std::move(seen), act = std::move(act)]() mutable {
      if (seen())
        act();
      else
        once(std::move(seen), std::move(act));
    });
  }
  bool some_pod_is(cloudsim::PodPhase phase) {
    return std::ranges::any_of(history_->world().inventory().pods,
                               [&](const auto& pod) { return pod.object->pod().phase == phase; });
  }
  bool some_job_is(std::string_view condition) {
    return std::ranges::any_of(history_->world().inventory().jobs, [&](const auto& job) {
      return cloudsim::find_condition(job.object->job(), condition) != nullptr;
    });
  }

  HistoryPlan plan_;
  std::optional<History> history_;
  std::stringstream trace_;
  std::vector<Line> lines_;
};

}  // namespace falcon::simulation
