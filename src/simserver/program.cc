#include "simserver/program.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using Environment = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kGcsFuse = "gcsfuse.csi.storage.gke.io";

const json::value* at(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::object* here = &object;
  const json::value* found = nullptr;
  for (const std::string_view step : path) {
    if (here == nullptr) return nullptr;
    found = here->if_contains(step);
    if (found == nullptr) return nullptr;
    here = found->if_object();
  }
  return found;
}

std::string text_at(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = at(object, path);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  return value->is_int64() ? std::to_string(value->get_int64()) : std::string();
}

std::vector<std::string> texts_at(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_array()) return texts;
  for (const json::value& each : value->get_array())
    texts.push_back(each.is_string() ? std::string(each.get_string()) : json::serialize(each));
  return texts;
}

const std::string* find(const Environment& environment, std::string_view name) {
  for (auto it = environment.rbegin(); it != environment.rend(); ++it)
    if (it->first == name) return &it->second;
  return nullptr;
}

// kubernetes' third_party/forked/golang/expansion.
std::string expand(std::string_view text, const Environment& environment) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    if (text[i] == '$') {
      out += '$';
      continue;
    }
    const std::size_t end = text[i] == '(' ? text.find(')', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += '$';
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    if (const std::string* value = find(environment, name))
      out += *value;
    else
      out += fmt::format("$({})", name);
    i = end;
  }
  return out;
}

// metadata.labels['x'] and the like, and plain paths.
Result<std::string> field_value(const json::object& pod, const std::string& path) {
  for (const std::string_view map : {"labels", "annotations"}) {
    const std::string head = fmt::format("metadata.{}['", map);
    if (path.starts_with(head) && path.ends_with("']"))
      return text_at(pod,
                     {"metadata", map,
                      std::string_view(path).substr(head.size(), path.size() - head.size() - 2)});
  }
  if (path == "metadata.name") return text_at(pod, {"metadata", "name"});
  if (path == "metadata.namespace") return text_at(pod, {"metadata", "namespace"});
  if (path == "metadata.uid") return text_at(pod, {"metadata", "uid"});
  if (path == "spec.nodeName") return text_at(pod, {"spec", "nodeName"});
  if (path == "status.podIP" || path == "status.hostIP") return std::string("127.0.0.1");
  return fail(ErrorKind::kInvalid, fmt::format("unsupported fieldPath: {}", path));
}

