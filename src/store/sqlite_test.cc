// What is SQLite's own: files that cannot be used, commits in groups, a process that is killed.
#include "store/sqlite.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "store/contract.h"
#include "store/schema.h"
#include "store/writer.h"

namespace falcon::store {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<std::unique_ptr<Store>> open_file(const std::filesystem::path& path,
                                         std::function<void(const std::string&)> on_trouble = {}) {
  SqliteSettings settings;
  settings.on_trouble = std::move(on_trouble);
  settings.path = path.string();
  settings.busy_wait = 100ms;
  return open_sqlite(std::move(settings));
}

model::JobRow request(const std::string& name) {
  model::JobRow job;
  job.name = name;
  job.actor = model::Actor("ann");
  return job;
}

TEST(SqliteOpen, MakesAFileForItsOwnerOnly) {
  const TemporaryFolder folder;
  const auto store = open_file(folder / "falcon.db");
  ASSERT_TRUE(store.has_value()) << store.error().what;
  EXPECT_EQ((*store)->schema_version(), newest_schema());
  EXPECT_TRUE((*store)->ping().has_value());
  struct stat status{};
  ASSERT_EQ(::stat((folder / "falcon.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(SqliteOpen, RefusesANewerSchema) {
  const TemporaryFolder folder;
  ASSERT_TRUE(open_file(folder / "falcon.db").has_value());
  {
    Connection connection((folder / "falcon.db").string(), 100ms);
    connection.run("INSERT INTO schema_version (version, applied_at) VALUES (?, 0)",
                   newest_schema() + 41);
  }
  const auto refused = open_file(folder / "falcon.db");
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr("version " + std::to_string(newest_schema() + 41)),
                    HasSubstr("version " + std::to_string(newest_schema()) + " at most")));
}

TEST(SqliteOpen, RefusesWhatIsNoDatabase) {
  const TemporaryFolder folder;
  const std::string text(4'096, 'x');
  std::ofstream(folder / "notes.txt") << text;
  const auto refused = open_file(folder / "notes.txt");
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what, HasSubstr("no database"));
  std::ifstream file(folder / "notes.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text) << "left as it was";
}

TEST(SqliteOpen, RefusesTheDatabaseOfAnotherProgram) {
  const TemporaryFolder folder;
  std::ofstream(folder / "other.db").flush();
  {
    Connection connection((folder / "other.db").string(), 100ms);
    connection.script("CREATE TABLE songs (title TEXT)");
  }
  const auto refused = open_file(folder / "other.db");
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what, HasSubstr("another program"));
}

TEST(SqliteOpen, NamesAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const auto refused = open_file(folder / "no" / "falcon.db");
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what,
              AllOf(HasSubstr((folder / "no").string()), HasSubstr("create it")));
  EXPECT_EQ(kind_of(open_file(folder.path())), ErrorKind::kInvalid);
}

TEST(SqliteOpen, NamesAFolderWithoutWritePermission) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  // Root may write anywhere; be somebody else for the call.
  const bool root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65'534;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto refused = open_file(folder / "falcon.db");
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what, AllOf(HasSubstr("write permission"), HasSubstr("falcon.db")));
  EXPECT_FALSE(std::filesystem::exists(folder / "falcon.db"));
  ::chmod(folder.path().c_str(), 0755);
}

TEST(SqliteOpen, SaysWhenAnotherProcessHoldsTheLock) {
  const TemporaryFolder folder;
  const auto store = open_file(folder / "falcon.db");
  ASSERT_TRUE(store.has_value());
  Connection other((folder / "falcon.db").string(), 100ms);
  other.script("BEGIN IMMEDIATE");
  const auto refused = (*store)->submit(request("a"));
  EXPECT_EQ(kind_of(refused), ErrorKind::kUnavailable);
  EXPECT_THAT(refused.error().what, HasSubstr("locked"));
  other.script("ROLLBACK");
  EXPECT_TRUE((*store)->submit(request("b")).has_value());
  EXPECT_EQ((*store)->jobs({})->items.size(), 1U);
}

