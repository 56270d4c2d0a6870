// Goal: an operator can change every number behind a decision that is his to choose, sees what it
// may be, and cannot set one that would do harm.
#include "up/tuning.h"

#include <gtest/gtest.h>

#include <set>

namespace falcon::up {
namespace {

std::string refusal_of(std::string_view assignment) {
  Tuning tuning;
  const auto before = tunable(tuning);
  const auto done = set(tuning, assignment);
  const auto after = tunable(tuning);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].value, after[i].value);
  return done ? std::string() : done.error().what;
}

TEST(Tuning, SetsWhatItNames) {
  Tuning tuning;
  for (const char* assignment : {"pool-timeout=25m", "idle-reservation=90", "disruptions-max=0",
                                 "full-rotation=true", "move-waiting-jobs=false"})
    ASSERT_TRUE(set(tuning, assignment)) << assignment;
  EXPECT_EQ(tuning.core.pool_timeout, Duration(1'500'000));
  EXPECT_EQ(tuning.gke.idle_reservation, Duration(90'000));
  EXPECT_EQ(tuning.core.disruptions_max, 0U);
  EXPECT_TRUE(tuning.core.full_rotation);
  EXPECT_FALSE(tuning.core.move_waiting_jobs);
}

TEST(Tuning, ListsEachOnceWithItsOwnValue) {
  Tuning tuning;
  std::set<std::string> names;
  for (const TunableRow& row : tunable(tuning)) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.what.empty()) << row.name;
    // What it shows it takes back.
    Tuning same;
    EXPECT_TRUE(set(same, row.name + "=" + row.value)) << row.name << "=" << row.value;
  }
  // Each reaches a number of its own: one that is changed shows in its own row alone.
  for (const TunableRow& row : tunable(tuning)) {
    Tuning changed;
    const std::string other = row.range == "true or false"
                                  ? (row.value == "true" ? "false" : "true")
                              : row.value == "1h" ? "59m"
                                                  : row.range.substr(row.range.find(" to ") + 4);
    ASSERT_TRUE(set(changed, row.name + "=" + other)) << row.name << "=" << other;
    for (const TunableRow& now : tunable(changed))
      for (const TunableRow& before : tunable(tuning))
        if (now.name == before.name)
          EXPECT_EQ(now.value != before.value, now.name == row.name) << row.name << "/" << now.name;
  }
}

TEST(Tuning, RefusesWithTheNameTheValueAndTheRange) {
  EXPECT_EQ(refusal_of("pool-timeout=0"), "pool-timeout: \"0\" is not 1m to 1d");
  EXPECT_EQ(refusal_of("pool-timeout=2d"), "pool-timeout: \"2d\" is not 1m to 1d");
  EXPECT_EQ(refusal_of("pool-timeout="), "pool-timeout: \"\" is not 1m to 1d");
  EXPECT_EQ(refusal_of("idle-flex-start=soon"), "idle-flex-start: \"soon\" is not 1m to 1d");
  EXPECT_EQ(refusal_of("disruptions-max=-1"), "disruptions-max: \"-1\" is not 0 to 1000");
  EXPECT_EQ(refusal_of("full-rotation=yes"), "full-rotation: \"yes\" is not true or false");
  EXPECT_EQ(refusal_of("pool-timeuot=5m"),
            "there is no setting \"pool-timeuot\"; did you mean \"pool-timeout\"?");
  EXPECT_EQ(refusal_of("colour=red"), "there is no setting \"colour\"; --settings lists them");
  EXPECT_EQ(refusal_of("pool-timeout"),
            "\"pool-timeout\" has no =; write it like pool-timeout=15m");
}

TEST(Tuning, SettingsThatBelongTogetherComeInAnyOrder) {
  Tuning tuning;
  EXPECT_EQ(contradiction(tuning), "");
  ASSERT_TRUE(set(tuning, "capacity-retry=2h"));
  EXPECT_EQ(contradiction(tuning), "capacity-retry (2h) is longer than capacity-retry-max (1h)");
  ASSERT_TRUE(set(tuning, "capacity-retry-max=4h"));
  EXPECT_EQ(contradiction(tuning), "");
}

}  // namespace
}  // namespace falcon::up
