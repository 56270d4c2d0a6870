// The core's picture of the world and its decisions. Internal to src/core.
//
// Facts come in through observe.cc; records that a fact touches are marked and reconciled until
// nothing is marked any more. Each reconcile function compares what should be with what is known
// and sends what is missing; it may be called at any time and any number of times.
//
//   placement.cc   which cluster, which queue, who is next       (decisions 3 and 4)
//   give_way.cc    a pool without machines, given up for another shape (C4)
//   moves.cc       a waiting job that another cluster can serve at once
//   pool_life.cc   create, follow, reuse or delete node pools     (decision 5)
//   attempt.cc     one Kubernetes Job on a pool, until it is gone (decisions 6 and 8)
//   late_create.cc lost creates of attempts that were given up
//   job_life.cc    what a job's row should say                    (decision 9)
//   retry.cc       an attempt that ended while the job goes on
//   sweep.cc       pools and Kubernetes Jobs that nothing explains
//   ledger.cc      claims on reservations
//   writes.cc      rows on their way to the database
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/core.h"
#include "core/mutant.h"
#include "core/queue.h"
#include "model/tpu.h"

namespace falcon::core {

// Failures in a row of one thing, and when it may be tried again.
struct Retry {
  std::uint32_t failures = 0;
  MonoTime not_before{};
};

inline constexpr MonoTime kNever = MonoTime::max();

enum class RecordKind : std::uint8_t { kJob, kPool, kQueue, kGke, kReservation };

// What is marked, reconciled and woken. Serial numbers rise in the order of making: they, not
// addresses, break ties, so that the same events give the same commands.
struct Record {
  Record(RecordKind kind_in, std::uint64_t serial_in) : kind(kind_in), serial(serial_in) {}
  RecordKind kind;
  bool marked = false;
  bool doomed = false;  // to be erased when the step ends
  std::uint64_t serial;
  MonoTime timer = kNever;
};

struct BySerial {
  bool operator()(const Record* a, const Record* b) const { return a->serial < b->serial; }
};

struct Job;
struct Pool;
struct Gke;
struct QueueRecord;
struct ClusterRecord;
struct ReservationRecord;

// A shape with all that derives from it; interned.
struct ShapeFacts {
  model::Shape shape;
  model::Slice slice;
};

// How a job ended, decided but perhaps not yet durable.
struct Verdict {
  model::JobStatus status = model::JobStatus::kFailed;
  model::Reason reason = model::Reason::kNone;
  model::Message message;
  std::optional<std::int32_t> exit_code;
  std::optional<WallTime> finished_at;
  bool by_workload = false;  // the Kubernetes Job itself ended: wins over an abort
  // Not the job's end: another attempt follows, told with these words.
  enum class Again : std::uint8_t { kNo, kRetry, kDisrupted };
  Again again = Again::kNo;
  model::Message again_message;
};

std::unique_ptr<Verdict> failed(model::Reason reason, model::Message message);

// A create of an attempt that was given up, which may still arrive; see late_create.cc.
struct LateCreate {
  model::AttemptRow row;
  model::WorkloadName name;
  Gke* gke = nullptr;
  std::uint64_t call = 0;  // look or delete under way
  Retry retry;
};

struct Job : Record {
  Job(std::uint64_t serial_in, const model::JobId& key)
      : Record(RecordKind::kJob, serial_in), id(key) {}
  const model::JobId& id;             // the key in the map of all jobs
  Waiting waiting;                    // its place in a queue; points into this record
  const ShapeFacts* shape = nullptr;  // null: the spec is invalid
  std::int64_t grace_seconds = 0;
  std::uint32_t max_retries = 0;
  std::uint32_t max_wait_seconds = 0;    // 0: without end
  std::unique_ptr<std::string> invalid;  // why the spec is; null: it is valid

  model::JobState state;  // the row, as last known to be durable
  std::uint64_t version = 0;
  std::optional<WallTime> aborting_at;
  std::uint64_t write = 0;                    // command under way; 0: none
  std::unique_ptr<model::JobState> proposed;  // by that write
  std::uint64_t read = 0;
  bool must_read = false;  // the row's version is not known
  Retry retry;
  MonoTime message_not_before{};  // changes of the message alone are written at most so often

