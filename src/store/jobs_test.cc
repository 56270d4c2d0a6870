#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "store/contract.h"

namespace falcon::store {
namespace {

using model::JobRow;
using model::JobState;
using model::JobStatus;
using model::Reason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Jobs = StoreContract;
INSTANTIATE_TEST_SUITE_P(Store, Jobs, all_backends(), backend_name);

std::vector<std::string> names(const std::vector<JobRow>& rows) {
  std::vector<std::string> result;
  for (const JobRow& row : rows) result.push_back(row.name);
  return result;
}

TEST_P(Jobs, AnAcceptedJobIsThereAfterReopening) {
  const JobRow row = submitted("train");
  EXPECT_EQ(row.id.value().size(), 36U);
  EXPECT_EQ(row.id.value()[14], '7');
  EXPECT_EQ(row.created_at, now_);
  EXPECT_EQ(row.version, 1U);
  EXPECT_EQ(row.state.status, JobStatus::kPending);
  EXPECT_EQ(row.state.reason, Reason::kWaiting);
  EXPECT_EQ(row.state.message.code, model::MessageCode::kQueued);
  JobRow asked = request("train");
  EXPECT_EQ(row.spec, asked.spec);
  EXPECT_EQ(row.labels, asked.labels);
  EXPECT_EQ(row.priority, 3);
  EXPECT_EQ(store().job(row.id).value(), row);
  open();
  EXPECT_EQ(store().job(row.id).value(), row);
}

TEST_P(Jobs, AllFieldsOfAStateComeBack) {
  const std::uint64_t term = a_term();
  const JobRow row = submitted("train");
  JobState state;
  state.status = JobStatus::kRunning;
  state.message = model::make_message(model::MessageCode::kRunning, {"4", "4"});
  state.cluster = model::ClusterId("c");
  state.node_pool_name = model::PoolName("falcon-x");
  state.job_uid = model::Uid("u");
  state.attempt = 2;
  state.provision = 3;
  state.exit_code = -9;
  state.dispatched_at = now_ + 1ms;
  state.started_at = now_ + 2ms;
  state.finished_at = now_ + 3ms;
  state.aborted_at = now_ + 4ms;
  state.cleanup = model::Cleanup::kFailed;
  state.cleanup_error = "the cloud's \"words\" 𝄞";
  EXPECT_EQ(store().write_job(term, row.id, 1, state).value(), 2U);
  EXPECT_EQ(store().job(row.id)->state, state);
  const auto changes = store().changes(0, 100).value();
  ASSERT_EQ(changes.items.size(), 2U);
  EXPECT_EQ(std::get<JobRow>(changes.items[0].object), row);
  EXPECT_EQ(std::get<JobRow>(changes.items[1].object), store().job(row.id).value());
}

TEST_P(Jobs, LongNamesAndFourByteCharacters) {
  const std::string longest(63, 'n');
  JobRow job = request(longest, "安𝄞");
  job.spec.command = {"echo", "𝄞𝄞𝄞 \U0001F680"};
  const JobRow row = store().submit(job).value();
  EXPECT_EQ(store().job(row.id)->spec.command, job.spec.command);
  EXPECT_EQ(store().jobs_named(longest)->front().actor.value(), "安𝄞");
  JobFilter filter;
  filter.actor = "安𝄞";
  EXPECT_EQ(store().jobs(filter)->items.size(), 1U);
}

TEST_P(Jobs, UnknownIdsAreNotFound) {
  const model::JobId nobody("no-such");
  EXPECT_EQ(kind_of(store().job(nobody)), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(store().abort(nobody)), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(store().job_events(nobody)), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(store().jobs_named("nobody")), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(store().write_job(a_term(), nobody, 1, JobState{})), ErrorKind::kNotFound);
}

TEST_P(Jobs, AWriteOnAnotherVersionIsRefused) {
  const std::uint64_t term = a_term();
  const JobRow row = submitted("train");
  const JobRow running = written(term, row, JobStatus::kRunning);
  EXPECT_EQ(running.version, 2U);
  const auto late = store().write_job(term, row.id, row.version, row.state);
  EXPECT_EQ(kind_of(late), ErrorKind::kConflict);
  EXPECT_THAT(late.error().what, HasSubstr("version 2"));
  EXPECT_EQ(store().job(row.id).value(), running);
}

TEST_P(Jobs, AnAbortBeforeAWriteWins) {
  const std::uint64_t term = a_term();
  const JobRow row = submitted("train");
  now_ += 5s;
  const JobRow aborting = store().abort(row.id).value();
  EXPECT_EQ(aborting.state.status, JobStatus::kAborting);
  EXPECT_EQ(aborting.state.reason, Reason::kNone);
  EXPECT_EQ(aborting.state.message.code, model::MessageCode::kAborting);
  EXPECT_EQ(aborting.aborting_at, now_);
  JobState running = row.state;
  running.status = JobStatus::kRunning;
  EXPECT_EQ(kind_of(store().write_job(term, row.id, row.version, running)), ErrorKind::kConflict);
  EXPECT_EQ(kind_of(store().write_job(term, row.id, aborting.version, running)),
            ErrorKind::kConflict);
  now_ += 5s;
  EXPECT_EQ(store().abort(row.id).value(), aborting) << "again changes nothing";
}

TEST_P(Jobs, AnAbortAfterTheEndLeavesTheResult) {
  const std::uint64_t term = a_term();
  const JobRow done = written(term, submitted("train"), JobStatus::kSucceeded);
  EXPECT_EQ(store().abort(done.id).value(), done);
}

TEST_P(Jobs, AnAbortingJobEndsOnly) {
  const std::uint64_t term = a_term();
  for (const JobStatus to : model::kAllJobStatuses) {
    const JobRow row = store().abort(submitted("train").id).value();
    JobState state = row.state;
    state.status = to;
    const bool allowed = to != JobStatus::kPending && to != JobStatus::kRunning;
    EXPECT_EQ(store().write_job(term, row.id, row.version, state).has_value(), allowed)
        << to_string(to);
  }
}

TEST_P(Jobs, OnlyAnAbortLeadsToAborting) {
  const std::uint64_t term = a_term();
  for (const JobStatus to : {JobStatus::kAborting, JobStatus::kAborted}) {
    const JobRow row = submitted("train");
    JobState state = row.state;
    state.status = to;
    EXPECT_EQ(kind_of(store().write_job(term, row.id, 1, state)), ErrorKind::kConflict);
    EXPECT_EQ(store().job(row.id).value(), row);
  }
}

TEST_P(Jobs, AfterTheEndOnlyMessageAndCleanupChange) {
  const std::uint64_t term = a_term();
  for (const JobStatus end : {JobStatus::kSucceeded, JobStatus::kFailed}) {
    const JobRow row = written(term, submitted("train"), end);
    for (const JobStatus to : model::kAllJobStatuses) {
      JobState state = row.state;
      state.status = to;
      if (to != end) {
        EXPECT_EQ(kind_of(store().write_job(term, row.id, row.version, state)),
                  ErrorKind::kConflict);
      }
    }
    JobState other = row.state;
    other.exit_code = 1;
    EXPECT_EQ(kind_of(store().write_job(term, row.id, row.version, other)), ErrorKind::kConflict);
    JobState cleaned = row.state;
    cleaned.cleanup = model::Cleanup::kDone;
    cleaned.cleanup_error = "words";
    cleaned.message = model::make_message(model::MessageCode::kPoolFailed, {"words"});
    EXPECT_TRUE(store().write_job(term, row.id, row.version, cleaned).has_value());
  }
}

TEST_P(Jobs, NumbersNeverGoBack) {
  const std::uint64_t term = a_term();
  const JobRow row = submitted("train");
  JobState state = row.state;
  state.provision = 2;
  ASSERT_TRUE(store().write_job(term, row.id, 1, state).has_value());
  state.provision = 1;
  EXPECT_EQ(kind_of(store().write_job(term, row.id, 2, state)), ErrorKind::kConflict);
}

TEST_P(Jobs, HistoryTellsStatusReasonAndCode) {
  const std::uint64_t term = a_term();
  const JobRow row = submitted("train");
  now_ += 1s;
  const JobRow provisioning = written(term, row, JobStatus::kPending, Reason::kProvisioning);
  now_ += 1s;
  JobState same = provisioning.state;
  same.provision = 1;  // no news for a reader
  ASSERT_TRUE(store().write_job(term, row.id, provisioning.version, same).has_value());
  now_ += 1s;
  ASSERT_TRUE(store().abort(row.id).has_value());
  const auto events = store().job_events(row.id).value();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].at, row.created_at);
  EXPECT_EQ(events[0].reason, Reason::kWaiting);
  EXPECT_EQ(events[1].reason, Reason::kProvisioning);
  EXPECT_EQ(events[2].status, JobStatus::kAborting);
  EXPECT_EQ(events[2].at, now_);
  EXPECT_EQ(events[2].message.code, model::MessageCode::kAborting);
}

