// What exists in one cluster and how it changes: Falcon's Jobs, their pods, and the nodes of its
// pools. List, then watch, for each of the three; events for the core.
//
// A list is consistent (no resourceVersion asked) and paged; a relist replaces everything, with
// Vanished events for what is gone or has another uid; a list with an item that cannot be read is
// none. A watch goes on from the last version seen (bookmarks included) after each orderly end; 410
// in either shape, an undecodable line or any other error ends in a relist. Back-off, with jitter,
// grows until a watch has lasted half a minute: a list that succeeds between does not end it.
// Silence longer than the watch may last ends it. Events come on the HTTP client's or the timers'
// thread, one at a time; after stop() none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/event.h"
#include "http/timers.h"
#include "kube/kubernetes.h"

namespace falcon::kube {

class Informer {
 public:
  using OnEvent = std::function<void(core::Event)>;
  Informer(std::shared_ptr<Kubernetes> kubernetes, http::Timers& timers, model::GkeCluster gke,
           const model::Installation& installation, OnEvent on_event);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;
  // Before start(): takes over what a stopped informer of the same cluster had told.
  void inherit(Informer& previous);
  void start();
  void stop();  // returns when no callback runs any more
  // Why lists or watches fail, for people; empty: all is well, and has been for half a minute since
  // the last failure.
  std::string trouble() const;

 private:
  class Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace falcon::kube
