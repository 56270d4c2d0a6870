#include "store/terms.h"

#include <fmt/format.h>

#include <optional>

namespace falcon::store {
namespace {

struct TermRow {
  std::uint64_t term = 0;
  std::string holder;
  Duration lease{0};
  WallTime lease_until{};
};

constexpr WallTime kReleased{};  // as the end of a lease: it does not live again

std::optional<TermRow> highest(Connection& connection) {
  Cursor row = connection.query(
      "SELECT term, holder, lease_ms, lease_until FROM terms ORDER BY term DESC LIMIT 1");
  if (!row.next()) return std::nullopt;
  return TermRow{row.natural(0), row.text(1), Duration(row.integer(2)), row.time(3)};
}

std::optional<Error> bad_lease(Duration lease) {
  if (lease > Duration{0} && lease <= Duration{24h}) return std::nullopt;
  return Error{
      ErrorKind::kInvalid,
      fmt::format("a lease of {} ms: between 1 ms and 24 hours is allowed", lease.count())};
}

}  // namespace

Result<Acquired> acquire_term(Connection& connection, const std::string& holder, Duration lease,
                              WallTime now) {
  if (holder.empty())
    return fail(ErrorKind::kInvalid, "a term needs a holder: name the process that asks");
  if (auto error = bad_lease(lease)) return std::unexpected(*std::move(error));
  if (const auto last = highest(connection);
      last && last->holder != holder && last->lease_until > now) {
    const Duration left = last->lease_until - now;
    if (left <= last->lease) return left;
    // The clock went back: nobody waits longer than a whole lease from here.
    connection.run("UPDATE terms SET lease_until = ? WHERE term = ?", now + last->lease,
                   last->term);
    return last->lease;
  }
  connection.run(
      "INSERT INTO terms (holder, lease_ms, lease_until, last_number) VALUES (?, ?, ?, 0)", holder,
      lease.count(), now + lease);
  return Term{static_cast<std::uint64_t>(connection.last_row()), holder, lease};
}

Result<Term> renew_term(Connection& connection, std::uint64_t term, Duration lease, WallTime now) {
  if (auto error = bad_lease(lease)) return std::unexpected(*std::move(error));
  FALCON_TRY(checked, check_term(connection, term));
  static_cast<void>(checked);
  const auto last = highest(connection);
  if (last->lease_until == kReleased)
    return fail(ErrorKind::kFenced,
                fmt::format("term {} was given back by {}; ask for a new one", term, last->holder));
  connection.run("UPDATE terms SET lease_ms = ?, lease_until = ? WHERE term = ?", lease.count(),
                 now + lease, term);
  return Term{term, last->holder, lease};
}

Result<std::monostate> release_term(Connection& connection, std::uint64_t term) {
  const auto last = highest(connection);
  if (!last || term > last->term)
    return fail(ErrorKind::kNotFound, fmt::format("term {} was never given", term));
  connection.run("UPDATE terms SET lease_until = ? WHERE term = ?", kReleased, term);
  return std::monostate{};
}

Result<std::monostate> check_term(Connection& connection, std::uint64_t term) {
  const auto last = highest(connection);
  if (last && last->term == term) return std::monostate{};
  if (!last || last->term < term)
    return fail(ErrorKind::kFenced,
                fmt::format("term {} was never given by this database; ask for a new one", term));
  return fail(ErrorKind::kFenced, fmt::format("term {} is over: {} holds term {}; stop leading",
                                              term, last->holder, last->term));
}

}  // namespace falcon::store
