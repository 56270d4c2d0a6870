// Google's answers sorted by what the caller should do. The tables are data; see errors.cc.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/client.h"

namespace falcon::gke {

// Did the call ask for a change? Then a 5xx may have happened.
enum class CallKind : std::uint8_t { kRead, kChange };

// REQUIRES: status is not 2xx. `what` keeps the server's own message.
Error sort_answer(const http::Response& response, CallKind kind);

// An operation's error or a pool's condition, by google.rpc code (0: none) and words.
ErrorKind sort_words(std::int32_t rpc_code, std::string_view words);

}  // namespace falcon::gke
