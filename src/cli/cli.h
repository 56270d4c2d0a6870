// The command line: what people type to submit jobs, look at them, read their logs and look after
// clusters. Everything goes through the REST API; nothing here touches the database or the cloud.
#pragma once

#include <span>
#include <string>

#include "cli/io.h"

namespace falcon::cli {

// `args` without the program's name. Returns the process's exit code (cli/io.h).
int run_cli(std::span<const std::string> args, const Io& io);

}  // namespace falcon::cli
