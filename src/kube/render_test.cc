#include "kube/render.h"

#include <gtest/gtest.h>

#include <array>

#include "gke/fields_test.h"
#include "model/names.h"

namespace falcon::kube {
namespace {

using gke::expect_fields;
using gke::Field;
using gke::flatten;

WorkloadSpec spec(std::string_view type, std::string_view topology) {
  WorkloadSpec spec;
  spec.installation = model::Installation("inst");
  spec.job.id = model::JobId("j-1");
  spec.job.name = "train";
  spec.job.actor = model::Actor("ann");
  spec.job.spec.image = "gcr.io/p/train:1";
  spec.job.spec.command = {"python3", "train.py"};
  spec.job.spec.args = {"--steps=10"};
  spec.job.spec.tpu_type = type;
  spec.job.spec.topology = topology;
  spec.job.spec.termination_grace_seconds = 45;
  spec.cluster.kubernetes_namespace = "team";
  spec.cluster.gcs_bucket = "bucket";
  spec.cluster.service_account = "runner";
  spec.attempt = 2;
  spec.name = model::workload_name(spec.installation, spec.job.id, spec.attempt);
  spec.pool = model::PoolName("falcon-pool");
  return spec;
}

std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::value(text));
}

void add_labels(std::vector<Field>& fields, const std::string& at) {
  fields.push_back({at + ".labels.managed-by", "\"falcon\"", "what the informer selects"});
  fields.push_back({at + ".labels.falcon-installation", "\"inst\"", "ours, not a neighbour's"});
  fields.push_back({at + ".labels.falcon-job", "\"j-1\"", "whose it is"});
  fields.push_back({at + ".labels.falcon-attempt", "\"2\"", "which run of that job"});
}