TEST(SqliteOpen, RefusesAFileSystemWithoutAWriteAheadLog) {
  // Locks by a file beside it, and cannot map memory: what a network share is like.
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
  const TemporaryFolder folder;
  const auto refused = open_file(folder / "falcon.db");
  sqlite3_vfs_register(usual, 1);
  EXPECT_EQ(kind_of(refused), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().what, AllOf(HasSubstr("write-ahead log"), HasSubstr("local disk")));
}

TEST(SqliteRows, APoisonedRowHidesNoOther) {
  const TemporaryFolder folder;
  std::vector<std::string> troubles;
  const auto store =
      open_file(folder / "falcon.db", [&](const std::string& what) { troubles.push_back(what); });
  ASSERT_TRUE(store.has_value());
  const auto good = (*store)->submit(request("good")).value();
  const auto half = (*store)->submit(request("half")).value();
  const auto bad = (*store)->submit(request("bad")).value();
  Connection other((folder / "falcon.db").string(), 100ms);
  other.run("UPDATE jobs SET spec = '{\"image\": ' WHERE name = 'half'");
  other.run("UPDATE jobs SET status = 'Dreaming' WHERE name = 'bad'");
  JobFilter filter;
  filter.open_only = true;
  const auto page = (*store)->jobs(filter).value();
  ASSERT_EQ(page.items.size(), 2U);
  EXPECT_EQ(page.items[0], good);
  EXPECT_EQ(page.items[1].id, half.id);
  EXPECT_EQ(page.items[1].spec, model::JobSpec{}) << "whoever uses it refuses it";
  EXPECT_EQ((*store)->changes(0, 10)->sequence, 3U);

  // Nor does it vanish: it is named in the list, asked for by itself, and told once.
  ASSERT_EQ(page.unreadable.size(), 1U);
  EXPECT_EQ(page.unreadable[0].id, bad.id);
  const auto names_it = AllOf(HasSubstr(bad.id.value()), HasSubstr("\"Dreaming\""));
  EXPECT_THAT(page.unreadable[0].what, names_it);
  const auto alone = (*store)->job(bad.id);
  EXPECT_EQ(kind_of(alone), ErrorKind::kInternal);
  EXPECT_THAT(alone.error().what, names_it);
  EXPECT_EQ(kind_of((*store)->jobs_named("bad")), ErrorKind::kInternal);
  EXPECT_EQ(kind_of((*store)->abort(bad.id)), ErrorKind::kInternal);
  EXPECT_THAT(troubles, testing::ElementsAre(names_it));
}

TEST(SqliteRows, AWordThatDecidesIsNotTakenForAnother) {
  const TemporaryFolder folder;
  const auto store = open_file(folder / "falcon.db");
  ASSERT_TRUE(store.has_value());
  const auto reason = (*store)->submit(request("reason")).value();
  const auto cleanup = (*store)->submit(request("cleanup")).value();
  Connection other((folder / "falcon.db").string(), 100ms);
  other.run("UPDATE jobs SET reason = 'Bored' WHERE name = 'reason'");
  other.run("UPDATE jobs SET cleanup = 'halfway' WHERE name = 'cleanup'");
  EXPECT_THAT((*store)->job(reason.id).error().what, HasSubstr("reason \"Bored\""));
  EXPECT_THAT((*store)->job(cleanup.id).error().what, HasSubstr("cleanup \"halfway\""));
  EXPECT_EQ((*store)->jobs({})->unreadable.size(), 2U);
}

TEST(SqliteRows, AClusterOfUnknownStatusIsShownAsOffline) {
  const TemporaryFolder folder;
  std::vector<std::string> troubles;
  const auto store =
      open_file(folder / "falcon.db", [&](const std::string& what) { troubles.push_back(what); });
  ASSERT_TRUE(store.has_value());
  model::ClusterRow row;
  row.name = "c1";
  row = (*store)->add_cluster(row).value();
  Connection other((folder / "falcon.db").string(), 100ms);
  other.run("UPDATE clusters SET status = 'draining'");
  for (int again = 0; again < 2; ++again) {
    const auto list = (*store)->clusters().value();
    ASSERT_EQ(list.items.size(), 1U);
    EXPECT_EQ(list.items[0].status, model::ClusterStatus::kOffline);
  }
  EXPECT_THAT(troubles,
              testing::ElementsAre(AllOf(HasSubstr("cluster c1"), HasSubstr("\"draining\""))));
  row.status = model::ClusterStatus::kActive;  // put right by hand
  EXPECT_TRUE((*store)->set_cluster(row).has_value());
  EXPECT_EQ((*store)->clusters()->items[0].status, model::ClusterStatus::kActive);
}

