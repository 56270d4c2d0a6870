#include <algorithm>
#include <atomic>
#include <variant>
#include <vector>

#include "store/contract.h"

namespace falcon::store {
namespace {

using model::AttemptOutcome;
using model::AttemptRow;
using model::BackoffRow;
using model::JobId;
using model::PoolName;
using model::PoolRow;
using model::PutAttempt;
using model::PutBackoff;
using model::PutPool;
using model::PutTurn;
using model::RemoveBackoff;
using model::RemovePool;
using model::TurnRow;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using OwnState = StoreContract;
INSTANTIATE_TEST_SUITE_P(Store, OwnState, all_backends(), backend_name);
using Terms = StoreContract;
INSTANTIATE_TEST_SUITE_P(Store, Terms, all_backends(), backend_name);
using Clusters = StoreContract;
INSTANTIATE_TEST_SUITE_P(Store, Clusters, all_backends(), backend_name);
using Changes = StoreContract;
INSTANTIATE_TEST_SUITE_P(Store, Changes, all_backends(), backend_name);

PoolRow pool(const std::string& name, const std::string& cluster = "c1") {
  PoolRow row;
  row.name = PoolName(name);
  row.gke = {"p", "us-east5", "train"};
  row.cluster = model::ClusterId(cluster);
  row.shape = {model::Accelerator::kTpu, "v6e", "4x4"};
  row.supply = model::SupplyMode::kReservation;
  row.reservation = {"o", "us-east5-b", "r"};
  row.owner = JobId("j1");
  row.provision = 2;
  row.phase = model::PoolPhase::kReady;
  row.serves = JobId("j2");
  row.serves_attempt = 1;
  row.intent_at = wall_time_from_unix_ms(1'000);
  row.phase_since = wall_time_from_unix_ms(2'000);
  row.accepted_at = wall_time_from_unix_ms(1'500);
  row.usable_until = wall_time_from_unix_ms(9'000);
  row.last_error = "words 𝄞";
  return row;
}

AttemptRow attempt(const std::string& job, std::uint32_t number, AttemptOutcome outcome,
                   const std::string& pool_name) {
  AttemptRow row;
  row.job = JobId(job);
  row.number = number;
  row.cluster = model::ClusterId("c1");
  row.pool = PoolName(pool_name);
  row.uid = model::Uid("u");
  row.intent_at = wall_time_from_unix_ms(1);
  row.dispatched_at = wall_time_from_unix_ms(2);
  row.ended_at = wall_time_from_unix_ms(3);
  row.outcome = outcome;
  row.exit_code = 137;
  return row;
}

TurnRow turn(const std::string& actor, std::uint64_t number) {
  TurnRow row;
  row.queue = {model::ClusterId("c1"), {model::Accelerator::kTpu, "v6e", "4x4"}};
  row.actor = model::Actor(actor);
  row.turn = number;
  row.job = JobId("j" + std::to_string(number));
  return row;
}

TEST_P(OwnState, RowsComeBackAsTheyWereWritten) {
  const std::uint64_t term = a_term();
  const BackoffRow backoff{JobId("j9"), 3, now_, "stock-out"};
  ASSERT_TRUE(store()
                  .write_state(term, 1,
                               {PutPool{pool("falcon-a")},
                                PutAttempt{attempt("j1", 1, AttemptOutcome::kOpen, "falcon-a")},
                                PutTurn{turn("ann", 7)}, PutBackoff{backoff}})
                  .has_value());
  open();
  const model::OwnState state = store().own_state().value();
  EXPECT_THAT(state.pools, ElementsAre(pool("falcon-a")));
  EXPECT_THAT(state.attempts, ElementsAre(attempt("j1", 1, AttemptOutcome::kOpen, "falcon-a")));
  EXPECT_THAT(state.turns, ElementsAre(turn("ann", 7)));
  EXPECT_THAT(state.backoffs, ElementsAre(backoff));
}

TEST_P(OwnState, RowsAreReplacedAndRemoved) {
  const std::uint64_t term = a_term();
  PoolRow condemned = pool("falcon-a");
  condemned.phase = model::PoolPhase::kCondemned;
  condemned.serves = JobId();
  condemned.accepted_at.reset();
  ASSERT_TRUE(store()
                  .write_state(term, 1,
                               {PutPool{pool("falcon-a")}, PutPool{pool("falcon-b")},
                                PutTurn{turn("ann", 1)}, PutBackoff{{JobId("j1"), 1, now_, ""}}})
                  .has_value());
  ASSERT_TRUE(store()
                  .write_state(term, 2,
                               {PutPool{condemned}, RemovePool{PoolName("falcon-b")},
                                RemovePool{PoolName("never-there")}, PutTurn{turn("ann", 2)},
                                RemoveBackoff{JobId("j1")}})
                  .has_value());
  const model::OwnState state = store().own_state().value();
  EXPECT_THAT(state.pools, ElementsAre(condemned));
  EXPECT_THAT(state.turns, ElementsAre(turn("ann", 2)));
  EXPECT_THAT(state.backoffs, IsEmpty());
}

TEST_P(OwnState, AttemptsAreThoseOpenOrWithAPool) {
  const std::uint64_t term = a_term();
  const AttemptRow open_one = attempt("j1", 2, AttemptOutcome::kOpen, "gone");
  const AttemptRow with_pool = attempt("j2", 1, AttemptOutcome::kFailed, "falcon-a");
  const AttemptRow history = attempt("j1", 1, AttemptOutcome::kFailed, "gone");
  ASSERT_TRUE(store()
                  .write_state(term, 1,
                               {PutPool{pool("falcon-a")}, PutAttempt{history},
                                PutAttempt{with_pool}, PutAttempt{open_one}})
                  .has_value());
  EXPECT_THAT(store().own_state()->attempts, ElementsAre(open_one, with_pool));
}

TEST_P(OwnState, NumbersRiseWithinATerm) {
  const std::uint64_t term = a_term();
  ASSERT_TRUE(store().write_state(term, 5, {PutPool{pool("a")}}).has_value());
  EXPECT_EQ(kind_of(store().write_state(term, 4, {PutPool{pool("b")}})), ErrorKind::kConflict);
  EXPECT_EQ(kind_of(store().write_state(term, 0, {PutPool{pool("b")}})), ErrorKind::kInvalid);
  EXPECT_TRUE(store().write_state(term, 5, {PutPool{pool("c")}}).has_value())
      << "the last number again repeats and changes nothing";
  open();
  EXPECT_EQ(kind_of(store().write_state(term, 4, {})), ErrorKind::kConflict);
  EXPECT_THAT(store().own_state()->pools, ElementsAre(pool("a")));
  const std::uint64_t next = a_term();
  EXPECT_TRUE(store().write_state(next, 1, {PutPool{pool("d")}}).has_value());
  EXPECT_THAT(store().own_state()->pools, SizeIs(2));
}

TEST_P(OwnState, QueuesAreReplacedByNewerOnesOnly) {
  const std::uint64_t term = a_term();
  model::QueueOrder order;
  order.queue = turn("ann", 1).queue;
  order.version = 8;
  order.order = {JobId("a"), JobId("b")};
  ASSERT_TRUE(store().publish_queue(term, order).has_value());
  order.version = 7;
  order.order = {JobId("old")};
  ASSERT_TRUE(store().publish_queue(term, order).has_value());
  auto queues = store().queues().value();
  ASSERT_THAT(queues, SizeIs(1));
  EXPECT_EQ(queues[0].order.queue, order.queue);
  EXPECT_EQ(queues[0].order.version, 8U);
  EXPECT_THAT(queues[0].order.order, ElementsAre(JobId("a"), JobId("b")));
  EXPECT_EQ(queues[0].published_at, now_);
  // A new leader counts from the start again.
  const std::uint64_t next = a_term();
  order.version = 1;
  order.order = {};
  EXPECT_EQ(kind_of(store().publish_queue(term, order)), ErrorKind::kFenced);
  ASSERT_TRUE(store().publish_queue(next, order).has_value());
  EXPECT_THAT(store().queues()->front().order.order, IsEmpty());
}

TEST_P(OwnState, WhatWasFoundOfAClusterIsKeptBesideItsRow) {
  const std::uint64_t term = a_term();
  const model::ClusterRow row = store().add_cluster(cluster("c1")).value();
  const std::uint64_t sequence = store().clusters()->sequence;
  model::ClusterCondition found{row.id, model::ClusterHealth::kNotFound, "no such cluster", {}};
  ASSERT_TRUE(store().publish_condition(term, found).has_value());
  const WallTime first = now_;
  now_ += 5min;
  found.words = "still none";
  ASSERT_TRUE(store().publish_condition(term, found).has_value());
  auto list = store().clusters().value();
  EXPECT_EQ(list.items.front(), row) << "the operator's row is as it was";
  EXPECT_EQ(list.sequence, sequence);
  EXPECT_EQ(list.conditions.at(row.id).words, "still none");
  EXPECT_EQ(list.conditions.at(row.id).since, first);
  found.health = model::ClusterHealth::kReachable;
  ASSERT_TRUE(store().publish_condition(term, found).has_value());
  open();
  list = store().clusters().value();
  EXPECT_EQ(list.conditions.at(row.id).health, model::ClusterHealth::kReachable);
  EXPECT_EQ(list.conditions.at(row.id).since, now_);

  found.cluster = model::ClusterId("nobody");
  EXPECT_EQ(kind_of(store().publish_condition(term, found)), ErrorKind::kNotFound);
  found.cluster = row.id;
  const std::uint64_t next = a_term();
  EXPECT_EQ(kind_of(store().publish_condition(term, found)), ErrorKind::kFenced);
  ASSERT_TRUE(store().publish_condition(next, found).has_value());
  ASSERT_TRUE(store().remove_cluster(row.id).has_value());
  EXPECT_THAT(store().clusters()->conditions, IsEmpty());
}

TEST_P(Terms, RiseForever) {
  const std::uint64_t first = a_term();
  const std::uint64_t second = a_term();
  EXPECT_GT(second, first);
  open();
  EXPECT_GT(a_term(), second);
}

TEST_P(Terms, ALowerTermIsFenced) {
  const std::uint64_t old = a_term();
  const model::JobRow row = submitted("train");
  const std::uint64_t young = a_term();
  const auto refused = store().write_job(old, row.id, row.version, row.state);
  EXPECT_EQ(kind_of(refused), ErrorKind::kFenced);
  EXPECT_THAT(refused.error().what, HasSubstr("c1"));
  EXPECT_EQ(kind_of(store().write_state(old, 1, {PutPool{pool("a")}})), ErrorKind::kFenced);
  EXPECT_EQ(kind_of(store().renew_term(old, 15s)), ErrorKind::kFenced);
  EXPECT_EQ(kind_of(store().write_state(young + 1, 1, {})), ErrorKind::kFenced)
      << "a term that was never given";
  EXPECT_THAT(store().own_state()->pools, IsEmpty());
  EXPECT_EQ(store().job(row.id)->version, 1U);
  EXPECT_TRUE(store().write_job(young, row.id, row.version, row.state).has_value());
}

TEST_P(Terms, ALeaseKeepsOthersOut) {
  const std::uint64_t first = a_term("c1");
  now_ += 5s;
  const auto refused = store().acquire_term("c2", 15s);
  EXPECT_EQ(kind_of(refused), ErrorKind::kConflict);
  EXPECT_THAT(refused.error().what, HasSubstr("10000 ms"));
  ASSERT_EQ(store().renew_term(first, 15s)->lease, Duration{15s});
  now_ += 14s;
  EXPECT_EQ(kind_of(store().acquire_term("c2", 15s)), ErrorKind::kConflict);
  now_ += 1s;
  const Term second = store().acquire_term("c2", 15s).value();
  EXPECT_GT(second.term, first);
  EXPECT_EQ(second.holder, "c2");
  EXPECT_EQ(kind_of(store().acquire_term("c1", 15s)), ErrorKind::kConflict);
  ASSERT_TRUE(store().release_term(second.term).has_value());
  EXPECT_GT(store().acquire_term("c1", 15s)->term, second.term);
}

TEST_P(Terms, AClockThatWentBackHoldsNobodyOutForLong) {
  a_term("c1");
  now_ -= 24h;
  EXPECT_EQ(kind_of(store().acquire_term("c2", 15s)), ErrorKind::kConflict);
  now_ += 15s;
  EXPECT_TRUE(store().acquire_term("c2", 15s).has_value());
}

TEST_P(Terms, OnceReleasedIsNeverRenewed) {
  const std::uint64_t term = a_term("c1");
  ASSERT_TRUE(store().release_term(term).has_value());
  const auto renewed = store().renew_term(term, 15s);  // sent before the release, arrived after it
  EXPECT_EQ(kind_of(renewed), ErrorKind::kFenced);
  EXPECT_THAT(renewed.error().what, HasSubstr("given back"));
  EXPECT_TRUE(store().acquire_term("c2", 15s).has_value());
}

TEST_P(Terms, AReleaseOfAnOldTermLeavesTheNewOne) {
  const std::uint64_t old = a_term("c1");
  a_term("c1");
  ASSERT_TRUE(store().release_term(old).has_value());
  EXPECT_EQ(kind_of(store().acquire_term("c2", 15s)), ErrorKind::kConflict);
  EXPECT_EQ(kind_of(store().release_term(99)), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(store().acquire_term("", 15s)), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(store().acquire_term("c1", 0s)), ErrorKind::kInvalid);
}

TEST_P(Clusters, AreUniqueByPlaceNameAndType) {
  const model::ClusterRow row = store().add_cluster(cluster("b")).value();
  EXPECT_EQ(row.id.value().size(), 36U);
  EXPECT_EQ(row.created_at, now_);
  const auto again = store().add_cluster(cluster("b"));
  EXPECT_EQ(kind_of(again), ErrorKind::kAlreadyExists);
  EXPECT_THAT(again.error().what, HasSubstr(row.id.value()));
  ASSERT_TRUE(store().add_cluster(cluster("b", "v5e")).has_value());
  ASSERT_TRUE(store().add_cluster(cluster("a")).has_value());
  open();
  const auto list = store().clusters().value();
  ASSERT_THAT(list.items, SizeIs(3));
  EXPECT_EQ(list.items[0].name, "a");
  EXPECT_EQ(list.items[1].tpu_type, "v5e");
  EXPECT_EQ(list.items[2], row);
  EXPECT_EQ(list.sequence, 3U);
}

TEST_P(Clusters, ChangeButForWhatNamesThem) {
  model::ClusterRow row = store().add_cluster(cluster("b")).value();
  row.status = model::ClusterStatus::kMaintenance;
  row.default_reservation.clear();
  const model::ClusterRow changed = store().set_cluster(row).value();
  EXPECT_EQ(changed.version, 2U);
  EXPECT_EQ(store().clusters()->items.front(), changed);
  EXPECT_EQ(kind_of(store().set_cluster(row)), ErrorKind::kConflict) << "made to version 1";
  model::ClusterRow other = changed;
  other.project = "elsewhere";
  EXPECT_EQ(kind_of(store().set_cluster(other)), ErrorKind::kInvalid);
  other = changed;
  other.id = model::ClusterId("no-such");
  EXPECT_EQ(kind_of(store().set_cluster(other)), ErrorKind::kNotFound);
}

TEST_P(Clusters, StayWhilePoolsExist) {
  const std::uint64_t term = a_term();
  const model::ClusterRow row = store().add_cluster(cluster("b")).value();
  ASSERT_TRUE(store().write_state(term, 1, {PutPool{pool("falcon-a", row.id.value())}}));
  const auto refused = store().remove_cluster(row.id);
  EXPECT_EQ(kind_of(refused), ErrorKind::kConflict);
  EXPECT_THAT(refused.error().what, HasSubstr("falcon-a"));
  ASSERT_TRUE(store().write_state(term, 2, {RemovePool{PoolName("falcon-a")}}));
  ASSERT_TRUE(store().remove_cluster(row.id).has_value());
  EXPECT_THAT(store().clusters()->items, IsEmpty());
  EXPECT_EQ(kind_of(store().remove_cluster(row.id)), ErrorKind::kNotFound);
}

TEST_P(Changes, ComeInOrderAndGoOnWhereAReaderStopped) {
  const std::uint64_t term = a_term();
  const model::JobRow a = submitted("a");
  const model::ClusterRow c = store().add_cluster(cluster("c")).value();
  const model::JobRow running = written(term, a, model::JobStatus::kRunning);
  ASSERT_TRUE(store().remove_cluster(c.id).has_value());
  const auto all = store().changes(0, 100).value();
  ASSERT_THAT(all.items, SizeIs(4));
  for (std::size_t i = 0; i < all.items.size(); ++i) EXPECT_EQ(all.items[i].sequence, i + 1);
  EXPECT_EQ(std::get<model::JobRow>(all.items[0].object), a);
  EXPECT_EQ(std::get<model::ClusterRow>(all.items[1].object), c);
  EXPECT_EQ(std::get<model::JobRow>(all.items[2].object), running);
  EXPECT_EQ(std::get<model::ClusterId>(all.items[3].object), c.id);
  EXPECT_EQ(all.sequence, 4U);
  const auto some = store().changes(1, 2).value();
  ASSERT_THAT(some.items, SizeIs(2));
  EXPECT_EQ(some.items[0].sequence, 2U);
  EXPECT_EQ(some.sequence, 3U);
  open();
  const auto rest = store().changes(some.sequence, 100).value();
  ASSERT_THAT(rest.items, SizeIs(1));
  EXPECT_EQ(rest.items[0].sequence, 4U);
  EXPECT_THAT(store().changes(4, 100)->items, IsEmpty());
  EXPECT_EQ(kind_of(store().changes(5, 100)), ErrorKind::kInvalid) << "of another database";
}

TEST_P(Changes, OldOnesAreForgotten) {
  open(10);
  for (int i = 0; i < 25; ++i) submitted("j");
  EXPECT_THAT(store().changes(15, 100)->items, SizeIs(10));
  const auto refused = store().changes(14, 100);
  EXPECT_EQ(kind_of(refused), ErrorKind::kNotFound);
  EXPECT_THAT(refused.error().what, HasSubstr("list again"));
  open(10);
  submitted("j");
  EXPECT_EQ(store().changes(25, 100)->items.front().sequence, 26U) << "numbers are not used again";
}

TEST_P(Changes, ARefusedWriteMakesNone) {
  const model::JobRow a = submitted("a");
  EXPECT_FALSE(store().write_job(99, a.id, 1, a.state).has_value());
  ASSERT_TRUE(store().add_cluster(cluster("c")).has_value());
  EXPECT_FALSE(store().add_cluster(cluster("c")).has_value());
  EXPECT_EQ(store().changes(0, 100)->sequence, 2U);
}

TEST_P(Changes, AreAnnouncedAfterTheirCommit) {
  std::atomic<std::uint64_t> heard{0};
  std::atomic<bool> was_there{true};
  store().on_change([&](std::uint64_t sequence) {
    // What is announced can be read.
    if (store().changes(0, 1'000)->sequence < sequence) was_there = false;
    heard = sequence;
  });
  submitted("a");
  EXPECT_EQ(heard, 1U);
  a_term();
  EXPECT_EQ(heard, 1U) << "a term is no change of jobs or clusters";
  submitted("b");
  EXPECT_EQ(heard, 2U);
  EXPECT_TRUE(was_there);
  store().on_change({});
  submitted("c");
  EXPECT_EQ(heard, 2U);
}

}  // namespace
}  // namespace falcon::store
