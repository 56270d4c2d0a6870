// Kubernetes objects of the simulated clusters as JSON, and Jobs from JSON.
//
// What a client sent and the world does not interpret is kept as text in the object's body and
// given back; a Job's pod template is copied into its pods.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cloudsim/objects.h"
#include "simserver/face.h"

namespace falcon::simserver {

struct KindNames {
  cloudsim::Kind kind;
  std::string_view resource;     // "jobs"
  std::string_view name;         // "Job"
  std::string_view group;        // "batch"; empty: core
  std::string_view api_version;  // "batch/v1"
  bool namespaced = true;
};
const KindNames& names_of(cloudsim::Kind kind);
// Null when it is not served.
const KindNames* find_resource(std::string_view group, std::string_view version,
                               std::string_view resource);

boost::json::object render(const cloudsim::Object& object, const Calendar& calendar);
// All labels as clients see them, those that Kubernetes adds included.
cloudsim::Labels labels_of(const cloudsim::Object& object, const Calendar& calendar);

// kInvalid names the field. `body` is the text as it came.
Result<cloudsim::JobRequest> job_from_json(const std::string& body,
                                           std::string_view kube_namespace);

// {"kind":"Status",...} of an error, and its HTTP status.
struct KubeFailure {
  int code = 500;
  std::string_view reason;
};
KubeFailure failure_of(const Error& error);
std::string status_json(const KubeFailure& failure, std::string_view message,
                        std::string_view resource, std::string_view name);
Answer answer_of(const Error& error, std::string_view resource, std::string_view name);

}  // namespace falcon::simserver
