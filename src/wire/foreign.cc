#include "wire/foreign.h"

#include <boost/json/parse.hpp>
#include <charconv>

#include "base/text.h"

namespace falcon::wire {
namespace {

namespace json = boost::json;

const json::object kNothing;
const json::array kNone;

}  // namespace

Result<json::object> object_of(std::string_view body) {
  boost::system::error_code error;
  json::value value = json::parse({body.data(), body.size()}, error);
  if (error || !value.is_object())
    return fail(ErrorKind::kUnknownOutcome, "the answer is not readable: " + clean_text(body, 200));
  return std::move(value.get_object());
}

const json::object& child(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::object* found = value == nullptr ? nullptr : value->if_object();
  return found == nullptr ? kNothing : *found;
}

const json::array& list(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  const json::array* found = value == nullptr ? nullptr : value->if_array();
  return found == nullptr ? kNone : *found;
}

std::string text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::int64_t number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  if (const json::string* digits = value->if_string()) {
    std::int64_t parsed = 0;
    std::from_chars(digits->data(), digits->data() + digits->size(), parsed);
    return parsed;
  }
  boost::system::error_code error;
  const auto parsed = value->to_number<std::int64_t>(error);
  return error ? 0 : parsed;
}

std::uint32_t small_number(std::string_view digits) {
  std::uint32_t parsed = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
  return parsed;
}

std::optional<WallTime> time(const json::object& object, std::string_view key) {
  return parse_rfc3339(text(object, key));
}

}  // namespace falcon::wire
