#include "kube/line_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace falcon::kube {
namespace {

std::vector<std::string> lines_of(std::string_view bytes, std::size_t chunk) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += chunk)
    EXPECT_TRUE(splitter.feed(bytes.substr(at, chunk),
                              [&](std::string_view line) { lines.emplace_back(line); }));
  return lines;
}

// Whatever the borders of the chunks, inside a key or inside a character, events come out as sent.
TEST(LineSplitter, AnyChunksGiveTheSameLines) {
  const std::string bytes =
      "{\"type\":\"ADDED\",\"name\":\"名字\"}\n{\"type\":\"MODIFIED\"}\n\n{\"x\":1}\n{\"half";
  const std::vector<std::string> wanted{"{\"type\":\"ADDED\",\"name\":\"名字\"}",
                                        "{\"type\":\"MODIFIED\"}", "{\"x\":1}"};
  for (std::size_t chunk = 1; chunk <= bytes.size(); ++chunk)
    EXPECT_EQ(lines_of(bytes, chunk), wanted) << "chunks of " << chunk;
}

TEST(LineSplitter, ALineIsGivenAsSoonAsItsNewlineIsThere) {
  LineSplitter splitter;
  std::size_t lines = 0;
  const auto count = [&](std::string_view) { ++lines; };
  EXPECT_TRUE(splitter.feed("{\"a\":1}", count));
  EXPECT_EQ(lines, 0U);
  EXPECT_TRUE(splitter.feed("\n", count));
  EXPECT_EQ(lines, 1U);
}

TEST(LineSplitter, AnEndlessLineIsRefused) {
  LineSplitter splitter;
  const std::string bytes(LineSplitter::kLineBytesMax + 1, 'x');
  EXPECT_FALSE(splitter.feed(bytes, [](std::string_view) { FAIL() << "no line has ended"; }));
}

}  // namespace
}  // namespace falcon::kube
