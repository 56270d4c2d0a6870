#include "simserver/google_error.h"

#include <boost/json.hpp>

namespace falcon::simserver {
namespace {

namespace json = boost::json;

struct Shape {
  int http = 500;
  std::string_view status;         // google.rpc.Code's name
  std::string_view legacy_reason;  // errors[0].reason
  std::string_view info_reason;    // ErrorInfo.reason; empty: none
};

Shape shape_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return {400, "INVALID_ARGUMENT", "badRequest", ""};
    case ErrorKind::kDenied:
      return {403, "PERMISSION_DENIED", "forbidden", ""};
    case ErrorKind::kQuota:
      return {403, "PERMISSION_DENIED", "quotaExceeded", "QUOTA_EXCEEDED"};
    case ErrorKind::kNotFound:
      return {404, "NOT_FOUND", "notFound", ""};
    case ErrorKind::kAlreadyExists:
      return {409, "ALREADY_EXISTS", "alreadyExists", ""};
    case ErrorKind::kConflict:
      return {409, "ABORTED", "conflict", ""};
    case ErrorKind::kBusy:  // "busy" is a 400
      return {400, "FAILED_PRECONDITION", "failedPrecondition", "CLUSTER_ALREADY_HAS_OPERATION"};
    case ErrorKind::kThrottled:
      return {429, "RESOURCE_EXHAUSTED", "rateLimitExceeded", "RATE_LIMIT_EXCEEDED"};
    case ErrorKind::kOutOfCapacity:
      return {429, "RESOURCE_EXHAUSTED", "resourceExhausted", ""};
    case ErrorKind::kUnavailable:
      return {503, "UNAVAILABLE", "backendError", ""};
    case ErrorKind::kFenced:
    case ErrorKind::kUnknownOutcome:
    case ErrorKind::kInternal:
      break;
  }
  return {500, "INTERNAL", "backendError", ""};
}

Answer printed(const Shape& shape, json::object error) {
  Answer answer{.status = shape.http,
                .body = json::serialize(json::object{{"error", std::move(error)}})};
  answer.content_type = "application/json; charset=UTF-8";
  return answer;
}

json::object legacy_entry(const Shape& shape, std::string_view message) {
  return {{"message", message}, {"domain", "global"}, {"reason", shape.legacy_reason}};
}

}  // namespace

Answer google_error(const Error& error) {
  const Shape shape = shape_of(error.kind);
  json::object body{{"code", shape.http},
                    {"message", error.what},
                    {"errors", json::array{legacy_entry(shape, error.what)}},
                    {"status", shape.status}};
  if (!shape.info_reason.empty())
    body["details"] =
        json::array{json::object{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                                 {"reason", shape.info_reason},
                                 {"domain", "container.googleapis.com"}}};
  return printed(shape, std::move(body));
}

Answer legacy_error(const Error& error) {
  const Shape shape = shape_of(error.kind);
  return printed(shape, {{"code", shape.http},
                         {"message", error.what},
                         {"errors", json::array{legacy_entry(shape, error.what)}}});
}

Answer unauthenticated() {
  const Shape shape{401, "UNAUTHENTICATED", "unauthorized", ""};
  constexpr std::string_view kWords =
      "Request had invalid authentication credentials. Expected OAuth 2 access token.";
  return printed(shape, {{"code", 401},
                         {"message", kWords},
                         {"errors", json::array{legacy_entry(shape, kWords)}},
                         {"status", shape.status}});
}

int rpc_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return 3;
    case ErrorKind::kNotFound:
      return 5;
    case ErrorKind::kDenied:
      return 7;
    case ErrorKind::kQuota:
    case ErrorKind::kOutOfCapacity:
      return 8;
    case ErrorKind::kBusy:
      return 9;
    case ErrorKind::kUnavailable:
      return 14;
    default:
      return 13;
  }
}

}  // namespace falcon::simserver
