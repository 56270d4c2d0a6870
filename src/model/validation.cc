#include "model/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "model/tpu.h"

namespace falcon::model {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }

std::string shown(std::string_view value) { return "\"" + clean_text(value, 80) + "\""; }

class Complaints {
 public:
  template <class... Args>
  void add(std::string field, fmt::format_string<Args...> format, Args&&... args) {
    list_.push_back({std::move(field), fmt::format(format, std::forward<Args>(args)...)});
  }
  void range(std::string field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      add(std::move(field), "{} is not in {} to {}", value, low, high);
  }
  std::vector<FieldError> take() { return std::move(list_); }

 private:
  std::vector<FieldError> list_;
};

bool is_dns_label(std::string_view text) {
  if (text.empty() || text.size() > kNameLengthMax) return false;
  if (text.front() == '-' || text.back() == '-') return false;
  return std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

// [prefix/]name as Kubernetes has it; no prefix of Google's or Kubernetes' own.
bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  std::string_view name = key;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty() || prefix.size() > 253) return false;
    if (!std::ranges::all_of(
            prefix, [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '.'; }))
      return false;
  }
  if (name.empty() || name.size() > 63 || name.find('/') != std::string_view::npos) return false;
  if (!is_alnum(name.front()) || !is_alnum(name.back())) return false;
  return std::ranges::all_of(
      name, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_label_value(std::string_view value) {
  if (value.empty()) return true;
  if (value.size() > 63 || !is_alnum(value.front()) || !is_alnum(value.back())) return false;
  return std::ranges::all_of(
      value, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || is_digit(name.front())) return false;
  return std::ranges::all_of(name, [](char c) { return is_alnum(c) || c == '_'; });
}

void check_text(Complaints& complaints, const std::string& field, const std::string& text) {
  if (!is_utf8(text)) complaints.add(field, "is not valid UTF-8");
  if (text.find('\0') != std::string::npos) complaints.add(field, "contains a zero byte");
}

void check_command(Complaints& complaints, const JobSpec& spec) {
  if (spec.command.empty())
    complaints.add("spec.command", "is empty; give the program and its arguments as a list");
  else if (spec.command.front().empty())
    complaints.add("spec.command[0]", "is empty; it names the program to run");
  if (spec.command.size() + spec.args.size() > kArgumentsMax)
    complaints.add("spec.args", "{} arguments with command; at most {}",
                   spec.command.size() + spec.args.size(), kArgumentsMax);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    check_text(complaints, fmt::format("spec.command[{}]", i), spec.command[i]);
    bytes += spec.command[i].size();
  }
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    check_text(complaints, fmt::format("spec.args[{}]", i), spec.args[i]);
    bytes += spec.args[i].size();
  }
  if (bytes > kArgumentBytesTotalMax)
    complaints.add("spec.args", "{} bytes with command; at most {}", bytes, kArgumentBytesTotalMax);
}

void check_environment(Complaints& complaints, const JobSpec& spec) {
  if (spec.env.size() > kEnvironmentMax)
    complaints.add("spec.env", "{} variables; at most {}", spec.env.size(), kEnvironmentMax);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < spec.env.size(); ++i) {
    const EnvironmentVariable& variable = spec.env[i];
    const std::string field = fmt::format("spec.env[{}].name", i);
    if (!is_environment_name(variable.name))
      complaints.add(field, "{} is no name: letters, digits and _, not starting with a digit",
                     shown(variable.name));
    else if (variable.name.starts_with("FALCON_") || variable.name.starts_with("TPU_"))
      complaints.add(field, "{} is reserved: names with FALCON_ and TPU_ are set for the job",
                     shown(variable.name));
    if (!seen.insert(variable.name).second)
      complaints.add(field, "{} is given twice", shown(variable.name));
    check_text(complaints, fmt::format("spec.env[{}].value", i), variable.value);
    if (variable.secret_name.empty() != variable.secret_key.empty())
      complaints.add(fmt::format("spec.env[{}].valueFrom.secretKeyRef", i),
                     "needs both name and key");
  }
}

void check_slice(Complaints& complaints, const JobSpec& spec) {
  if (spec.tpu_type.empty()) {
    complaints.add("spec.tpu_type", "is missing; one of the TPU types, for example v6e");
    return;
  }
  const TpuGeneration* generation = find_tpu_generation(spec.tpu_type);
  const auto slice = find_slice(spec.tpu_type, spec.topology);
  if (!slice)
    complaints.add(generation == nullptr ? "spec.tpu_type" : "spec.topology", "{}",
                   slice.error().what);
  if (generation != nullptr && !generation->flex_start &&
      spec.supply_mode == SupplyMode::kFlexStart)
    complaints.add("spec.supply_mode",
                   "flex-start does not exist for {}; use reservation or on-demand", spec.tpu_type);
}

}  // namespace

