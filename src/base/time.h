// Two kinds of time that cannot be mixed up.
//
// WallTime is what is stored and shown (UTC, milliseconds since the Unix epoch); MonoTime is for
// measuring inside one process and never goes backwards. Durations are milliseconds. Nothing in
// this folder reads a clock: the shell does, and hands the time in.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace falcon {

using Duration = std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

// Tags for std::chrono::time_point; neither has a now().
struct WallClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<WallClock, Duration>;
};
struct MonoClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<MonoClock, Duration>;
};
using WallTime = WallClock::time_point;
using MonoTime = MonoClock::time_point;

constexpr WallTime wall_time_from_unix_ms(std::int64_t value) { return WallTime(Duration(value)); }
constexpr std::int64_t to_unix_ms(WallTime time) { return time.time_since_epoch().count(); }

// RFC 3339 in UTC: "2026-12-01T08:30:00.125Z". Milliseconds are left out when they are zero.
std::string to_rfc3339(WallTime time);
// Accepts 0 to 9 fraction digits and "Z" or an offset; empty when it is no such text.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace falcon
