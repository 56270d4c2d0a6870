// Where the API server is and what opens it.
//
// `falcon up` and `falcon apiserver` write both into their data folder: api.json {"url": …} and
// token. FALCON_URL with FALCON_TOKEN goes before the folder, --data before FALCON_DATA.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/io.h"

namespace falcon::cli {

struct Connection {
  std::string url;  // without a slash at its end
  std::string token;
};

// `given` if it is not empty, else FALCON_DATA, else ~/.local/share/falcon.
std::string data_folder(const Io& io, const std::string& given);

// kUnavailable with one line that says what is missing and what to type.
Result<Connection> find_connection(const Io& io, const std::string& given_data_folder);

}  // namespace falcon::cli
