#include "http/status.h"

namespace falcon::http {

ErrorKind sort_status(int status, bool change) {
  switch (status) {
    case 401:
    case 403:
      return ErrorKind::kDenied;
    case 404:
    case 410:
      return ErrorKind::kNotFound;
    case 409:
    case 412:
      return ErrorKind::kConflict;
    case 429:
      return ErrorKind::kThrottled;
    case 503:
      return ErrorKind::kUnavailable;
    default:
      break;
  }
  if (status < 500) return ErrorKind::kInvalid;
  return change ? ErrorKind::kUnknownOutcome : ErrorKind::kUnavailable;
}

}  // namespace falcon::http
