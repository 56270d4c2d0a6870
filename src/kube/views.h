// Kubernetes objects (JSON) as the core's views. Pure; tolerant of what is absent, null or unknown.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "core/views.h"

namespace falcon::kube {

core::NodeView node_view(const boost::json::object& node);
core::WorkloadView workload_view(const boost::json::object& job);
core::PodView pod_view(const boost::json::object& pod);

// The name and uid of any object.
std::string name_of(const boost::json::object& object);
model::Uid uid_of(const boost::json::object& object);
std::string resource_version_of(const boost::json::object& object);
// Of a Job: is it this attempt's, by its labels?
bool is_attempt(const boost::json::object& job, const model::Installation& installation,
                const model::JobId& id, std::uint32_t attempt);

}  // namespace falcon::kube
