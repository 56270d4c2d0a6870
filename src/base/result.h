// Errors as values. A kind says what the caller should do, never where it came from.
//
// One classification serves every outside call (Google Cloud, Kubernetes, the API server, the
// database) and the decision core: adapters sort what they hear into these kinds, the core's
// retry policy is one exhaustive switch over them.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace falcon {

enum class ErrorKind : std::uint8_t {
  kInvalid,         // the request can never work: record it, stop
  kDenied,          // not allowed: record it, stop, alarm
  kQuota,           // a quota of the project is used up: permanent until an operator acts
  kNotFound,        // the thing is not there: good news for a delete, else look again
  kAlreadyExists,   // the name is taken: look whose it is
  kConflict,        // somebody was faster (version, precondition): look again at once
  kFenced,          // a higher leader term exists: stop leading
  kBusy,            // another operation holds the lock: the same call later, costs no retry
  kThrottled,       // too many calls: the same call later and fewer, costs no retry
  kOutOfCapacity,   // no machines now (stock-out, reservation short): later, not the job's fault
  kUnavailable,     // it did not happen: back off and try again
  kUnknownOutcome,  // it may have happened: look, never assume
  kInternal,        // our own bug, still contained
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string what;  // one line, for people; the outside world's own words where there are any
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using Base = std::expected<T, Error>;
  using Base::Base;
  // Implicit on purpose: a plain std::expected is a Result.
  Result(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)
};

inline std::unexpected<Error> fail(ErrorKind kind, std::string what) {
  return std::unexpected<Error>(Error{kind, std::move(what)});
}

}  // namespace falcon

// FALCON_TRY(row, store.load(id)); leaves the function with the error, or names the value.
#define FALCON_TRY(name, expression)                                    \
  auto name##_or = (expression);                                        \
  if (!name##_or) return std::unexpected(std::move(name##_or).error()); \
  [[maybe_unused]] auto name = *std::move(name##_or)
