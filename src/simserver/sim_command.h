// `falcon sim`: runs the simulated cloud, or asks a running one.
//
//   falcon sim [--data DIR] [--port N] [--speed N] [--cluster ...] [--capacity ...] [--fault ...]
//   falcon sim status [--data DIR] [-o json] [--expect-empty]
//   falcon sim fault ORDER [--data DIR]
//
// Pods' commands run as processes of this machine under this user: as root only with --allow-root.
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace falcon::simserver {

// `args`: what follows the word `sim`. Returns the exit code: 0, 1 (refused, or --expect-empty and
// something is left), 2 (flags). Call it from main() before any thread was started: it waits for
// SIGINT and SIGTERM itself.
int run_sim(std::span<const std::string> args, std::ostream& out, std::ostream& err);

}  // namespace falcon::simserver
