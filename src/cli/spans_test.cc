#include "cli/spans.h"

#include <gtest/gtest.h>

namespace falcon::cli {
namespace {

TEST(ParseSpan, TakesWhatPeopleType) {
  EXPECT_EQ(parse_span("90"), Duration(90'000));
  EXPECT_EQ(parse_span("0s"), Duration(0));
  EXPECT_EQ(parse_span("15m"), Duration(900'000));
  EXPECT_EQ(parse_span("1h30m"), Duration(5'400'000));
  EXPECT_EQ(parse_span("1d2h3m4s"), Duration(93'784'000));
}

TEST(ParseSpan, RefusesWhatCouldMeanTwoThings) {
  for (const char* text : {"", "s", "-5s", "1.5h", "1h30", "5m5m", "5s1m", "1x", "1h ", " 1h",
                           "1e3", "99999999999999999999x"}) {
    const auto span = parse_span(text);
    ASSERT_FALSE(span) << text;
    EXPECT_EQ(span.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(span.error().what.find("1h30m"), std::string::npos);
  }
}

TEST(ParseSpan, SaysThatASpanIsTooLongAndWhatTheMostIs) {
  for (const char* text : {"99999999999999999999", "99999999999d", "36501d", "36500d1s"}) {
    const auto span = parse_span(text);
    ASSERT_FALSE(span) << text;
    EXPECT_EQ(span.error().what, std::string("\"") + text + "\" is too long; at most 36500d");
  }
  EXPECT_EQ(parse_span("36500d"), kSpanMax);
  EXPECT_EQ(parse_span("31d", 24h * 30).error().what, "\"31d\" is too long; at most 30d");
  EXPECT_EQ(parse_span("30d", 24h * 30), Duration(24h * 30));
}

TEST(FormatSpan, ShowsTwoUnitsAtMost) {
  EXPECT_EQ(format_span(Duration(-1)), "0s");
  EXPECT_EQ(format_span(Duration(999)), "0s");
  EXPECT_EQ(format_span(Duration(59'999)), "59s");
  EXPECT_EQ(format_span(Duration(60'000)), "1m");
  EXPECT_EQ(format_span(Duration(200'000)), "3m20s");
  EXPECT_EQ(format_span(Duration(7'500'000)), "2h5m");
  EXPECT_EQ(format_span(Duration(3'600'000 + 5'000)), "1h");
  EXPECT_EQ(format_span(Duration(86'400'000 * 3 + 3'600'000 * 4)), "3d4h");
}

}  // namespace
}  // namespace falcon::cli
