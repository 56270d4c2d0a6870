// The Kubernetes API of one simulated cluster: calls in, answers out; watches by KubeWatch.
//
// Jobs, pods, nodes, services, events and leases of all namespaces or one: list (selectors, limit
// and continue), get, watch, create (not pods and nodes), delete (DeleteOptions), merge patch (all
// of services, events and leases; labels of the others), replace (leases, services). Discovery and
// /version as far as kubectl needs them. Call under the world's lock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cloudsim/world.h"
#include "simserver/face.h"
#include "simserver/kube_json.h"
#include "simserver/kube_watch.h"

namespace falcon::simserver {

class KubeFace {
 public:
  // `log_of`: what a pod's program printed, by uid; empty when there is nothing to be had.
  KubeFace(cloudsim::World& world, model::GkeCluster cluster, Calendar calendar,
           std::function<std::optional<std::string>(const model::Uid&)> log_of);

  std::variant<Answer, std::unique_ptr<KubeWatch>> handle(const Call& call);

 private:
  struct Target {
    const KindNames* names = nullptr;
    std::string kube_namespace;
    std::string name;
    std::string subresource;
  };
  struct Page {
    std::string token;
    std::vector<cloudsim::ObjectPtr> rest;
    std::uint64_t resource_version = 0;
  };

  std::optional<Answer> discovery(const Call& call) const;
  Answer namespaces(const Call& call) const;
  static std::optional<Target> target_of(const Call& call);
  std::variant<Answer, std::unique_ptr<KubeWatch>> watch(const Call& call, const Target& target);
  Answer list(const Call& call, const Target& target);
  Answer next_page(const Call& call, const Target& target);
  Answer page_of(const Target& target, std::vector<cloudsim::ObjectPtr> objects,
                 std::uint64_t version, std::size_t limit);
  Answer get(const Target& target);
  Answer log(const Target& target);
  Answer create(const Call& call, const Target& target);
  Answer remove(const Call& call, const Target& target);
  Answer patch(const Call& call, const Target& target);
  Answer replace(const Call& call, const Target& target);
  Answer object_answer(const Result<cloudsim::ObjectPtr>& result, const Target& target,
                       int status = 200) const;

  cloudsim::World& world_;
  const model::GkeCluster cluster_;
  const Calendar calendar_;
  const std::function<std::optional<std::string>(const model::Uid&)> log_of_;
  std::deque<Page> pages_;
  std::uint64_t last_token_ = 0;
  bool gone_in_stream_ = false;  // 410 alternates between its two shapes
};

}  // namespace falcon::simserver