TEST(SqliteRows, AChangeThatCannotBeReadIsToldAndTheOthersCome) {
  const TemporaryFolder folder;
  std::vector<std::string> troubles;
  const auto store =
      open_file(folder / "falcon.db", [&](const std::string& what) { troubles.push_back(what); });
  ASSERT_TRUE(store.has_value());
  ASSERT_TRUE((*store)->submit(request("a")).has_value());
  const auto b = (*store)->submit(request("b")).value();
  Connection other((folder / "falcon.db").string(), 100ms);
  other.run("UPDATE changes SET body = '{\"version\": ' WHERE sequence = 1");
  const auto changes = (*store)->changes(0, 10).value();
  ASSERT_EQ(changes.items.size(), 1U);
  EXPECT_EQ(std::get<model::JobRow>(changes.items[0].object).id, b.id);
  EXPECT_THAT(troubles, testing::ElementsAre(HasSubstr("no JSON")));
}

TEST(SqliteRows, AHistoryThatCannotBeReadSaysSo) {
  const TemporaryFolder folder;
  const auto store = open_file(folder / "falcon.db");
  ASSERT_TRUE(store.has_value());
  const auto row = (*store)->submit(request("a")).value();
  Connection other((folder / "falcon.db").string(), 100ms);
  other.run("UPDATE job_events SET status = 'Dreaming'");
  const auto history = (*store)->job_events(row.id);
  EXPECT_EQ(kind_of(history), ErrorKind::kInternal);
  EXPECT_THAT(history.error().what, HasSubstr("Dreaming"));
  EXPECT_EQ((*store)->job(row.id)->id, row.id);
}

// Holds the writer until it is let go, so that what is queued meanwhile is known.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST(SqliteWriter, ManyThreadsShareCommits) {
  const TemporaryFolder folder;
  const std::string path = (folder / "falcon.db").string();
  Writer writer(open_database(path, 1s, {}).value(), [](Connection&) { return 0U; }, 0);
  constexpr std::uint64_t kThreads = 16;
  constexpr std::uint64_t kEach = 50;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          const auto done =
              writer.write<std::monostate>([&](Connection& open) -> Result<std::monostate> {
                open.run("INSERT INTO backoffs VALUES (?, 0, 0, '')",
                         std::to_string(t * kEach + i));
                return std::monostate{};
              });
          EXPECT_TRUE(done.has_value());
        }
      });
  }
  EXPECT_LT(writer.commits(), kThreads * kEach);
  EXPECT_GT(writer.commits(), 0U);
  Connection reader(path, 1s);
  Cursor count = reader.query("SELECT COUNT(*) FROM backoffs");
  ASSERT_TRUE(count.next());
  EXPECT_EQ(count.natural(0), kThreads * kEach);
}

