// The connections to the GKE clusters: where each one's Kubernetes API answers, and its informer.
//
// Found through the GKE API, looked for again now and then and when the informer is in trouble (a
// control plane may move, or change its certificate), one cluster's trouble being nobody else's.
// Used on the loop's thread only, where events come as well.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "controller/loop.h"
#include "core/event.h"
#include "gke/gke.h"
#include "http/timers.h"
#include "kube/informer.h"
#include "kube/kubernetes.h"
#include "model/condition.h"

namespace falcon::controller {

struct FleetSettings {
  Duration check_interval{20'000};     // of an informer's health
  std::uint32_t discover_checks = 15;  // every so many checks it is asked where the cluster is
  std::uint32_t troubled_checks = 2;   // after so many bad ones in a row it is asked each time
};

class Fleet {
 public:
  using OnEvent = std::function<void(core::Event)>;  // on the loop's thread
  // What each look at a cluster found, repeats included; `words` say what is wrong. On the loop's
  // thread.
  using OnHealth = std::function<void(const model::GkeCluster&, model::ClusterHealth health,
                                      const std::string& words)>;
  Fleet(Loop& loop, http::Client& http, http::Timers& timers, gke::TokenSource& tokens,
        gke::Gke& gke, model::Installation installation, OnEvent on_event, OnHealth on_health,
        FleetSettings settings = {});
  ~Fleet();  // ends all watches; no event comes any more
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void connect(const model::GkeCluster& key);  // no effect where a connection is made or under way
  // Ends the cluster's watches and calls nothing there any more; the core is told that it is out of
  // sync. When it is connected again, what has vanished meanwhile is told.
  void disconnect(const model::GkeCluster& key);
  // Of its control plane, as it was found last; empty while it was not found.
  std::string version_of(const model::GkeCluster& key) const;
  // Null while there is no connection.
  kube::Kubernetes* kubernetes(const model::GkeCluster& key);

 private:
  struct Link {
    std::uint64_t number = 0;  // of the connection; 0: none is wanted
    gke::ControlPlane plane;
    std::shared_ptr<kube::Kubernetes> kubernetes;
    std::unique_ptr<kube::Informer> informer;
    std::unique_ptr<kube::Informer> before;  // a stopped one: what the core was told
    std::uint32_t failures = 0;              // to find it, in a row
    std::uint32_t troubled = 0;              // checks in a row
    std::uint32_t checks = 0;                // since it was found last
    std::string told;                        // the trouble that was logged last
  };
  // What belongs to a connection that has ended meanwhile is not run.
  using Step = void (Fleet::*)(const model::GkeCluster&, Link&);
  void later(Duration delay, const model::GkeCluster& key, std::uint64_t number, Step step);
  void post(std::function<void()> call);
  void report(const model::GkeCluster& key, model::ClusterHealth health, const std::string& words);
  Link* link_of(const model::GkeCluster& key, std::uint64_t number);

  void discover(const model::GkeCluster& key, Link& link);
  void discovered(const model::GkeCluster& key, Link& link, const Result<gke::ControlPlane>& plane);
  void open(const model::GkeCluster& key, Link& link);
  void check(const model::GkeCluster& key, Link& link);
  static void tell(const model::GkeCluster& key, Link& link, const std::string& trouble);

  Loop& loop_;
  http::Client& http_;
  http::Timers& timers_;
  gke::TokenSource& tokens_;
  gke::Gke& gke_;
  const model::Installation installation_;
  const std::shared_ptr<const OnEvent> on_event_;
  const std::shared_ptr<const OnHealth> on_health_;
  const FleetSettings settings_;
  std::map<model::GkeCluster, Link> links_;
  std::uint64_t next_number_ = 1;
  // Gone with this object: what was posted or asked for before does nothing then.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace falcon::controller
