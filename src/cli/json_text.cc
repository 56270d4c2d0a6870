#include "cli/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

namespace falcon::cli {
namespace {

namespace json = boost::json;

bool is_nested(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) ||
         (value.is_array() && !value.get_array().empty());
}

void print_json(const json::value& value, std::size_t depth, std::string& out) {
  const std::string indent((depth + 1) * 2, ' ');
  const auto join = [&](const auto& entries, char open, char close, const auto& print_entry) {
    out += open;
    bool first = true;
    for (const auto& entry : entries) {
      out += first ? "\n" : ",\n";
      first = false;
      out += indent;
      print_entry(entry);
    }
    out += "\n" + std::string(depth * 2, ' ') + close;
  };
  if (!is_nested(value)) {
    out += json::serialize(value);
  } else if (value.is_array()) {
    join(value.get_array(), '[', ']',
         [&](const json::value& entry) { print_json(entry, depth + 1, out); });
  } else {
    join(value.get_object(), '{', '}', [&](const json::key_value_pair& entry) {
      out += json::serialize(json::value(entry.key())) + ": ";
      print_json(entry.value(), depth + 1, out);
    });
  }
}

// True where YAML 1.1 and 1.2 both read the bare word as a text.
bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kOther{
      "true", "false", "null", "yes", "no", "on", "off", "y", "n", "True", "False"};
  if (text.empty() || std::ranges::find(kOther, text) != kOther.end()) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(text.front()) && text.front() != '/') return false;
  return std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

std::string yaml_scalar(const json::value& value) {
  if (value.is_string() && is_plain(value.get_string())) return std::string(value.get_string());
  return json::serialize(value);  // JSON's scalars are YAML's
}

void print_yaml(const json::value& value, std::size_t depth, std::string& out) {
  const std::string indent(depth * 2, ' ');
  if (value.is_array()) {
    for (const json::value& entry : value.get_array()) {
      if (!is_nested(entry)) {
        out += indent + "- " + yaml_scalar(entry) + "\n";
        continue;
      }
      std::string nested;
      print_yaml(entry, depth + 1, nested);
      nested.replace(indent.size(), 2, "- ");  // the first line's own indent
      out += nested;
    }
    return;
  }
  for (const json::key_value_pair& entry : value.get_object()) {
    const std::string key(entry.key());
    out += indent + (is_plain(key) ? key : json::serialize(json::value(key))) + ":";
    if (is_nested(entry.value())) {
      out += '\n';
      print_yaml(entry.value(), depth + 1, out);
    } else {
      out += " " + yaml_scalar(entry.value()) + "\n";
    }
  }
}

}  // namespace

std::string pretty_json(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return std::string(text);
  std::string out;
  print_json(value, 0, out);
  return out + "\n";
}

std::string yaml_of_json(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return std::string(text);
  if (!is_nested(value)) return yaml_scalar(value) + "\n";
  std::string out;
  print_yaml(value, 0, out);
  return out;
}

std::string list_of_json(const std::vector<std::string>& documents) {
  return fmt::format("{{\"items\":[{}]}}", fmt::join(documents, ","));
}

}  // namespace falcon::cli
