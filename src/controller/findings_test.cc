#include "controller/findings.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace falcon::controller {
namespace {

using model::ClusterHealth;
using model::ClusterStatus;

class FindingsTest : public testing::Test {
 protected:
  void answer(Result<std::monostate> result) {
    const Findings::Done done = std::move(waiting_);
    waiting_ = nullptr;
    done(std::move(result));
  }
  model::ClusterRow row(ClusterStatus status = ClusterStatus::kActive) const {
    model::ClusterRow row;
    row.id = id_;
    row.status = status;
    return row;
  }

  const model::ClusterId id_{"c-1"};
  std::vector<model::ClusterCondition> sent_;
  Findings::Done waiting_;
  Findings findings_{[this](const model::ClusterCondition& condition, Findings::Done done) {
    EXPECT_FALSE(waiting_) << "two calls at once";
    sent_.push_back(condition);
    waiting_ = std::move(done);
  }};
};

TEST_F(FindingsTest, PublishesWhatIsNewOnce) {
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  ASSERT_EQ(sent_.size(), 1U);
  answer(std::monostate{});
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  EXPECT_EQ(sent_.size(), 1U);
  findings_.found(id_, ClusterHealth::kNotFound, "other words");
  EXPECT_EQ(sent_.size(), 2U);
}

TEST_F(FindingsTest, TheLatestIsStoredLast) {
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  findings_.found(id_, ClusterHealth::kDenied, "no right");
  findings_.found(id_, ClusterHealth::kReachable, "");
  ASSERT_EQ(sent_.size(), 1U);
  answer(std::monostate{});
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_.back().health, ClusterHealth::kReachable);
}

TEST_F(FindingsTest, WhatCouldNotBeStoredIsTriedAgainWithTheNextLook) {
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  answer(fail(ErrorKind::kUnavailable, "away"));
  EXPECT_EQ(sent_.size(), 1U) << "no busy loop";
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  EXPECT_EQ(sent_.size(), 2U);
}

TEST_F(FindingsTest, NothingNewBeginsWhereThereIsNoCluster) {
  EXPECT_EQ(findings_.as_found(row()).status, ClusterStatus::kActive) << "nobody has looked";
  findings_.found(id_, ClusterHealth::kNotFound, "none");
  EXPECT_EQ(findings_.as_found(row()).status, ClusterStatus::kMaintenance);
  EXPECT_EQ(findings_.as_found(row(ClusterStatus::kOffline)).status, ClusterStatus::kOffline);
  findings_.found(id_, ClusterHealth::kDenied, "no right");
  EXPECT_EQ(findings_.as_found(row()).status, ClusterStatus::kMaintenance);
  findings_.found(id_, ClusterHealth::kUnreachable, "timeout");
  EXPECT_EQ(findings_.as_found(row()).status, ClusterStatus::kActive);
  findings_.found(id_, ClusterHealth::kReachable, "");
  EXPECT_EQ(findings_.as_found(row()).status, ClusterStatus::kActive);
}

}  // namespace
}  // namespace falcon::controller
