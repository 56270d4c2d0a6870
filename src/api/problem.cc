#include "api/problem.h"

#include <fmt/format.h>

#include <cstdlib>

namespace falcon::api {
namespace {

struct Sorted {
  int status;
  std::string_view code;
};

Sorted sorted(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return {400, "invalid"};
    case ErrorKind::kDenied:
      return {403, "forbidden"};
    case ErrorKind::kNotFound:
      return {404, "not_found"};
    case ErrorKind::kAlreadyExists:
      return {409, "already_exists"};
    case ErrorKind::kConflict:
      return {409, "conflict"};
    case ErrorKind::kFenced:
      return {409, "fenced"};
    case ErrorKind::kQuota:
    case ErrorKind::kBusy:
    case ErrorKind::kThrottled:
    case ErrorKind::kOutOfCapacity:
    case ErrorKind::kUnavailable:
      return {503, "unavailable"};
    case ErrorKind::kUnknownOutcome:
      return {504, "unavailable"};  // it may have happened: look
    case ErrorKind::kInternal:
      return {500, "internal"};
  }
  std::abort();
}

}  // namespace

std::string_view status_text(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Internal Server Error";
  }
}

http::ServerResponse problem(int status, std::string_view code, std::string_view detail,
                             const std::vector<model::FieldError>& errors) {
  std::string list;
  for (const model::FieldError& error : errors)
    list += fmt::format("{}{{\"field\":{},\"what\":{}}}", list.empty() ? "" : ",",
                        wire::quoted(error.field), wire::quoted(error.what));
  std::string body =
      fmt::format("{{\"status\":{},\"title\":{},\"code\":{},\"detail\":{}", status,
                  wire::quoted(status_text(status)), wire::quoted(code), wire::quoted(detail));
  if (!errors.empty()) body += ",\"errors\":[" + list + "]";
  return http::ServerResponse{status, body + "}\n", "application/problem+json", {}};
}

http::ServerResponse problem(const wire::Refusal& refusal) {
  return problem(400, "invalid", model::join_field_errors(refusal.errors), refusal.errors);
}

http::ServerResponse problem(const Error& error) {
  const Sorted kind = sorted(error.kind);
  return problem(kind.status, kind.code, error.what);
}

http::ServerResponse invalid_field(std::string field, std::string what) {
  return problem(wire::Refusal{{{std::move(field), std::move(what)}}});
}

}  // namespace falcon::api