  QueueRecord* queue = nullptr;                // where it waits or acquires
  bool acquiring = false;                      // picked; no longer waiting
  bool waits_again = false;                    // gave way, and its row does not say so yet
  QueueRecord* slot = nullptr;                 // whose slot it holds; given up when its row says so
  Pool* pool = nullptr;                        // the pool that serves it
  ReservationRecord* reads = nullptr;          // it waits for a fresh reading of this one
  std::unique_ptr<model::BackoffRow> backoff;  // null: none
  std::unique_ptr<Verdict> verdict;            // null: none yet
  bool no_pod_runs = false;                    // proven, after an attempt
  std::vector<LateCreate> late_creates;        // of earlier attempts; the next one waits for them
  std::uint64_t turn = 0;                      // the last that it took in its queue; 0: none
  std::optional<std::uint64_t> turn_before;    // its actor's one before that; empty: not known
  std::vector<MonoTime> gave_way;              // in the last hour
  WallTime turn_at{};
  bool turn_pending = false;  // that turn is not durable yet: the row comes after it
};

struct Attempt {
  enum class Create : std::uint8_t { kNotSent, kInFlight, kUnknown, kCreated, kRefused };
  model::AttemptRow row;
  model::WorkloadName name;
  Create create = Create::kNotSent;
  Retry create_retry;
  std::uint64_t remove = 0;  // DeleteWorkload under way
  bool remove_accepted = false;
  Retry remove_retry;
  std::optional<MonoTime> remove_since;  // first delete of this process
  std::uint64_t look = 0;                // LookAtWorkload under way
  MonoTime look_asked{};
  std::optional<WorkloadLook> looked;  // answer of the last look that succeeded
  MonoTime looked_asked{};             // when that one was asked
  Retry look_retry;
  bool gone = false;          // verified: no Job, no pods
  bool made_anew = false;     // the last look found another Kubernetes Job under its name
  bool own = false;           // intended by this process: it saw what became of every machine
  std::uint32_t creates = 0;  // that left, or may have
  std::optional<MonoTime> verdict_since;
  bool machines_missing = false;       // a live look found fewer than its slice has
  std::optional<MonoTime> end_seen;    // when it was found that it is to be taken back
  std::optional<MonoTime> lost_since;  // a machine of it has not been heard of since
};

struct Pool : Record {
  explicit Pool(std::uint64_t serial_in) : Record(RecordKind::kPool, serial_in) {}
  enum class Create : std::uint8_t { kNotSent, kInFlight, kUnknown, kAnswered };
  model::PoolRow row;                // as decided
  std::uint64_t revision = 1;        // of the row
  std::uint64_t acked_revision = 0;  // durable
  bool removing = false;             // the row's removal is on its way
  const ShapeFacts* shape = nullptr;
  Gke* gke = nullptr;
  Job* job = nullptr;              // row.serves, when that job is known
  std::optional<Attempt> attempt;  // row.serves_attempt

  Create create = Create::kNotSent;
  std::uint32_t creates = 0;  // that left, or may have
  MonoTime create_sent{};     // last time one left, or might have
  Retry create_retry;
  model::OperationName operation;  // empty: not known
  std::uint64_t operation_read = 0;
  MonoTime operation_not_before{};
  std::optional<OperationView> operation_view;
  bool operation_lost = false;  // the last reading of it failed

  std::optional<PoolView> seen;  // in the last complete listing
  bool was_seen = false;
  std::uint64_t seen_in = 0;  // number of the last listing that showed it
  MonoTime accepted_mono{};

  std::map<model::NodeName, NodeView> nodes;
  std::uint32_t nodes_ready = 0;  // index over nodes
  std::optional<MonoTime> all_ready_since;
  std::optional<MonoTime> running_since;  // RUNNING in a listing, without all its nodes
  bool claim_closed = false;              // a reading asked after all nodes were Ready counts it

