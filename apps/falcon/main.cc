// The program `falcon`: hands its arguments to the part that they are for.
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/io.h"
#include "simserver/sim_command.h"
#include "up/commands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const std::span<const std::string> rest = std::span(args).subspan(args.empty() ? 0 : 1);
  const std::string verb = args.empty() ? "" : args.front();
  if (verb == "sim") return falcon::simserver::run_sim(rest, std::cout, std::cerr);
  const falcon::cli::Io io = falcon::cli::make_process_io();
  using falcon::up::Command;
  if (verb == "up") return falcon::up::run_server_command(Command::kUp, rest, io);
  if (verb == "apiserver") return falcon::up::run_server_command(Command::kApiServer, rest, io);
  if (verb == "controller") return falcon::up::run_server_command(Command::kController, rest, io);
  return falcon::cli::run_cli(args, io);
}
