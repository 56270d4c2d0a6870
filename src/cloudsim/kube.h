// One simulated Kubernetes cluster: API objects with their history, Job controller, scheduler,
// kubelets, garbage collection. Internal to cloudsim; the public face is World.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloudsim/context.h"
#include "cloudsim/objects.h"
#include "cloudsim/world.h"

namespace falcon::cloudsim {

// What the autoscaler of the cloud hears from the cluster.
struct AutoscalerEars {
  std::function<void(const Labels& selector)> on_unschedulable;  // a pod that no node can take
  std::function<void(const model::PoolName&)> on_idle;           // a node has no pod (any more)
};

class Kube {
 public:
  Kube(Context& context, const ClusterSetup& setup, AutoscalerEars ears);

  // --- the API ---
  Result<ObjectPtr> create_job(const JobRequest& request);
  Result<ObjectPtr> delete_job(const std::string& kube_namespace, const std::string& name,
                               const std::optional<model::Uid>& uid, Propagation propagation);
  Result<ObjectPtr> delete_pod(const std::string& kube_namespace, const std::string& name,
                               const std::optional<model::Uid>& uid, std::optional<Duration> grace);
  Result<ObjectPtr> get(Kind kind, const std::string& kube_namespace, const std::string& name);
  Result<Listing> list(Kind kind);
  Result<std::vector<ObjectPtr>> pods_of(const model::Uid& job);
  Result<ObjectPtr> create_plain(Kind kind, const std::string& kube_namespace,
                                 const std::string& name, const Labels& labels, PlainObject body);
  Result<ObjectPtr> replace_plain(Kind kind, const std::string& kube_namespace,
                                  const std::string& name, const Labels& labels, PlainObject body,
                                  std::uint64_t expected_version);
  Result<ObjectPtr> delete_plain(Kind kind, const std::string& kube_namespace,
                                 const std::string& name, const std::optional<model::Uid>& uid);
  Result<ObjectPtr> label(Kind kind, const std::string& kube_namespace, const std::string& name,
                          const Labels& changes);
  Changes changes_since(std::uint64_t resource_version) const;
  std::uint64_t resource_version() const { return version_; }
  bool up() const { return !context_.faults.holds(Fault::kKubernetesDown, &setup_.gke); }
  void collect_items(Inventory& inventory) const;

  // --- what the cloud does to its nodes ---
  void add_node(const model::NodeName& name, NodeObject node, std::shared_ptr<const Labels> labels);
  void set_ready(const model::NodeName& name);
  void cordon(const model::NodeName& name, bool terminating);
  void announce_maintenance(const model::NodeName& name, MonoTime at);
  void evict_pods(const model::NodeName& name);
  void lose_machine(const model::NodeName& name);
  void remove_node(const model::NodeName& name);  // with its machine
  // Empty when the node has pods that are not over, or is not there.
  std::optional<MonoTime> idle_since(const model::NodeName& name) const;
  Duration longest_grace(const model::NodeName& name) const;
  void look_for_nodes_again() { kick_scheduler(); }

  // --- programs that run outside ---
  void pod_started(const model::Uid& pod);
  void pod_exited(const model::Uid& pod, std::int32_t exit_code, const std::string& reason,
                  const std::string& message);
  void take_orders(std::vector<PodOrder>& out);

  void emit(const Object& about, bool warning, std::string_view reason, std::string message,
            std::string_view component);
  std::string check() const;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  using Serial = std::uint64_t;
  struct Node {
    ObjectPtr* shown = nullptr;
    std::int64_t chips_used = 0;
    std::set<Serial> pods;  // bound here, objects still there
    std::uint32_t unfinished = 0;
    bool alive = true;  // its machine runs
    MonoTime idle_since{};
  };
  struct Pod {
    ObjectPtr* shown = nullptr;
    Serial job = 0;            // 0: nobody's
    bool holds_chips = false;  // bound and not over
    bool ordered = false;      // its program was asked to start
    bool running = false;      // its program runs
    bool counted = false;      // in its Job's numbers
  };
  struct Job {
    ObjectPtr* shown = nullptr;
    std::set<Serial> pods;
    std::set<std::uint32_t> done_indexes;
    std::map<std::uint32_t, std::uint32_t> failures;  // by index
    std::map<std::uint32_t, MonoTime> not_before;     // replacement of an index
    std::uint32_t failed = 0;
    bool sync_asked = false;
    bool finished = false;
  };

  // kube.cc: objects and their history
  std::optional<Error> refusal();
  std::optional<Error> refusal(const std::string& kube_namespace);
  model::Uid uid_of(Serial serial) const;
  Serial serial_of(const model::Uid& uid) const;
  std::map<Key, ObjectPtr>& objects(Kind kind) { return objects_[static_cast<std::size_t>(kind)]; }
  ObjectPtr* add(Serial serial, Object object);
  template <class Edit>
  void change(ObjectPtr& shown, Edit edit) {
    auto next = std::make_shared<Object>(*shown);
    edit(*next);
    next->resource_version = ++version_;
    shown = next;
    record(ChangeType::kModified, std::move(next));
  }
  ObjectPtr erase(Kind kind, const Key& key);
  void record(ChangeType type, ObjectPtr object);

  // kube_jobs.cc: the Job controller and the collector of garbage
  void ask_sync(Serial serial);
  void sync(Serial serial);
  struct Tally {
    std::uint32_t active = 0;
    std::uint32_t ready = 0;
    std::uint32_t terminating = 0;
  };
  void count(Job& job, Pod& pod);
  Tally tally(Job& job);
  std::string verdict(const Job& job, const Tally& tally) const;
  void stop_pods(const Job& job);
  void make_pods(Serial serial, Job& job);
  void make_pod(Serial job_serial, Job& job, std::uint32_t index);
  void write_status(Job& job, const Tally& tally, std::vector<Condition> news);
  void finish_job(Serial serial, Job& job);
  void remove_job(Serial serial);
  void collect_pods(const std::vector<Serial>& pods);
  void collect_if_empty(Serial job);

  // kube_pods.cc: scheduler and kubelets
  void kick_scheduler();
  void schedule();
  std::optional<model::NodeName> node_for(const JobRequest& request, std::string& why) const;
  void bind(Serial serial, Pod& pod, const model::NodeName& node);
  void start(Serial serial);
  void mark_started(Serial serial, Pod& pod);
  void program_ends(Serial serial, std::int32_t exit_code, std::string_view reason,
                    const std::string& message);
  void terminate_pod(Serial serial, Duration grace, std::string_view disruption);
  void signal_term(Serial serial);
  void signal_kill(Serial serial);
  void release_node(Pod& pod);
  void remove_pod(Serial serial);
  void garbage_pod(Serial serial);
  void order(PodOrder::What what, const Pod& pod);
  const ProgramPlan& plan_of(const Object& pod) const;
  Pod* find_pod(Serial serial);
  void lose_peer(const Pod& lost);

  Context& context_;
  const ClusterSetup setup_;
  const AutoscalerEars ears_;
  std::uint64_t version_;
  std::vector<Change> history_;
  std::uint64_t history_from_;  // changes after this version are in the history
  std::array<std::map<Key, ObjectPtr>, kKinds> objects_;
  std::map<std::string, Node, std::less<>> nodes_;
  std::map<std::string, std::set<std::string>, std::less<>> nodes_by_pool_;
  std::map<Serial, Pod> pods_;
  std::map<Serial, Job> jobs_;
  std::set<Serial> unscheduled_;
  bool schedule_asked_ = false;
  std::vector<std::pair<PodOrder::What, ObjectPtr>> orders_;
};

}  // namespace falcon::cloudsim
