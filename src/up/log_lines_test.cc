#include "up/log_lines.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <boost/json.hpp>
#include <iostream>
#include <sstream>

namespace falcon::up {
namespace {

const WallTime kTime = *parse_rfc3339("2026-12-01T08:00:00.125Z");

TEST(LogLines, AreOneJsonObjectEach) {
  EXPECT_EQ(log_line(kTime, "info", "leading, term 7"),
            R"({"time":"2026-12-01T08:00:00.125Z","severity":"info","message":"leading, term 7"})");
}

TEST(LogLines, NameWhatTheyAreAboutInAField) {
  EXPECT_EQ(
      log_line(kTime, "info", "job j-1: Running"),
      R"({"time":"2026-12-01T08:00:00.125Z","severity":"info","message":"Running","job":"j-1"})");
  const auto about = [](std::string_view message) {
    return boost::json::parse(log_line(kTime, "warning", message)).as_object();
  };
  EXPECT_EQ(about("cluster c1: its words: no").at("cluster"), "c1");
  EXPECT_EQ(about("cluster c1: its words: no").at("message"), "its words: no");
  EXPECT_EQ(about("cluster without a name: x").at("message"), "cluster without a name: x");
  EXPECT_EQ(about("jobs are listed: 3").if_contains("job"), nullptr);
}

TEST(LogLines, AreOneLineWhateverTheWordsHold) {
  const std::string line = log_line(kTime, "error", "a\nb\"c\\\x01\xff");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(boost::json::parse(line).is_object());
}

TEST(LogLines, TakeWhatTheControllerLogs) {
  std::ostringstream seen;
  std::streambuf* const before = std::cerr.rdbuf(seen.rdbuf());
  const auto logger = spdlog::default_logger();
  LogLines lines("");
  lines.take_spdlog();
  spdlog::warn("job {}: {}", "j-2", "late");
  spdlog::set_default_logger(logger);
  std::cerr.rdbuf(before);
  const auto line = boost::json::parse(seen.str()).as_object();
  EXPECT_EQ(line.at("severity"), "warning");
  EXPECT_EQ(line.at("message"), "late");
  EXPECT_EQ(line.at("job"), "j-2");
  EXPECT_TRUE(parse_rfc3339(std::string(line.at("time").as_string())));
}

}  // namespace
}  // namespace falcon::up