TEST(SqliteWriter, AFailureInAGroupTakesBackItsOwnRowsOnly) {
  const TemporaryFolder folder;
  const std::string path = (folder / "falcon.db").string();
  std::uint64_t commits = 0;
  {
    Writer writer(open_database(path, 1s, {}).value(), [](Connection&) { return 0U; }, 0);
    Gate gate;
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      const auto held = writer.write<std::monostate>([&](Connection&) -> Result<std::monostate> {
        gate.wait();
        return std::monostate{};
      });
      EXPECT_TRUE(held.has_value());
    });
    for (int i = 0; i < 9; ++i)
      threads.emplace_back([&, i] {
        const auto done =
            writer.write<std::monostate>([&](Connection& open) -> Result<std::monostate> {
              open.run("INSERT INTO backoffs VALUES (?, 0, 0, '')", std::to_string(i));
              if (i % 3 == 1) return fail(ErrorKind::kConflict, "refused");
              if (i % 3 == 2) open.run("INSERT INTO backoffs VALUES (?, NULL, 0, '')", "null");
              return std::monostate{};
            });
        EXPECT_EQ(done.has_value(), i % 3 == 0);
        if (i % 3 == 1) {
          EXPECT_EQ(done.error().kind, ErrorKind::kConflict);
        }
      });
    gate.open();
    threads.clear();
    commits = writer.commits();
  }
  EXPECT_GE(commits, 1U);
  Connection reader(path, 1s);
  Cursor rows =
      reader.query("SELECT group_concat(job) FROM (SELECT job FROM backoffs ORDER BY job)");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.text(0), "0,3,6");
}

TEST(SqliteWriter, AnExceptionIsAnsweredAndTheNextWriteGoesOn) {
  const TemporaryFolder folder;
  const std::string path = (folder / "falcon.db").string();
  bool fail_before_commit = false;
  Writer writer(
      open_database(path, 1s, {}).value(),
      [&](Connection&) -> std::uint64_t {
        if (fail_before_commit) throw std::bad_alloc();
        return 1U;
      },
      0);
  const auto write = [&](const std::string& job, bool throws) {
    return writer.write<std::monostate>([&](Connection& open) -> Result<std::monostate> {
      open.run("INSERT INTO backoffs VALUES (?, 0, 0, '')", job);
      if (throws) throw std::length_error("too long");
      return std::monostate{};
    });
  };
  const auto thrown = write("a", true);
  EXPECT_EQ(kind_of(thrown), ErrorKind::kInternal);
  EXPECT_THAT(thrown.error().what, HasSubstr("too long"));
  fail_before_commit = true;
  EXPECT_EQ(kind_of(write("b", false)), ErrorKind::kUnavailable);
  fail_before_commit = false;
  // A listener's exception comes after the commit: the write stands.
  writer.on_change([](std::uint64_t) { throw std::runtime_error("deaf"); });
  EXPECT_TRUE(write("c", false).has_value());
  Connection reader(path, 1s);
  Cursor rows = reader.query("SELECT group_concat(job) FROM backoffs");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.text(0), "c");
}

// The child's whole life: submits and reports what was acknowledged, until it is killed.
[[noreturn]] void submit_until_killed(const std::filesystem::path& path, int report) {
  auto store = open_file(path);
  if (!store) ::_exit(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (;;) {
        const auto row = (*store)->submit(request("job"));
        if (!row) ::_exit(2);
        const std::string line = row->id.value() + "\n";  // short: written whole
        if (::write(report, line.data(), line.size()) < 0) ::_exit(3);
      }
    });
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

TEST(SqliteDurability, WhatWasAcknowledgedSurvivesAKill) {
  const TemporaryFolder folder;
  std::vector<std::string> acknowledged;
  for (int round = 1; round <= 3; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) submit_until_killed(folder / "falcon.db", ends[1]);
    ::close(ends[1]);
    std::string text;
    std::array<char, 4'096> bytes{};
    const std::size_t enough = 37UZ * 100UZ * static_cast<std::size_t>(round);
    bool killed = false;
    for (;;) {
      const ssize_t size = ::read(ends[0], bytes.data(), bytes.size());
      if (size <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(size));
      if (!killed && text.size() >= enough) {
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        killed = true;  // what is in the pipe was acknowledged, too
      }
    }
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    for (std::size_t at = 0; at + 37 <= text.size(); at += 37)
      acknowledged.push_back(text.substr(at, 36));

    const auto store = open_file(folder / "falcon.db");
    ASSERT_TRUE(store.has_value()) << store.error().what;
    for (const std::string& id : acknowledged)
      EXPECT_TRUE((*store)->job(model::JobId(id)).has_value()) << id << " was lost";
  }
  EXPECT_GE(acknowledged.size(), 600U);
}

}  // namespace
}  // namespace falcon::store
