// Goal: the small tools that everything rests on. Method: known answers and borders.
#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"

namespace falcon {
namespace {

TEST(Digest, HasTheKnownAnswers) {
  EXPECT_EQ(hex_lower(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string foobar = "foobar";
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(foobar.data());
  EXPECT_EQ(base32_lower({bytes, 6}), "mzxw6ytboi");  // RFC 4648, without padding
  EXPECT_EQ(base32_lower({bytes, 1}), "my");
}

TEST(Time, PrintsAndReadsRfc3339) {
  const WallTime time = wall_time_from_unix_ms(1'796'090'400'125);
  EXPECT_EQ(to_rfc3339(time), "2026-12-01T02:00:00.125Z");
  EXPECT_EQ(parse_rfc3339(to_rfc3339(time)), time);
  EXPECT_EQ(parse_rfc3339("2026-12-01T04:00:00+02:00"), parse_rfc3339("2026-12-01T02:00:00Z"));
  EXPECT_EQ(parse_rfc3339("2026-12-01T02:00:00.123456789Z"), time - Duration(2));
  for (const char* bad : {"", "2026-12-01", "2026-13-01T00:00:00Z", "2026-12-01T25:00:00Z",
                          "2026-12-01T00:00:00", "2026-12-01T00:00:00Zx", "2026-02-30T00:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
}

TEST(CleanText, KeepsGoodTextAndMendsBad) {
  EXPECT_EQ(clean_text("训练 🦊\tok\n", 100), "训练 🦊\tok\n");
  EXPECT_EQ(clean_text(std::string("a\0b\x01"
                                   "c",
                                   5),
                       100),
            "abc");
  EXPECT_EQ(clean_text("a\xFFz\xE4\xBD", 100), "a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(CleanText, CutsAtACharactersBorder) {
  EXPECT_EQ(clean_text("abcdef", 6), "abcdef");
  EXPECT_EQ(clean_text("abcdefg", 6), "abc…");
  EXPECT_EQ(clean_text("训练训练", 9), "训练…");
  for (std::size_t limit = 3; limit < 20; ++limit) {
    const std::string cut = clean_text("a训b🦊c练d🦊e", limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_TRUE(is_utf8(cut));
  }
}

TEST(ClosestWord, SuggestsWhatWasProbablyMeant) {
  const std::string_view known[] = {"topology", "timeout_seconds", "image"};
  EXPECT_EQ(closest_word("topolgy", known), "topology");
  EXPECT_EQ(closest_word("imagee", known), "image");
  EXPECT_EQ(closest_word("colour", known), "");
}

TEST(Random, GivesTheSameNumbersEverywhere) {
  Random random(42);
  EXPECT_EQ(random.next(), 13679457532755275413ULL);
  Random again(42);
  EXPECT_EQ(again.between(Duration(5), Duration(5)), Duration(5));
}

}  // namespace
}  // namespace falcon
