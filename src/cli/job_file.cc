#include "cli/job_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "model/validation.h"

namespace falcon::cli {
namespace {

constexpr std::array<std::string_view, 5> kJobFields{"name", "actor", "priority", "labels", "spec"};
constexpr std::array<std::string_view, 11> kSpecFields{
    "image",       "command",         "args",
    "env",         "tpu_type",        "topology",
    "supply_mode", "timeout_seconds", "termination_grace_seconds",
    "max_retries", "max_wait_seconds"};
constexpr std::array<std::string_view, 3> kVariableFields{"name", "value", "valueFrom"};
constexpr std::array<std::string_view, 1> kValueFromFields{"secretKeyRef"};
constexpr std::array<std::string_view, 2> kSecretFields{"name", "key"};

std::string shown(std::string_view value) { return "\"" + clean_text(value, 80) + "\""; }

bool contains(std::span<const std::string_view> words, std::string_view word) {
  for (const std::string_view known : words)
    if (known == word) return true;
  return false;
}

std::string list_of(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

// Reads one document. Remembers where each field stands, so that a complaint of the common
// validation can name the line as well.
class DocumentReader {
 public:
  DocumentReader(std::string_view file_name, std::vector<std::string>& problems)
      : file_name_(file_name), problems_(problems) {}

  model::JobRow read(const YAML::Node& document, const model::Actor& default_actor) {
    const std::size_t problems_before = problems_.size();
    model::JobRow job;
    job.actor = default_actor;
    lines_[""] = document.Mark().line + 1;
    for (const auto& [key, value] : fields(document, "", kJobFields)) {
      if (key == "name") job.name = text(value, key);
      if (key == "actor") job.actor = model::Actor(text(value, key));
      if (key == "priority") job.priority = integer<std::int32_t>(value, key);
      if (key == "labels") job.labels = labels(value);
      if (key == "spec") job.spec = spec(value);
    }
    if (problems_.size() > problems_before) return job;  // the rest would repeat them
    for (const model::FieldError& error : model::validate_job(job))
      complain(line_of(error.field), error.field, error.what);
    return job;
  }

 private:
  using Fields = std::vector<std::pair<std::string, YAML::Node>>;

  void complain(int line, std::string_view field, std::string_view what) {
    problems_.push_back(
        fmt::format("{}:{}: {}{}{}", file_name_, line, field, field.empty() ? "" : ": ", what));
  }

  int line_of(std::string field) const {
    while (true) {
      if (const auto found = lines_.find(field); found != lines_.end()) return found->second;
      const std::size_t cut = field.find_last_of(".[");
      field.resize(cut == std::string::npos ? 0 : cut);
    }
  }

  int enter(const YAML::Node& node, const std::string& path) {
    const int line = node.Mark().line + 1;
    lines_.emplace(path, line);
    return line;
  }

  // The known fields of a map; complains of all others, of doubles and of what is no map.
  Fields fields(const YAML::Node& node, const std::string& path,
                std::span<const std::string_view> known) {
    Fields found;
    const int line = enter(node, path);
    if (!node.IsMap()) {
      complain(line, path, fmt::format("must be a map with some of {}", list_of(known)));
      return found;
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string field =
          path.empty() ? clean_text(key, 80) : path + "." + clean_text(key, 80);
      const int key_line = entry.first.Mark().line + 1;
      if (!contains(known, key)) {
        complain(key_line, field, unknown_field(path, key, known));
      } else if (!seen.insert(key).second) {
        complain(key_line, field, "is given twice");
      } else {
        lines_.emplace(field, key_line);
        found.emplace_back(key, entry.second);
      }
    }
    return found;
  }

  static std::string unknown_field(const std::string& path, std::string_view key,
                                   std::span<const std::string_view> known) {
    if (path.empty() && contains(kSpecFields, key))
      return "unknown field here; it belongs under spec";
    if (path == "spec" && contains(kJobFields, key))
      return "unknown field here; it belongs beside spec, not into it";
    const std::string_view near = closest_word(key, known);
    return near.empty() ? fmt::format("unknown field; known are {}", list_of(known))
                        : fmt::format("unknown field; did you mean \"{}\"?", near);
  }

  std::string text(const YAML::Node& node, const std::string& path) {
    const int line = enter(node, path);
    if (node.IsScalar()) return node.Scalar();
    complain(line, path,
             node.IsNull() ? "is empty; give a text, or leave the field out" : "must be a text");
    return {};
  }

  template <class Integer>
  Integer integer(const YAML::Node& node, const std::string& path) {
    const int line = enter(node, path);
    Integer number = 0;
    if (!node.IsScalar()) {
      complain(line, path, "must be a whole number");
      return number;
    }
    const std::string& scalar = node.Scalar();
    const auto [end, error] = std::from_chars(scalar.data(), scalar.data() + scalar.size(), number);
    if (error == std::errc::result_out_of_range)
      complain(line, path, fmt::format("{} is far too large or small", clean_text(scalar, 40)));
    else if (error != std::errc() || end != scalar.data() + scalar.size())
      complain(line, path, fmt::format("{} is no whole number", shown(scalar)));
    else if (node.Tag() == "!")
      complain(line, path,
               fmt::format("{} is a text; write the number without quotes", shown(scalar)));
    return number;
  }

  std::vector<std::string> words(const YAML::Node& node, const std::string& path) {
    std::vector<std::string> list;
    const int line = enter(node, path);
    if (!node.IsSequence()) {
      complain(line, path,
               "must be a list, one entry for each argument: [\"python3\", \"train.py\"]");
      return list;
    }
    for (const YAML::Node& entry : node)
      list.push_back(text(entry, fmt::format("{}[{}]", path, list.size())));
    return list;
  }

  std::map<std::string, std::string> labels(const YAML::Node& node) {
    std::map<std::string, std::string> labels;
    for (const model::EnvironmentVariable& entry : map_of_texts(node, "labels"))
      labels.emplace(entry.name, entry.value);
    return labels;
  }

  std::vector<model::EnvironmentVariable> map_of_texts(const YAML::Node& node,
                                                       const std::string& path) {
    std::vector<model::EnvironmentVariable> entries;
    const int line = enter(node, path);
    if (!node.IsMap()) {
      complain(line, path, "must be a map of names and texts");
      return entries;
    }
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const std::string field = fmt::format("{}[{}]", path, clean_text(key, 80));
      if (!seen.insert(key).second) complain(entry.first.Mark().line + 1, field, "is given twice");
      entries.push_back({key, text(entry.second, field), "", ""});
    }
    return entries;
  }

  std::vector<model::EnvironmentVariable> environment(const YAML::Node& node) {
    if (!node.IsSequence()) return map_of_texts(node, "spec.env");
    enter(node, "spec.env");
    std::vector<model::EnvironmentVariable> variables;
    for (const YAML::Node& entry : node)
      variables.push_back(variable(entry, fmt::format("spec.env[{}]", variables.size())));
    return variables;
  }

  model::EnvironmentVariable variable(const YAML::Node& node, const std::string& path) {
    model::EnvironmentVariable variable;
    bool has_value = false;
    bool has_secret = false;
    for (const auto& [key, value] : fields(node, path, kVariableFields)) {
      if (key == "name") variable.name = text(value, path + ".name");
      if (key == "value") {
        variable.value = text(value, path + ".value");
        has_value = true;
      }
      if (key != "valueFrom") continue;
      has_secret = true;
      const std::string from = path + ".valueFrom";
      for (const auto& source : fields(value, from, kValueFromFields))
        read_secret(source.second, from + ".secretKeyRef", variable);
    }
    if (has_value && has_secret)
      complain(line_of(path), path, "has value and valueFrom; give one of them");
    return variable;
  }

  void read_secret(const YAML::Node& node, const std::string& path,
                   model::EnvironmentVariable& variable) {
    for (const auto& [key, value] : fields(node, path, kSecretFields)) {
      if (key == "name") variable.secret_name = text(value, path + ".name");
      if (key == "key") variable.secret_key = text(value, path + ".key");
    }
    if (variable.secret_name.empty() || variable.secret_key.empty())
      complain(line_of(path), path, "needs both name and key");
  }

  model::JobSpec spec(const YAML::Node& node) {
    model::JobSpec spec;
    for (const auto& [key, value] : fields(node, "spec", kSpecFields)) {
      const std::string path = "spec." + key;
      if (key == "image") spec.image = text(value, path);
      if (key == "command") spec.command = words(value, path);
      if (key == "args") spec.args = words(value, path);
      if (key == "env") spec.env = environment(value);
      if (key == "tpu_type") spec.tpu_type = text(value, path);
      if (key == "topology") spec.topology = text(value, path);
      if (key == "supply_mode") spec.supply_mode = supply(value, path);
      if (key == "timeout_seconds") spec.timeout_seconds = integer<std::int64_t>(value, path);
      if (key == "termination_grace_seconds")
        spec.termination_grace_seconds = integer<std::int64_t>(value, path);
      if (key == "max_retries") spec.max_retries = integer<std::int64_t>(value, path);
      if (key == "max_wait_seconds") spec.max_wait_seconds = integer<std::int64_t>(value, path);
    }
    return spec;
  }

  std::optional<model::SupplyMode> supply(const YAML::Node& node, const std::string& path) {
    const int line = enter(node, path);
    if (node.IsNull()) return std::nullopt;
    const std::string name = text(node, path);
    if (name.empty()) return std::nullopt;
    const auto mode = model::supply_mode_from_string(name);
    if (!mode) complain(line, path, model::wrong_supply_mode(name));
    return mode;
  }

  std::string_view file_name_;
  std::vector<std::string>& problems_;
  std::map<std::string, int> lines_;
};

std::string first_words(std::string_view text, std::string_view file_name) {
  if (text.size() > kJobFileBytesMax)
    return fmt::format("{}: is {} bytes long; a job file has at most {}", file_name, text.size(),
                       kJobFileBytesMax);
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    return fmt::format("{}: is no UTF-8 text; is it the right file?", file_name);
  return {};
}

}  // namespace

JobFile parse_job_file(std::string_view text, std::string_view file_name,
                       const model::Actor& default_actor) {
  JobFile file;
  if (std::string words = first_words(text, file_name); !words.empty()) {
    file.problems.push_back(std::move(words));
    return file;
  }
  try {
    for (const YAML::Node& document : YAML::LoadAll(std::string(text))) {
      if (document.IsNull()) continue;
      DocumentReader reader(file_name, file.problems);
      file.jobs.push_back(reader.read(document, default_actor));
    }
  } catch (const YAML::Exception& error) {
    file.problems.push_back(
        fmt::format("{}:{}: is no YAML: {}", file_name, error.mark.line + 1, error.msg));
  }
  if (file.jobs.empty() && file.problems.empty())
    file.problems.push_back(fmt::format("{}: holds no job", file_name));
  return file;
}

}  // namespace falcon::cli
