#include "base/result.h"

#include <cstdlib>

namespace falcon {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kQuota:
      return "quota";
    case ErrorKind::kNotFound:
      return "not found";
    case ErrorKind::kAlreadyExists:
      return "already exists";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kFenced:
      return "fenced";
    case ErrorKind::kBusy:
      return "busy";
    case ErrorKind::kThrottled:
      return "throttled";
    case ErrorKind::kOutOfCapacity:
      return "out of capacity";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kUnknownOutcome:
      return "unknown outcome";
    case ErrorKind::kInternal:
      return "internal error";
  }
  std::abort();
}

}  // namespace falcon
