// A certificate authority for one run, and certificates for 127.0.0.1 signed by it.
#pragma once

#include <string>

#include "base/result.h"

namespace falcon::simserver {

struct Certificate {
  std::string ca_pem;    // what clients trust
  std::string cert_pem;  // the server's, for 127.0.0.1 and localhost
  std::string key_pem;
};

// Valid for 30 days from an hour ago. kInternal: the crypto library refused.
Result<Certificate> make_certificate(const std::string& common_name);

}  // namespace falcon::simserver
