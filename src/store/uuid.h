// UUIDs (RFC 9562) in text: version 7 begins with the time, so that ids sort roughly by age.
#pragma once

#include <string>

#include "base/time.h"

namespace falcon::store {

std::string uuid_v7(WallTime now);

}  // namespace falcon::store
