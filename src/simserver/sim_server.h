// The simulated cloud behind sockets of the loopback device: one plain-HTTP port for Google's APIs
// and for orders, one TLS port for the Kubernetes API of each cluster.
//
// <data>/buckets/BUCKET/   the buckets; kept from run to run
// <data>/pods/UID/         a pod's log, volumes and working directory; emptied at start
// <data>/sim.json          {"url", "clusters": [{"name", "project", "location", "endpoint"}]},
// written
//                          when all ports are open
// <data>/ca.pem            what the Kubernetes APIs' certificates are signed by
// <data>/lock              one simulated cloud a folder
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/server.h"
#include "simserver/certificate.h"
#include "simserver/sim_cloud.h"

namespace falcon::simserver {

class SimServer {
 public:
  // kAlreadyExists: the port or the folder is in use; kDenied: the folder cannot be written;
  // kInvalid: an order is not understood.
  static Result<std::unique_ptr<SimServer>> start(const CloudSetup& setup, std::uint16_t port);
  ~SimServer();  // closes the ports, ends programs and watches, removes sim.json
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  const std::string& url() const { return url_; }

 private:
  explicit SimServer(std::filesystem::path data) : data_(std::move(data)) {}
  Result<int> lock_folder() const;
  Result<std::string> open_kubernetes(const model::GkeCluster& cluster,
                                      const Certificate& certificate);
  Result<bool> announce(const std::map<model::GkeCluster, GoogleFace::Endpoint>& endpoints) const;

  const std::filesystem::path data_;
  int lock_ = -1;
  std::string url_;
  std::unique_ptr<SimCloud> cloud_;
  std::vector<std::unique_ptr<http::Server>> servers_;  // closed before the cloud goes
};

}  // namespace falcon::simserver
