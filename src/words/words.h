// The text of messages, in the reader's language.
//
// The core and the store know codes and arguments only (model/message.h); this folder turns them
// into a line for people. Pure functions, any thread. The Chinese lines are those of the first
// specification's table of Status, Reason and Message, to the letter, ASCII punctuation included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/job.h"
#include "model/message.h"

namespace falcon::words {

enum class Language : std::uint8_t { kZh, kEn };

constexpr std::string_view to_string(Language language) {
  return language == Language::kZh ? "zh" : "en";
}
// "zh", "en" and their regional forms ("zh-CN", "zh_CN.UTF-8", "en-US"); empty for all others.
std::optional<Language> language_from_string(std::string_view text);

// One line without an end. Never fails: a row from elsewhere with too few arguments shows gaps,
// what the arguments say is never interpreted.
std::string render(const model::Message& message, Language language);

// The message, and behind it why the clean-up after the job did not work, if it did not.
std::string render_with_cleanup(const model::JobState& state, Language language);

// A job as others see it in a queue.
struct QueuedJob {
  std::string_view actor;
  std::string_view name;
};

// The argument `names` of kQueuePosition: "user-a: profiling-v7x, user-b: benchmark-v7x" for the
// jobs in front, first to be served first. `ahead` is how many there are in all; when `first` holds
// fewer, the text ends in "…等 37 个任务" (all of them) or "… and 35 more" (the rest).
std::string render_names(std::span<const QueuedJob> first, std::size_t ahead, Language language);

}  // namespace falcon::words
