// JSON that others made (Google's and Kubernetes' answers): looking things up in it without ever
// complaining. What is absent, null or of another type reads as empty; who must tell them apart
// asks the object itself. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace falcon::wire {

// The body of an answer. kUnknownOutcome: it is no JSON object; `what` shows its beginning.
Result<boost::json::object> object_of(std::string_view body);

const boost::json::object& child(const boost::json::object& object, std::string_view key);
const boost::json::array& list(const boost::json::object& object, std::string_view key);
std::string text(const boost::json::object& object, std::string_view key);
// A number, or its digits in a string: so Google writes 64 bits.
std::int64_t number(const boost::json::object& object, std::string_view key);
// The digits that a label holds; 0 when there are none, or more than 32 bits.
std::uint32_t small_number(std::string_view digits);
std::optional<WallTime> time(const boost::json::object& object, std::string_view key);

}  // namespace falcon::wire
