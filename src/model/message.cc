#include "model/message.h"

#include <cstdlib>

#include "base/check.h"
#include "base/text.h"

namespace falcon::model {
namespace {

constexpr std::size_t kArgumentBytesMax = 2000;

struct CodeRow {
  MessageCode code;
  std::string_view name;
  std::vector<std::string_view> arguments;  // owns the list: an initializer_list would not
};

const std::array kCodes{
    CodeRow{MessageCode::kNone, "None", {}},
    CodeRow{MessageCode::kQueued, "Queued", {}},
    CodeRow{MessageCode::kQueuePosition, "QueuePosition", {"position", "ahead", "names"}},
    CodeRow{MessageCode::kNoCluster, "NoCluster", {"tpu_type"}},
    CodeRow{MessageCode::kClusterUnavailable, "ClusterUnavailable", {"cluster", "status"}},
    CodeRow{MessageCode::kCreatingPool, "CreatingPool", {"supply"}},
    CodeRow{
        MessageCode::kReservationBusy, "ReservationBusy", {"remaining_slices", "needed_slices"}},
    CodeRow{MessageCode::kReservationUnknown, "ReservationUnknown", {"reservation", "words"}},
    CodeRow{MessageCode::kOutOfCapacity, "OutOfCapacity", {"words", "retry_at"}},
    CodeRow{MessageCode::kCloudBusy, "CloudBusy", {"cluster", "words"}},
    CodeRow{MessageCode::kGaveWay, "GaveWay", {"pool", "minutes", "job", "retry_at"}},
    CodeRow{MessageCode::kWaitingForNodes,
            "WaitingForNodes",
            {"pool", "registered", "expected", "ready"}},
    CodeRow{MessageCode::kDispatching, "Dispatching", {}},
    CodeRow{MessageCode::kPodsStarting, "PodsStarting", {"started", "expected", "words"}},
    CodeRow{MessageCode::kRunning, "Running", {"active", "expected"}},
    CodeRow{MessageCode::kPoolTimeout, "PoolTimeout", {"limit_minutes", "words"}},
    CodeRow{MessageCode::kPoolFailed, "PoolFailed", {"words"}},
    CodeRow{MessageCode::kSubmitFailed, "SubmitFailed", {"words"}},
    CodeRow{MessageCode::kPodTerminated, "PodTerminated", {"container_reason", "exit_code", "pod"}},
    CodeRow{MessageCode::kJobFailed, "JobFailed", {"words"}},
    CodeRow{MessageCode::kStartTimeout, "StartTimeout", {"limit_minutes", "words"}},
    CodeRow{MessageCode::kTimeout, "Timeout", {"timeout_seconds"}},
    CodeRow{MessageCode::kWaitTimeout, "WaitTimeout", {"max_wait_seconds", "words"}},
    CodeRow{MessageCode::kInvalidSpec, "InvalidSpec", {"words"}},
    CodeRow{
        MessageCode::kAttemptFailed, "AttemptFailed", {"attempt", "words", "retry", "max_retries"}},
    CodeRow{MessageCode::kAttemptDisrupted,
            "AttemptDisrupted",
            {"attempt", "words", "disruption", "limit"}},
    CodeRow{MessageCode::kDisrupted, "Disrupted", {"disruptions", "words"}},
    CodeRow{MessageCode::kMachinesEnded, "MachinesEnded", {"usable_until"}},
    CodeRow{MessageCode::kAborting, "Aborting", {}},
    CodeRow{MessageCode::kAborted, "Aborted", {}},
};

const CodeRow& row_of(MessageCode code) {
  static_assert(kCodes.size() == kMessageCodeCount);
  const CodeRow& row = kCodes[static_cast<std::size_t>(code)];
  FALCON_CHECK(row.code == code);
  return row;
}

}  // namespace

std::string_view to_string(MessageCode code) { return row_of(code).name; }

std::optional<MessageCode> message_code_from_string(std::string_view text) {
  for (const CodeRow& row : kCodes)
    if (row.name == text) return row.code;
  return std::nullopt;
}

std::vector<std::string_view> argument_names(MessageCode code) { return row_of(code).arguments; }

Message make_message(MessageCode code, std::initializer_list<std::string> arguments) {
  FALCON_CHECK(arguments.size() == row_of(code).arguments.size());
  Message message{code, arguments};
  for (std::string& argument : message.arguments)
    if (argument.size() > kArgumentBytesMax || !is_utf8(argument))
      argument = clean_text(argument, kArgumentBytesMax);
  return message;
}

}  // namespace falcon::model
