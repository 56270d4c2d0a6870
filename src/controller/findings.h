// What was found of each cluster: published for people, and used for what the core is told.
//
// Used on the loop's thread only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "model/cluster.h"
#include "model/condition.h"

namespace falcon::controller {

class Findings {
 public:
  using Done = std::function<void(Result<std::monostate>)>;
  // Stores one at the API server; `done` comes on the loop, or never once clear() was called.
  using Publish = std::function<void(const model::ClusterCondition& condition, Done done)>;
  explicit Findings(Publish publish) : publish_(std::move(publish)) {}

  // Of each look, repeats included: only what is new is published, and what could not be stored is
  // tried again with the next look.
  void found(const model::ClusterId& id, model::ClusterHealth health, const std::string& words);

  // The row as the core is to see it: on a cluster that does not exist for us nothing new begins,
  // and those who wait there go elsewhere. One that does not answer for a while keeps them.
  model::ClusterRow as_found(model::ClusterRow row) const;

  void clear();  // a new term begins: all is looked at and published anew

 private:
  struct Finding {
    model::ClusterCondition latest;
    std::optional<model::ClusterCondition> stored;
    bool under_way = false;
  };
  void publish(const model::ClusterId& id);

  Publish publish_;
  std::map<model::ClusterId, Finding> findings_;
};

}  // namespace falcon::controller
