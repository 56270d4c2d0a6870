// Node pools and operations as the Container API writes them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.h"
#include "cloudsim/cloud.h"
#include "simserver/face.h"

namespace falcon::simserver {

// A CreateNodePoolRequest. kInvalid names what Google would refuse: unknown fields, wrong types.
Result<cloudsim::PoolRequest> pool_from_json(const std::string& body);

// Zero values are left out, as in all of Google's JSON.
boost::json::object render_pool(const cloudsim::PoolRecord& record, const model::GkeCluster& gke);
boost::json::object render_operation(const cloudsim::OperationRecord& record,
                                     const model::GkeCluster& gke, const Calendar& calendar);

}  // namespace falcon::simserver
