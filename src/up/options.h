// What the commands that do not end take: `falcon up`, `falcon apiserver`, `falcon controller`.
#pragma once

#include <cstdint>
#include <expected>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "cli/io.h"
#include "up/tuning.h"

namespace falcon::up {

enum class Command : std::uint8_t { kUp, kApiServer, kController };

// The rows of `clusters` that `falcon up --sim` begins with, and the clusters of its cloud.
struct SimCluster {
  std::string name;
  std::string project;
  std::string location;
  std::string zone;
  std::string tpu_type;
  std::string bucket;
};
std::vector<SimCluster> sim_clusters();

struct Options {
  std::string data;                     // folder
  std::uint16_t port = 0;               // of the API server; 0: the system chooses one
  std::string language = "zh";          // of messages, for readers who name none
  std::string installation = "falcon";  // owns what it makes in the cloud
  std::string storage_endpoint = "https://storage.googleapis.com";
  std::vector<std::string> host_names;  // by which the API server may be called, beside loopback
  std::string google_endpoint;          // one URL for all of a simulated cloud; empty: Google's own
  bool sim = false;                     // bring the local cloud along
  std::uint32_t speed = 30;             // seconds of its clock in one of ours
  bool allow_root = false;              // it may run the jobs' programs as root
  Tuning tuning;
};

// The options, or the exit code after help or a complaint has been printed to `io`.
std::expected<Options, int> parse_options(Command command, std::span<const std::string> args,
                                          const cli::Io& io);

}  // namespace falcon::up
