// What every store must do, for whatever lies under it: the tests below `StoreContract` run once
// for each backend. Only tests include this.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "store/store.h"

namespace falcon::store {

// A new folder that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "falcon-store-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A database that can be opened again and again with all that was committed.
class Backend {
 public:
  struct Settings {
    std::size_t changes_kept = 100'000;
    std::function<WallTime()> now;
  };
  virtual ~Backend() = default;
  virtual Result<std::unique_ptr<Store>> open(Settings settings) = 0;
};

class SqliteBackend final : public Backend {
 public:
  Result<std::unique_ptr<Store>> open(Settings settings) override {
    SqliteSettings sqlite;
    sqlite.path = (folder_ / "falcon.db").string();
    sqlite.changes_kept = settings.changes_kept;
    sqlite.now = std::move(settings.now);
    return open_sqlite(std::move(sqlite));
  }

 private:
  TemporaryFolder folder_;
};

struct BackendKind {
  const char* name;
  std::function<std::unique_ptr<Backend>()> make;
};

inline auto all_backends() {
  return testing::Values(BackendKind{"Sqlite", [] { return std::make_unique<SqliteBackend>(); }});
}
inline std::string backend_name(const testing::TestParamInfo<BackendKind>& info) {
  return info.param.name;
}

class StoreContract : public testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override { open(); }

  void open(std::size_t changes_kept = 100'000) {
    store_.reset();
    auto opened = backend_->open({changes_kept, [this] { return now_; }});
    ASSERT_TRUE(opened.has_value()) << opened.error().what;
    store_ = *std::move(opened);
  }
  Store& store() { return *store_; }

  static model::JobRow request(const std::string& name, const std::string& actor = "ann") {
    model::JobRow job;
    job.name = name;
    job.actor = model::Actor(actor);
    job.priority = 3;
    job.labels = {{"team", "red"}, {"日本", "𝄞"}};
    job.spec.image = "gcr.io/p/train:1";
    job.spec.command = {"python3", "-c", "print(\"a\\n\")\n"};
    job.spec.args = {"", "--name=𝄞"};
    job.spec.env = {{"A", "1", "", ""}, {"B", "", "secret", "key"}};
    job.spec.tpu_type = "v6e";
    job.spec.topology = "4x4";
    job.spec.supply_mode = model::SupplyMode::kFlexStart;
    job.spec.timeout_seconds = 77;
    job.spec.termination_grace_seconds = 5;
    job.spec.max_retries = 2;
    job.spec.max_wait_seconds = 600;
    return job;
  }
  model::JobRow submitted(const std::string& name, const std::string& actor = "ann") {
    return store().submit(request(name, actor)).value();
  }
  std::uint64_t a_term(const std::string& holder = "c1") {
    return store().acquire_term(holder, 15s).value().term;
  }
  // The row as it is after a write of that status.
  model::JobRow written(std::uint64_t term, const model::JobRow& row, model::JobStatus status,
                        model::Reason reason = model::Reason::kNone) {
    model::JobState state = row.state;
    state.status = status;
    state.reason = reason;
    const auto version = store().write_job(term, row.id, row.version, state);
    EXPECT_TRUE(version.has_value()) << version.error().what;
    return store().job(row.id).value();
  }
  static model::ClusterRow cluster(const std::string& name, const std::string& tpu = "v6e") {
    model::ClusterRow row;
    row.name = name;
    row.project = "p";
    row.location = "us-east5";
    row.zone = "us-east5-b";
    row.tpu_type = tpu;
    row.gcs_bucket = "bucket";
    row.default_reservation = "projects/o/reservations/r";
    row.service_account = "runner";
    return row;
  }

  WallTime now_ = wall_time_from_unix_ms(1'790'000'000'123);
  std::unique_ptr<Backend> backend_ = GetParam().make();
  std::unique_ptr<Store> store_;
};

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value()) << "an error was expected";
  return result ? ErrorKind::kInternal : result.error().kind;
}

}  // namespace falcon::store