std::vector<FieldError> validate_job(const JobRow& job) {
  Complaints complaints;
  if (!is_dns_label(job.name))
    complaints.add("name",
                   "{} is no name: 1 to {} characters a-z, 0-9 and -, neither first nor last a -",
                   shown(job.name), kNameLengthMax);
  const std::string& actor = job.actor.value();
  if (actor.empty() || actor.size() > kActorLengthMax || !std::ranges::all_of(actor, [](char c) {
        return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '@';
      }))
    complaints.add("actor", "{} is no actor: 1 to {} characters a-z, A-Z, 0-9 and ._@-",
                   shown(actor), kActorLengthMax);
  complaints.range("priority", job.priority, kPriorityMin, kPriorityMax);
  if (job.labels.size() > kLabelsMax)
    complaints.add("labels", "{} labels; at most {}", job.labels.size(), kLabelsMax);
  for (const auto& [key, value] : job.labels) {
    if (!is_label_key(key))
      complaints.add(fmt::format("labels[{}]", clean_text(key, 80)),
                     "is no label key: [prefix/]name, name of 1 to 63 letters, digits and -_.");
    if (!is_label_value(value))
      complaints.add(fmt::format("labels[{}]", clean_text(key, 80)),
                     "{} is no label value: at most 63 letters, digits and -_.", shown(value));
  }
  const JobSpec& spec = job.spec;
  if (spec.image.empty())
    complaints.add("spec.image", "is missing; a container image, for example python:3.12-slim");
  else if (spec.image.size() > kImageLengthMax ||
           std::ranges::any_of(spec.image, [](char c) { return c <= ' ' || c > '~'; }))
    complaints.add("spec.image", "{} is no image: at most {} printable characters without blanks",
                   shown(spec.image), kImageLengthMax);
  check_command(complaints, spec);
  check_environment(complaints, spec);
  check_slice(complaints, spec);
  complaints.range("spec.timeout_seconds", spec.timeout_seconds, kTimeoutSecondsMin,
                   kTimeoutSecondsMax);
  if (spec.supply_mode == SupplyMode::kFlexStart && spec.timeout_seconds > kFlexTimeoutSecondsMax &&
      spec.timeout_seconds <= kTimeoutSecondsMax)
    complaints.add("spec.timeout_seconds", "{} is more than the {} that flex-start machines live",
                   spec.timeout_seconds, kFlexTimeoutSecondsMax);
  complaints.range("spec.termination_grace_seconds", spec.termination_grace_seconds,
                   kGraceSecondsMin, kGraceSecondsMax);
  complaints.range("spec.max_retries", spec.max_retries, 0, kRetriesMax);
  return complaints.take();
}

std::vector<FieldError> validate_cluster(const ClusterRow& cluster) {
  Complaints complaints;
  const auto required = [&](const char* field, const std::string& value, std::size_t length_max) {
    if (value.empty())
      complaints.add(field, "is missing");
    else if (value.size() > length_max || !std::ranges::all_of(value, [](char c) {
               return is_lower(c) || is_digit(c) || c == '-' || c == ':' || c == '.';
             }))
      complaints.add(field, "{} is not valid: at most {} characters a-z, 0-9, - and .",
                     shown(value), length_max);
  };
  required("name", cluster.name, 40);
  required("project", cluster.project, 63);
  required("location", cluster.location, 40);
  required("zone", cluster.zone, 40);
  if (cluster.gcs_bucket.empty())
    complaints.add("gcs_bucket", "is missing; logs and results go there");
  else if (cluster.gcs_bucket.size() > 222 || !std::ranges::all_of(cluster.gcs_bucket, [](char c) {
             return is_lower(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
           }))
    complaints.add("gcs_bucket", "{} is no bucket name: a-z, 0-9, -, _ and .",
                   shown(cluster.gcs_bucket));
  if (find_tpu_generation(cluster.tpu_type) == nullptr)
    complaints.add("tpu_type", "{}", find_slice(cluster.tpu_type, "").error().what);
  if (!is_dns_label(cluster.kubernetes_namespace))
    complaints.add("kubernetes_namespace", "{} is no namespace",
                   shown(cluster.kubernetes_namespace));
  if (!cluster.service_account.empty() && !is_dns_label(cluster.service_account))
    complaints.add("service_account", "{} is no service account", shown(cluster.service_account));
  return complaints.take();
}

std::string join_field_errors(const std::vector<FieldError>& errors) {
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text += "; ";
    text += error.field + ": " + error.what;
  }
  return text;
}

}  // namespace falcon::model
