// The GKE Container API v1 and the Compute API, as far as Falcon needs them.
//
// Asynchronous: callbacks come on the HTTP client's thread and must not block. Each call has a
// deadline. Errors are sorted (errors.h). Knows how a node pool of each generation and supply mode
// is asked for; decides nothing. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/event.h"
#include "gke/token_source.h"
#include "http/client.h"
#include "model/cluster.h"
#include "model/pool.h"

namespace falcon::gke {

struct GkeSettings {
  std::string container_url = "https://container.googleapis.com";
  std::string compute_url = "https://compute.googleapis.com";
  model::Installation installation{"falcon"};
  Duration change_deadline{60'000};
  Duration read_deadline{30'000};
  // How long machines stay idle before GKE takes them back by itself, Falcon alive or not: between
  // 60 s and 24 h.
  Duration idle_reservation{600'000};
  Duration idle_on_demand{600'000};
  Duration idle_flex_start{6 * 3'600'000};
};

// Where a cluster's Kubernetes API answers.
struct ControlPlane {
  std::string url;      // "https://ENDPOINT"
  std::string ca_pem;   // empty: public roots (DNS endpoint)
  std::string status;   // GKE's word: "RUNNING", "DEGRADED"
  std::string version;  // of Kubernetes: "1.34.1-gke.2541000"
};

// Whether node pools of a cluster of this version have a consolidationDelay: from
// 1.34.1-gke.2364000 on. False for a version that is no such text.
bool has_consolidation_delay(std::string_view version);

class Gke {
 public:
  Gke(http::Client& client, TokenSource& tokens, GkeSettings settings);

  template <class T>
  using On = std::function<void(Result<T>)>;
  void control_plane(const model::GkeCluster& gke, On<ControlPlane> done);
  // v7x slices of several hosts first get their workload policy. `version`: of the cluster; where
  // pools have no consolidationDelay, those with machines from the start have a fixed size.
  void create_pool(const model::PoolRow& row, const std::string& zone, const std::string& version,
                   On<core::PoolAccepted> done);
  void delete_pool(const model::GkeCluster& gke, const model::PoolName& name,
                   On<core::PoolAccepted> done);
  void list_pools(const model::GkeCluster& gke, On<core::PoolListing> done);
  void operation(const model::GkeCluster& gke, const model::OperationName& name,
                 On<core::OperationView> done);
  void reservation(const model::Reservation& reservation, On<core::ReservationView> done);

 private:
  void call(std::string method, std::string url, std::string body, Duration deadline,
            http::OnResponse done);
  void post_pool(const model::PoolRow& row, const std::string& zone, std::optional<Duration> idle,
                 On<core::PoolAccepted> done);
  Duration idle_delay(model::SupplyMode supply) const;

  http::Client& client_;
  TokenSource& tokens_;
  GkeSettings settings_;
};

// The body of nodePools.create. Pure, for tests and golden files. `idle_delay`: after which GKE
// takes idle machines back; empty: the cluster's pools have no such setting.
std::string create_pool_body(const model::PoolRow& row, const std::string& zone,
                             const model::Installation& installation,
                             std::optional<Duration> idle_delay);
// "us-east5" of "us-east5-b"; a region stays as it is.
std::string region_of(const std::string& location);

}  // namespace falcon::gke
