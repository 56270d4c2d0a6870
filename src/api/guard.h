// Who may call at all: token, Host, Origin, Content-Type. No web page can submit a command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/server.h"

namespace falcon::api {

struct Guard {
  std::string token;
  std::vector<std::string> host_names;  // beside localhost, 127.0.0.1 and ::1

  // Empty: it may pass. Pure; takes as long for a nearly right token as for a wrong one.
  std::optional<http::ServerResponse> refusal(const http::ServerRequest& request) const;
};

}  // namespace falcon::api
