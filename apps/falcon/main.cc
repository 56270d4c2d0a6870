// The program `falcon`: hands its arguments to the part that they are for.
#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/io.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const falcon::cli::Io io = falcon::cli::make_process_io();
  return falcon::cli::run_cli(args, io);
}
