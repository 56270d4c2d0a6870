#include "kube/render.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/check.h"
#include "model/names.h"
#include "model/tpu.h"

namespace falcon::kube {
namespace {

namespace json = boost::json;

constexpr std::string_view kBucketMount = "/falcon/bucket";
constexpr std::string_view kSpoolMount = "/falcon/spool";

// Why it looks as it does, from measurements of the real gcsfuse:
//  - the program writes to a local file: a write to the mount may hang, unkillably, or fail
//  - what is new is appended to the object by opening, writing and closing: only a close publishes
//  - a log that cannot be written never changes the program's result
//  - `exec` runs the program found in PATH, never a builtin or a function of this shell
//  - the shell waits with `wait`, which a trapped TERM interrupts; TERM goes on to the program
//  - the last publication is bounded: the machine may be taken 30 s after TERM, and a process that
//    hangs in the mount may not even die of KILL, so it is left behind
constexpr std::string_view kScript = R"sh(
dir="$FALCON_BUCKET/logs/$FALCON_JOB_ID"
log="$dir/$FALCON_POD.log"
spool="$FALCON_SPOOL/output"
lock="$FALCON_SPOOL/publishing"
publish() {
  sent=$(cat "$FALCON_SPOOL/sent" 2>/dev/null) || sent=0
  size=$(wc -c < "$spool" 2>/dev/null) || return 0
  [ "$size" -gt "${sent:-0}" ] || return 0
  mkdir -p "$dir" 2>/dev/null
  tail -c "+$((sent + 1))" "$spool" | head -c "$((size - sent))" 2>/dev/null >> "$log" || return 0
  echo "$size" > "$FALCON_SPOOL/sent"
}
( true > "$spool" ) 2>/dev/null || exec "$@"
program= signal= signalled= code=
trap 'signal=TERM signalled=1; [ -z "$program" ] || kill -TERM "$program" 2>/dev/null' TERM
trap 'signal=INT signalled=1; [ -z "$program" ] || kill -INT "$program" 2>/dev/null' INT
exec "$@" >> "$spool" 2>&1 &
program=$!
[ -z "$signal" ] || kill -"$signal" "$program" 2>/dev/null
( trap '' TERM INT
  while sleep "${FALCON_PUBLISH_SECONDS:-5}"; do
    mkdir "$lock" 2>/dev/null && { publish; rmdir "$lock"; }
  done ) > /dev/null 2>&1 &
publisher=$!
while :; do
  signalled=
  wait "$program"; status=$?
  [ -n "$code" ] && [ "$status" -eq 127 ] || code=$status
  [ -n "$signalled" ] || break
done
trap '' TERM INT
tries=0
until mkdir "$lock" 2>/dev/null || [ "$tries" -ge 8 ]; do
  sleep 1; tries=$((tries + 1))
done
kill -KILL "$publisher" 2>/dev/null
trap 'late=1' USR1
publish > /dev/null 2>&1 &
last=$!
( sleep 10; kill -USR1 "$$" ) > /dev/null 2>&1 &
guard=$!
wait "$last" 2>/dev/null
kill -KILL "$guard" "$last" 2>/dev/null
exit "$code"
)sh";

json::object labels_of(const WorkloadSpec& spec) {
  return {{model::kManagedByLabel, "falcon"},
          {model::kInstallationLabel, spec.installation.value()},
          {model::kJobLabel, spec.job.id.value()},
          {model::kAttemptLabel, std::to_string(spec.attempt)}};
}

json::object field(std::string_view name, std::string_view path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

json::array environment(const WorkloadSpec& spec) {
  json::array env{json::object{{"name", "FALCON_BUCKET"}, {"value", kBucketMount}},
                  json::object{{"name", "FALCON_SPOOL"}, {"value", kSpoolMount}},
                  json::object{{"name", "FALCON_JOB_ID"}, {"value", spec.job.id.value()}},
                  json::object{{"name", "FALCON_ATTEMPT"}, {"value", std::to_string(spec.attempt)}},
                  field("FALCON_POD", "metadata.name")};
  for (const model::EnvironmentVariable& variable : spec.job.spec.env) {
    if (variable.secret_name.empty())
      env.push_back(
          json::object{{"name", variable.name}, {"value", escape_expansion(variable.value)}});
    else
      env.push_back(json::object{
          {"name", variable.name},
          {"valueFrom",
           {{"secretKeyRef", {{"name", variable.secret_name}, {"key", variable.secret_key}}}}}});
  }
  return env;
}

json::object container(const WorkloadSpec& spec, const model::Slice& slice) {
  json::array command{"/bin/sh", "-c", escape_expansion(std::string(log_script())), "falcon"};
  for (const std::string& part : spec.job.spec.command)
    command.push_back(json::value(escape_expansion(part)));
  for (const std::string& part : spec.job.spec.args)
    command.push_back(json::value(escape_expansion(part)));
  const std::string chips = std::to_string(slice.chips_per_host);
  return {
      {"name", "main"},
      {"image", spec.job.spec.image},
      {"command", std::move(command)},
      {"env", environment(spec)},
      {"resources",
       {{"requests", {{"google.com/tpu", chips}}}, {"limits", {{"google.com/tpu", chips}}}}},
      {"volumeMounts", json::array{json::object{{"name", "bucket"}, {"mountPath", kBucketMount}},
                                   json::object{{"name", "spool"}, {"mountPath", kSpoolMount}}}},
      {"terminationMessagePolicy", "FallbackToLogsOnError"}};
}

}  // namespace

std::string_view log_script() { return kScript; }

std::string escape_expansion(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) escaped.append(c == '$' ? 2 : 1, c);  // "$$" stands for "$"
  return escaped;
}

