// Goal: the pick rule of the first specification, to the letter. Method: small queues with named
// actors, and random ones against a slow obvious implementation.
#include "core/queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"

namespace falcon::core {
namespace {

class QueueTest : public ::testing::Test {
 protected:
  const Waiting* submit(const std::string& actor, const std::string& id, std::int64_t at_ms,
                        std::optional<model::SupplyMode> supply = {},
                        std::int64_t timeout_seconds = 60, std::int32_t priority = 0) {
    const model::Actor* interned = &*actors_.emplace(actor).first;
    ids_.emplace_back(id);
    Waiting waiting;
    waiting.created_at = wall_time_from_unix_ms(at_ms);
    waiting.priority = priority;
    waiting.senior_since = senior_since(waiting.created_at, priority);
    waiting.id = &ids_.back();
    waiting.actor = interned;
    waiting.supply = supply;
    waiting.timeout_seconds = timeout_seconds;
    jobs_.push_back(waiting);
    queue_.add(&jobs_.back());
    return &jobs_.back();
  }
  std::string serve() {
    const Waiting* job = queue_.pick(false);
    if (job == nullptr) return "-";
    queue_.served(job->actor);
    queue_.remove(job);
    return job->id->value();
  }
  std::set<model::Actor> actors_;
  std::deque<model::JobId> ids_;
  std::deque<Waiting> jobs_;
  Queue queue_;
  const model::Actor* last_served_ = nullptr;
};

TEST_F(QueueTest, ServesOneActorInTheOrderOfSubmission) {
  submit("ann", "b", 2);
  submit("ann", "a", 1);
  submit("ann", "c", 3);
  EXPECT_EQ(serve() + serve() + serve() + serve(), "abc-");
}

TEST_F(QueueTest, LetsTheActorServedLastStandBack) {
  for (int i = 0; i < 5; ++i) submit("ann", "a" + std::to_string(i), i);
  submit("bob", "b0", 100);
  EXPECT_EQ(serve(), "a0");
  EXPECT_EQ(serve(), "b0");
  EXPECT_EQ(serve(), "a1");
  submit("bob", "b1", 101);
  EXPECT_EQ(serve(), "b1");
  EXPECT_EQ(serve(), "a2");
  EXPECT_EQ(serve(), "a3");  // nobody else waits, and nobody saved up turns
}

TEST_F(QueueTest, OrdersJobsOfOneInstantById) {
  submit("ann", "y", 7);
  submit("bob", "x", 7);
  EXPECT_EQ(serve() + serve(), "xy");
}

TEST_F(QueueTest, AHigherPriorityGoesFirstAndNobodyStepsBackForALower) {
  submit("ann", "a0", 0);
  submit("bob", "b0", 1);
  submit("ann", "urgent0", 2, {}, 60, 5);
  submit("ann", "urgent1", 3, {}, 60, 5);
  EXPECT_EQ(serve(), "urgent0");
  EXPECT_EQ(serve(), "urgent1");  // though ann was served last
  EXPECT_EQ(serve() + serve(), "b0a0");
}

TEST_F(QueueTest, APriorityIsWorthALimitedWait) {
  const std::int64_t worth = 3 * kPriorityWeight.count();
  submit("ann", "old", 0);
  submit("bob", "later", worth + 1, {}, 60, 3);
  EXPECT_EQ(serve() + serve(), "oldlater");
  submit("ann", "old", 0);
  submit("bob", "soon", worth - 1, {}, 60, 3);
  EXPECT_EQ(serve() + serve(), "soonold");
}

TEST_F(QueueTest, RemembersTheLastTurnAcrossARestart) {
  submit("ann", "a", 1);
  submit("bob", "b", 2);
  queue_.recall(&*actors_.find(model::Actor("ann")), 41);
  EXPECT_EQ(serve(), "b");
  EXPECT_EQ(queue_.served(&*actors_.find(model::Actor("bob"))), 43U);
}

TEST_F(QueueTest, FullRotationServesWhoWaitedLongestForATurn) {
  for (const char* actor : {"ann", "bob", "cat"})
    for (int i = 0; i < 2; ++i)
      submit(actor, std::string(actor) + std::to_string(i), actor[0] * 10 + i);
  std::string served;
  while (const Waiting* job = queue_.pick(true)) {
    queue_.served(job->actor);
    served += job->id->value() + " ";
    queue_.remove(job);
  }
  EXPECT_EQ(served, "ann0 bob0 cat0 ann1 bob1 cat1 ");
}

TEST_F(QueueTest, PicksOnlyWhatFits) {
  submit("ann", "a", 1);
  const Waiting* b = submit("ann", "b", 2);
  Offer offer;
  offer.admits = [&](const Waiting& job) { return &job == b; };
  EXPECT_EQ(queue_.pick(false, offer), b);
  offer.admits = [](const Waiting&) { return false; };
  EXPECT_EQ(queue_.pick(false, offer), nullptr);
}

TEST_F(QueueTest, PassesOverWhatAnOfferCannotServe) {
  using model::SupplyMode;
  submit("ann", "flex", 1, SupplyMode::kFlexStart);
  submit("ann", "long", 2, SupplyMode::kOnDemand, 7'200);
  const Waiting* fits = submit("ann", "short", 3, SupplyMode::kOnDemand, 600);
  Offer offer;
  offer.supplies = {};
  offer.supplies[supply_index(SupplyMode::kOnDemand)] = true;
  offer.longest_timeout_seconds = 3'600;
  EXPECT_EQ(queue_.pick(false, offer), fits);
  queue_.remove(fits);
  EXPECT_EQ(queue_.pick(false, offer), nullptr);
  EXPECT_EQ(queue_.pick(false, offer), nullptr);  // by what it remembers of the line
  const Waiting* late = submit("ann", "late", 4, SupplyMode::kOnDemand, 3'600);
  EXPECT_EQ(queue_.pick(false, offer), late);
  offer.longest_timeout_seconds = 7'200;
  EXPECT_EQ(queue_.pick(false, offer)->id->value(), "long");
}

// What the queue remembers of its lines must never hide a job: against a plain scan.
TEST_F(QueueTest, PicksForAnOfferWhatAPlainScanPicks) {
  Random random(29);
  const auto some_supply = [&]() -> std::optional<model::SupplyMode> {
    const auto drawn = random.below(4);
    if (drawn == 0) return std::nullopt;
    return model::kAllSupplyModes[drawn - 1];
  };
  std::vector<const Waiting*> waiting;
  for (int step = 0; step < 4'000; ++step) {
    if (waiting.size() < 30 || random.below(3) == 0)
      waiting.push_back(submit(std::string(1, static_cast<char>('a' + random.below(3))),
                               std::to_string(step), static_cast<std::int64_t>(random.below(50)),
                               some_supply(), static_cast<std::int64_t>(random.below(10))));
    Offer offer;
    for (bool& supply : offer.supplies) supply = random.below(2) == 0;
    offer.longest_timeout_seconds = static_cast<std::int64_t>(random.below(10));
    // Two of one actor stand for all of it: the oldest that the offer can serve.
    std::map<const model::Actor*, const Waiting*> oldest;
    for (const Waiting* job : waiting) {
      if (!offer.supplies[supply_index(job->supply)]) continue;
      if (job->timeout_seconds > offer.longest_timeout_seconds) continue;
      const Waiting*& of_actor = oldest[job->actor];
      if (of_actor == nullptr || MoreSenior{}(job, of_actor)) of_actor = job;
    }
    std::set<const Waiting*, MoreSenior> heads;
    for (const auto& [actor, job] : oldest) heads.insert(job);
    const Waiting* expected = heads.empty() ? nullptr : *heads.begin();
    if (heads.size() > 1 && expected->actor == last_served_) expected = *std::next(heads.begin());
    const Waiting* picked = queue_.pick(false, offer);
    ASSERT_EQ(picked, expected) << "step " << step;
    if (picked == nullptr) continue;
    last_served_ = picked->actor;
    queue_.served(picked->actor);
    queue_.remove(picked);
    std::erase(waiting, picked);
  }
}

TEST_F(QueueTest, ShowsTheOrderInWhichItWillServe) {
  Random random(11);
  for (int round = 0; round < 50; ++round) {
    const auto actor_count = 1 + random.below(4);
    const auto job_count = random.below(12);
    for (std::uint64_t i = 0; i < job_count; ++i) {
      const auto actor = random.below(actor_count);
      const auto at = static_cast<std::int64_t>(random.below(20));
      const auto priority = static_cast<std::int32_t>(random.below(3));
      submit(std::string(1, static_cast<char>('a' + actor)),
             std::to_string(round) + "-" + std::to_string(i), at, {}, 60, priority);
    }
    std::string shown;
    for (const Waiting* job : queue_.order(false)) shown += job->id->value() + " ";
    std::string served;
    const auto serve_count = queue_.size();
    for (std::size_t i = 0; i < serve_count; ++i) served += serve() + " ";
    EXPECT_EQ(shown, served) << "round " << round;
  }
}

}  // namespace
}  // namespace falcon::core
