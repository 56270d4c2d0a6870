// Rows on their way to the database.
//
// A job's row: one conditional write at a time; the write names the version that it was decided on,
// and whatever goes wrong ends in reading the row again. Falcon's own rows: one transaction at a
// time, in order; what changes meanwhile is merged, row by row, into the next.
#include "base/check.h"
#include "core/state.h"

namespace falcon::core {
namespace {

// Message-only changes of one job are written at most so often: people read, databases pay.
constexpr Duration kMessageInterval{2'000};

bool same_but_message(const model::JobState& a, const model::JobState& b) {
  model::JobState copy = a;
  copy.message = b.message;
  return copy == b;
}

std::string key_of(const StateChange& change) {
  struct Key {
    std::string operator()(const PutPool& c) const { return "p/" + c.row.name.value(); }
    std::string operator()(const RemovePool& c) const { return "p/" + c.name.value(); }
    std::string operator()(const PutAttempt& c) const {
      return "p/" + c.row.pool.value() + "/" + c.row.job.value() + "/" +
             std::to_string(c.row.number);
    }
    std::string operator()(const PutTurn& c) const {
      return "t/" + c.row.queue.cluster.value() + "/" + c.row.queue.shape.type + "/" +
             c.row.queue.shape.topology + "/" + c.row.actor.value();
    }
    std::string operator()(const PutBackoff& c) const { return "b/" + c.row.job.value(); }
    std::string operator()(const RemoveBackoff& c) const { return "b/" + c.job.value(); }
  };
  return std::visit(Key{}, change);
}

// Rows that must become durable together: a pool's and those of the attempts on it.
std::string group_of(const StateChange& change) {
  if (const PutAttempt* attempt = std::get_if<PutAttempt>(&change))
    return "p/" + attempt->row.pool.value();
  return key_of(change);
}

}  // namespace

void Core::State::propose(Job& job, const model::JobState& want) {
  if (job.write != 0 || job.read != 0) return;  // its answer marks the job again
  if (job.must_read) {
    if (due(job, job.retry.not_before)) read_row(job);
    return;
  }
  if (want == job.state) return;
  if (job.turn_pending && job.acquiring) return;  // the turn is durable first; that marks the job
  if (!due(job, job.retry.not_before)) return;
  if (same_but_message(want, job.state) && want.message.code == job.state.message.code &&
      !due(job, job.message_not_before))
    return;
  job.message_not_before = mono() + kMessageInterval;
  const model::JobId id = job.id;
  job.proposed = std::make_unique<model::JobState>(want);
  job.write = send(WriteJob{id, job.version, want}, [this, id](const CommandDone& done) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& written_job = *found->second;
    if (written_job.write != done.command) return;
    written_job.write = 0;
    const auto proposed = std::move(written_job.proposed);
    if (done.error) {
      written_job.must_read = true;
      if (done.error->kind != ErrorKind::kConflict)
        back_off(written_job.retry, settings_.call_backoff);
    } else {
      written_job.retry = {};
      const std::uint64_t version = std::get<JobWritten>(done.payload).version;
      if (version > written_job.version) {
        written_job.version = version;
        written_job.state = std::move(*proposed);
      }
      mark(written_job.pool);
      mark(written_job.queue);
      const auto pools = pools_by_job_.find(id);
      if (pools != pools_by_job_.end())
        for (Pool* pool : pools->second) mark(pool);
    }
    mark(&written_job);
  });
}

void Core::State::read_row(Job& job) {
  const model::JobId id = job.id;
  job.read = send(ReadJob{id}, [this, id](const CommandDone& done) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& read_job = *found->second;
    if (read_job.read != done.command) return;
    read_job.read = 0;
    if (!done.error) {
      read_job.must_read = false;
      read_job.retry = {};
      take_row(read_job, std::get<model::JobRow>(done.payload));
      mark(read_job.queue);
      mark(read_job.pool);
    } else if (done.error->kind == ErrorKind::kNotFound) {
      observe(JobVanished{id});
    } else {
      back_off(read_job.retry, settings_.call_backoff);
    }
    mark(&read_job);
  });
}

void Core::State::put(StateChange change) {
  std::string key = key_of(change);
  waiting_changes_.insert_or_assign(std::move(key), std::move(change));
}

void Core::State::put_row(Pool& pool) {
  ++pool.revision;
  put(PutPool{pool.row});
}

void Core::State::put_row(const Attempt& attempt) { put(PutAttempt{attempt.row}); }

// As many rows as the database takes at once: all, unless a refusal has shown that one of them is
// bad. Then ever fewer, until the bad one stands alone and waits by itself.
void Core::State::flush_changes() {
  state_timer_ = kNever;
  if (state_write_ != 0 || waiting_changes_.empty()) return;
  if (state_retry_.not_before > mono()) {
    state_timer_ = state_retry_.not_before;
    return;
  }
  WriteState write;
  sent_revisions_.clear();
  std::string group;
  std::size_t groups = 0;
  for (auto it = waiting_changes_.begin(); it != waiting_changes_.end();) {
    const std::string its = group_of(it->second);
    const auto refused = refused_groups_.find(its);
    if (refused != refused_groups_.end() && refused->second.not_before > mono()) {
      state_timer_ = std::min(state_timer_, refused->second.not_before);
      ++it;
      continue;
    }
    if (its != group && ++groups > state_groups_max_) break;
    group = its;
    if (const PutPool* put_pool = std::get_if<PutPool>(&it->second))
      sent_revisions_[put_pool->row.name] = pools_.at(put_pool->row.name)->revision;
    write.changes.push_back(it->second);
    sent_changes_.insert(waiting_changes_.extract(it++));
  }
  if (write.changes.empty()) return;
  state_write_ =
      send(std::move(write), [this](const CommandDone& done) { changes_answered(done); });
}

void Core::State::changes_refused() {
  std::set<std::string> groups;
  for (const auto& [key, change] : sent_changes_) groups.insert(group_of(change));
  state_groups_max_ = std::max<std::size_t>(groups.size() / 2, 1);
  if (groups.size() == 1) back_off(refused_groups_[*groups.begin()], settings_.delete_backoff);
}

void Core::State::changes_answered(const CommandDone& done) {
  state_write_ = 0;
  if (done.error) {
    // Repeating the same rows changes nothing; newer versions of them win.
    if (done.error->kind == ErrorKind::kInvalid)
      changes_refused();
    else
      back_off(state_retry_, settings_.call_backoff);
    waiting_changes_.merge(sent_changes_);
    sent_changes_.clear();
    return;
  }
  for (const auto& [key, change] : sent_changes_) refused_groups_.erase(group_of(change));
  if (state_groups_max_ < kAllGroups) state_groups_max_ *= 2;
  state_retry_ = {};
  for (const auto& [name, revision] : sent_revisions_) {
    const auto found = pools_.find(name);
    if (found == pools_.end()) continue;
    found->second->acked_revision = revision;
    mark(found->second.get());
    mark(found->second->job);
  }
  for (const auto& [key, change] : sent_changes_) {
    if (const PutTurn* turn = std::get_if<PutTurn>(&change)) turn_is_durable(turn->row);
    if (const RemovePool* remove = std::get_if<RemovePool>(&change)) {
      const auto found = pools_.find(remove->name);
      if (found != pools_.end() && found->second->removing) forget_pool(*found->second);
    }
  }
  sent_changes_.clear();
}

}  // namespace falcon::core