TEST_P(Jobs, ANameMeansTheOpenJobsOrElseTheNewest) {
  const std::uint64_t term = a_term();
  const JobRow first = submitted("train");
  const JobRow second = submitted("train");
  submitted("other");
  auto found = store().jobs_named("train").value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, second.id);
  written(term, second, JobStatus::kSucceeded);
  found = store().jobs_named("train").value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, first.id);
  written(term, first, JobStatus::kSucceeded);
  found = store().jobs_named("train").value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, second.id);
}

TEST_P(Jobs, ANameOfManyGivesTheNewestOnly) {
  JobRow last;
  for (std::uint32_t i = 0; i <= Store::kNamedMax; ++i) last = submitted("train");
  const auto found = store().jobs_named("train").value();
  ASSERT_EQ(found.size(), Store::kNamedMax);
  EXPECT_EQ(found[0].id, last.id);
}

TEST_P(Jobs, PagesCoverAllOnceInOrder) {
  std::vector<std::string> expected;
  for (int i = 0; i < 250; ++i) expected.push_back(submitted("j" + std::to_string(i)).name);
  JobFilter filter;
  filter.limit = 100;
  std::vector<std::string> oldest_first;
  filter.open_only = true;
  std::size_t pages = 0;
  do {
    const JobPage page = store().jobs(filter).value();
    for (const std::string& name : names(page.items)) oldest_first.push_back(name);
    filter.page_token = page.next_page_token;
    ++pages;
  } while (!filter.page_token.empty());
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(oldest_first, expected);

  filter = JobFilter{};
  filter.limit = 125;
  std::vector<std::string> newest_first;
  do {
    const JobPage page = store().jobs(filter).value();
    EXPECT_EQ(page.items.size(), 125U);
    for (const std::string& name : names(page.items)) newest_first.push_back(name);
    filter.page_token = page.next_page_token;
    submitted("later");  // new ones do not move a page
    open();              // nor does a new process
  } while (!filter.page_token.empty());
  std::ranges::reverse(expected);
  EXPECT_EQ(newest_first, expected);
}