  std::uint64_t remove = 0;  // DeletePool under way
  Retry remove_retry;
  std::uint32_t remove_failures = 0;  // refusals that are not "busy"
};

struct ClusterRecord {
  model::ClusterRow row;
  Gke* gke = nullptr;
  std::unordered_map<const ShapeFacts*, QueueRecord*> queues;  // index over all queues
  model::Reservation reservation;
};

struct QueueRecord : Record {
  explicit QueueRecord(std::uint64_t serial_in) : Record(RecordKind::kQueue, serial_in) {}
  model::QueueKey key;
  ClusterRecord* cluster = nullptr;  // null: the row is gone
  const ShapeFacts* shape = nullptr;
  Queue queue;
  std::set<Job*, BySerial> holders;  // of the slot; at most one but for a start after a crash
  std::set<Job*, BySerial> turns;    // jobs whose turn is not durable
  std::set<QueueRecord*, BySerial>* siblings = nullptr;  // queues of the shape where jobs wait
  model::JobId held_for;                                 // gave way to that job; empty: to nobody
  MonoTime held_until{};  // picks nobody until then, or until that job runs or ends
  model::JobId resume;    // took the last turn before a restart; empty: looked at
  std::uint64_t publish_version = 0;
  bool publish_wanted = false;
  MonoTime publish_not_before{};
};

struct OrphanWorkload {
  model::Uid uid;
  MonoTime since{};
  std::uint64_t remove = 0;
  Retry retry;
};

struct Gke : Record {
  explicit Gke(std::uint64_t serial_in) : Record(RecordKind::kGke, serial_in) {}
  model::GkeCluster key;
  std::map<model::ClusterId, ClusterRecord*> rows;
  bool listed = false;       // at least one complete listing since the start
  bool told_listed = false;  // its queues know
  MonoTime listing_asked{};  // of the last complete one
  std::uint64_t listings = 0;
  MonoTime moved_at{};     // a listing brought news, or a call changed something
  std::uint64_t list = 0;  // ListPools under way
  MonoTime list_sent{};
  Retry list_retry;
  MonoTime list_not_before{};
  Retry calls;           // busy or throttled: creates and deletes wait
  bool in_sync = false;  // Kubernetes lists
  std::map<model::PoolName, Pool*> pools;
  std::set<Pool*, BySerial> idle;  // index: pools that serve nobody
  // Looked up only, never walked through: their order would be an accident.
  std::unordered_map<model::WorkloadName, Pool*> attempts;  // index: pools with one, by its name
  std::unordered_map<model::Uid, Pool*> attempt_uids;  // index: the same by its uid, where known
  std::unordered_map<model::WorkloadName, WorkloadView> workloads;
  std::unordered_map<model::Uid, std::map<model::PodName, PodView>> pods;  // by the Job's uid
  std::unordered_map<model::PodName, model::Uid> pod_owner;
  std::unordered_map<model::NodeName, model::PoolName> node_pool;
  std::map<model::PoolName, MonoTime> orphans;  // pools without a row, first seen
  std::set<model::WorkloadName> strays;         // index: workloads that are no pool's attempt
  std::map<model::WorkloadName, OrphanWorkload> orphan_workloads;
};

struct ReservationRecord : Record {
  explicit ReservationRecord(std::uint64_t serial_in)
      : Record(RecordKind::kReservation, serial_in) {}
  model::Reservation key;
  std::optional<ReservationView> view;
  std::optional<Error> error;  // of the last reading
  MonoTime asked{};            // of the last complete reading
  std::uint64_t read = 0;
  MonoTime read_not_before{};
  std::set<Pool*, BySerial> pools;          // rows that name it
  std::set<Job*, BySerial> waiters;         // jobs that need a fresh reading
  std::set<QueueRecord*, BySerial> queues;  // free ones that would take a job if it has room
};

class Core::State {
 public:
  explicit State(const Settings& settings);
  ~State();

  void step(const Event& event, const Now& now, std::vector<Command>& out);
  MonoTime wake_at() const;
  std::string check_indexes() const;

 private:
  using OnDone = std::function<void(const CommandDone&)>;

