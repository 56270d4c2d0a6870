// Goal: what can be known bad is refused with the field named; what is accepted obeys the rules of
// Kubernetes and GKE. Method: one good job, changed in one field at a time; border and one beyond.
#include "model/validation.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "model/names.h"

namespace falcon::model {
namespace {

JobRow good_job() {
  JobRow job;
  job.name = "train";
  job.actor = Actor("ann");
  job.spec.image = "python:3.12-slim";
  job.spec.command = {"python3", "train.py"};
  job.spec.tpu_type = "v6e";
  job.spec.topology = "4x4";
  return job;
}

// The one field that is complained about; "-" for none.
std::string complaint(const JobRow& job) {
  const auto errors = validate_job(job);
  if (errors.empty()) return "-";
  EXPECT_EQ(errors.size(), 1U) << join_field_errors(errors);
  return errors.front().field;
}

TEST(ValidateJob, AcceptsAGoodOne) { EXPECT_EQ(complaint(good_job()), "-"); }

TEST(ValidateJob, RefusesNamesThatKubernetesWouldRefuse) {
  for (const std::string& name :
       {std::string(70, 'a'), std::string(64, 'a'), std::string("Train_Job.V2"),
        std::string("-lead"), std::string("trail-"), std::string("UPPER"), std::string(),
        std::string("a b"), std::string("训练-甲"), std::string("train \xF0\x9F\xA6\x8A v2")}) {
    JobRow job = good_job();
    job.name = name;
    EXPECT_EQ(complaint(job), "name") << name;
  }
  JobRow job = good_job();
  job.name = std::string(63, 'a');
  EXPECT_EQ(complaint(job), "-");
}

TEST(ValidateJob, RefusesEnvironmentNamesThatKubernetesWouldRefuse) {
  for (const std::string& name :
       {std::string("1341"), std::string("MY_VAR=1"), std::string("A B"), std::string(),
        std::string("TPU_NAME"), std::string("FALCON_X")}) {
    JobRow job = good_job();
    job.spec.env = {{"GOOD", "1", "", ""}, {name, "1", "", ""}};
    EXPECT_EQ(complaint(job), "spec.env[1].name") << name;
  }
  JobRow twice = good_job();
  twice.spec.env = {{"A", "1", "", ""}, {"A", "2", "", ""}};
  EXPECT_EQ(complaint(twice), "spec.env[1].name");
}

TEST(ValidateJob, RefusesLabelsThatKubernetesWouldRefuse) {
  JobRow job = good_job();
  job.labels = {{"team", std::string(63, 'x')}};
  EXPECT_EQ(complaint(job), "-");
  job.labels = {{"team", std::string(64, 'x')}};
  EXPECT_EQ(complaint(job), "labels[team]");
  job.labels = {{"a/b/c", "x"}};
  EXPECT_EQ(complaint(job), "labels[a/b/c]");
}

TEST(ValidateJob, HoldsNumbersToTheirRanges) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, kTimeoutSecondsMax + 1, huge}) {
    JobRow job = good_job();
    job.spec.timeout_seconds = bad;
    EXPECT_EQ(complaint(job), "spec.timeout_seconds") << bad;
  }
  for (const std::int64_t good : {kTimeoutSecondsMin, std::int64_t{3'600}, kTimeoutSecondsMax}) {
    JobRow job = good_job();
    job.spec.timeout_seconds = good;
    EXPECT_EQ(complaint(job), "-") << good;
  }
  JobRow job = good_job();
  job.spec.termination_grace_seconds = kGraceSecondsMax + 1;
  EXPECT_EQ(complaint(job), "spec.termination_grace_seconds");
  job = good_job();
  job.spec.max_retries = -1;
  EXPECT_EQ(complaint(job), "spec.max_retries");
  job = good_job();
  job.priority = kPriorityMax + 1;
  EXPECT_EQ(complaint(job), "priority");
}

TEST(ValidateJob, RefusesRunsLongerThanFlexStartMachinesLive) {
  JobRow job = good_job();
  job.spec.supply_mode = SupplyMode::kFlexStart;
  job.spec.timeout_seconds = kFlexTimeoutSecondsMax;
  EXPECT_EQ(complaint(job), "-");
  job.spec.timeout_seconds = kFlexTimeoutSecondsMax + 1;
  EXPECT_EQ(complaint(job), "spec.timeout_seconds");
}

TEST(ValidateJob, RefusesCommandsThatNameNoProgram) {
  JobRow job = good_job();
  job.spec.command = {};
  EXPECT_EQ(complaint(job), "spec.command");
  job.spec.command = {""};
  EXPECT_EQ(complaint(job), "spec.command[0]");
  job.spec.command = {"run", std::string("a\0b", 3)};
  EXPECT_EQ(complaint(job), "spec.command[1]");
}

TEST(Names, ObeyTheLimitsOfGkeAndNeverMeet) {
  const Installation installation("prod");
  std::set<std::string> names;
  for (int i = 0; i < 200; ++i)
    for (std::uint32_t n = 1; n <= 5; ++n) {
      const JobId job("job-" + std::to_string(i));
      for (const std::string& name :
           {pool_name(installation, job, n).value(), workload_name(installation, job, n).value()}) {
        EXPECT_EQ(name.size(), 33U);
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567-"), std::string::npos);
        EXPECT_NE(name.back(), '-');
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  EXPECT_EQ(pool_name(installation, JobId("a"), 1), pool_name(installation, JobId("a"), 1));
  EXPECT_NE(pool_name(installation, JobId("a"), 1), pool_name(Installation("test"), JobId("a"), 1));
}

}  // namespace
}  // namespace falcon::model