bool needs_service(const WorkloadSpec& spec) {
  const auto slice = model::find_slice(spec.job.spec.tpu_type, spec.job.spec.topology);
  return slice && slice->multi_host();
}

std::string render_service(const WorkloadSpec& spec) {
  return json::serialize(
      json::object{{"apiVersion", "v1"},
                   {"kind", "Service"},
                   {"metadata",
                    {{"name", spec.name.value()},
                     {"namespace", spec.cluster.kubernetes_namespace},
                     {"labels", labels_of(spec)}}},
                   {"spec",
                    {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", {{"batch.kubernetes.io/job-name", spec.name.value()}}}}}});
}

std::string render_job(const WorkloadSpec& spec) {
  const auto slice = model::find_slice(spec.job.spec.tpu_type, spec.job.spec.topology);
  FALCON_CHECK(slice.has_value());
  json::object pod;
  pod["restartPolicy"] = "Never";
  pod["terminationGracePeriodSeconds"] = spec.job.spec.termination_grace_seconds;
  if (!spec.cluster.service_account.empty())
    pod["serviceAccountName"] = spec.cluster.service_account;
  pod["nodeSelector"] = {
      {"cloud.google.com/gke-tpu-accelerator", slice->generation->accelerator_label},
      {"cloud.google.com/gke-tpu-topology", slice->topology},
      {"cloud.google.com/gke-nodepool", spec.pool.value()}};
  // GKE asks for flex-start capacity only when pods that wait select it.
  if (spec.supply == model::SupplyMode::kFlexStart)
    pod["nodeSelector"].as_object()["cloud.google.com/gke-flex-start"] = "true";
  pod["tolerations"] = json::array{json::object{{"key", "google.com/tpu"},
                                                {"operator", "Equal"},
                                                {"value", "present"},
                                                {"effect", "NoSchedule"}}};
  pod["containers"] = json::array{container(spec, *slice)};
  pod["volumes"] =
      json::array{json::object{{"name", "bucket"},
                               {"csi",
                                {{"driver", "gcsfuse.csi.storage.gke.io"},
                                 {"volumeAttributes",
                                  {{"bucketName", spec.cluster.gcs_bucket},
                                   {"mountOptions", "implicit-dirs,metadata-cache:ttl-secs:0"}}}}}},
                  json::object{{"name", "spool"}, {"emptyDir", json::object{}}}};
  if (slice->multi_host()) pod["subdomain"] = spec.name.value();
  const json::object annotations{{"gke-gcsfuse/volumes", "true"},
                                 {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
                                 {"falcon/job-name", spec.job.name},
                                 {"falcon/actor", spec.job.actor.value()}};
  return json::serialize(json::object{
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata",
       {{"name", spec.name.value()},
        {"namespace", spec.cluster.kubernetes_namespace},
        {"labels", labels_of(spec)},
        {"annotations",
         {{"falcon/job-name", spec.job.name}, {"falcon/actor", spec.job.actor.value()}}}}},
      {"spec",
       {{"completions", slice->hosts},
        {"parallelism", slice->hosts},
        {"completionMode", "Indexed"},
        {"backoffLimit", 0},
        {"template",
         {{"metadata", {{"labels", labels_of(spec)}, {"annotations", annotations}}},
          {"spec", std::move(pod)}}}}}});
}

}  // namespace falcon::kube