  // observe.cc
  void observe(const StateLoaded& event);
  void observe(const ClusterObserved& event);
  void observe(const ClusterVanished& event);
  void observe(const ClustersListed& event);
  void observe(const JobObserved& event);
  void observe(const JobVanished& event);
  void observe(const JobUnreadable& event);
  void observe(const JobsListed& event);
  void observe(const KubernetesSynced& event);
  void observe(const NodeSeen& event);
  void observe(const NodeVanished& event);
  void observe(const WorkloadSeen& event);
  void observe(const WorkloadVanished& event);
  void observe(const PodSeen& event);
  void observe(const PodVanished& event);
  void observe(const ClockCompared& event);
  void observe(const Tick& event);
  void observe(const CommandDone& event);
  void take_row(Job& job, const model::JobRow& row);
  void become_ready_when_complete();
  std::vector<Pool*> pools_by_name() const;
  std::vector<Gke*> gkes_in_order() const;
  void link(Pool& pool);
  void link_pools_of(Job& job);
  void take_from_job_row(Pool& pool);
  void count_ready(Pool& pool);
  Gke* find_gke(const model::GkeCluster& key);
  Pool* pool_of_workload(const Gke& gke, const model::WorkloadName& name) const;
  Pool* pool_of_uid(const Gke& gke, const model::Uid& uid) const;
  void lose_node(Pool& pool);

  // core.cc
  bool ready() const { return state_loaded_ && clusters_listed_ && jobs_listed_ && linked_; }
  void mark(Record* record);
  void wake(Record& record, MonoTime at);
  void fire_timers();
  void reconcile_all();
  std::uint64_t send(CommandBody body, OnDone on_done);
  void back_off(Retry& retry, const Backoff& policy);
  Duration jittered(Duration duration);
  bool due(Record& record, MonoTime at);  // wakes the record when not yet
  const model::Actor* intern(const model::Actor& actor);
  const ShapeFacts* intern(const model::Shape& shape);
  Gke& gke_of(const model::GkeCluster& key);
  ReservationRecord& reservation_of(const model::Reservation& key);
  void doom(Job& job);
  void erase_doomed();
  bool calls_allowed(const Gke& gke) const;  // some row of it is not offline
  WallTime wall() const { return now_.wall; }
  MonoTime mono() const { return now_.mono; }

  // placement.cc
  void place(Job& job);
  bool offers(const ClusterRecord& cluster, const Job& job) const;
  bool offers(const ClusterRecord& cluster, const ShapeFacts& shape,
              std::optional<model::SupplyMode> asked) const;
  model::SupplyMode supply_for(const ClusterRecord& cluster, const Job& job) const;
  model::SupplyMode supply_for(const ClusterRecord& cluster,
                               std::optional<model::SupplyMode> asked) const;
  Offer offer_of(const Pool& pool, const ClusterRecord& cluster) const;
  QueueRecord& queue_of(ClusterRecord& cluster, const ShapeFacts& shape);
  QueueRecord& queue_by_key(const model::QueueKey& key, const ShapeFacts& shape);
  void count_waiting(QueueRecord& queue);
  std::vector<QueueRecord*> queues_of(const model::ClusterId& id) const;
  void enter_queue(Job& job, QueueRecord& queue);
  void leave_queue(Job& job);
  void acquire(Job& job, bool with_slot);
  bool resume(QueueRecord& queue);
  void forget_turn(Job& job);

  // give_way.cc
  bool give_way(Pool& pool);
  Job* held_up_by(const Pool& pool, const ReservationRecord& reservation);
  void hold(QueueRecord& queue, const Job& other);
  bool held(QueueRecord& queue);
  void end_holds_for(const Job& other);
  void give_turn_back(Job& job);

  // moves.cc
  Job* find_elsewhere(const QueueRecord& here, Offer offer);
  void pull(QueueRecord& queue);
  void move(Job& job, QueueRecord& queue);
  bool has_room(QueueRecord& queue, const Job& job);
  void invite(ClusterRecord& cluster);

  // placement.cc, the slots
  void turn_is_durable(const model::TurnRow& row);
  void take_slot(Job& job, QueueRecord& queue);
  void release_slot(Job& job);
  void requeue(Job& job);
  void reconcile_queue(QueueRecord& queue);
  void publish(QueueRecord& queue);
  void want_publish(QueueRecord& queue);
  bool fits(const Pool& pool, const ClusterRecord& cluster, const Job& job) const;

