#include "kube/informer.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <boost/json.hpp>
#include <map>
#include <random>
#include <vector>

#include "base/text.h"
#include "http/url.h"
#include "kube/line_splitter.h"
#include "kube/views.h"
#include "model/names.h"
#include "wire/foreign.h"

namespace falcon::kube {
namespace {

namespace json = boost::json;

// client-go: watches last a random 5 to 10 minutes; back-off 0.8 s doubling to 30 s.
constexpr std::uint32_t kWatchSecondsMin = 300;
constexpr std::uint32_t kWatchSecondsMax = 600;
constexpr Duration kSilenceMax{90'000};  // bookmarks come about every minute
constexpr Duration kBackoffBase{800};
constexpr Duration kBackoffCap{30'000};
constexpr Duration kGoodWatch{30'000};         // one that lasted ends a row of failures
constexpr Duration kShortWatch{1'000};         // one that ends sooner is an error
constexpr std::uint32_t kShortWatchesMax = 3;  // in a row; then the list is read again
using Clock = std::chrono::steady_clock;

enum class Kind : std::uint8_t { kNode, kJob, kPod };
constexpr std::array kKinds{Kind::kNode, Kind::kJob, Kind::kPod};

std::string path_of(Kind kind) {
  switch (kind) {
    case Kind::kNode:
      return "/api/v1/nodes";
    case Kind::kJob:
      return "/apis/batch/v1/jobs";
    case Kind::kPod:
      return "/api/v1/pods";
  }
  return {};
}

std::uint32_t random_below(std::uint32_t limit) {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return static_cast<std::uint32_t>(generator()) % limit;
}

}  // namespace

// Everything behind one mutex: three streams, what was told to the core, whether all are in sync.
class Informer::Shared : public std::enable_shared_from_this<Informer::Shared> {
 public:
  Shared(std::shared_ptr<Kubernetes> kubernetes, http::Timers& timers, model::GkeCluster gke,
         const model::Installation& installation, OnEvent on_event)
      : kubernetes_(std::move(kubernetes)),
        timers_(timers),
        gke_(std::move(gke)),
        selector_(http::encode_url(fmt::format("{}=falcon,{}={}", model::kManagedByLabel,
                                               model::kInstallationLabel, installation.value()))),
        on_event_(std::move(on_event)) {}

  void start() {
    for (const Kind kind : kKinds) list(kind, {}, std::make_shared<json::array>());
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Resource& resource : resources_)
      if (resource.stream != 0) kubernetes_->client().close(resource.stream);
  }

  // What an earlier informer of this cluster knew: the first list tells what of it has vanished.
  void inherit(Shared& previous) {
    const std::scoped_lock lock(mutex_, previous.mutex_);
    for (const Kind kind : kKinds) of(kind).known = previous.of(kind).known;
    in_sync_ = previous.in_sync_;
  }

  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (const Resource& resource : resources_)
      if (!resource.trouble.empty() &&
          (resource.stream == 0 || now - resource.watched_since < kGoodWatch))
        return resource.trouble;
    return {};
  }

 private:
  struct Resource {
    std::map<std::string, model::Uid> known;  // namespace/name -> uid
    std::string version;                      // to go on from
    bool listed = false;
    std::uint32_t failures = 0;  // since a watch lasted
    std::string trouble;         // the last of them
    http::Client::StreamId stream = 0;
    Clock::time_point watched_since{};  // while there is a stream
  };
  // One watch connection.
  struct Watch {
    LineSplitter lines;
    Clock::time_point begun = Clock::now();
    std::size_t events = 0;
    bool relist = false;
    bool refused = false;
    std::string error;
  };

  Resource& of(Kind kind) { return resources_[static_cast<std::size_t>(kind)]; }

  void list(Kind kind, const std::string& token, const std::shared_ptr<json::array>& items) {
    std::string path = path_of(kind) + "?limit=500&labelSelector=" + selector_;
    if (!token.empty()) path += "&continue=" + http::encode_url(token);
    auto self = shared_from_this();
    gke::send_authorized(kubernetes_->client(), kubernetes_->tokens(),
                         kubernetes_->request("GET", path),
                         [self, kind, items](Result<http::Response> answer) {
                           self->listed(kind, std::move(answer), items);
                         });
  }

  void listed(Kind kind, Result<http::Response> answer, const std::shared_ptr<json::array>& items) {
    std::unique_lock lock(mutex_);
    if (stopped_) return;
    if (!answer) return failed(kind, answer.error().what);
    if (answer->status != 200)
      return failed(kind, fmt::format("{} ({})", sort_answer(*answer, false).what, answer->status));
    auto read = wire::object_of(answer->body);
    if (!read) return failed(kind, "a list: " + read.error().what);
    json::object& page = *read;
    if (!take_page(page, *items)) return failed(kind, "a list has an item that is not readable");
    const json::object& metadata = wire::child(page, "metadata");
    const std::string token = wire::text(metadata, "continue");
    const std::string version = wire::text(metadata, "resourceVersion");
    if (!token.empty()) {
      lock.unlock();
      return list(kind, token, items);
    }
    // What is missing from a list has vanished: one that is not a list must not say so.
    if (version.empty()) return failed(kind, "a list without a resourceVersion");
    replace(kind, *items);
    Resource& resource = of(kind);
    resource.version = version;
    resource.listed = true;
    tell_sync();
    watch(kind);
  }

  // What is missing from a list has vanished, so no item may be passed over.
  static bool take_page(json::object& page, json::array& items) {
    json::value* found = page.if_contains("items");
    if (found == nullptr || found->is_null()) return true;  // none
    if (!found->is_array()) return false;
    for (json::value& item : found->get_array()) {
      if (!item.is_object() || name_of(item.get_object()).empty()) return false;
      items.push_back(std::move(item));
    }
    return true;
  }

  // A list is the whole truth: what it lacks, or shows with another uid, has vanished.
  void replace(Kind kind, const json::array& items) {
    Resource& resource = of(kind);
    std::map<std::string, model::Uid> present;
    for (const json::value& item : items)
      if (const json::object* object = item.if_object()) present[key_of(*object)] = uid_of(*object);
    std::vector<std::pair<std::string, model::Uid>> gone;
    for (const auto& [key, uid] : resource.known) {
      const auto found = present.find(key);
      if (found == present.end() || found->second != uid) gone.emplace_back(key, uid);
    }
    for (const auto& [key, uid] : gone) vanish(kind, key, uid);
    for (const json::value& item : items)
      if (const json::object* object = item.if_object()) see(kind, *object);
  }

  static std::string key_of(const json::object& object) {
    return wire::text(wire::child(object, "metadata"), "namespace") + "/" + name_of(object);
  }

  void see(Kind kind, const json::object& object) {
    const std::string key = key_of(object);
    const model::Uid uid = uid_of(object);
    auto& known = of(kind).known;
    const auto before = known.find(key);
    if (before != known.end() && before->second != uid) vanish(kind, key, before->second);
    known[key] = uid;
    switch (kind) {
      case Kind::kNode:
        on_event_(core::NodeSeen{gke_, node_view(object)});
        break;
      case Kind::kJob:
        on_event_(core::WorkloadSeen{gke_, workload_view(object)});
        break;
      case Kind::kPod:
        on_event_(core::PodSeen{gke_, pod_view(object)});
        break;
    }
  }

  void vanish(Kind kind, const std::string& key, const model::Uid& uid) {
    of(kind).known.erase(key);
    const std::string name = key.substr(key.find('/') + 1);
    switch (kind) {
      case Kind::kNode:
        on_event_(core::NodeVanished{gke_, model::NodeName(name)});
        break;
      case Kind::kJob:
        on_event_(core::WorkloadVanished{gke_, model::WorkloadName(name), uid});
        break;
      case Kind::kPod:
        on_event_(core::PodVanished{gke_, model::PodName(name), uid});
        break;
    }
  }

  void tell_sync() {
    bool all = true;
    for (const Resource& resource : resources_) all = all && resource.listed;
    if (all == in_sync_) return;
    in_sync_ = all;
    on_event_(core::KubernetesSynced{gke_, all});
  }

  // With the mutex held: note it and list again later.
  void failed(Kind kind, const std::string& what) {
    Resource& resource = of(kind);
    resource.listed = false;
    tell_sync();
    auto self = shared_from_this();
    timers_.after(count_failure(resource, what), [self, kind] {
      {
        const std::lock_guard lock(self->mutex_);
        if (self->stopped_) return;
      }
      self->list(kind, {}, std::make_shared<json::array>());
    });
  }

  // How long to wait after it.
  static Duration count_failure(Resource& resource, const std::string& what) {
    ++resource.failures;
    resource.trouble = what;
    Duration delay = kBackoffBase;
    for (std::uint32_t i = 1; i < resource.failures && delay < kBackoffCap; ++i) delay *= 2;
    delay = std::min(delay, kBackoffCap);
    return delay + Duration(random_below(static_cast<std::uint32_t>(delay.count())));
  }

  // With the mutex held.
  void watch(Kind kind) {
    auto self = shared_from_this();
    kubernetes_->tokens().get(
        [self, kind](const Result<std::string>& token) { self->open(kind, token); });
  }

  void open(Kind kind, const Result<std::string>& token) {
    // The token may come at once on this thread, with the mutex held by the caller: open later.
    if (stopped_) return;
    auto self = shared_from_this();
    timers_.after(Duration(0), [self, kind, token] { self->open_now(kind, token); });
  }

  void open_now(Kind kind, const Result<std::string>& token) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (!token) return failed(kind, token.error().what);
    Resource& resource = of(kind);
    http::Request request = kubernetes_->request(
        "GET",
        fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}"
                    "&labelSelector={}",
                    path_of(kind),
                    kWatchSecondsMin + random_below(kWatchSecondsMax - kWatchSecondsMin),
                    http::encode_url(resource.version), selector_));
    request.headers.emplace_back("Authorization", "Bearer " + *token);
    request.silence_max = kSilenceMax;
    auto self = shared_from_this();
    auto state = std::make_shared<Watch>();
    http::StreamHandler handler;
    handler.on_start = [self, state, used = *token](const http::Response& start) {
      if (start.status == 401) self->kubernetes_->tokens().refuse(used);
      if (start.status / 100 == 2) return;
      state->refused = true;
      state->relist = true;
      state->error = fmt::format("the watch was refused ({})", start.status);
    };
    handler.on_bytes = [self, state, kind](std::string_view bytes) {
      const std::lock_guard bytes_lock(self->mutex_);
      if (self->stopped_ || state->relist) return;
      const bool fits = state->lines.feed(
          bytes, [&](std::string_view line) { self->take_line(kind, *state, line); });
      if (!fits) {
        state->relist = true;
        state->error = "a watch event is too long";
      }
      if (state->relist) self->kubernetes_->client().close(self->of(kind).stream);
    };
    handler.on_end = [self, state, kind](const std::optional<Error>& error) {
      self->ended(kind, *state, error);
    };
    resource.watched_since = Clock::now();
    resource.stream = kubernetes_->client().open(std::move(request), std::move(handler));
  }

