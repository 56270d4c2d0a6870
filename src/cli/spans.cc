#include "cli/spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace falcon::cli {
namespace {

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr std::array kUnits{Unit{'d', 86'400}, Unit{'h', 3'600}, Unit{'m', 60}, Unit{'s', 1}};

std::unexpected<Error> no_span(std::string_view text) {
  return fail(ErrorKind::kInvalid,
              fmt::format("\"{}\" is no span of time; write it like 90s, 15m, 2h or 1h30m",
                          clean_text(text, 40)));
}

std::unexpected<Error> too_long(std::string_view text, Duration most) {
  return fail(ErrorKind::kInvalid, fmt::format("\"{}\" is too long; at most {}",
                                               clean_text(text, 40), format_span(most)));
}

}  // namespace

Result<Duration> parse_span(std::string_view text, Duration most) {
  const std::int64_t seconds_max = most.count() / 1000;
  bool over = false;  // said only of what is a span
  std::int64_t seconds = 0;
  std::string_view rest = text;
  std::size_t unit_min = 0;  // index into kUnits: units must fall
  if (rest.empty()) return no_span(text);
  while (!rest.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc::invalid_argument || number < 0) return no_span(text);
    if (error != std::errc()) number = INT64_MAX;  // more digits than it holds
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty() && unit_min > 0) return no_span(text);  // "1h30"
    const char letter = rest.empty() ? 's' : rest.front();
    const auto unit = std::find_if(kUnits.begin() + static_cast<std::ptrdiff_t>(unit_min),
                                   kUnits.end(), [&](Unit u) { return u.letter == letter; });
    if (unit == kUnits.end()) return no_span(text);
    unit_min = static_cast<std::size_t>(unit - kUnits.begin()) + 1;
    seconds += std::min(number, seconds_max / unit->seconds + 1) * unit->seconds;
    over = over || seconds > seconds_max;
    seconds = std::min(seconds, seconds_max);
    if (!rest.empty()) rest.remove_prefix(1);
  }
  if (over) return too_long(text, most);
  return Duration(seconds * 1000);
}

std::string format_span(Duration span) {
  std::int64_t seconds = std::max<std::int64_t>(span.count() / 1000, 0);
  std::string text;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    const std::int64_t count = seconds / kUnits[i].seconds;
    if (count == 0 && !(i + 1 == kUnits.size())) continue;
    text = fmt::format("{}{}", count, kUnits[i].letter);
    seconds -= count * kUnits[i].seconds;
    if (i + 1 == kUnits.size()) break;
    const std::int64_t next = seconds / kUnits[i + 1].seconds;
    if (next > 0) text += fmt::format("{}{}", next, kUnits[i + 1].letter);
    break;
  }
  return text;
}

}  // namespace falcon::cli