// Every field of a Job of `hosts` pods; `more` are those of the case.
std::vector<Field> job_fields(const WorkloadSpec& spec, int hosts, int chips,
                              std::vector<Field> more) {
  const std::string n = std::to_string(hosts);
  const std::string pod = "spec.template.spec.";
  const std::string main = pod + "containers[0].";
  std::vector<Field> fields = {
      {"apiVersion", "\"batch/v1\"", "one job is one Job"},
      {"kind", "\"Job\"", "one job is one Job"},
      {"metadata.name", quoted(spec.name.value()), "made from ids: a repetition finds it"},
      {"metadata.namespace", "\"team\"", "the cluster row's, never the user's"},
      {"metadata.annotations.falcon/job-name", "\"train\"", "for people"},
      {"metadata.annotations.falcon/actor", "\"ann\"", "for people"},
      {"spec.completions", n, "one pod a host"},
      {"spec.parallelism", n, "all at once: a slice runs whole"},
      {"spec.completionMode", "\"Indexed\"", "pods are numbered for the TPU runtime"},
      {"spec.backoffLimit", "0", "Falcon decides about attempts, not Kubernetes"},
      {"spec.template.metadata.annotations.gke-gcsfuse/volumes", "\"true\"",
       "else no sidecar, and the mount fails"},
      {"spec.template.metadata.annotations.cluster-autoscaler.kubernetes.io/safe-to-evict",
       "\"false\"", "the autoscaler must not move a run"},
      {"spec.template.metadata.annotations.falcon/job-name", "\"train\"", "for people"},
      {"spec.template.metadata.annotations.falcon/actor", "\"ann\"", "for people"},
      {pod + "restartPolicy", "\"Never\"", "the exit code and the logs of the one run stay"},
      {pod + "terminationGracePeriodSeconds", "45", "the job's own"},
      {pod + "serviceAccountName", "\"runner\"", "the cluster row's: it may write the bucket"},
      {pod + "nodeSelector.cloud.google.com/gke-tpu-topology", quoted(spec.job.spec.topology),
       "GKE asks for it"},
      {pod + "nodeSelector.cloud.google.com/gke-nodepool", "\"falcon-pool\"", "this pool alone"},
      {pod + "tolerations[0].key", "\"google.com/tpu\"", "the taint of TPU nodes"},
      {pod + "tolerations[0].operator", "\"Equal\"", "this taint only, not a node that is to end"},
      {pod + "tolerations[0].value", "\"present\"", "its value"},
      {pod + "tolerations[0].effect", "\"NoSchedule\"", "its effect"},
      {main + "name", "\"main\"", "whose state and exit code are read"},
      {main + "image", "\"gcr.io/p/train:1\"", "the job's"},
      {main + "command[0]", "\"/bin/sh\"", "the script that keeps the output"},
      {main + "command[1]", "\"-c\"", "the script that keeps the output"},
      {main + "command[2]", quoted(escape_expansion(std::string(log_script()))), "itself"},
      {main + "command[3]", "\"falcon\"", "the script's $0"},
      {main + "command[4]", "\"python3\"", "the job's program"},
      {main + "command[5]", "\"train.py\"", "the job's program"},
      {main + "command[6]", "\"--steps=10\"", "its arguments follow"},
      {main + "env[0].name", "\"FALCON_BUCKET\"", "where the script publishes"},
      {main + "env[0].value", "*", "the mount below"},
      {main + "env[1].name", "\"FALCON_SPOOL\"", "where output lies until then"},
      {main + "env[1].value", "*", "the mount below"},
      {main + "env[2].name", "\"FALCON_JOB_ID\"", "logs/<job>/<pod>.log"},
      {main + "env[2].value", "\"j-1\"", "logs/<job>/<pod>.log"},
      {main + "env[3].name", "\"FALCON_ATTEMPT\"", "for the program"},
      {main + "env[3].value", "\"2\"", "for the program"},
      {main + "env[4].name", "\"FALCON_POD\"", "logs/<job>/<pod>.log"},
      {main + "env[4].valueFrom.fieldRef.fieldPath", "\"metadata.name\"", "logs/<job>/<pod>.log"},
      {main + "resources.requests.google.com/tpu", '"' + std::to_string(chips) + '"',
       "all of the host's chips: fewer are refused by its plugin"},
      {main + "resources.limits.google.com/tpu", '"' + std::to_string(chips) + '"',
       "equal to the request, as for every extended resource"},
      {main + "volumeMounts[0].name", "\"bucket\"", "logs"},
      {main + "volumeMounts[0].mountPath", "*", "FALCON_BUCKET"},
      {main + "volumeMounts[1].name", "\"spool\"", "output until it is published"},
      {main + "volumeMounts[1].mountPath", "*", "FALCON_SPOOL"},
      {main + "terminationMessagePolicy", "\"FallbackToLogsOnError\"",
       "the last lines of a failure reach the job's message"},
      {pod + "volumes[0].name", "\"bucket\"", "logs"},
      {pod + "volumes[0].csi.driver", "\"gcsfuse.csi.storage.gke.io\"", "GKE's mount of buckets"},
      {pod + "volumes[0].csi.volumeAttributes.bucketName", "\"bucket\"", "the cluster row's"},
      {pod + "volumes[0].csi.volumeAttributes.mountOptions",
       "\"implicit-dirs,metadata-cache:ttl-secs:0\"",
       "on TPU machines the cache would never see what others wrote"},
      {pod + "volumes[1].name", "\"spool\"", "output until it is published"},
      {pod + "volumes[1].emptyDir", "{}", "the node's own disk"},
  };
  add_labels(fields, "metadata");
  add_labels(fields, "spec.template.metadata");
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::map<std::string, std::string> fields_of(const WorkloadSpec& spec) {
  std::map<std::string, std::string> fields;
  flatten(boost::json::parse(render_job(spec)), "", fields);
  return fields;
}

constexpr const char* kAccelerator =
    "spec.template.spec.nodeSelector.cloud.google.com/gke-tpu-accelerator";

TEST(RenderJob, OneHost) {
  const WorkloadSpec one = spec("v5e", "2x4");
  expect_fields(render_job(one), job_fields(one, 1, 8,
                                            {{kAccelerator, "\"tpu-v5-lite-podslice\"",
                                              "GKE asks for it; one host has it, too"}}));
  EXPECT_FALSE(needs_service(one));
}

TEST(RenderJob, FlexStartPodsAskForTheMachines) {
  WorkloadSpec flex = spec("v5e", "2x4");
  flex.supply = model::SupplyMode::kFlexStart;
  expect_fields(render_job(flex),
                job_fields(flex, 1, 8,
                           {{kAccelerator, "\"tpu-v5-lite-podslice\"", "GKE asks for it"},
                            {"spec.template.spec.nodeSelector.cloud.google.com/gke-flex-start",
                             "\"true\"", "GKE makes machines for pods that select it"}}));
}

TEST(RenderJob, SeveralHosts) {
  const WorkloadSpec four = spec("v6e", "4x4");
  expect_fields(render_job(four),
                job_fields(four, 4, 4,
                           {{kAccelerator, "\"tpu-v6e-slice\"", "GKE asks for it"},
                            {"spec.template.spec.subdomain", quoted(four.name.value()),
                             "pods find each other as <job>-<index>.<service>"}}));
  EXPECT_TRUE(needs_service(four));
}

TEST(RenderService, GivesNamesToPodsBeforeTheyAreReady) {
  const WorkloadSpec four = spec("v6e", "4x4");
  const std::string name = quoted(four.name.value());
  std::vector<Field> fields = {
      {"apiVersion", "\"v1\"", "a service"},
      {"kind", "\"Service\"", "a service"},
      {"metadata.name", name, "the pods' subdomain"},
      {"metadata.namespace", "\"team\"", "beside its Job"},
      {"spec.clusterIP", "\"None\"", "names of pods, no address of its own"},
      {"spec.publishNotReadyAddresses", "true", "pods look for each other before they are ready"},
      {"spec.selector.batch.kubernetes.io/job-name", name, "the pods of that Job"}};
  add_labels(fields, "metadata");
  expect_fields(render_service(four), fields);
}

TEST(RenderJob, HostsChipsAndLabelsOfEachShape) {
  struct Row {
    const char* type;
    const char* topology;
    const char* accelerator;
    int hosts;
    int chips;  // of a host
  };
  const Row rows[] = {{"v4", "2x2x2", "tpu-v4-podslice", 2, 4},
                      {"v5e", "1x1", "tpu-v5-lite-podslice", 1, 1},
                      {"v5e", "4x4", "tpu-v5-lite-podslice", 4, 4},
                      {"v5p", "2x2x1", "tpu-v5p-slice", 1, 4},
                      {"v6e", "2x4", "tpu-v6e-slice", 1, 8},
                      {"v6e", "16x16", "tpu-v6e-slice", 64, 4},
                      {"v7x", "4x4x4", "tpu7x", 16, 4}};
  for (const Row& row : rows) {
    const WorkloadSpec shaped = spec(row.type, row.topology);
    auto fields = fields_of(shaped);
    const std::string what = std::string(row.type) + " " + row.topology;
    EXPECT_EQ(fields[kAccelerator], quoted(row.accelerator)) << what;
    EXPECT_EQ(fields["spec.completions"], std::to_string(row.hosts)) << what;
    EXPECT_EQ(fields["spec.parallelism"], std::to_string(row.hosts)) << what;
    EXPECT_EQ(fields["spec.template.spec.containers[0].resources.limits.google.com/tpu"],
              quoted(std::to_string(row.chips)))
        << what;
    EXPECT_EQ(needs_service(shaped), row.hosts > 1) << what;
    EXPECT_EQ(fields.contains("spec.template.spec.subdomain"), row.hosts > 1) << what;
    // With "-<index>" the name is a pod's host name: a DNS label.
    EXPECT_LE(shaped.name.value().size() + 1 + std::to_string(row.hosts - 1).size(), 63U) << what;
  }
}

TEST(RenderJob, WhatUsersWroteComesThroughByteForByte) {
  WorkloadSpec odd = spec("v5e", "2x2");
  odd.job.spec.command = {"sh", "-c", "echo $(HOSTNAME) $$ \"𝄞\"\n"};
  odd.job.spec.args = {"", "--a=$(B)"};
  odd.job.spec.env = {{"A", "$(HOSTNAME)", "", ""}, {"B", "", "secret", "key"}};
  auto fields = fields_of(odd);
  const std::string main = "spec.template.spec.containers[0].";
  EXPECT_EQ(fields[main + "command[6]"], quoted("echo $$(HOSTNAME) $$$$ \"𝄞\"\n"))
      << "\"$$\" stands for \"$\" there";
  EXPECT_EQ(fields[main + "command[7]"], "\"\"") << "an empty argument is one, too";
  EXPECT_EQ(fields[main + "command[8]"], "\"--a=$$(B)\"");
  EXPECT_EQ(fields[main + "env[5].name"], "\"A\"");
  EXPECT_EQ(fields[main + "env[5].value"], "\"$$(HOSTNAME)\"");
  EXPECT_EQ(fields[main + "env[6].name"], "\"B\"");
  EXPECT_EQ(fields[main + "env[6].valueFrom.secretKeyRef.name"], "\"secret\"");
  EXPECT_EQ(fields[main + "env[6].valueFrom.secretKeyRef.key"], "\"key\"");
  EXPECT_FALSE(fields.contains(main + "env[6].value"));
}

TEST(RenderJob, MountsAreWhereTheScriptLooks) {
  auto fields = fields_of(spec("v5e", "2x2"));
  const std::string main = "spec.template.spec.containers[0].";
  EXPECT_EQ(fields[main + "env[0].value"], fields[main + "volumeMounts[0].mountPath"]);
  EXPECT_EQ(fields[main + "env[1].value"], fields[main + "volumeMounts[1].mountPath"]);
  EXPECT_NE(fields[main + "env[1].value"].substr(0, 14), "\"/tmp/tpu_logs")
      << "GKE's device plugin wipes that";
}

TEST(RenderJob, WithoutAServiceAccountThereIsNoSuchField) {
  WorkloadSpec plain = spec("v5e", "2x2");
  plain.cluster.service_account.clear();
  EXPECT_FALSE(fields_of(plain).contains("spec.template.spec.serviceAccountName"));
}

}  // namespace
}  // namespace falcon::kube
