// The flags of `falcon sim`.
#pragma once

#include <cstdint>
#include <expected>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "simserver/sim_cloud.h"

namespace falcon::simserver {

struct SimOptions {
  enum class Verb : std::uint8_t { kRun, kStatus, kFault };
  Verb verb = Verb::kRun;
  CloudSetup cloud;
  std::uint16_t port = 0;
  bool allow_root = false;
  bool json = false;
  bool expect_empty = false;
  std::string order;
};

// The options, or the exit code after help or a complaint has been printed.
std::expected<SimOptions, int> parse_sim_options(std::span<const std::string> args,
                                                 std::ostream& out, std::ostream& err);

// "name:project:location:zone:type[:reservation[=CHIPS]]" added to `setup`. kInvalid says what is
// wrong with it.
Result<bool> add_cluster(const std::string& text, CloudSetup& setup);

}  // namespace falcon::simserver
