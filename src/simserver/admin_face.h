// What the operator of the simulated cloud asks and orders: what exists, and what goes wrong.
//   GET  /sim/status          everything that exists, as JSON
//   POST /sim/fault {"order"} see apply_order
// Call under the world's lock.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cloudsim/world.h"
#include "simserver/face.h"
#include "simserver/tokens.h"

namespace falcon::simserver {

// One order, for the flag --fault and for `falcon sim fault`:
//   FAULT[=ARGUMENT][,times=N][,type=MACHINE][,cluster=NAME]  a Fault of cloudsim, until cleared or
//                                                             N times:
//                                                             "stock-out,type=ct6e-standard-4t"
//   clear[=FAULT]                   one or all
//   node-lost=NODE                  its machine dies
//   maintenance=NODE[,in=SECONDS]   announced now, drained then (60 s unless told)
//   cluster-operation=NAME[,for=SECONDS]  GKE's own operation locks the cluster (120 s)
//   job-deleted=NAMESPACE/NAME      as a person would, with all its pods
//   pool-deleted=NAME               as a person would
//   foreign-pool=NAME[,cluster=NAME]      a pool that somebody else makes
//   reservation-used=NAME:COUNT     so much of it is used by others
//   expire-tokens                   all access tokens are worth nothing
// The answer says what was done; kInvalid names what is known.
Result<std::string> apply_order(cloudsim::World& world, Tokens& tokens, std::string_view order);

std::string status_document(const cloudsim::World& world);
Answer admin(cloudsim::World& world, Tokens& tokens, const Call& call);

}  // namespace falcon::simserver
