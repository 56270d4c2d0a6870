// The connections to the GKE clusters: where each one's Kubernetes API answers, and its informer.
//
// Found through the GKE API, looked for again when the informer is in trouble (a control plane may
// move), one cluster's trouble being nobody else's. Used on the loop's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/loop.h"
#include "core/event.h"
#include "gke/gke.h"
#include "http/timers.h"
#include "kube/informer.h"
#include "kube/kubernetes.h"

namespace falcon::controller {

class Fleet {
 public:
  using OnEvent = std::function<void(core::Event)>;  // on the loop's thread
  Fleet(Loop& loop, http::Client& http, http::Timers& timers, gke::TokenSource& tokens,
        gke::Gke& gke, model::Installation installation, OnEvent on_event);

  void connect(const model::GkeCluster& key);  // no effect where a connection is made or under way
  // Null while there is no connection yet.
  kube::Kubernetes* kubernetes(const model::GkeCluster& key);
  void stop();

 private:
  struct Link {
    gke::ControlPlane plane;
    std::unique_ptr<kube::Kubernetes> kubernetes;
    std::unique_ptr<kube::Informer> informer;
    std::uint32_t failures = 0;
    std::uint32_t troubled = 0;  // checks in a row
  };
  void discover(const model::GkeCluster& key);
  void discovered(const model::GkeCluster& key, Result<gke::ControlPlane> plane);
  void check(const model::GkeCluster& key);
  void later(Duration delay, std::function<void()> call);

  Loop& loop_;
  http::Client& http_;
  http::Timers& timers_;
  gke::TokenSource& tokens_;
  gke::Gke& gke_;
  model::Installation installation_;
  OnEvent on_event_;
  std::map<model::GkeCluster, Link> links_;
  std::vector<Link> retired_;  // calls under way may still refer to them
  bool stopped_ = false;
};

}  // namespace falcon::controller
