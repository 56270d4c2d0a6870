#include "wire/foreign.h"

#include <gtest/gtest.h>

namespace falcon::wire {
namespace {

TEST(Foreign, WhatIsThereIsRead) {
  const auto answer = object_of(
      R"({"a":{"b":"x"},"l":[1,2],"n":7,"s":"9007199254740993","t":"2026-12-01T08:30:00Z"})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(text(child(*answer, "a"), "b"), "x");
  EXPECT_EQ(list(*answer, "l").size(), 2U);
  EXPECT_EQ(number(*answer, "n"), 7);
  EXPECT_EQ(number(*answer, "s"), 9'007'199'254'740'993);
  EXPECT_EQ(time(*answer, "t"), parse_rfc3339("2026-12-01T08:30:00Z"));
  EXPECT_EQ(small_number("12"), 12U);
}

TEST(Foreign, WhatIsAbsentNullOrOfAnotherTypeIsEmpty) {
  const auto answer = object_of(R"({"a":null,"b":[],"c":{},"d":"text","e":1.5})");
  ASSERT_TRUE(answer);
  for (const char* key : {"a", "b", "c", "d", "e", "z"}) {
    EXPECT_EQ(child(*answer, key).size(), 0U) << key;
    EXPECT_EQ(list(*answer, key).size(), 0U) << key;
    EXPECT_EQ(number(*answer, key), 0) << key;
    EXPECT_FALSE(time(*answer, key)) << key;
    if (*key != 'd') EXPECT_EQ(text(*answer, key), "") << key;
  }
  EXPECT_EQ(small_number("99999999999"), 0U);
  EXPECT_EQ(small_number("x"), 0U);
}

TEST(Foreign, ABodyThatIsNoObjectIsShown) {
  for (const char* body : {"<html>busy</html>", "[1]", "", "{\"a\":"}) {
    const auto answer = object_of(body);
    ASSERT_FALSE(answer) << body;
    EXPECT_EQ(answer.error().kind, ErrorKind::kUnknownOutcome);
    EXPECT_NE(answer.error().what.find(body), std::string::npos);
  }
}

}  // namespace
}  // namespace falcon::wire