  void take_line(Kind kind, Watch& state, std::string_view line) {
    if (state.relist) return;
    boost::system::error_code error;
    json::value value = json::parse(line, error);
    const json::object* event = error ? nullptr : value.if_object();
    const json::value* type = event == nullptr ? nullptr : event->if_contains("type");
    const json::value* carried = event == nullptr ? nullptr : event->if_contains("object");
    if (type == nullptr || !type->is_string() || carried == nullptr || !carried->is_object()) {
      state.relist = true;
      state.error = "a watch event is not readable: " + clean_text(line, 200);
      return;
    }
    const std::string_view what = type->as_string();
    const json::object& object = carried->as_object();
    if (what == "ERROR") {  // the object is a Status: it never enters what is known
      state.relist = true;
      state.error = "the watch ended with an error: " + clean_text(json::serialize(object), 300);
      return;
    }
    Resource& resource = of(kind);
    const std::string version = resource_version_of(object);
    if (what != "BOOKMARK" && name_of(object).empty()) {
      state.relist = true;
      state.error = "a watch event names no object: " + clean_text(line, 200);
      return;
    }
    ++state.events;
    if (what == "ADDED" || what == "MODIFIED") {
      see(kind, object);
    } else if (what == "DELETED") {
      const std::string key = key_of(object);
      if (resource.known.contains(key)) vanish(kind, key, uid_of(object));
    } else if (what != "BOOKMARK") {
      state.relist = true;
      state.error = "a watch event of unknown type";
      return;
    }
    if (!version.empty()) resource.version = version;
  }

