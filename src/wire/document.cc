#include "wire/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <set>

#include "base/text.h"

namespace falcon::wire {
namespace {

namespace json = boost::json;
using ErrorCode = json::error_code;

constexpr std::size_t kDepthMax = 32;

// Boost.JSON keeps the last of two equal keys and says nothing. This looks at the events of a parse
// for the first key that stands twice in one object.
class TwiceFinder {
 public:
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

  const std::optional<std::string>& found() const { return found_; }

  bool on_document_begin(ErrorCode&) { return true; }
  bool on_document_end(ErrorCode&) { return true; }
  bool on_object_begin(ErrorCode&) {
    levels_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, ErrorCode&) {
    levels_.pop_back();
    return true;
  }
  bool on_array_begin(ErrorCode&) { return true; }
  bool on_array_end(std::size_t, ErrorCode&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, ErrorCode&) {
    key_ += std::string_view(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, ErrorCode&) {
    key_ += std::string_view(part);
    Level& level = levels_.back();
    level.current = std::exchange(key_, std::string());
    if (!level.keys.insert(level.current).second && !found_) {
      found_.emplace();
      for (const Level& outer : levels_) *found_ += (found_->empty() ? "" : ".") + outer.current;
    }
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, ErrorCode&) { return true; }
  bool on_string(json::string_view, std::size_t, ErrorCode&) { return true; }
  bool on_number_part(json::string_view, ErrorCode&) { return true; }
  bool on_int64(std::int64_t, json::string_view, ErrorCode&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, ErrorCode&) { return true; }
  bool on_double(double, json::string_view, ErrorCode&) { return true; }
  bool on_bool(bool, ErrorCode&) { return true; }
  bool on_null(ErrorCode&) { return true; }
  bool on_comment_part(json::string_view, ErrorCode&) { return true; }
  bool on_comment(json::string_view, ErrorCode&) { return true; }

 private:
  struct Level {
    std::set<std::string> keys;
    std::string current;
  };
  std::vector<Level> levels_;
  std::string key_;
  std::optional<std::string> found_;
};

json::parse_options options() {
  json::parse_options options;
  options.max_depth = kDepthMax;
  return options;
}

std::string reading_error(std::string_view text, const ErrorCode& error) {
  if (text.empty()) return "is empty; a JSON object is needed";
  if (!is_utf8(text)) return "is not valid UTF-8";
  if (error == make_error_code(json::error::too_deep))
    return fmt::format("is nested deeper than {} levels", kDepthMax);
  if (error == make_error_code(json::error::extra_data))
    return "goes on after the end of the JSON document";
  if (error == make_error_code(json::error::incomplete)) return "ends in the middle of the JSON";
  return "is no JSON: " + error.message();
}

}  // namespace

std::optional<json::object> parse_document(std::string_view text, Errors& errors) {
  ErrorCode error;
  json::basic_parser<TwiceFinder> finder(options());
  const std::size_t read = finder.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = make_error_code(json::error::extra_data);
  json::value value;
  if (!error) value = json::parse(text, error, {}, options());
  if (error) {
    errors.push_back({"body", reading_error(text, error)});
    return std::nullopt;
  }
  if (finder.handler().found()) {
    errors.push_back({clean_text(*finder.handler().found(), 200), "is given twice"});
    return std::nullopt;
  }
  if (!value.is_object()) {
    errors.push_back({"body", "is no JSON object"});
    return std::nullopt;
  }
  return std::move(value.get_object());
}

std::string Fields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::string Fields::shown(std::string_view value) { return "\"" + clean_text(value, 80) + "\""; }

void Fields::complain(std::string_view name, std::string what) {
  errors_.push_back({path_of(name), std::move(what)});
}

bool Fields::complained(std::string_view name) const {
  return std::ranges::any_of(errors_,
                             [&](const auto& error) { return error.field == path_of(name); });
}

const json::value* Fields::take(std::string_view name, bool null_is_missing) {
  known_.push_back(name);
  const json::value* value = object_.if_contains(name);
  if (value == nullptr || !value->is_null()) return value;
  if (!null_is_missing && reading_ == Reading::kStrict)
    complain(name, "null means nothing here; leave the field out");
  return nullptr;
}

bool Fields::has(std::string_view name) {
  known_.push_back(name);
  return object_.if_contains(name) != nullptr;
}

std::string Fields::text(std::string_view name, std::string_view missing) {
  const json::value* value = take(name);
  if (value == nullptr) return std::string(missing);
  if (value->is_string()) return std::string(value->get_string());
  complain(name, clean_text(json::serialize(*value), 80) + " is no text");
  return std::string(missing);
}

std::string Fields::required_text(std::string_view name) {
  std::string value = text(name);
  if (value.empty() && !complained(name)) complain(name, "is missing");
  return value;
}

std::int64_t Fields::number(std::string_view name, std::int64_t missing, std::int64_t low,
                            std::int64_t high) {
  const json::value* value = take(name);
  if (value == nullptr) return missing;
  if (value->is_int64() && value->get_int64() >= low && value->get_int64() <= high)
    return value->get_int64();
  const std::string given = clean_text(json::serialize(*value), 80);
  if (value->is_int64() || value->is_uint64())
    complain(name, fmt::format("{} is not in {} to {}", given, low, high));
  else
    complain(name, fmt::format("{} is no whole number; {} to {}", given, low, high));
  return missing;
}

std::uint64_t Fields::count(std::string_view name) {
  const std::int64_t value = number(name, -1, 0, std::numeric_limits<std::int64_t>::max());
  if (value >= 0) return static_cast<std::uint64_t>(value);
  if (!complained(name)) complain(name, "is missing");
  return 0;
}

std::uint32_t Fields::small_count(std::string_view name) {
  return static_cast<std::uint32_t>(number(name, 0, 0, std::numeric_limits<std::uint32_t>::max()));
}

bool Fields::flag(std::string_view name) {
  const boost::json::value* value = take(name);
  if (value == nullptr) return false;
  if (!value->is_bool()) {
    complain(name, "is not true or false");
    return false;
  }
  return value->get_bool();
}

std::optional<std::int32_t> Fields::maybe_number(std::string_view name) {
  if (take(name, true) == nullptr) return std::nullopt;
  return static_cast<std::int32_t>(number(name, 0, std::numeric_limits<std::int32_t>::min(),
                                          std::numeric_limits<std::int32_t>::max()));
}

std::optional<WallTime> Fields::maybe_time(std::string_view name) {
  if (take(name, true) == nullptr) return std::nullopt;
  const std::string given = text(name);
  const std::optional<WallTime> time = parse_rfc3339(given);
  if (!time && !complained(name))
    complain(name, shown(given) + " is no time; for example 2026-12-01T08:30:00Z");
  return time;
}

WallTime Fields::required_time(std::string_view name) {
  const std::optional<WallTime> time = maybe_time(name);
  if (!time && !complained(name)) complain(name, "is missing");
  return time.value_or(WallTime{});
}

std::vector<std::string> Fields::texts(std::string_view name) {
  std::vector<std::string> list;
  const json::array* entries = array(name);
  if (entries == nullptr) return list;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const json::value& entry = (*entries)[i];
    if (entry.is_string())
      list.emplace_back(entry.get_string());
    else
      complain(fmt::format("{}[{}]", name, i),
               clean_text(json::serialize(entry), 80) + " is no text");
  }
  return list;
}

const json::object* Fields::object(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object())
    complain(name, clean_text(json::serialize(*value), 80) + " is no object");
  return value->if_object();
}

const json::array* Fields::array(std::string_view name) {
  const json::value* value = take(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) complain(name, clean_text(json::serialize(*value), 80) + " is no list");
  return value->if_array();
}

void Fields::done() {
  if (reading_ == Reading::kLenient) return;
  for (const json::key_value_pair& pair : object_) {
    const std::string_view name = pair.key();
    if (std::ranges::find(known_, name) != known_.end()) continue;
    const std::string_view close = closest_word(name, known_);
    complain(clean_text(name, 80),
             close.empty() ? "there is no such field"
                           : fmt::format("there is no such field; did you mean {}?", close));
  }
}

}  // namespace falcon::wire
