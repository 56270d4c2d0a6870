#include "store/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "store/codec.h"
#include "store/jobs.h"

namespace falcon::store {
namespace {

constexpr std::string_view kJob = "job";
constexpr std::string_view kCluster = "cluster";
constexpr std::string_view kClusterRemoved = "cluster-removed";

void note(Connection& connection, std::string_view kind, std::string_view object,
          const std::string& body) {
  connection.run("INSERT INTO changes (kind, object, body) VALUES (?, ?, ?)", kind, object, body);
}

struct Entry {
  std::uint64_t sequence = 0;
  std::string kind;
  std::string object;
  std::string body;
};

// What of a job never changes, read once for all its changes on a page.
class JobsSeen {
 public:
  explicit JobsSeen(Connection& connection) : connection_(connection) {}
  Result<model::JobRow> at(const Entry& entry) {
    const model::JobId id(entry.object);
    auto seen = rows_.find(id);
    if (seen == rows_.end()) {
      FALCON_TRY(found, find_job(connection_, id));
      seen = rows_.emplace(id, std::move(found.row)).first;
    }
    model::JobRow row = seen->second;
    FALCON_TRY(applied, apply_change(entry.body, row));
    return row;
  }

 private:
  Connection& connection_;
  std::map<model::JobId, model::JobRow> rows_;
};

}  // namespace

void note_change(Connection& connection, const model::JobRow& row) {
  note(connection, kJob, row.id.value(), change_text(row));
}

void note_change(Connection& connection, const model::ClusterRow& row) {
  note(connection, kCluster, row.id.value(), change_text(row));
}

void note_removal(Connection& connection, const model::ClusterId& id) {
  note(connection, kClusterRemoved, id.value(), {});
}

std::uint64_t newest_change(Connection& connection) {
  Cursor row = connection.query("SELECT COALESCE(MAX(sequence), 0) FROM changes");
  return row.next() ? row.natural(0) : 0;
}

std::uint64_t compact_changes(Connection& connection, std::size_t kept) {
  const std::uint64_t newest = newest_change(connection);
  const std::uint64_t keep = std::max<std::uint64_t>(kept, 1);
  if (newest > keep) connection.run("DELETE FROM changes WHERE sequence <= ?", newest - keep);
  return newest;
}

Result<Store::Changes> changes_after(Connection& connection, std::uint64_t since, std::size_t limit,
                                     std::vector<std::string>& troubles) {
  Store::Changes result;
  result.sequence = newest_change(connection);
  if (since > result.sequence)
    return fail(ErrorKind::kInvalid,
                fmt::format("sequence {} is later than the newest, {}: it comes from another "
                            "database, or this one was restored; list again",
                            since, result.sequence));
  std::vector<Entry> entries;
  {
    const auto most = static_cast<std::int64_t>(std::clamp<std::size_t>(limit, 1, 10'000));
    Cursor rows = connection.query(
        "SELECT sequence, kind, object, body FROM changes WHERE sequence > ? ORDER BY sequence "
        "LIMIT ?",
        since, most);
    while (rows.next())
      entries.push_back({rows.natural(0), rows.text(1), rows.text(2), rows.text(3)});
    if (std::cmp_equal(entries.size(), most)) result.sequence = entries.back().sequence;
  }
  if (!entries.empty() && entries.front().sequence != since + 1)
    return fail(ErrorKind::kNotFound,
                fmt::format("changes up to {} have been forgotten, {} is too old; list again",
                            entries.front().sequence - 1, since));
  JobsSeen jobs(connection);
  for (const Entry& entry : entries) {
    if (entry.kind == kClusterRemoved) {
      result.items.push_back({entry.sequence, model::ClusterId(entry.object)});
    } else if (entry.kind == kCluster) {
      std::string trouble;
      if (auto row = cluster_from_change(entry.body, trouble))
        result.items.push_back({entry.sequence, *std::move(row)});
      if (!trouble.empty()) troubles.push_back(std::move(trouble));
    } else if (auto row = jobs.at(entry)) {
      result.items.push_back({entry.sequence, *std::move(row)});
    } else {
      troubles.push_back(row.error().what);
    }
  }
  return result;
}

}  // namespace falcon::store
