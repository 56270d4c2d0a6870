#include "base/time.h"

#include <fmt/format.h>

namespace falcon {

std::string to_rfc3339(WallTime time) {
  using namespace std::chrono;
  const sys_time<milliseconds> instant(time.time_since_epoch());
  const auto day = floor<days>(instant);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(instant - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() != 0) text += fmt::format(".{:03}", clock.subseconds().count());
  text += 'Z';
  return text;
}

namespace {

// Reads exactly `count` digits at `at` and moves on; empty when there are fewer.
std::optional<int> digits(std::string_view text, std::size_t& at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  at += count;
  return value;
}

bool literal(std::string_view text, std::size_t& at, std::string_view allowed) {
  if (at >= text.size() || allowed.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  std::size_t at = 0;
  const auto year_value = digits(text, at, 4);
  if (!year_value || !literal(text, at, "-")) return std::nullopt;
  const auto month_value = digits(text, at, 2);
  if (!month_value || !literal(text, at, "-")) return std::nullopt;
  const auto day_value = digits(text, at, 2);
  if (!day_value || !literal(text, at, "Tt ")) return std::nullopt;
  const auto hour_value = digits(text, at, 2);
  if (!hour_value || !literal(text, at, ":")) return std::nullopt;
  const auto minute_value = digits(text, at, 2);
  if (!minute_value || !literal(text, at, ":")) return std::nullopt;
  const auto second_value = digits(text, at, 2);
  if (!second_value) return std::nullopt;
  const year_month_day date{year{*year_value}, month{static_cast<unsigned>(*month_value)},
                            day{static_cast<unsigned>(*day_value)}};
  if (!date.ok() || *hour_value > 23 || *minute_value > 59 || *second_value > 60)
    return std::nullopt;
  int fraction_ms = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const std::size_t begin = at;
    int scale = 100;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      fraction_ms += scale * (text[at] - '0');
      scale /= 10;
      ++at;
    }
    if (at == begin || at - begin > 9) return std::nullopt;
  }
  minutes offset{0};
  if (at < text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    ++at;
  } else {
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return std::nullopt;
    const int sign = text[at++] == '-' ? -1 : 1;
    const auto offset_hours = digits(text, at, 2);
    if (!offset_hours || !literal(text, at, ":")) return std::nullopt;
    const auto offset_minutes = digits(text, at, 2);
    if (!offset_minutes || *offset_hours > 23 || *offset_minutes > 59) return std::nullopt;
    offset = minutes{sign * (*offset_hours * 60 + *offset_minutes)};
  }
  if (at != text.size()) return std::nullopt;
  const auto instant = sys_days(date).time_since_epoch() + hours(*hour_value) +
                       minutes(*minute_value) + seconds(*second_value) - offset;
  return WallTime(duration_cast<Duration>(instant) + Duration(fraction_ms));
}

}  // namespace falcon
