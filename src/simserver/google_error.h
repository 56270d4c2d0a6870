// Errors as Google's APIs print them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "simserver/face.h"

namespace falcon::simserver {

// {"error":{"code","message","status","details"}}: the shape of the Container API.
Answer google_error(const Error& error);
// {"error":{"code","message","errors":[{"reason"}]}}: the shape of Compute and Storage.
Answer legacy_error(const Error& error);
Answer unauthenticated();
// google.rpc.Code of a failed operation.
int rpc_code(ErrorKind kind);

}  // namespace falcon::simserver
