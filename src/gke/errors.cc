#include "gke/errors.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <string>

#include "base/text.h"

namespace falcon::gke {
namespace {

struct Words {
  std::string_view text;
  ErrorKind kind;
};

// Sources: GKE's cluster-autoscaler and the OSS autoscaler's GCE client (error codes and texts),
// xpk (stock-out phrases), Terraform's Google provider (what is retried).
constexpr std::array kWords{
    // reservations that cannot serve now
    Words{"does not have available resources for the request", ErrorKind::kOutOfCapacity},
    Words{"No available resources in specified reservations", ErrorKind::kOutOfCapacity},
    Words{"fully consumed", ErrorKind::kOutOfCapacity},
    Words{"no automatic reservation matching", ErrorKind::kOutOfCapacity},
    Words{"requires reservation to be in READY state", ErrorKind::kOutOfCapacity},
    // stock-outs
    Words{"ZONE_RESOURCE_POOL_EXHAUSTED", ErrorKind::kOutOfCapacity},
    Words{"RESOURCE_POOL_EXHAUSTED", ErrorKind::kOutOfCapacity},
    Words{"INSUFFICIENT_CAPACITY", ErrorKind::kOutOfCapacity},
    Words{"GCE_STOCKOUT", ErrorKind::kOutOfCapacity},
    Words{"does not have enough resources available", ErrorKind::kOutOfCapacity},
    Words{"does not currently have sufficient capacity", ErrorKind::kOutOfCapacity},
    Words{"lack of capacity", ErrorKind::kOutOfCapacity},
    Words{"Requested resource is exhausted", ErrorKind::kOutOfCapacity},
    // reservations that are the wrong ones
    Words{"Incompatible AggregateReservation VMFamily", ErrorKind::kInvalid},
    Words{"Could not find the given reservation", ErrorKind::kInvalid},
    Words{"must use ReservationAffinity of", ErrorKind::kInvalid},
    Words{"reservation must exist in the same project", ErrorKind::kInvalid},
    Words{"only compatible with Aggregate Reservations", ErrorKind::kInvalid},
    Words{"Please target a reservation with workload_type", ErrorKind::kInvalid},
    Words{"is incorrect for the requested resources", ErrorKind::kInvalid},
    Words{"Unsupported TPU configuration", ErrorKind::kInvalid},
    Words{"Cluster byte size limit reached", ErrorKind::kInvalid},
    Words{"Cannot find pod range with enough available IPs", ErrorKind::kInvalid},
    Words{"IP_SPACE_EXHAUSTED", ErrorKind::kInvalid},
    Words{"does not have available private IP space", ErrorKind::kInvalid},
    Words{"PERMISSIONS_ERROR", ErrorKind::kDenied},
    // rates first, quotas after: both say "quota"
    Words{"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", ErrorKind::kThrottled},
    Words{"per minute", ErrorKind::kThrottled},
    Words{"rateLimitExceeded", ErrorKind::kThrottled},
    Words{"QUOTA_EXCEEDED", ErrorKind::kQuota},
    Words{"Quota '", ErrorKind::kQuota},
    Words{"quota '", ErrorKind::kQuota},
};

// A cluster or pool that is merely busy: HTTP 400 (rarely 409), told from other preconditions by
// these alone.
constexpr std::array<std::string_view, 6> kBusyWords{
    "CLUSTER_ALREADY_HAS_OPERATION",
    "running incompatible operation",
    "currently being created, deleted, updated or repaired",
    "is currently operating on",
    "operation is already in progress",
    "operationInProgress"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string message_of(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(body, error);
  if (!error)
    if (const auto* object = value.if_object())
      if (const auto* problem = object->if_contains("error"); problem && problem->is_object())
        if (const auto* message = problem->as_object().if_contains("message");
            message && message->is_string())
          return clean_text(message->as_string(), 1'000);
  return clean_text(body, 300);  // a proxy's page, or nothing that we know
}

}  // namespace

ErrorKind sort_words(std::int32_t rpc_code, std::string_view words) {
  for (const Words& row : kWords)
    if (has(words, row.text)) return row.kind;
  switch (rpc_code) {  // google.rpc.Code
    case 3:            // INVALID_ARGUMENT
    case 9:
      return ErrorKind::kInvalid;  // FAILED_PRECONDITION
    case 7:                        // PERMISSION_DENIED
    case 16:
      return ErrorKind::kDenied;  // UNAUTHENTICATED
    case 8:
      return ErrorKind::kOutOfCapacity;  // RESOURCE_EXHAUSTED
    case 4:                              // DEADLINE_EXCEEDED
    case 13:                             // INTERNAL
    case 14:
      return ErrorKind::kUnavailable;  // UNAVAILABLE
    default:
      return ErrorKind::kInternal;
  }
}

Error sort_answer(const http::Response& response, CallKind kind) {
  const std::string message = message_of(response.body);
  const std::string what = fmt::format("{} ({})", message, response.status);
  const auto error = [&](ErrorKind sorted) { return Error{sorted, what}; };
  for (const std::string_view busy : kBusyWords)
    if ((response.status == 400 || response.status == 409) && has(response.body, busy))
      return error(ErrorKind::kBusy);
  switch (response.status) {
    case 400: {
      const ErrorKind sorted = sort_words(3, response.body);
      return error(sorted);
    }
    case 401:
      return error(ErrorKind::kDenied);
    case 403: {
      const ErrorKind sorted = sort_words(7, response.body);
      return error(sorted);
    }
    case 404:
      return error(ErrorKind::kNotFound);
    case 409:
      return error(ErrorKind::kAlreadyExists);
    case 412:
      return error(ErrorKind::kConflict);
    case 429: {
      const ErrorKind sorted = sort_words(0, response.body);
      return error(sorted == ErrorKind::kOutOfCapacity ? sorted : ErrorKind::kThrottled);
    }
    default:
      break;
  }
  if (response.status >= 500)
    return error(kind == CallKind::kChange ? ErrorKind::kUnknownOutcome : ErrorKind::kUnavailable);
  if (response.status >= 300 && response.status < 400)
    return Error{ErrorKind::kUnavailable,
                 fmt::format("redirected ({}); tokens are not sent elsewhere", response.status)};
  return error(ErrorKind::kInvalid);
}

}  // namespace falcon::gke
