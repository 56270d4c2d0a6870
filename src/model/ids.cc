#include "model/ids.h"

namespace falcon::model {

std::string to_string(const GkeCluster& cluster) {
  return "projects/" + cluster.project + "/locations/" + cluster.location + "/clusters/" +
         cluster.name;
}

}  // namespace falcon::model
