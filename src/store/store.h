// Where rows are kept: one interface, SQLite today, MySQL beside it later.
//
// Two ports in one class, kept apart by name: *jobs* (which may one day live elsewhere) and
// *Falcon's own state*. Accepted means durable: a call's answer comes after the commit. Changes are
// numbered in commit order and none is skipped. A row that cannot be read is never left out in
// silence: see Unreadable. Blocking calls, safe from any thread; writes queued
// meanwhile share one commit (group commit).
//
// Errors: kInvalid (bad input), kNotFound, kAlreadyExists, kConflict (another version, an edge that
// the state machine does not have, pools exist), kFenced (a higher term exists), kUnavailable
// (nothing was stored; try again), kUnknownOutcome (the commit's fate is not known), kInternal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/condition.h"
#include "model/job.h"
#include "model/state_change.h"

namespace falcon::store {

// A job's row that this version cannot read (edited by hand, or written by another version). Lists
// name it beside what they can show, so that nobody takes it for gone; asked for by itself it is
// kInternal with the same words. A cluster whose status is unknown reads as offline.
struct Unreadable {
  model::JobId id;
  std::string what;  // which row, what it says, what to do
  friend bool operator==(const Unreadable&, const Unreadable&) = default;
};

// One change of a job or a cluster row. `row` is empty for a removal.
struct Change {
  std::uint64_t sequence = 0;
  std::variant<model::JobRow, model::ClusterRow, model::JobId, model::ClusterId> object;
};

struct JobEvent {
  WallTime at{};
  model::JobStatus status = model::JobStatus::kPending;
  model::Reason reason = model::Reason::kNone;
  model::Message message;
};

struct JobFilter {
  std::optional<model::JobStatus> status;
  std::string actor;  // empty: all
  std::string name;
  model::ClusterId cluster;
  bool open_only = false;     // not terminal, or clean-up pending or failed; oldest first
  std::uint32_t limit = 100;  // 1 to 1,000
  std::string page_token;     // of the page before; opaque
};
struct JobPage {
  std::vector<model::JobRow> items;  // newest first, but for open_only
  std::vector<Unreadable> unreadable;
  std::string next_page_token;  // empty: the last page
  std::uint64_t sequence = 0;   // where a watch that follows this list starts
};

struct Term {
  std::uint64_t term = 0;
  std::string holder;
  Duration lease{0};
};

class Store {
 public:
  virtual ~Store() = default;

  // --- jobs --------------------------------------------------------------------------------
  // Gives id (UUIDv7), created_at and version; status Pending, message code Queued, reason Waiting.
  virtual Result<model::JobRow> submit(model::JobRow job) = 0;
  virtual Result<model::JobRow> job(const model::JobId& id) = 0;
  // Jobs of that name that are not terminal, newest first, at most kNamedMax; when there are none,
  // the newest one.
  static constexpr std::uint32_t kNamedMax = 100;
  virtual Result<std::vector<model::JobRow>> jobs_named(const std::string& name) = 0;
  virtual Result<JobPage> jobs(const JobFilter& filter) = 0;
  virtual Result<std::vector<JobEvent>> job_events(const model::JobId& id) = 0;
  // Sets Aborting and aborting_at unless the job is terminal: then the row comes back as it is.
  virtual Result<model::JobRow> abort(const model::JobId& id) = 0;
  // Gives the row's new version.
  virtual Result<std::uint64_t> write_job(std::uint64_t term, const model::JobId& id,
                                          std::uint64_t version, const model::JobState& state) = 0;

  // --- clusters ----------------------------------------------------------------------------
  virtual Result<model::ClusterRow> add_cluster(model::ClusterRow cluster) = 0;
  // Stores the row as given under its id; identity fields must be unchanged; gives it a version.
  virtual Result<model::ClusterRow> set_cluster(const model::ClusterRow& cluster) = 0;
  virtual Result<std::monostate> remove_cluster(const model::ClusterId& id) = 0;
  struct ClusterList {
    std::vector<model::ClusterRow> items;                            // by name, then TPU type
    std::map<model::ClusterId, model::ClusterCondition> conditions;  // of those looked for
    std::uint64_t sequence = 0;
  };
  virtual Result<ClusterList> clusters() = 0;

  // --- Falcon's own state ------------------------------------------------------------------
  // `number` rises within a term: a write that arrives after a later one is refused (kConflict);
  // the last number again repeats that write and changes nothing.
  virtual Result<std::monostate> write_state(std::uint64_t term, std::uint64_t number,
                                             const std::vector<model::StateChange>& changes) = 0;
  virtual Result<model::OwnState> own_state() = 0;
  virtual Result<std::monostate> publish_queue(std::uint64_t term,
                                               const model::QueueOrder& order) = 0;
  // Replaces what was found of that cluster before; `since` stays while the health does. No change
  // of the feed. kNotFound: there is no such cluster.
  virtual Result<std::monostate> publish_condition(std::uint64_t term,
                                                   const model::ClusterCondition& condition) = 0;
  struct PublishedQueue {
    model::QueueOrder order;
    WallTime published_at{};
  };
  virtual Result<std::vector<PublishedQueue>> queues() = 0;

  // --- terms -------------------------------------------------------------------------------
  // Strictly higher than any before. kConflict while another holder's lease lives; `what` says how
  // long still. Lease times are measured on this process's clock.
  virtual Result<Term> acquire_term(const std::string& holder, Duration lease) = 0;
  // kFenced: a higher term exists, or this one was released.
  virtual Result<Term> renew_term(std::uint64_t term, Duration lease) = 0;
  virtual Result<std::monostate> release_term(std::uint64_t term) = 0;

  // --- changes -----------------------------------------------------------------------------
  struct Changes {
    std::vector<Change> items;  // after `since`, in order, at most `limit`; none of unreadable rows
    std::uint64_t sequence = 0;  // of the last item, or the newest when there are no more
  };
  // kNotFound: `since` has been compacted away; kInvalid: it is later than the newest. List again.
  virtual Result<Changes> changes(std::uint64_t since, std::size_t limit) = 0;
  // Called after each commit that changed something, from the writer's thread; must not block.
  using OnChange = std::function<void(std::uint64_t sequence)>;
  virtual void on_change(OnChange callback) = 0;

  virtual std::uint32_t schema_version() const = 0;
  // Does it answer? For readiness.
  virtual Result<std::monostate> ping() = 0;
};

struct SqliteSettings {
  std::string path;                    // a file; made when missing, its folder must exist
  std::size_t changes_kept = 100'000;  // history of the change feed
  Duration busy_wait{5'000};           // while another process holds the file's lock
  std::function<WallTime()> now;       // clock; the system's when empty
  // Hears of each row that cannot be read, once. From any thread; must not block.
  std::function<void(const std::string& what)> on_trouble = nullptr;
};
// kInvalid: a newer schema, a file that is no database, a folder without permission; `what` says
// what to do.
Result<std::unique_ptr<Store>> open_sqlite(SqliteSettings settings);

}  // namespace falcon::store
