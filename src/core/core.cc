#include "core/core.h"

#include <algorithm>

#include "base/check.h"
#include "core/state.h"

namespace falcon::core {

Core::Core(const Settings& settings) : state_(std::make_unique<State>(settings)) {}
Core::~Core() = default;

void Core::step(const Event& event, const Now& now, std::vector<Command>& out) {
  state_->step(event, now, out);
}
MonoTime Core::wake_at() const { return state_->wake_at(); }
std::string Core::check_indexes() const { return state_->check_indexes(); }

Core::State::State(const Settings& settings) : settings_(settings) {}
Core::State::~State() = default;

void Core::State::step(const Event& event, const Now& now, std::vector<Command>& out) {
  FALCON_CHECK(now.mono >= now_.mono);
  now_ = now;
  entropy_ = now.entropy;
  out_ = &out;
  std::visit([this](const auto& e) { observe(e); }, event);
  fire_timers();
  reconcile_all();
  flush_changes();
  erase_doomed();
  out_ = nullptr;
}

MonoTime Core::State::wake_at() const {
  const MonoTime first = timers_.empty() ? kNever : std::get<0>(*timers_.begin());
  return std::min(first, state_timer_);
}

void Core::State::mark(Record* record) {
  if (record == nullptr || record->marked || record->doomed) return;
  record->marked = true;
  marked_.push_back(record);
}

void Core::State::wake(Record& record, MonoTime at) {
  if (at >= record.timer || at <= mono()) return;  // what is past was looked at just now
  if (record.timer == kNever) {
    timers_.insert({at, record.serial, &record});
  } else {
    auto node = timers_.extract({record.timer, record.serial, &record});
    node.value() = {at, record.serial, &record};
    timers_.insert(std::move(node));
  }
  record.timer = at;
}

bool Core::State::due(Record& record, MonoTime at) {
  if (at <= mono()) return true;
  wake(record, at);
  return false;
}

void Core::State::fire_timers() {
  while (!timers_.empty() && std::get<0>(*timers_.begin()) <= mono()) {
    Record* record = std::get<2>(*timers_.begin());
    timers_.erase(timers_.begin());
    record->timer = kNever;
    mark(record);
  }
}

void Core::State::reconcile_all() {
  std::size_t rounds = 0;
  while (!marked_.empty()) {
    FALCON_CHECK(++rounds < 10'000'000);
    Record* record = marked_.front();
    marked_.pop_front();
    record->marked = false;
    if (record->doomed || !ready()) continue;
    switch (record->kind) {
      case RecordKind::kJob:
        reconcile_job(static_cast<Job&>(*record));
        break;
      case RecordKind::kPool:
        reconcile_pool(static_cast<Pool&>(*record));
        break;
      case RecordKind::kQueue:
        reconcile_queue(static_cast<QueueRecord&>(*record));
        break;
      case RecordKind::kGke:
        reconcile_gke(static_cast<Gke&>(*record));
        break;
      case RecordKind::kReservation:
        reconcile_reservation(static_cast<ReservationRecord&>(*record));
        break;
    }
  }
}

std::uint64_t Core::State::send(CommandBody body, OnDone on_done) {
  const std::uint64_t id = next_command_++;
  under_way_.emplace(id, std::move(on_done));
  out_->push_back(Command{id, std::move(body)});
  return id;
}

// Up to half of the duration is added, from the event's entropy.
Duration Core::State::jittered(Duration duration) {
  entropy_ = entropy_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count() / 2, 1));
  return duration + Duration(static_cast<std::int64_t>((entropy_ >> 33) % half));
}

void Core::State::back_off(Retry& retry, const Backoff& policy) {
  if (FALCON_MUTANT(kRetryWithoutLimit)) {
    retry.not_before = mono();
    return;
  }
  Duration delay = policy.base;
  for (std::uint32_t i = 0; i < retry.failures && delay < policy.cap; ++i)
    delay = std::min(delay * policy.factor, policy.cap);
  ++retry.failures;
  retry.not_before = mono() + jittered(delay);
}

const model::Actor* Core::State::intern(const model::Actor& actor) {
  return &*actors_.insert(actor).first;
}

const ShapeFacts* Core::State::intern(const model::Shape& shape) {
  const auto found = shapes_.find(shape);
  if (found != shapes_.end()) return found->second.get();
  auto slice = model::find_slice(shape.type, shape.topology);
  if (!slice) return nullptr;
  auto facts = std::make_unique<ShapeFacts>(ShapeFacts{shape, *std::move(slice)});
  return shapes_.emplace(shape, std::move(facts)).first->second.get();
}

Gke& Core::State::gke_of(const model::GkeCluster& key) {
  auto& record = gkes_[key];
  if (!record) {
    record = std::make_unique<Gke>(next_serial_++);
    record->key = key;
  }
  return *record;
}

ReservationRecord& Core::State::reservation_of(const model::Reservation& key) {
  auto& record = reservations_[key];
  if (!record) {
    record = std::make_unique<ReservationRecord>(next_serial_++);
    record->key = key;
  }
  return *record;
}

bool Core::State::calls_allowed(const Gke& gke) const {
  return std::ranges::any_of(gke.rows, [](const auto& row) {
    return row.second->row.status != model::ClusterStatus::kOffline;
  });
}

void Core::State::doom(Job& job) {
  FALCON_CHECK(!job.doomed && job.pool == nullptr);
  leave_queue(job);
  release_slot(job);
  unplaced_.erase(&job);
  forget_late_creates(job);
  job.doomed = true;
  doomed_jobs_.push_back(&job);
}

void Core::State::erase_doomed() {
  for (Job* job : doomed_jobs_) {
    if (job->timer != kNever) timers_.erase({job->timer, job->serial, job});
    want_reading(*job, nullptr);
    if (job->queue != nullptr) job->queue->turns.erase(job);
    const auto found = jobs_.find(job->id);
    if (found != jobs_.end() && found->second.get() == job) jobs_.erase(found);
  }
  doomed_jobs_.clear();
  for (const auto& pool : doomed_pools_)
    if (pool->timer != kNever) timers_.erase({pool->timer, pool->serial, pool.get()});
  doomed_pools_.clear();
}

}  // namespace falcon::core