  void ended(Kind kind, Watch& state, const std::optional<Error>& error) {
    const std::lock_guard lock(mutex_);
    Resource& resource = of(kind);
    resource.stream = 0;
    if (stopped_) return;
    const auto lasted = Clock::now() - state.begun;
    if (lasted >= kGoodWatch) {
      resource.failures = 0;
      resource.trouble.clear();
    }
    if (state.relist) return failed(kind, state.error);
    if (error && error->kind == ErrorKind::kUnavailable) return failed(kind, error->what);
    // An end is normal, in order or not: go on from the last version. Not again and again at once.
    if (lasted >= kShortWatch) return watch(kind);
    const std::string what =
        error ? "the watch ended at once: " + error->what : std::string("the watch ended at once");
    if (state.events == 0 || resource.failures >= kShortWatchesMax) return failed(kind, what);
    auto self = shared_from_this();
    timers_.after(count_failure(resource, what), [self, kind] {
      const std::lock_guard again(self->mutex_);
      if (!self->stopped_) self->watch(kind);
    });
  }

  const std::shared_ptr<Kubernetes> kubernetes_;
  http::Timers& timers_;
  model::GkeCluster gke_;
  std::string selector_;
  OnEvent on_event_;

  mutable std::mutex mutex_;
  std::array<Resource, kKinds.size()> resources_;
  bool in_sync_ = false;
  std::atomic<bool> stopped_ = false;  // read without the mutex where it may be held already
};

Informer::Informer(std::shared_ptr<Kubernetes> kubernetes, http::Timers& timers,
                   model::GkeCluster gke, const model::Installation& installation, OnEvent on_event)
    : shared_(std::make_shared<Shared>(std::move(kubernetes), timers, std::move(gke), installation,
                                       std::move(on_event))) {}
void Informer::inherit(Informer& previous) { shared_->inherit(*previous.shared_); }
Informer::~Informer() { shared_->stop(); }
void Informer::start() { shared_->start(); }
void Informer::stop() { shared_->stop(); }
std::string Informer::trouble() const { return shared_->trouble(); }

}  // namespace falcon::kube
