// Spans of time as people type and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace falcon::cli {

// "90", "90s", "15m", "2h", "1h30m", "7d": whole numbers, each unit once and in falling order; a
// bare number is seconds. kInvalid with words that show the form, or the most that is allowed.
inline constexpr Duration kSpanMax{std::int64_t{36'500} * 86'400'000};  // 100 years
Result<Duration> parse_span(std::string_view text, Duration most = kSpanMax);

// At most two units, rounded down: "0s", "59s", "3m20s", "2h5m", "3d4h". Less than nothing: "0s".
std::string format_span(Duration span);

}  // namespace falcon::cli
