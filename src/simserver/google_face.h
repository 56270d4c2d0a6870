// Google's APIs over the simulated cloud, by path on one plain-HTTP port:
//   /computeMetadata/v1/...                         metadata server
//   /v1/projects/P/locations/L/clusters...          Container API
//   /compute/v1/projects/P/zones/Z/reservations...  Compute
//   /storage/v1/b/BUCKET/o...                       Cloud Storage, reading
// The Container API and Compute want a bearer token of the metadata server; the buckets are public
// to read. Call under the world's lock.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "cloudsim/world.h"
#include "simserver/face.h"
#include "simserver/tokens.h"

namespace falcon::simserver {

class GoogleFace {
 public:
  struct Endpoint {
    std::string address;  // "127.0.0.1:PORT" of the cluster's Kubernetes API
    std::string ca_pem;
  };
  GoogleFace(cloudsim::World& world, Tokens& tokens, Calendar calendar,
             std::map<model::GkeCluster, Endpoint> endpoints, std::filesystem::path buckets);

  Answer handle(const Call& call);

 private:
  Answer metadata(const Call& call);
  Answer container(const Call& call);
  Answer clusters(const Call& call);
  Answer node_pools(const Call& call, const model::GkeCluster& gke);
  Answer operations(const Call& call);
  Answer compute(const Call& call);
  Answer policies(const Call& call);

  cloudsim::World& world_;
  Tokens& tokens_;
  const Calendar calendar_;
  const std::map<model::GkeCluster, Endpoint> endpoints_;
  const std::filesystem::path buckets_;
};

// Cloud Storage's JSON API over a folder with one folder a bucket: list and read.
Answer read_bucket(const Call& call, const std::filesystem::path& buckets);

}  // namespace falcon::simserver
