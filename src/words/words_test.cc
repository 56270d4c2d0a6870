// The lines that people read: the specification's own, to the letter; every code with all of its
// arguments in every language; and nothing that an argument says can change the rest of the line.
#include "words/words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "words/catalog.h"

namespace falcon::words {
namespace {

using model::make_message;
using model::Message;
using model::MessageCode;
using ::testing::HasSubstr;

constexpr std::array kLanguages{Language::kZh, Language::kEn};

struct TableRow {
  Message message;
  std::string_view text;
};

TEST(Words, SayWhatTheSpecificationsTableShows) {
  const TableRow rows[] = {
      {make_message(MessageCode::kQueuePosition,
                    {"3", "2", "user-a: profiling-v7x, user-b: benchmark-v7x"}),
       "队列位置 #3,前面有 2 个任务 (user-a: profiling-v7x, user-b: benchmark-v7x)"},
      {make_message(MessageCode::kCreatingPool, {"reservation"}),
       "正在创建 node pool (supply: reservation)..."},
      {make_message(MessageCode::kReservationBusy, {"1", "2"}),
       "reservation_remaining_slices=1 reservation_needed_slices=2,等待 reservation 容量释放..."},
      {make_message(MessageCode::kWaitingForNodes, {"falcon-job-xxxx", "0", "1", "0"}),
       "node pool falcon-job-xxxx control-plane RUNNING but 0/1 expected node(s) registered "
       "(Ready=0)..."},
      {make_message(MessageCode::kDispatching), "Node pool 就绪,正在提交 K8s Job..."},
      {make_message(MessageCode::kRunning, {"1", "1"}), "Pod 运行中 (1/1 active)"},
      {make_message(MessageCode::kNone), ""},
      {make_message(MessageCode::kPoolTimeout, {"10", "GKE API timeout"}),
       "node pool 创建超时 (10m): GKE API timeout"},
      {make_message(MessageCode::kPoolFailed, {"quota 'TPUS_PER_PROJECT' exceeded"}),
       "node pool 创建失败: quota 'TPUS_PER_PROJECT' exceeded"},
      {make_message(MessageCode::kSubmitFailed, {"admission webhook denied"}),
       "K8s Job 提交失败: admission webhook denied"},
      {make_message(MessageCode::kPodTerminated, {"OOMKilled", "137", ""}),
       "Pod terminated: OOMKilled (exit code 137)"},
      {make_message(MessageCode::kTimeout, {"3600"}), "任务超时 (3600s),已取消 Job"},
      {make_message(MessageCode::kWaitTimeout, {"600", ""}), "等待资源超时 (600s)"},
      {make_message(MessageCode::kAborting), "正在中止,等待 K8s Job 删除和 node pool 清理..."},
      {make_message(MessageCode::kAborted), "用户中止"},
  };
  for (const TableRow& row : rows) EXPECT_EQ(render(row.message, Language::kZh), row.text);
}

TEST(Words, ShowEveryArgumentOfEveryCodeInEveryLanguage) {
  for (std::uint8_t i = 0; i < model::kMessageCodeCount; ++i) {
    const auto code = static_cast<MessageCode>(i);
    Message message{code, {}};
    for (const std::string_view name : model::argument_names(code))
      message.arguments.push_back(fmt::format("<<{}>>", name));
    for (const Language language : kLanguages) {
      const std::string text = render(message, language);
      EXPECT_EQ(text.empty(), code == MessageCode::kNone) << model::to_string(code);
      for (const std::string& argument : message.arguments)
        EXPECT_THAT(text, HasSubstr(argument)) << model::to_string(code) << to_string(language);
      EXPECT_EQ(text.find_first_of("{}[]"), std::string::npos) << text;
    }
  }
}

TEST(Words, NameNoArgumentThatTheCodeDoesNotHave) {
  for (std::uint8_t i = 0; i < model::kMessageCodeCount; ++i) {
    const auto code = static_cast<MessageCode>(i);
    for (const Catalog* catalog : {&catalog_zh(), &catalog_en()}) {
      const std::string_view form = catalog->message(code);
      for (std::size_t at = form.find('{'); at != std::string_view::npos;
           at = form.find('{', at + 1)) {
        const std::string_view name = form.substr(at + 1, form.find('}', at) - at - 1);
        EXPECT_THAT(model::argument_names(code), ::testing::Contains(name)) << form;
      }
    }
  }
}

TEST(Words, LeaveNoEmptyBracketsBehind) {
  EXPECT_EQ(render(make_message(MessageCode::kQueuePosition, {"1", "0", ""}), Language::kZh),
            "队列位置 #1,前面有 0 个任务");
  EXPECT_EQ(
      render(make_message(MessageCode::kPodTerminated, {"Evicted", "", "w-0"}), Language::kEn),
      "Pod terminated: Evicted (pod w-0)");
  EXPECT_EQ(render(make_message(MessageCode::kPodsStarting, {"0", "4", ""}), Language::kEn),
            "Pods are starting (0/4 started)");
}

TEST(Words, TakeTheCloudsWordsAsTheyAre) {
  const std::string wild = "a {words} [b] {0} ]}{[ %s \\n";
  EXPECT_EQ(render(make_message(MessageCode::kPoolFailed, {wild}), Language::kZh),
            "node pool 创建失败: " + wild);
}

TEST(Words, ShowARowWithTooFewArgumentsWithGaps) {
  EXPECT_EQ(render(Message{MessageCode::kRunning, {"1"}}, Language::kZh), "Pod 运行中 (1/ active)");
  EXPECT_EQ(render(Message{MessageCode::kAborted, {"one", "too many"}}, Language::kZh), "用户中止");
}

TEST(Words, AppendWhyTheCleanUpFailedAndKeepTheMessage) {
  model::JobState state;
  state.message = make_message(MessageCode::kTimeout, {"60"});
  state.cleanup = model::Cleanup::kPending;
  state.cleanup_error = "503";
  EXPECT_EQ(render_with_cleanup(state, Language::kZh), "任务超时 (60s),已取消 Job");
  state.cleanup = model::Cleanup::kFailed;
  EXPECT_EQ(render_with_cleanup(state, Language::kZh),
            "任务超时 (60s),已取消 Job; node pool 清理失败: 503");
  state.message = make_message(MessageCode::kNone);
  EXPECT_EQ(render_with_cleanup(state, Language::kEn), "cleaning up the node pool failed: 503");
}

TEST(Words, ShortenALongQueue) {
  const std::array jobs{QueuedJob{"user-a", "profiling-v7x"}, QueuedJob{"user-b", "benchmark-v7x"}};
  EXPECT_EQ(render_names(jobs, 2, Language::kZh), "user-a: profiling-v7x, user-b: benchmark-v7x");
  EXPECT_EQ(render_names(jobs, 37, Language::kZh),
            "user-a: profiling-v7x, user-b: benchmark-v7x…等 37 个任务");
  EXPECT_EQ(render_names(jobs, 39, Language::kEn),
            "user-a: profiling-v7x, user-b: benchmark-v7x… and 37 more");
  EXPECT_EQ(render_names({}, 0, Language::kZh), "");
}

TEST(Words, KnowTheNamesOfLanguages) {
  EXPECT_EQ(language_from_string("zh_CN.UTF-8"), Language::kZh);
  EXPECT_EQ(language_from_string("en-US"), Language::kEn);
  EXPECT_EQ(language_from_string("de"), std::nullopt);
  EXPECT_EQ(language_from_string(""), std::nullopt);
  for (const Language language : kLanguages)
    EXPECT_EQ(language_from_string(to_string(language)), language);
}

}  // namespace
}  // namespace falcon::words
