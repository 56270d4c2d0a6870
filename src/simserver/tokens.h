// Access tokens of the simulated metadata server.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace falcon::simserver {

class Tokens {
 public:
  struct Token {
    std::string value;
    Duration expires_in{0};
  };
  // The same token again while it has five minutes left, as the real server caches.
  Token get(MonoTime now);
  bool valid(std::string_view authorization_header, MonoTime now) const;
  // All that were handed out are worth nothing from now on.
  void revoke_all() { expiry_.clear(); }

 private:
  std::map<std::string, MonoTime, std::less<>> expiry_;
  std::string latest_;
};

}  // namespace falcon::simserver
