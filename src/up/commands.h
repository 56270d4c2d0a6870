// `falcon up`, `falcon apiserver` and `falcon controller`: they run until Ctrl-C or SIGTERM.
#pragma once

#include <span>
#include <string>

#include "cli/io.h"
#include "up/options.h"

namespace falcon::up {

// Returns the process's exit code. Call it from main() before any thread was started. What can't
// work (folder, port, flags) is refused with one line on io.err.
int run_server_command(Command command, std::span<const std::string> args, const cli::Io& io);

}  // namespace falcon::up
