// What a job's Message says, as data: a code and its arguments. Text is made where a person reads
// (src/words), in the reader's language; words of the cloud travel as arguments, verbatim.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace falcon::model {

// The strings are stored and served: add, never rename.
enum class MessageCode : std::uint8_t {
  kNone,                // no text (Succeeded)
  kQueued,              // in a queue; the place is rendered from the queue's published order
  kQueuePosition,       // position, ahead, names
  kNoCluster,           // tpu_type
  kClusterUnavailable,  // cluster, status
  kCreatingPool,        // supply
  kReservationBusy,     // remaining_slices, needed_slices
  kReservationUnknown,  // reservation, words
  kOutOfCapacity,       // words, retry_at
  kCloudBusy,           // cluster, words
  kGaveWay,             // pool, minutes, job, retry_at
  kWaitingForNodes,     // pool, registered, expected, ready
  kDispatching,         //
  kPodsStarting,        // started, expected, words
  kRunning,             // active, expected
  kPoolTimeout,         // limit_minutes, words
  kPoolFailed,          // words
  kSubmitFailed,        // words
  kPodTerminated,       // container_reason, exit_code, pod
  kJobFailed,           // words
  kStartTimeout,        // limit_minutes, words
  kTimeout,             // timeout_seconds
  kWaitTimeout,         // max_wait_seconds, words
  kInvalidSpec,         // words
  kAttemptFailed,       // attempt, words, retry, max_retries
  kAttemptDisrupted,    // attempt, words, disruption, limit
  kDisrupted,           // disruptions, words
  kMachinesEnded,       // usable_until
  kAborting,            //
  kAborted,             //
};
inline constexpr std::uint8_t kMessageCodeCount =
    static_cast<std::uint8_t>(MessageCode::kAborted) + 1;

std::string_view to_string(MessageCode code);
std::optional<MessageCode> message_code_from_string(std::string_view text);
// Names of the arguments of a code, in order.
std::vector<std::string_view> argument_names(MessageCode code);

struct Message {
  MessageCode code = MessageCode::kNone;
  std::vector<std::string> arguments;  // as many as argument_names(code); numbers in decimal
  friend bool operator==(const Message&, const Message&) = default;
};

// The one way to build one: checks the number of arguments, cleans and bounds each (2,000 bytes).
Message make_message(MessageCode code, std::initializer_list<std::string> arguments = {});

}  // namespace falcon::model
