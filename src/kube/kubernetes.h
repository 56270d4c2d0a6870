// One cluster's Kubernetes API: creating, deleting and looking at Falcon's Jobs.
//
// Asynchronous: callbacks come on the HTTP client's thread and must not block; every call has a
// deadline. Answers are sorted by HTTP status and Status.reason, never by message. Any thread. Held
// by std::shared_ptr: a call under way keeps it, whoever else lets it go.
#pragma once

#include <boost/json/array.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/event.h"
#include "gke/gke.h"
#include "http/client.h"
#include "kube/render.h"

namespace falcon::kube {

// Sorts an answer that is not 2xx.
Error sort_answer(const http::Response& response, bool change);

class Kubernetes : public std::enable_shared_from_this<Kubernetes> {
 public:
  Kubernetes(http::Client& client, gke::TokenSource& tokens, gke::ControlPlane plane);

  template <class T>
  using On = std::function<void(Result<T>)>;
  // Of several hosts: the service first. A name that is taken counts as success only where labels
  // say that it is this attempt's.
  void create_workload(const WorkloadSpec& spec, On<core::WorkloadCreated> done);
  void delete_workload(const std::string& kube_namespace, const model::WorkloadName& name,
                       const model::Uid& uid, On<std::monostate> done);
  // The Job, then its pods, then the nodes of its pool, all live.
  void look(const std::string& kube_namespace, const model::WorkloadName& name,
            const model::PoolName& pool, On<core::WorkloadLook> done);

  // For the informer: an authorized request to a path of this API.
  http::Request request(std::string method, const std::string& path) const;
  http::Client& client() { return client_; }
  gke::TokenSource& tokens() { return tokens_; }

 private:
  void call(std::string method, const std::string& path, std::string body, http::OnResponse done);
  void create_job(const WorkloadSpec& spec, On<core::WorkloadCreated> done);
  void list(const std::string& path, On<boost::json::array> done);
  void adopt(const WorkloadSpec& spec, On<core::WorkloadCreated> done);

  http::Client& client_;
  gke::TokenSource& tokens_;
  gke::ControlPlane plane_;
};

}  // namespace falcon::kube
