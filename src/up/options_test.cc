#include "up/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace falcon::up {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OptionsTest : public ::testing::Test {
 protected:
  std::expected<Options, int> parse(Command command, std::vector<std::string> args) {
    const cli::Io io{.in = in_,
                     .out = out_,
                     .err = err_,
                     .environment = [](const std::string& name) -> std::optional<std::string> {
                       return name == "HOME" ? std::optional<std::string>("/home/ann")
                                             : std::nullopt;
                     },
                     .user = "",
                     .now = {},
                     .sleep = {},
                     .read_file = {},
                     .send = {}};
    return parse_options(command, args, io);
  }
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(OptionsTest, HaveDefaultsThatWork) {
  const auto options = parse(Command::kUp, {});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->data, "/home/ann/.local/share/falcon");
  EXPECT_EQ(options->port, 0);
  EXPECT_EQ(options->language, "zh");
  EXPECT_FALSE(options->sim);
}

TEST_F(OptionsTest, TakeTheirFlags) {
  const auto options =
      parse(Command::kUp, {"--data", "/d", "--port", "8080", "--sim", "--speed", "100",
                           "--language", "en", "--host-name", "a", "--host-name", "b"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->data, "/d");
  EXPECT_EQ(options->port, 8080);
  EXPECT_TRUE(options->sim);
  EXPECT_EQ(options->speed, 100u);
  EXPECT_THAT(options->host_names, ElementsAre("a", "b"));
}

TEST_F(OptionsTest, RefuseWithOneLine) {
  const std::vector<std::vector<std::string>> bad{
      {"--prot", "1"},      {"--port", "x"},         {"--port", "70000"}, {"--port", "-1"},
      {"--language", "de"}, {"--installation", "A"}, {"--speed", "0"},    {"up"}};
  for (const auto& args : bad) {
    err_.str("");
    const auto options = parse(Command::kUp, args);
    ASSERT_FALSE(options) << args[0];
    EXPECT_EQ(options.error(), cli::kExitUsage);
    EXPECT_EQ(std::ranges::count(err_.str(), '\n'), 1) << err_.str();
  }
  EXPECT_FALSE(parse(Command::kController, {"--port", "1"}));
}

TEST_F(OptionsTest, ShowHelp) {
  const auto options = parse(Command::kUp, {"--help"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error(), cli::kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("--sim"));
}

TEST_F(OptionsTest, SettingsAreSetAndListed) {
  const auto options =
      parse(Command::kController, {"--set", "pool-timeout=20m", "--set", "idle-on-demand=5m"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->tuning.core.pool_timeout, Duration(1'200'000));
  EXPECT_EQ(options->tuning.gke.idle_on_demand, Duration(300'000));
  const auto listed = parse(Command::kUp, {"--settings", "--set", "pool-timeout=20m"});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error(), cli::kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("pool-timeout              20m "));
  const auto wrong = parse(Command::kUp, {"--set", "pool-timeout=never"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error(), cli::kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("falcon up: --set: pool-timeout: \"never\" is not 1m to 1d\n"));
  EXPECT_FALSE(parse(Command::kUp, {"--set", "capacity-retry=2h"}));
  EXPECT_THAT(err_.str(), HasSubstr("falcon up: --set: capacity-retry (2h) is longer than"));
  EXPECT_TRUE(
      parse(Command::kUp, {"--set", "capacity-retry=2h", "--set", "capacity-retry-max=4h"}));
}

}  // namespace
}  // namespace falcon::up