TEST_P(Jobs, FiltersMeetEachOther) {
  const std::uint64_t term = a_term();
  const JobRow a = submitted("a", "ann");
  submitted("b", "bob");
  const JobRow c = submitted("c", "ann");
  JobState state = a.state;
  state.cluster = model::ClusterId("c1");
  state.status = JobStatus::kRunning;
  state.reason = Reason::kNone;
  ASSERT_TRUE(store().write_job(term, a.id, 1, state).has_value());
  JobFilter filter;
  EXPECT_THAT(names(store().jobs(filter)->items), ElementsAre("c", "b", "a"));
  filter.actor = "ann";
  EXPECT_THAT(names(store().jobs(filter)->items), ElementsAre("c", "a"));
  filter.status = JobStatus::kRunning;
  EXPECT_THAT(names(store().jobs(filter)->items), ElementsAre("a"));
  filter.cluster = model::ClusterId("c1");
  filter.name = "a";
  EXPECT_THAT(names(store().jobs(filter)->items), ElementsAre("a"));
  filter.name = "c";
  EXPECT_THAT(store().jobs(filter)->items, IsEmpty());
}

TEST_P(Jobs, OpenMeansNotEndedOrNotCleanedUp) {
  const std::uint64_t term = a_term();
  submitted("pending");
  for (const model::Cleanup cleanup : model::kAllCleanups) {
    const JobRow row = submitted("ended-" + std::string(to_string(cleanup)));
    JobState state = row.state;
    state.status = JobStatus::kFailed;
    state.cleanup = cleanup;
    ASSERT_TRUE(store().write_job(term, row.id, 1, state).has_value());
  }
  JobFilter filter;
  filter.open_only = true;
  EXPECT_THAT(names(store().jobs(filter)->items),
              ElementsAre("pending", "ended-pending", "ended-failed"));
}

