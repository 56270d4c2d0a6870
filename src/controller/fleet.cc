#include "controller/fleet.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace falcon::controller {
namespace {

constexpr Duration kCheckInterval{20'000};
constexpr Duration kRetryCap{30'000};

}  // namespace

Fleet::Fleet(Loop& loop, http::Client& http, http::Timers& timers, gke::TokenSource& tokens,
             gke::Gke& gke, model::Installation installation, OnEvent on_event)
    : loop_(loop),
      http_(http),
      timers_(timers),
      tokens_(tokens),
      gke_(gke),
      installation_(std::move(installation)),
      on_event_(std::move(on_event)) {}

void Fleet::connect(const model::GkeCluster& key) {
  if (stopped_ || links_.contains(key)) return;
  links_[key];
  discover(key);
}

kube::Kubernetes* Fleet::kubernetes(const model::GkeCluster& key) {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : found->second.kubernetes.get();
}

void Fleet::stop() {
  stopped_ = true;
  for (auto& [key, link] : links_)
    if (link.informer) link.informer->stop();
}

void Fleet::later(Duration delay, std::function<void()> call) {
  timers_.after(delay, [this, call = std::move(call)] { loop_.post(call); });
}

void Fleet::discover(const model::GkeCluster& key) {
  if (stopped_) return;
  gke_.control_plane(key, [this, key](Result<gke::ControlPlane> plane) {
    loop_.post([this, key, plane = std::move(plane)] { discovered(key, plane); });
  });
}

void Fleet::discovered(const model::GkeCluster& key, Result<gke::ControlPlane> plane) {
  if (stopped_) return;
  Link& link = links_.at(key);
  if (!plane) {
    const Duration delay =
        std::min(Duration(1'000) * (1 << std::min(link.failures, 5U)), kRetryCap);
    ++link.failures;
    spdlog::warn("cluster {}: its control plane is not to be found: {}", key.name,
                 plane.error().what);
    later(delay, [this, key] { discover(key); });
    return;
  }
  link.failures = 0;
  const bool moved =
      link.kubernetes && (link.plane.url != plane->url || link.plane.ca_pem != plane->ca_pem);
  if (!link.kubernetes || moved) {
    Link fresh;
    fresh.plane = *plane;
    fresh.kubernetes = std::make_unique<kube::Kubernetes>(http_, tokens_, *plane);
    fresh.informer = std::make_unique<kube::Informer>(
        *fresh.kubernetes, timers_, key, installation_, [this](core::Event event) {
          loop_.post([this, event = std::move(event)] {
            if (!stopped_) on_event_(event);
          });
        });
    if (link.informer) {
      link.informer->stop();
      fresh.informer->inherit(*link.informer);
      retired_.push_back(std::move(link));
    }
    link = std::move(fresh);
    link.informer->start();
    spdlog::info("cluster {}: Kubernetes at {}", key.name, plane->url);
  }
  later(kCheckInterval, [this, key] { check(key); });
}

void Fleet::check(const model::GkeCluster& key) {
  if (stopped_) return;
  Link& link = links_.at(key);
  const std::string trouble = link.informer->trouble();
  link.troubled = trouble.empty() ? 0 : link.troubled + 1;
  if (link.troubled == 1) spdlog::warn("cluster {}: {}", key.name, trouble);
  if (link.troubled >= 2)
    discover(key);  // it may have moved
  else
    later(kCheckInterval, [this, key] { check(key); });
}

}  // namespace falcon::controller
