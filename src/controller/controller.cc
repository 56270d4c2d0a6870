#include "controller/controller.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "client/api_client.h"
#include "controller/clocks.h"
#include "controller/findings.h"
#include "controller/fleet.h"
#include "controller/loop.h"
#include "core/core.h"
#include "gke/gke.h"
#include "http/client.h"
#include "http/timers.h"

namespace falcon::controller {
namespace {

using Steady = std::chrono::steady_clock;

// A call to a cloud ends this long after it left; the term is led only while a lease has more left.
constexpr Duration kCallDeadline{10'000};
constexpr Duration kRenewInterval{3'000};
constexpr Duration kRetryInterval{1'000};
constexpr Duration kRetryCap{30'000};
constexpr Duration kOutageRetryCap{5'000};  // it ends by itself, and jobs wait for that
constexpr Duration kGoodWatch{30'000};      // one that lasted ends a row of failures
constexpr Duration kClockInterval{60'000};
constexpr Duration kClockSkewMax{30'000};
constexpr Duration kReleaseWait{2'000};

gke::GkeSettings gke_settings(const ControllerSettings& controller) {
  gke::GkeSettings settings = controller.gke;
  settings.change_deadline = kCallDeadline;
  settings.read_deadline = kCallDeadline;
  if (!controller.google_url.empty()) {
    settings.container_url = controller.google_url;
    settings.compute_url = controller.google_url;
  }
  return settings;
}

}  // namespace

class Controller::Shell {
 public:
  explicit Shell(ControllerSettings settings)
      : settings_(std::move(settings)),
        http_(std::make_unique<http::Client>()),
        tokens_(*http_, settings_.google_url.empty() ? "http://metadata.google.internal"
                                                     : settings_.google_url),
        api_(*http_, settings_.api_url, settings_.api_token),
        loop_([this] { woken(); }) {}

  ~Shell() { stop(); }

  void start() {
    started_ = true;
    loop_.start();
    loop_.post([this] { seek_term(); });
  }

  void stop() {
    if (stopped_) return;
    stopped_ = true;
    if (!started_) return;
    std::promise<void> released;
    auto done = released.get_future();
    loop_.post([this, &released] {
      drop_core("stopping");
      if (term_ == 0) return released.set_value();
      api_.release_term(term_,
                        [&released](const Result<std::monostate>&) { released.set_value(); });
    });
    const bool in_time = done.wait_for(kReleaseWait) == std::future_status::ready;
    loop_.stop();
    http_.reset();  // ends what is under way; `released` may still be set by that
    if (!in_time) done.wait();
    timers_.reset();
  }

  bool leads() const { return leads_; }

 private:
  // --- leading -------------------------------------------------------------------------------
  void later(Duration delay, std::function<void()> call) {
    timers_->after(delay, [this, call = std::move(call)] { loop_.post(call); });
  }

  // Answers come on the HTTP thread; this brings them to the loop, unless a new term has begun.
  template <class T>
  std::function<void(Result<T>)> on_loop(std::function<void(Result<T>)> done) {
    return [this, epoch = epoch_, done = std::move(done)](Result<T> result) {
      loop_.post([this, epoch, done, result = std::move(result)] {
        if (epoch == epoch_) done(result);
      });
    };
  }

  void seek_term() {
    if (stopped_) return;
    api_.version(on_loop<wire::ServerVersion>([this](Result<wire::ServerVersion> version) {
      if (!version) return retry_seek(version.error().what);
      installation_ = model::Installation(version->installation);
      compare_clocks(version->now);
      const auto asked = Steady::now();
      api_.acquire_term(settings_.holder, settings_.lease_seconds,
                        on_loop<wire::TermRead>([this, asked](Result<wire::TermRead> term) {
                          if (!term) return retry_seek(term.error().what);
                          term_ = term->term;
                          led_from(asked);
                          spdlog::info("leading, term {}", term_);
                          begin_term();
                        }));
    }));
  }

  void retry_seek(const std::string& why) {
    if (why != last_trouble_) spdlog::info("not leading: {}", why);
    last_trouble_ = why;
    later(kRetryInterval, [this] {
      if (!core_ && term_ == 0) seek_term();
    });
  }

  void led_from(Steady::time_point asked) {
    lead_until_ = asked + std::chrono::seconds(settings_.lease_seconds) - kCallDeadline;
    leads_ = true;
    last_trouble_.clear();
  }

  void renew() {
    if (term_ == 0 || stopped_) return;
    const auto asked = Steady::now();
    api_.renew_term(term_, settings_.lease_seconds,
                    on_loop<std::monostate>([this, asked](Result<std::monostate> renewed) {
                      if (renewed) {
                        led_from(asked);
                      } else if (renewed.error().kind == ErrorKind::kFenced) {
                        return lose(renewed.error().what);
                      }
                      later(kRenewInterval, [this, epoch = epoch_] {
                        if (epoch == epoch_) renew();
                      });
                    }));
  }

  // Another leads, or might: nothing more is executed, and all begins anew.
  void lose(const std::string& why) {
    drop_core(why);
    term_ = 0;
    later(kRetryInterval, [this] { seek_term(); });
  }

  void drop_core(const std::string& why) {
    if (core_) spdlog::info("no longer leading term {}: {}", term_, why);
    core_.reset();
    leads_ = false;
    ++epoch_;
    loop_.wake_at(Loop::Clock::time_point::max());
    if (watch_ != 0) api_.close(watch_);
    watch_ = 0;
    fleet_.reset();  // a new core needs to be told everything: its own fleet lists afresh
    failures_.clear();
  }

  // --- filling a new core ----------------------------------------------------------------------
  void begin_term() {
    drop_core("a new term begins");  // nothing of an earlier one stays behind
    leads_ = true;
    core::Settings core_settings = settings_.core;
    core_settings.installation = installation_;
    core_ = std::make_unique<core::Core>(core_settings);
    known_jobs_.clear();
    findings_.clear();
    state_number_ = 0;
    renew();
    feed(core::ClockCompared{clock_trusted_});
    watch_clock();
    load_state();
  }

  // Does it once more, ever slower while it fails; each cause is told once.
  void again(const std::string& what, const Error& error, std::function<void()> call) {
    if (error.kind == ErrorKind::kFenced) return lose(error.what);
    Failures& failures = failures_[what];
    if (failures.told != error.what) spdlog::warn("{}: {}", what, error.what);
    failures.told = error.what;
    const Duration cap = error.kind == ErrorKind::kInternal ? kRetryCap : kOutageRetryCap;
    const Duration delay = std::min(kRetryInterval * (1 << std::min(failures.count, 5U)), cap);
    ++failures.count;
    later(delay, [epoch = epoch_, this, call = std::move(call)] {
      if (epoch == epoch_) call();
    });
  }
  void succeeded(const std::string& what) { failures_.erase(what); }

  void load_state() {
    api_.own_state(on_loop<model::OwnState>([this](Result<model::OwnState> state) {
      static const std::string kWhat = "reading Falcon's own state";
      if (!state) return again(kWhat, state.error(), [this] { load_state(); });
      succeeded(kWhat);
      feed(*std::move(state));
      if (core_) load_clusters();
    }));
  }

  void load_clusters() {
    api_.clusters(on_loop<wire::ClusterListRead>([this](Result<wire::ClusterListRead> list) {
      static const std::string kWhat = "listing clusters";
      if (!list) return again(kWhat, list.error(), [this] { load_clusters(); });
      succeeded(kWhat);
      sequence_ = list->sequence;
      std::set<model::ClusterId> gone;
      for (const auto& [id, row] : clusters_) gone.insert(id);
      for (const model::ClusterRow& row : list->items) {
        gone.erase(row.id);
        take_cluster(row);
        if (!core_) return;  // the lease ran out meanwhile: the next term lists again
      }
      for (const model::ClusterId& id : gone) lose_cluster(id);
      feed(core::ClustersListed{});
      if (core_) load_jobs();
    }));
  }

  void load_jobs() {
    api_.open_jobs(on_loop<wire::JobListRead>([this](Result<wire::JobListRead> list) {
      static const std::string kWhat = "listing jobs";
      if (!list) return again(kWhat, list.error(), [this] { load_jobs(); });
      succeeded(kWhat);
      sequence_ = std::min(sequence_, list->sequence);
      std::set<model::JobId> missing = known_jobs_;
      for (wire::JobRead& item : list->items) {
        missing.erase(item.row.id);
        take_job(std::move(item.row));
      }
      for (const auto& row : list->unreadable) {
        missing.erase(row.id);  // it is there
        feed(core::JobUnreadable{row.id});
        if (unreadable_.insert(row.id).second)
          spdlog::error("job {}: {}", row.id.value(), row.what);
      }
      for (const model::JobId& id : missing) look_for_job(id);
      feed(core::JobsListed{});
      if (core_) open_watch();
    }));
  }

  // Open before, not in a new list: it may have ended, or its row may be gone.
  void look_for_job(const model::JobId& id) {
    api_.job(id, on_loop<model::JobRow>([this, id](Result<model::JobRow> row) {
               const std::string what = "reading job " + id.value();
               if (!row && row.error().kind != ErrorKind::kNotFound)
                 return again(what, row.error(), [this, id] { look_for_job(id); });
               succeeded(what);
               if (row) return take_job(*std::move(row));
               known_jobs_.erase(id);
               feed(core::JobVanished{id});
             }));
  }

  void take_cluster(const model::ClusterRow& row) {
    clusters_[row.id] = row;
    if (!fleet_)
      fleet_ = std::make_unique<Fleet>(
          loop_, *http_, *timers_, tokens_, gke(), installation_,
          [this](const core::Event& event) { feed(event); },
          [this](const model::GkeCluster& gke_cluster, model::ClusterHealth health,
                 const std::string& words) { take_health(gke_cluster, health, words); });
    connect_or_not(model::gke_cluster_of(row));
    feed(core::ClusterObserved{findings_.as_found(row)});
  }

  void take_health(const model::GkeCluster& gke_cluster, model::ClusterHealth health,
                   const std::string& words) {
    if (!core_) return;
    std::vector<model::ClusterRow> changed;  // for the core
    for (const auto& [id, row] : clusters_) {
      if (model::gke_cluster_of(row) != gke_cluster) continue;
      const model::ClusterRow before = findings_.as_found(row);
      findings_.found(id, health, words);
      if (model::ClusterRow now = findings_.as_found(row); now != before)
        changed.push_back(std::move(now));
    }
    for (const model::ClusterRow& row : changed) feed(core::ClusterObserved{row});
  }

  void publish(const model::ClusterCondition& condition, Findings::Done done) {
    api_.publish_condition(
        wire::ConditionWrite{term_, condition},
        on_loop<std::monostate>([this, done = std::move(done)](Result<std::monostate> stored) {
          if (!stored && stored.error().kind == ErrorKind::kFenced)
            return lose(stored.error().what);
          done(std::move(stored));
        }));
  }

  void lose_cluster(const model::ClusterId& id) {
    const auto found = clusters_.find(id);
    if (found != clusters_.end()) {
      const model::GkeCluster gke = model::gke_cluster_of(found->second);
      clusters_.erase(found);
      connect_or_not(gke);
    }
    feed(core::ClusterVanished{id});
  }

  // Several rows may be of one GKE cluster; one that is not offline is enough.
  void connect_or_not(const model::GkeCluster& gke) {
    if (!fleet_) return;
    const bool wanted = std::ranges::any_of(clusters_, [&](const auto& entry) {
      return entry.second.status != model::ClusterStatus::kOffline &&
             model::gke_cluster_of(entry.second) == gke;
    });
    if (wanted)
      fleet_->connect(gke);
    else
      fleet_->disconnect(gke);
  }

  void take_job(model::JobRow row) {
    if (model::is_terminal(row.state.status))
      known_jobs_.erase(row.id);
    else
      known_jobs_.insert(row.id);
    unreadable_.erase(row.id);
    feed(core::JobObserved{std::move(row)});
  }

  // --- watching --------------------------------------------------------------------------------
  void open_watch() {
    client::ApiClient::WatchHandler handler;
    handler.on_line = [this, epoch = epoch_](wire::WatchLine line) {
      loop_.post([this, epoch, line = std::move(line)] {
        if (epoch == epoch_) take_line(line);
      });
    };
    handler.on_end = [this, epoch = epoch_](std::optional<Error> error) {
      loop_.post([this, epoch, error = std::move(error)] {
        if (epoch == epoch_) watch_ended(error);
      });
    };
    watch_opened_ = Steady::now();
    watch_ = api_.watch(sequence_, std::move(handler));
  }

  void take_line(const wire::WatchLine& line) {
    sequence_ = std::max(sequence_, line.sequence);
    switch (line.kind) {
      case wire::WatchLine::Kind::kJob:
        if (line.removed) {
          known_jobs_.erase(line.job.id);
          feed(core::JobVanished{line.job.id});
        } else {
          take_job(line.job);
        }
        return;
      case wire::WatchLine::Kind::kCluster:
        if (line.removed)
          lose_cluster(line.cluster.id);
        else
          take_cluster(line.cluster);
        return;
      case wire::WatchLine::Kind::kBookmark:
      case wire::WatchLine::Kind::kUnknown:
        return;
    }
  }

  void watch_ended(const std::optional<Error>& error) {
    static const std::string kWhat = "watching jobs and clusters";
    watch_ = 0;
    if (Steady::now() - watch_opened_ >= kGoodWatch) succeeded(kWhat);
    if (error && error->kind == ErrorKind::kNotFound) {
      spdlog::info("the watch is too old; listing again");
      return load_clusters();
    }
    // A line that cannot be read stands in every watch from here on; a list goes past it.
    if (error && error->kind == ErrorKind::kInternal)
      return again(kWhat, *error, [this] { load_clusters(); });
    again(kWhat, error.value_or(Error{ErrorKind::kUnavailable, "the API server ended the watch"}),
          [this] { open_watch(); });
  }

  void compare_clocks(const std::string& server_now) {
    const auto server = parse_rfc3339(server_now);
    const bool trusted = server && std::chrono::abs(*server - wall_now()) <= kClockSkewMax;
    if (clock_trusted_ && !trusted)
      spdlog::warn(
          "the API server's clock says {}, this one {}: nothing is timed out until they agree",
          server_now, to_rfc3339(wall_now()));
    clock_trusted_ = trusted;
  }

  void watch_clock() {
    later(kClockInterval, [this, epoch = epoch_] {
      if (epoch != epoch_) return;
      api_.version(on_loop<wire::ServerVersion>([this](Result<wire::ServerVersion> version) {
        if (version) {
          compare_clocks(version->now);
          feed(core::ClockCompared{clock_trusted_});
        }
        watch_clock();
      }));
    });
  }

  // --- the core --------------------------------------------------------------------------------
  void woken() { feed(core::Tick{}); }

  void feed(const core::Event& event) {
    if (!core_) return;
    if (Steady::now() >= lead_until_) return lose("the lease could not be renewed in time");
    std::vector<core::Command> commands;
    core_->step(event, core::Now{mono_now(), wall_now(), entropy()}, commands);
    for (const core::Command& command : commands) {
      if (!core_) return;
      execute(command);
    }
    if (!core_) return;
    const MonoTime wake = core_->wake_at();
    loop_.wake_at(wake == MonoTime::max() ? Loop::Clock::time_point::max()
                                          : Loop::Clock::time_point(wake.time_since_epoch()));
  }

  // Answers one command: an error, or the payload.
  template <class T>
  std::function<void(Result<T>)> answer(std::uint64_t id) {
    return on_loop<T>([this, id](Result<T> result) {
      core::CommandDone done;
      done.command = id;
      if (result)
        done.payload = *std::move(result);
      else
        done.error = result.error();
      if (done.error && done.error->kind == ErrorKind::kFenced) return lose(done.error->what);
      feed(done);
    });
  }
  template <class T>
  std::function<void(Result<T>)> answer_without_payload(std::uint64_t id) {
    return [done = answer<std::monostate>(id)](Result<T> result) {
      if (result)
        done(std::monostate{});
      else
        done(std::unexpected(result.error()));
    };
  }

  void execute(const core::Command& command) {
    std::visit([&](const auto& body) { run(command.id, body); }, command.body);
  }

  void run(std::uint64_t id, const core::WriteJob& c) {
    spdlog::info("job {}: {} {}{}", c.job.value(), model::to_string(c.state.status),
                 model::to_string(c.state.reason),
                 c.state.cleanup == model::Cleanup::kNone
                     ? std::string()
                     : fmt::format(" (clean-up {})", model::to_string(c.state.cleanup)));
    api_.write_job(c.job, wire::JobWrite{term_, c.version, c.state},
                   [done = answer<core::JobWritten>(id)](Result<std::uint64_t> version) {
                     if (version)
                       done(core::JobWritten{*version});
                     else
                       done(std::unexpected(version.error()));
                   });
  }
  void run(std::uint64_t id, const core::ReadJob& c) { api_.job(c.job, answer<model::JobRow>(id)); }
  void run(std::uint64_t id, const core::WriteState& c) {
    api_.write_state(wire::StateWrite{term_, ++state_number_, c.changes},
                     answer<std::monostate>(id));
  }
  void run(std::uint64_t id, const core::PublishQueue& c) {
    api_.publish_queue(wire::QueueWrite{term_, c}, answer<std::monostate>(id));
  }
  void run(std::uint64_t id, const core::CreatePool& c) {
    spdlog::info("job {}: creating node pool {} ({} {})", c.row.owner.value(), c.row.name.value(),
                 model::to_string(c.row.shape), model::to_string(c.row.supply));
    const auto cluster = clusters_.find(c.row.cluster);
    const std::string zone = cluster == clusters_.end() || cluster->second.zone.empty()
                                 ? c.row.gke.location
                                 : cluster->second.zone;
    gke().create_pool(c.row, zone, fleet_->version_of(c.row.gke), answer<core::PoolAccepted>(id));
  }
  void run(std::uint64_t id, const core::DeletePool& c) {
    spdlog::info("cluster {}: deleting node pool {}", c.gke.name, c.name.value());
    gke().delete_pool(c.gke, c.name, answer_without_payload<core::PoolAccepted>(id));
  }
  void run(std::uint64_t id, const core::ListPools& c) {
    gke().list_pools(c.gke, answer<core::PoolListing>(id));
  }
  void run(std::uint64_t id, const core::ReadOperation& c) {
    gke().operation(c.gke, c.operation, answer<core::OperationView>(id));
  }
  void run(std::uint64_t id, const core::ReadReservation& c) {
    gke().reservation(c.reservation, answer<core::ReservationView>(id));
  }
  void run(std::uint64_t id, const core::CreateWorkload& c) {
    const auto cluster = clusters_.find(c.cluster);
    if (cluster == clusters_.end())
      return answer<core::WorkloadCreated>(id)(
          fail(ErrorKind::kUnavailable, "the cluster's row is gone"));
    spdlog::info("job {}: submitting Kubernetes Job {} to {}", c.job.value(), c.name.value(),
                 c.gke.name);
    // The whole spec is read when it is needed; the core keeps only what decides.
    api_.job(c.job, [this, c, row = cluster->second, done = answer<core::WorkloadCreated>(id),
                     epoch = epoch_](Result<model::JobRow> job) {
      if (!job) return done(fail(ErrorKind::kUnavailable, "reading the job: " + job.error().what));
      loop_.post([this, c, row, job = *std::move(job), done, epoch] {
        if (epoch != epoch_ || Steady::now() >= lead_until_) return;
        kube::Kubernetes* kubernetes = fleet_ ? fleet_->kubernetes(c.gke) : nullptr;
        if (kubernetes == nullptr)
          return done(fail(ErrorKind::kUnavailable, "the cluster is not connected"));
        kubernetes->create_workload(
            kube::WorkloadSpec{job, row, c.pool, c.supply, c.name, c.attempt, installation_}, done);
      });
    });
  }
  void run(std::uint64_t id, const core::DeleteWorkload& c) {
    spdlog::info("cluster {}: deleting Kubernetes Job {}", c.gke.name, c.name.value());
    kube::Kubernetes* kubernetes = fleet_ ? fleet_->kubernetes(c.gke) : nullptr;
    if (kubernetes == nullptr)
      return answer<std::monostate>(id)(
          fail(ErrorKind::kUnavailable, "the cluster is not connected"));
    kubernetes->delete_workload(c.kube_namespace, c.name, c.uid, answer<std::monostate>(id));
  }
  void run(std::uint64_t id, const core::LookAtWorkload& c) {
    kube::Kubernetes* kubernetes = fleet_ ? fleet_->kubernetes(c.gke) : nullptr;
    if (kubernetes == nullptr)
      return answer<core::WorkloadLook>(id)(
          fail(ErrorKind::kUnavailable, "the cluster is not connected"));
    kubernetes->look(c.kube_namespace, c.name, c.pool, answer<core::WorkloadLook>(id));
  }

  gke::Gke& gke() {
    if (!gke_) {
      gke::GkeSettings settings = gke_settings(settings_);
      settings.installation = installation_;
      gke_ = std::make_unique<gke::Gke>(*http_, tokens_, std::move(settings));
    }
    return *gke_;
  }

  ControllerSettings settings_;
  std::unique_ptr<http::Timers> timers_ = std::make_unique<http::Timers>();
  std::unique_ptr<http::Client> http_;
  gke::TokenSource tokens_;
  client::ApiClient api_;
  std::unique_ptr<gke::Gke> gke_;
  Loop loop_;
  std::unique_ptr<Fleet> fleet_;

  // On the loop's thread.
  std::unique_ptr<core::Core> core_;
  std::uint64_t epoch_ = 0;
  std::uint64_t term_ = 0;
  std::uint64_t state_number_ = 0;
  Steady::time_point lead_until_{};
  model::Installation installation_;
  std::uint64_t sequence_ = 0;
  http::Client::StreamId watch_ = 0;
  Steady::time_point watch_opened_{};
  std::map<model::ClusterId, model::ClusterRow> clusters_;
  Findings findings_{[this](const model::ClusterCondition& condition, Findings::Done done) {
    publish(condition, std::move(done));
  }};
  std::set<model::JobId> known_jobs_;
  std::set<model::JobId> unreadable_;  // that were told
  struct Failures {
    std::uint32_t count = 0;  // in a row
    std::string told;
  };
  std::map<std::string, Failures> failures_;  // by what fails
  bool clock_trusted_ = false;
  std::string last_trouble_;

  std::atomic<bool> stopped_ = false;
  bool started_ = false;
  std::atomic<bool> leads_ = false;
};

Controller::Controller(ControllerSettings settings)
    : shell_(std::make_unique<Shell>(std::move(settings))) {}
Controller::~Controller() = default;
void Controller::start() { shell_->start(); }
void Controller::stop() { shell_->stop(); }
bool Controller::leads() const { return shell_->leads(); }

}  // namespace falcon::controller