TEST_P(Jobs, BadPagesAreRefused) {
  JobFilter filter;
  filter.limit = 0;
  EXPECT_EQ(kind_of(store().jobs(filter)), ErrorKind::kInvalid);
  filter.limit = 1'001;
  EXPECT_EQ(kind_of(store().jobs(filter)), ErrorKind::kInvalid);
  filter.limit = 10;
  for (const char* token : {"x", "1x", "-1", "0", "99999999999999999999999"}) {
    filter.page_token = token;
    EXPECT_EQ(kind_of(store().jobs(filter)), ErrorKind::kInvalid) << token;
  }
}

TEST_P(Jobs, SixteenThreadsSubmitAtOnce) {
  constexpr int kThreads = 16;
  constexpr int kEach = 200;
  std::vector<std::vector<std::string>> ids(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          auto row = store().submit(request("load", "actor-" + std::to_string(t)));
          if (row) ids[t].push_back(row->id.value());
        }
      });
  }
  std::set<std::string> distinct;
  for (const auto& some : ids) {
    EXPECT_EQ(some.size(), 200U);
    distinct.insert(some.begin(), some.end());
  }
  EXPECT_EQ(distinct.size(), 3'200U);
  JobFilter filter;
  filter.limit = 1'000;
  std::size_t stored = 0;
  do {
    const JobPage page = store().jobs(filter).value();
    for (const JobRow& row : page.items) stored += distinct.erase(row.id.value());
    filter.page_token = page.next_page_token;
  } while (!filter.page_token.empty());
  EXPECT_EQ(stored, 3'200U);
  EXPECT_EQ(store().changes(3'199, 10)->sequence, 3'200U);
}

TEST_P(Jobs, AbortsAndWritesRaceToOneEnd) {
  const std::uint64_t term = a_term();
  for (int round = 0; round < 20; ++round) {
    const JobRow row = submitted("race");
    JobState done = row.state;
    done.status = JobStatus::kSucceeded;
    done.reason = Reason::kNone;
    Result<std::uint64_t> wrote = fail(ErrorKind::kInternal, "");
    Result<JobRow> aborted = fail(ErrorKind::kInternal, "");
    {
      std::jthread writer([&] { wrote = store().write_job(term, row.id, row.version, done); });
      std::jthread aborter([&] { aborted = store().abort(row.id); });
    }
    const JobRow after = store().job(row.id).value();
    ASSERT_TRUE(aborted.has_value());
    EXPECT_EQ(aborted.value(), after);
    EXPECT_EQ(wrote.has_value(), after.state.status == JobStatus::kSucceeded);
    EXPECT_EQ(after.version, 2U);
  }
}

}  // namespace
}  // namespace falcon::store