Result<Environment> environment_of(const json::object& pod, const json::object& container) {
  Environment environment;
  const char* path = std::getenv("PATH");
  environment.emplace_back("PATH", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  environment.emplace_back("HOSTNAME", text_at(pod, {"spec", "hostname"}));
  const std::string index =
      text_at(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"});
  if (!index.empty()) {
    environment.emplace_back("JOB_COMPLETION_INDEX", index);
    environment.emplace_back("TPU_WORKER_ID", index);
  }
  const json::value* list = container.if_contains("env");
  if (list == nullptr || !list->is_array()) return environment;
  for (const json::value& entry : list->get_array()) {
    if (!entry.is_object()) continue;
    const json::object& variable = entry.get_object();
    const std::string name = text_at(variable, {"name"});
    if (at(variable, {"valueFrom"}) == nullptr) {
      environment.emplace_back(name, expand(text_at(variable, {"value"}), environment));
      continue;
    }
    const std::string field = text_at(variable, {"valueFrom", "fieldRef", "fieldPath"});
    if (field.empty())
      return fail(ErrorKind::kInvalid,
                  fmt::format("environment variable {}: only fieldRef is simulated; secrets and "
                              "config maps are not",
                              name));
    FALCON_TRY(value, field_value(pod, field));
    environment.emplace_back(name, std::move(value));
  }
  return environment;
}

Result<std::vector<Mount>> mounts_of(const json::object& pod, const json::object& container,
                                     const std::filesystem::path& folder) {
  std::map<std::string, const json::object*> volumes;
  const json::value* list = at(pod, {"spec", "volumes"});
  if (list != nullptr && list->is_array())
    for (const json::value& volume : list->get_array())
      if (volume.is_object())
        volumes[text_at(volume.get_object(), {"name"})] = &volume.get_object();
  std::vector<Mount> mounts;
  const json::value* wanted = container.if_contains("volumeMounts");
  if (wanted == nullptr || !wanted->is_array()) return mounts;
  for (const json::value& entry : wanted->get_array()) {
    if (!entry.is_object()) continue;
    const std::string name = text_at(entry.get_object(), {"name"});
    std::string path = text_at(entry.get_object(), {"mountPath"});
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto volume = volumes.find(name);
    if (volume == volumes.end())
      return fail(ErrorKind::kInvalid, fmt::format("volume mount {} names no volume", name));
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
      return fail(ErrorKind::kInvalid, fmt::format("volume name \"{}\" is not a DNS label", name));
    Mount mount{.path = path, .folder = folder / "volumes" / name, .bucket = {}};
    if (text_at(*volume->second, {"csi", "driver"}) == kGcsFuse) {
      mount.bucket = text_at(*volume->second, {"csi", "volumeAttributes", "bucketName"});
      if (mount.bucket.empty() || mount.bucket.find('/') != std::string::npos ||
          mount.bucket.starts_with('.'))
        return fail(ErrorKind::kInvalid,
                    fmt::format("volume {}: bucketName is missing or no bucket's name", name));
      if (text_at(pod, {"metadata", "annotations", "gke-gcsfuse/volumes"}) != "true")
        return fail(ErrorKind::kInvalid,
                    "MountVolume.SetUp failed: FailedPrecondition: the pod lacks the annotation "
                    "gke-gcsfuse/volumes: \"true\"");
    } else if (!volume->second->contains("emptyDir")) {
      return fail(ErrorKind::kInvalid,
                  fmt::format("volume {}: only gcsfuse and emptyDir volumes are simulated", name));
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

void move_to_folder(std::string& value, const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    if (mount.path.empty() || !value.starts_with(mount.path)) continue;
    if (value.size() != mount.path.size() && value[mount.path.size()] != '/') continue;
    value = mount.folder.string() + value.substr(mount.path.size());
    return;
  }
}

}  // namespace

std::optional<std::int64_t> bytes_of_quantity(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size());
  constexpr std::array<std::pair<std::string_view, double>, 12> kUnits{
      {{"", 1},
       {"k", 1e3},
       {"M", 1e6},
       {"G", 1e9},
       {"T", 1e12},
       {"P", 1e15},
       {"m", 1e-3},
       {"Ki", 1024.0},
       {"Mi", 1048576.0},
       {"Gi", 1073741824.0},
       {"Ti", 1099511627776.0},
       {"Pi", 1125899906842624.0}}};
  for (const auto& [name, factor] : kUnits)
    if (name == unit && number * factor < 9e18)
      return static_cast<std::int64_t>(std::ceil(number * factor));
  return std::nullopt;
}

Result<Program> program_of(const json::object& pod, const std::filesystem::path& folder) {
  const json::value* containers = at(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty() ||
      !containers->get_array().front().is_object())
    return fail(ErrorKind::kInvalid, "the pod has no container");
  const json::object& container = containers->get_array().front().get_object();
  Program program;
  FALCON_TRY(environment, environment_of(pod, container));
  FALCON_TRY(mounts, mounts_of(pod, container, folder));
  for (const std::string_view key : {"command", "args"})
    for (const std::string& word : texts_at(container, key))
      program.argv.push_back(expand(word, environment));
  if (texts_at(container, "command").empty())
    return fail(ErrorKind::kInvalid,
                "no command: images are not run here, so their own entry point is unknown");
  for (auto& [name, value] : environment) move_to_folder(value, mounts);
  program.environment = std::move(environment);
  program.mounts = std::move(mounts);
  program.working_directory = text_at(container, {"workingDir"});
  move_to_folder(program.working_directory, program.mounts);
  const std::string limit = text_at(container, {"resources", "limits", "memory"});
  if (!limit.empty()) program.memory_bytes_max = bytes_of_quantity(limit);
  return program;
}

}  // namespace falcon::simserver
