#include "controller/fleet.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace falcon::controller {
namespace {

constexpr Duration kRetryBase{1'000};
constexpr Duration kRetryCap{30'000};

}  // namespace

Fleet::Fleet(Loop& loop, http::Client& http, http::Timers& timers, gke::TokenSource& tokens,
             gke::Gke& gke, model::Installation installation, OnEvent on_event, OnHealth on_health,
             FleetSettings settings)
    : loop_(loop),
      http_(http),
      timers_(timers),
      tokens_(tokens),
      gke_(gke),
      installation_(std::move(installation)),
      on_event_(std::make_shared<const OnEvent>(std::move(on_event))),
      on_health_(std::make_shared<const OnHealth>(std::move(on_health))),
      settings_(settings) {}

Fleet::~Fleet() = default;

void Fleet::connect(const model::GkeCluster& key) {
  Link& link = links_[key];
  if (link.number != 0) return;
  link.number = next_number_++;
  discover(key, link);
}

void Fleet::disconnect(const model::GkeCluster& key) {
  const auto found = links_.find(key);
  if (found == links_.end() || found->second.number == 0) return;
  Link gone = std::move(found->second);
  found->second = Link{};
  found->second.before = std::move(gone.before);
  if (!gone.informer) return;  // it was never found: the core was told nothing
  gone.informer->stop();
  found->second.before = std::move(gone.informer);
  spdlog::info("cluster {}: disconnected", key.name);
  post([call = on_event_, key] { (*call)(core::KubernetesSynced{key, false}); });
}

kube::Kubernetes* Fleet::kubernetes(const model::GkeCluster& key) {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : found->second.kubernetes.get();
}

// From any thread while this object lives; run on the loop's, where this object also ends.
void Fleet::post(std::function<void()> call) {
  loop_.post([alive = std::weak_ptr(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  });
}

std::string Fleet::version_of(const model::GkeCluster& key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? std::string() : found->second.plane.version;
}

Fleet::Link* Fleet::link_of(const model::GkeCluster& key, std::uint64_t number) {
  const auto found = links_.find(key);
  return found == links_.end() || found->second.number != number ? nullptr : &found->second;
}

void Fleet::later(Duration delay, const model::GkeCluster& key, std::uint64_t number, Step step) {
  timers_.after(delay, [&loop = loop_, alive = std::weak_ptr(alive_), this, key, number, step] {
    loop.post([alive, this, key, number, step] {
      if (alive.expired()) return;
      if (Link* link = link_of(key, number)) (this->*step)(key, *link);
    });
  });
}

void Fleet::discover(const model::GkeCluster& key, Link& link) {
  gke_.control_plane(key, [&loop = loop_, alive = std::weak_ptr(alive_), this, key,
                           number = link.number](Result<gke::ControlPlane> plane) {
    loop.post([alive, this, key, number, plane = std::move(plane)] {
      if (alive.expired()) return;
      if (Link* wanted = link_of(key, number)) discovered(key, *wanted, plane);
    });
  });
}

void Fleet::discovered(const model::GkeCluster& key, Link& link,
                       const Result<gke::ControlPlane>& plane) {
  if (!plane) {
    const Duration delay = std::min(kRetryBase * (1 << std::min(link.failures, 5U)), kRetryCap);
    ++link.failures;
    tell(key, link, "its control plane is not to be found: " + plane.error().what);
    report(key, model::cluster_health_of(plane.error().kind), plane.error().what);
    return later(delay, key, link.number, &Fleet::discover);
  }
  link.failures = 0;
  link.checks = 0;
  if (plane->version != link.plane.version && !gke::has_consolidation_delay(plane->version))
    spdlog::warn(
        "cluster {}: its version {} has no consolidationDelay: node pools have a fixed size, and "
        "idle machines go only when Falcon deletes them",
        key.name, plane->version);
  link.plane.version = plane->version;
  const bool moved = link.plane.url != plane->url || link.plane.ca_pem != plane->ca_pem;
  if (!link.kubernetes || moved) {
    link.plane = *plane;
    open(key, link);
  }
  if (link.troubled == 0) report(key, model::ClusterHealth::kReachable, "");
  later(settings_.check_interval, key, link.number, &Fleet::check);
}

// Calls under way keep the Kubernetes that they were made with.
void Fleet::open(const model::GkeCluster& key, Link& link) {
  if (link.informer) {
    link.informer->stop();
    link.before = std::move(link.informer);
  }
  link.troubled = 0;
  link.kubernetes = std::make_shared<kube::Kubernetes>(http_, tokens_, link.plane);
  link.informer = std::make_unique<kube::Informer>(
      link.kubernetes, timers_, key, installation_,
      [&loop = loop_, alive = std::weak_ptr(alive_), call = on_event_](core::Event event) {
        loop.post([alive, call, event = std::move(event)] {
          if (!alive.expired()) (*call)(event);
        });
      });
  if (link.before) link.informer->inherit(*link.before);
  link.before.reset();
  link.informer->start();
  spdlog::info("cluster {}: Kubernetes at {}", key.name, link.plane.url);
}

void Fleet::check(const model::GkeCluster& key, Link& link) {
  const std::string trouble = link.informer->trouble();
  link.troubled = trouble.empty() ? 0 : link.troubled + 1;
  tell(key, link, trouble);
  if (link.troubled == 0)
    report(key, model::ClusterHealth::kReachable, "");
  else if (link.troubled >= settings_.troubled_checks)
    report(key, model::ClusterHealth::kUnreachable, trouble);
  ++link.checks;
  if (link.troubled >= settings_.troubled_checks || link.checks >= settings_.discover_checks)
    discover(key, link);
  else
    later(settings_.check_interval, key, link.number, &Fleet::check);
}

// Later, not from within: who hears it may end this object.
void Fleet::report(const model::GkeCluster& key, model::ClusterHealth health,
                   const std::string& words) {
  post([call = on_health_, key, health, words] { (*call)(key, health, words); });
}

// Once for each cause.
void Fleet::tell(const model::GkeCluster& key, Link& link, const std::string& trouble) {
  if (trouble == link.told) return;
  if (trouble.empty())
    spdlog::info("cluster {}: in order again", key.name);
  else
    spdlog::warn("cluster {}: {}", key.name, trouble);
  link.told = trouble;
}

}  // namespace falcon::controller
