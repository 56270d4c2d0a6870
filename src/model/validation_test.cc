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
  job.spec.max_wait_seconds = kWaitSecondsMax + 1;
  EXPECT_EQ(complaint(job), "spec.max_wait_seconds");
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

ClusterRow good_cluster() {
  ClusterRow row;
  row.name = "tpu-1";
  row.project = "my-project";
  row.location = "us-east5";
  row.zone = "us-east5-b";
  row.tpu_type = "v6e";
  row.gcs_bucket = "my-bucket";
  return row;
}

TEST(ValidateCluster, TakesWhatGoogleHas) {
  std::vector<ClusterRow> rows(7, good_cluster());
  rows[1].project = "example.com:tpus";
  rows[2].location = "us-east5-b";
  rows[3].location = "northamerica-northeast1";
  rows[3].zone = "northamerica-northeast1-c";
  rows[4].zone = "us-east5-ai1a";
  rows[5].default_reservation = "projects/other-1/reservations/tpu-res";
  rows[6].gcs_bucket = "logs.example.com";
  for (const ClusterRow& row : rows)
    EXPECT_TRUE(validate_cluster(row).empty()) << join_field_errors(validate_cluster(row));
}

TEST(ValidateCluster, RefusesWhatCanNotBeOneAndNamesTheField) {
  struct Slip {
    const char* field;
    std::string ClusterRow::* member;
    const char* value;
  };
  for (const Slip& slip : std::initializer_list<Slip>{
           {"name", &ClusterRow::name, ""},
           {"name", &ClusterRow::name, "9lives"},
           {"name", &ClusterRow::name, "tpu-"},
           {"name", &ClusterRow::name, "a2345678901234567890123456789012345678901"},
           {"project", &ClusterRow::project, "My-Project"},
           {"project", &ClusterRow::project, "123456"},
           {"project", &ClusterRow::project, "a234567890123456789012345678901"},
           {"location", &ClusterRow::location, "moon"},
           {"location", &ClusterRow::location, "us-east"},
           {"zone", &ClusterRow::zone, ""},
           {"zone", &ClusterRow::zone, "us-east5"},
           {"zone", &ClusterRow::zone, "us-east1-b"},
           {"zone", &ClusterRow::zone, "us-east5-"},
           {"gcs_bucket", &ClusterRow::gcs_bucket, "ab"},
           {"gcs_bucket", &ClusterRow::gcs_bucket, "gs://my-bucket"},
           {"gcs_bucket", &ClusterRow::gcs_bucket, "My-bucket"},
           {"gcs_bucket", &ClusterRow::gcs_bucket, "a..b"},
           {"gcs_bucket", &ClusterRow::gcs_bucket, "-ab"},
           {"gcs_bucket", &ClusterRow::gcs_bucket,
            "a234567890123456789012345678901234567890123456789012345678901234"},
           {"default_reservation", &ClusterRow::default_reservation, "Res"},
           {"default_reservation", &ClusterRow::default_reservation, "projects/p/res"},
           {"default_reservation", &ClusterRow::default_reservation, "projects//reservations/r"},
           {"default_reservation", &ClusterRow::default_reservation, "zones/a/reservations/r"}}) {
    ClusterRow row = good_cluster();
    row.*slip.member = slip.value;
    const auto errors = validate_cluster(row);
    ASSERT_EQ(errors.size(), 1U) << slip.field << slip.value << join_field_errors(errors);
    EXPECT_EQ(errors.front().field, slip.field) << slip.value;
  }
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
