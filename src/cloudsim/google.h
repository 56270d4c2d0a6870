// Google's side of the simulated cloud: node pools and their operations, machines, reservations,
// the autoscaler. Internal to cloudsim; the public face is World.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloudsim/cloud.h"
#include "cloudsim/context.h"
#include "cloudsim/kube.h"
#include "cloudsim/pool_rules.h"

namespace falcon::cloudsim {

class Google {
 public:
  explicit Google(Context& context) : context_(context) {}

  void add_cluster(const ClusterSetup& setup);
  void add_reservation(const ReservationSetup& setup);
  void set_capacity(const std::string& zone, const std::string& machine_type,
                    std::int64_t machines);

  Result<model::OperationName> create_pool(const model::GkeCluster& gke,
                                           const PoolRequest& request);
  Result<model::OperationName> delete_pool(const model::GkeCluster& gke,
                                           const model::PoolName& name);
  Result<void> each_pool(const model::GkeCluster& gke,
                         const std::function<void(const PoolRecord&)>& visit);
  Result<PoolRecord> get_pool(const model::GkeCluster& gke, const model::PoolName& name);
  Result<OperationRecord> operation(const model::GkeCluster& gke, const model::OperationName& name);
  Result<std::vector<OperationRecord>> list_operations(const model::GkeCluster& gke);
  std::vector<ClusterSetup> clusters() const;

  Result<ReservationRecord> reservation(const model::Reservation& id);
  std::vector<ReservationRecord> reservations(const std::string& project, const std::string& zone);
  Result<ResourcePolicy> create_policy(const ResourcePolicy& policy);
  std::vector<ResourcePolicy> policies(const std::string& project, const std::string& region) const;

  bool lose_node(const model::GkeCluster& gke, const model::NodeName& node);
  bool maintain_node(const model::GkeCluster& gke, const model::NodeName& node, Duration in);
  void begin_cluster_operation(const model::GkeCluster& gke, Duration length);
  void take_from_reservation(const model::Reservation& id, std::int64_t used_by_others);
  void resize_reservation(const model::Reservation& id, std::int64_t total);

  Kube* kube(const model::GkeCluster& gke);
  void collect_items(Inventory& inventory) const;
  void take_orders(std::vector<PodOrder>& out);
  std::string check() const;

 private:
  using Serial = std::uint64_t;
  struct Cluster {
    ClusterSetup setup;
    std::unique_ptr<Kube> kube;
    std::map<model::PoolName, Serial> pools;
    std::map<model::OperationName, OperationRecord> operations;
    std::deque<model::OperationName> finished;  // oldest first
    std::optional<model::OperationName> lock;   // an operation on the whole cluster
  };
  struct Pool {
    Serial serial = 0;
    Cluster* cluster = nullptr;
    PoolRecord record;
    PoolPlan plan;
    std::string zone;
    std::shared_ptr<const Labels> labels;  // of its nodes
    MonoTime visible_at{};
    std::optional<model::OperationName> operation;  // open
    std::uint32_t generation = 0;  // goes up when what was planned for it no longer counts
    std::vector<model::NodeName> nodes;
    MonoTime give_up_at{};
    bool stocked_out = false;           // this create meets a stock-out
    std::optional<std::uint32_t> only;  // so many of its nodes ever come
    std::optional<Error> ends_with;     // the create will end so
    bool refills = false;               // ... but the machines come later
    bool scaling = false;               // machines are on their way up or down
    MonoTime scale_backoff_until{};
  };

  // google.cc
  std::optional<Error> refusal(const model::GkeCluster& gke);
  Result<Cluster*> find_cluster(const model::GkeCluster& gke);
  std::optional<Error> busy(const Cluster& cluster) const;
  std::optional<Error> busy(const Pool& pool) const;
  model::OperationName begin_operation(Cluster& cluster, OperationType type,
                                       const model::PoolName& pool);
  void end_operation(Cluster& cluster, const model::OperationName& name,
                     std::optional<Error> error);
  void end_operation(Pool& pool, std::optional<Error> error);
  void draw_fate(Pool& pool);
  std::shared_ptr<const Labels> node_labels(const Pool& pool) const;

  // google_pools.cc
  // `what` gets the pool when it still is what it was: same pool, same generation.
  template <class What>
  void later(const Pool& pool, Duration delay, What what) {
    context_.agenda.after(
        delay, [this, serial = pool.serial, generation = pool.generation, what = std::move(what)] {
          const auto found = pools_.find(serial);
          if (found != pools_.end() && found->second.generation == generation) what(found->second);
        });
  }
  void get_machines(Pool& pool);
  bool take_machines(Pool& pool, Error& why);
  std::optional<Error> reservation_refuses(const Pool& pool) const;
  std::int64_t free_machines(const Pool& pool) const;
  std::int64_t used_of(const ReservationSetup& setup) const;
  model::Reservation reservation_of(const Pool& pool) const;
  Duration make_nodes(Pool& pool);
  void fail_pool(Pool& pool, PoolStatus status, Error error, std::string code);
  void run_down(Pool& pool);
  void drop_node(Pool& pool, const model::NodeName& name);
  void drop_all_nodes(Pool& pool);
  void expire(Pool& pool);
  void rebuild(Pool& pool);
  void on_unschedulable(Cluster& cluster, const Labels& selector);
  void scale_up(Pool& pool);
  void on_idle(Cluster& cluster, const model::PoolName& name);
  void scale_down_if_idle(Pool& pool);
  Pool* pool_of_node(Cluster& cluster, const model::NodeName& node);

  Context& context_;
  std::map<model::GkeCluster, Cluster> clusters_;
  std::map<Serial, Pool> pools_;
  std::map<model::Reservation, ReservationSetup> reservations_;
  std::vector<ResourcePolicy> policies_;
  std::map<std::pair<std::string, std::string>, std::int64_t> capacity_;  // zone, machine type
};

}  // namespace falcon::cloudsim