  // pool_life.cc
  void seek_pool(Job& job);
  void make_pool(Job& job);
  void set_serves(Pool& pool, const model::JobId& id);
  void bind(Pool& pool, Job& job);
  void unbind(Pool& pool);
  void reconcile_pool(Pool& pool);
  void step_intended(Pool& pool);
  void step_accepted(Pool& pool);
  void step_ready(Pool& pool);
  void step_condemned(Pool& pool);
  void create_answered(Pool& pool, const CommandDone& done);
  void accept(Pool& pool);
  void follow_operation(Pool& pool);
  void condemn(Pool& pool);
  void fail_pool(Pool& pool, const Error& error);
  void capacity_failure(Pool& pool, const std::string& words);
  void offer(Pool& pool);
  bool healthy(const Pool& pool) const;
  bool machines_given_back(const Pool& pool) const;
  bool is_capacity(const Pool& pool) const;
  bool verified_gone(const Pool& pool) const;
  bool workload_outlives(const Pool& pool) const;
  void delete_pool(Pool& pool);
  void forget_pool(Pool& pool);
  bool still_wanted(const Pool& pool) const;
  bool attempt_over(const Pool& pool) const;
  Duration pool_timeout(const Pool& pool) const;

  // attempt.cc
  void dispatch(Pool& pool);
  void open_attempt(Pool& pool, Attempt attempt);
  void learn_uid(Pool& pool, const model::Uid& uid);
  void reconcile_attempt(Pool& pool);
  void advance_attempt(Pool& pool);
  void create_workload(Pool& pool);
  void workload_answered(Pool& pool, const CommandDone& done);
  void clean_up_attempt(Pool& pool);

  // late_create.cc
  void remember_late_create(Job& job, const model::AttemptRow& row, Gke& gke);
  bool earlier_attempts_gone(Job& job, Record& waiting);
  void look_for(Job& job, LateCreate& late);
  void late_create_looked(LateCreate& late, const std::string& kube_namespace,
                          const CommandDone& done);
  LateCreate* find_late_create(const model::JobId& id, std::uint32_t number);
  void forget_late_creates(Job& job);

  // attempt.cc, the end
  void remove_workload(Pool& pool);
  bool end_needs_look(Pool& pool);
  void verify_gone(Pool& pool);
  void close_attempt(Pool& pool);
  void look_at(Pool& pool);
  void look_again(Pool& pool);
  const WorkloadLook* looked_since(Pool& pool, MonoTime since);
  const WorkloadView* workload_of(const Pool& pool) const;
  const std::map<model::PodName, PodView>& pods_of(const Pool& pool) const;
  void take_made_anew(Pool& pool, WorkloadLook& look);
  bool late_create_possible(const Attempt& attempt) const;
  bool past_removal_limit(const Pool& pool) const;

  // job_life.cc
  void reconcile_job(Job& job);
  void reach_wanted_state(Job& job, model::JobState& want);
  bool row_holds_slot(const Job& job) const;
  void hold_on(Job& job);
  void judge_wait(Job& job);
  void describe_waiting(Job& job, model::JobState& want);
  void describe_acquiring(Job& job, model::JobState& want);
  void describe_attempt(Job& job, Pool& pool, model::JobState& want);
  void judge_attempt(Job& job, Pool& pool);
  void judge_workload(Job& job, Pool& pool, const WorkloadView& workload);
  bool ended_by_deletion(const WorkloadView& workload) const;
  bool peers_known(Job& job, Pool& pool);
  void judge_limits(Job& job, Pool& pool);
  void judge_start(Job& job, Pool& pool);
  void apply_verdict(const Job& job, model::JobState& want) const;

  // retry.cc
  void decide_what_follows(Job& job, Pool& pool, Verdict& verdict);
  void judge_machines(Job& job, Pool& pool);
  bool machines_lost(const Pool& pool) const;
  void run_again(Job& job, model::JobState& want) const;
  void settle_aborting(Job& job, model::JobState& want);
  void settle_terminal(Job& job, model::JobState& want);

  // writes.cc
  void propose(Job& job, const model::JobState& want);
  void read_row(Job& job);
  void put(StateChange change);
  void put_row(Pool& pool);
  void put_row(const Attempt& attempt);
  void flush_changes();
  void changes_answered(const CommandDone& done);
  void changes_refused();

