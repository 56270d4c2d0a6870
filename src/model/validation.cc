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
                     "{} is no label key: [prefix/]name, name of 1 to 63 letters, digits and -_.",
                     shown(key));
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
  complaints.range("spec.max_wait_seconds", spec.max_wait_seconds, 0, kWaitSecondsMax);
  return complaints.take();
}

namespace {

// Lower-case letters, digits and -, beginning with a letter, not ending with -.
bool is_google_name(std::string_view text, std::size_t length_max) {
  if (text.empty() || text.size() > length_max || !is_lower(text.front())) return false;
  return text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

// Google's rule asks for 6 characters at least; simulated clouds are called "local". Old projects
// have a domain in front: "example.com:tpus".
bool is_project(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return is_google_name(text, 30);
  const std::string_view domain = text.substr(0, colon);
  return !domain.empty() && domain.size() <= 63 && std::ranges::all_of(domain, [](char c) {
    return is_lower(c) || is_digit(c) || c == '-' || c == '.';
  }) && is_google_name(text.substr(colon + 1), 30);
}

// cloud.google.com/storage/docs/buckets: 3 to 63 characters, with dots up to 222 and each part of
// at most 63.
bool is_bucket(std::string_view text) {
  const auto is_end = [](char c) { return is_lower(c) || is_digit(c); };
  if (text.size() < 3 || text.size() > 222 || !is_end(text.front()) || !is_end(text.back()))
    return false;
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '.') {
      if (part == 0) return false;  // two dots
      part = 0;
    } else if (is_end(c) || c == '-' || c == '_') {
      if (++part > 63) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool is_reservation(std::string_view text) {
  constexpr std::string_view kProjects = "projects/";
  constexpr std::string_view kReservations = "/reservations/";
  if (!text.starts_with(kProjects)) return is_google_name(text, 63);
  const std::size_t middle = text.find(kReservations);
  return middle != std::string_view::npos &&
         is_project(text.substr(kProjects.size(), middle - kProjects.size())) &&
         is_google_name(text.substr(middle + kReservations.size()), 63);
}

// "us-east5-a" is in "us-east5".
std::string_view region_of(std::string_view place) {
  return is_zone(place) ? place.substr(0, place.rfind('-')) : place;
}

void check_place(Complaints& complaints, const ClusterRow& cluster) {
  const bool is_place = is_region(cluster.location) || is_zone(cluster.location);
  if (cluster.location.empty())
    complaints.add("location", "is missing; the region or zone of the cluster, us-east5 say");
  else if (!is_place)
    complaints.add("location", "{} is neither a region like us-east5 nor a zone like us-east5-a",
                   shown(cluster.location));
  if (cluster.zone.empty())
    complaints.add("zone", "is missing; the zone of the node pools, us-east5-a say");
  else if (!is_zone(cluster.zone))
    complaints.add("zone", "{} is no zone like us-east5-a", shown(cluster.zone));
  else if (is_place && region_of(cluster.zone) != region_of(cluster.location))
    complaints.add("zone", "{} is not in {}, where the cluster is", shown(cluster.zone),
                   region_of(cluster.location));
}

}  // namespace

bool is_region(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || dash == 0) return false;
  const std::string_view name = text.substr(dash + 1);
  const std::size_t digits = std::min(name.find_first_of("0123456789"), name.size());
  return text.size() <= 40 && std::ranges::all_of(text.substr(0, dash), is_lower) && digits > 0 &&
         digits < name.size() && std::ranges::all_of(name.substr(0, digits), is_lower) &&
         std::ranges::all_of(name.substr(digits), is_digit);
}

bool is_zone(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos || !is_region(text.substr(0, dash))) return false;
  const std::string_view letter = text.substr(dash + 1);  // "a"; "ai1a" where only accelerators are
  return !letter.empty() && letter.size() <= 5 && is_lower(letter.front()) &&
         is_lower(letter.back()) &&
         std::ranges::all_of(letter, [](char c) { return is_lower(c) || is_digit(c); });
}

std::vector<FieldError> validate_cluster(const ClusterRow& cluster) {
  Complaints complaints;
  if (cluster.name.empty())
    complaints.add("name", "is missing");
  else if (!is_google_name(cluster.name, 40))
    complaints.add("name",
                   "{} is no cluster name: at most 40 of a-z, 0-9 and -, a letter first, no - last",
                   shown(cluster.name));
  if (cluster.project.empty())
    complaints.add("project", "is missing");
  else if (!is_project(cluster.project))
    complaints.add("project",
                   "{} is no project id: at most 30 of a-z, 0-9 and -, a letter first, no - last",
                   shown(cluster.project));
  check_place(complaints, cluster);
  if (cluster.gcs_bucket.empty())
    complaints.add("gcs_bucket", "is missing; logs and results go there");
  else if (!is_bucket(cluster.gcs_bucket))
    complaints.add("gcs_bucket",
                   "{} is no bucket name: 3 to 63 of a-z, 0-9, -, _ and ., a letter or digit first "
                   "and last; without gs://",
                   shown(cluster.gcs_bucket));
  if (!cluster.default_reservation.empty() && !is_reservation(cluster.default_reservation))
    complaints.add("default_reservation", "{} is neither NAME nor projects/OWNER/reservations/NAME",
                   shown(cluster.default_reservation));
  if (find_tpu_generation(cluster.tpu_type) == nullptr)
    complaints.add("tpu_type", "{}", find_slice(cluster.tpu_type, "").error().what);
  if (!is_dns_label(cluster.kubernetes_namespace))
    complaints.add("kubernetes_namespace", "{} is no namespace",
                   shown(cluster.kubernetes_namespace));
  if (!cluster.service_account.empty() && !is_dns_label(cluster.service_account))
    complaints.add("service_account", "{} is no service account", shown(cluster.service_account));
  return complaints.take();
}

std::string wrong_supply_mode(std::string_view text) {
  if (text == "spot")
    return "\"spot\" is not supported: a spot machine may be taken away from a running job; use "
           "on-demand, or flex-start";
  if (text == "queued" || text == "queued-provisioning")
    return fmt::format("{} is not supported; flex-start queues for machines in the same way",
                       shown(text));
  return fmt::format("{} is not one of reservation, on-demand, flex-start", shown(text));
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
