// What an HTTP status means to a caller who knows nothing better, in one place for all servers that
// we call. Callers whose server says more (a reason, a code) look at that first. Pure, any thread.
#pragma once

#include "base/result.h"

namespace falcon::http {

// Of an answer that is not 2xx (RFC 9110, section 15). `change`: the request may have changed
// something, so that a failed server leaves its outcome open.
//
// 401, 403 kDenied; 404, 410 kNotFound; 409, 412 kConflict; 429 kThrottled; 503 kUnavailable; other
// 5xx kUnknownOutcome of a change, else kUnavailable; all that is left kInvalid.
ErrorKind sort_status(int status, bool change);

}  // namespace falcon::http