  // sweep.cc
  void reconcile_gke(Gke& gke);
  void list_pools(Gke& gke);
  void take_listing(Gke& gke, const PoolListing& listing);
  void mark_queues(Gke& gke);
  void sweep_pool(Gke& gke, const PoolView& view, std::map<model::PoolName, MonoTime>& orphans);
  bool explained(const PoolView& view) const;
  void adopt_orphan(Gke& gke, const PoolView& view);
  void sweep_workloads(Gke& gke);
  bool followed_by_operation(const Pool& pool) const;
  enum class News : std::uint8_t { kNone, kSome, kSoon };
  News news_expected(const Pool& pool) const;
  Duration list_interval(const Gke& gke) const;
  Duration busy_interval(MonoTime moved_at, MonoTime asked_at) const;

  // ledger.cc
  void reconcile_reservation(ReservationRecord& reservation);
  void read_reservation(ReservationRecord& reservation);
  std::int64_t open_claims(const ReservationRecord& reservation) const;
  std::optional<std::int64_t> free_units(const ReservationRecord& reservation) const;
  std::int64_t units_needed(const ReservationRecord& reservation, const ShapeFacts& shape) const;
  bool may_claim(Job& job, const ClusterRecord& cluster);
  void want_reading(Job& job, ReservationRecord* reservation);
  void close_claims(ReservationRecord& reservation);

  Settings settings_;
  Now now_;
  std::vector<Command>* out_ = nullptr;
  model::JobState want_;  // of the job that is reconciled; kept for its storage
  std::uint64_t next_command_ = 1;
  std::uint64_t next_serial_ = 1;
  std::uint64_t entropy_ = 0;

  bool state_loaded_ = false;
  bool clusters_listed_ = false;
  bool jobs_listed_ = false;
  bool linked_ = false;
  bool clock_trusted_ = false;

  std::unordered_map<std::uint64_t, OnDone> under_way_;
  std::deque<Record*> marked_;
  std::set<std::tuple<MonoTime, std::uint64_t, Record*>> timers_;
  std::vector<Job*> doomed_jobs_;
  std::vector<std::unique_ptr<Pool>> doomed_pools_;

  std::unordered_map<model::JobId, std::unique_ptr<Job>> jobs_;
  std::set<model::JobId> unreadable_;  // rows that are there and say nothing
  std::unordered_map<model::PoolName, std::unique_ptr<Pool>> pools_;
  std::unordered_map<model::JobId, std::vector<Pool*>> pools_by_job_;  // owner or served
  std::map<model::ClusterId, std::unique_ptr<ClusterRecord>> clusters_;
  std::map<std::string, std::set<model::ClusterId>> clusters_by_type_;
  std::unordered_map<model::GkeCluster, std::unique_ptr<Gke>> gkes_;  // these stay
  std::map<model::QueueKey, std::unique_ptr<QueueRecord>> queues_;
  std::map<model::Reservation, std::unique_ptr<ReservationRecord>> reservations_;
  std::map<model::Shape, std::set<QueueRecord*, BySerial>> waiting_queues_;  // index, not empty
  std::set<QueueRecord*, BySerial> held_queues_;
  std::set<Job*, BySerial> unplaced_;  // no cluster fits; tried on changes
  std::set<model::Actor> actors_;
  std::map<model::Shape, std::unique_ptr<ShapeFacts>> shapes_;
  std::unordered_map<model::JobId, model::BackoffRow> backoffs_;  // of jobs not yet seen
  std::vector<model::AttemptRow> late_creates_;         // of closed attempts, until linked
  std::map<model::JobId, model::TurnRow> turns_taken_;  // until linked

  // Changes of Falcon's own rows: at most one write under way, the latest of each row after it.
  std::map<std::string, StateChange> waiting_changes_;
  std::map<std::string, StateChange> sent_changes_;
  std::map<model::PoolName, std::uint64_t> sent_revisions_;
  std::uint64_t state_write_ = 0;
  Retry state_retry_;
  static constexpr std::size_t kAllGroups = 1'000'000;
  std::size_t state_groups_max_ = kAllGroups;    // in one write
  std::map<std::string, Retry> refused_groups_;  // that the database refused, alone
  MonoTime state_timer_ = kNever;
};

}  // namespace falcon::core
