#include "cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace falcon::cli {
namespace {

TEST(DisplayWidth, CountsCellsNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("train-1"), 7u);
  EXPECT_EQ(display_width("队列位置 #3"), 11u);
  EXPECT_EQ(display_width("é"), 1u);
  EXPECT_EQ(display_width("e\u0301"), 1u);  // a letter and a combining accent
  EXPECT_EQ(display_width("…"), 1u);
  EXPECT_EQ(display_width("🚀"), 2u);
  EXPECT_EQ(display_width("𠮷"), 2u);  // four bytes
}

TEST(DisplayWidth, SurvivesBytesThatAreNoText) {
  EXPECT_EQ(display_width("\xE4\xBD"), 1u);
  EXPECT_EQ(display_width("\xFF\xFF"), 2u);
  EXPECT_EQ(display_width("\x80"), 1u);
}

TEST(Table, LinesUpColumnsOfMixedScripts) {
  Table table({"NAME", "MESSAGE", "AGE"});
  table.add({"train", "用户中止", "2m"});
  table.add({"a-longer-name", "Aborted", "10s"});
  table.add({"x", "", "1h"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "NAME           MESSAGE   AGE\n"
            "train          用户中止  2m\n"
            "a-longer-name  Aborted   10s\n"
            "x              -         1h\n");
}

TEST(Table, ShowsTheFirstLineOfACell) {
  Table table({"A", "B"});
  table.add({"one\ntwo", "b"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "A    B\none  b\n");
}

}  // namespace
}  // namespace falcon::cli
