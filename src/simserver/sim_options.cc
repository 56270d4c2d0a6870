#include "simserver/sim_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>

#include "model/tpu.h"
#include "simserver/program.h"
#include "usage/flags.h"

namespace falcon::simserver {
namespace {

constexpr std::int64_t kReservationChips = 64;
constexpr double kSpeedMax = 10'000;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

std::string known_types() {
  std::vector<std::string_view> types;
  for (const model::TpuGeneration& generation : model::tpu_generations())
    types.push_back(generation.type);
  return fmt::format("{}", fmt::join(types, ", "));
}

Result<bool> add_capacity(const std::string& text, CloudSetup& setup) {
  const std::size_t equals = text.find('=');
  const std::string type = text.substr(0, equals);
  const auto machines = equals == std::string::npos
                            ? std::nullopt
                            : number(std::string_view(text).substr(equals + 1));
  if (!machines)
    return fail(ErrorKind::kInvalid,
                fmt::format("--capacity {}: must be MACHINE_TYPE=MACHINES", text));
  for (const model::TpuGeneration& generation : model::tpu_generations())
    for (const model::TpuMachine& machine : generation.machines)
      if (machine.machine_type == type) {
        setup.capacities.push_back({type, *machines});
        return true;
      }
  return fail(ErrorKind::kInvalid,
              fmt::format("--capacity {}: no TPU machine type {}", text, type));
}

// Where `falcon up --sim` keeps its cloud.
std::string default_data() {
  if (const char* folder = std::getenv("FALCON_DATA"); folder != nullptr && *folder != '\0')
    return std::string(folder) + "/cloud";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/share/falcon/cloud";
}

struct Raw {
  std::string data;
  std::string memory;
  std::vector<std::string> clusters;
  std::vector<std::string> capacities;
};

Result<bool> complete(const Raw& raw, SimOptions& options) {
  options.cloud.data = raw.data.empty() ? default_data() : raw.data;
  if (options.cloud.speed <= 0 || options.cloud.speed > kSpeedMax)
    return fail(ErrorKind::kInvalid, fmt::format("--speed {}: must be above 0 and at most {}",
                                                 options.cloud.speed, kSpeedMax));
  if (!raw.memory.empty()) {
    const auto bytes = bytes_of_quantity(raw.memory);
    if (!bytes || *bytes == 0)
      return fail(
          ErrorKind::kInvalid,
          fmt::format("--machine-memory {}: must be a quantity like 512Mi or 2Gi", raw.memory));
    options.cloud.machine_memory_bytes = *bytes;
  }
  std::vector<std::string> clusters = raw.clusters;
  if (clusters.empty())
    clusters = {"tpu-east:local:us-east5:us-east5-a:v6e",
                "tpu-west:local:us-central1:us-central1-c:v7x"};
  for (const std::string& text : clusters) {
    FALCON_TRY(added, add_cluster(text, options.cloud));
    (void)added;
  }
  for (const std::string& text : raw.capacities) {
    FALCON_TRY(added, add_capacity(text, options.cloud));
    (void)added;
  }
  return true;
}

}  // namespace

Result<bool> add_cluster(const std::string& text, CloudSetup& setup) {
  const auto bad = [&](std::string words) {
    return fail(ErrorKind::kInvalid, fmt::format("--cluster {}: {}", text, words));
  };
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 5 || parts.size() > 6)
    return bad("must be NAME:PROJECT:LOCATION:ZONE:TYPE[:RESERVATION[=CHIPS]]");
  for (std::size_t i = 0; i < 5; ++i)
    if (parts[i].empty()) return bad("no part may be empty");
  const model::TpuGeneration* generation = model::find_tpu_generation(parts[4]);
  if (generation == nullptr)
    return bad(fmt::format("no TPU type {}; there are {}", parts[4], known_types()));
  const model::GkeCluster gke{parts[1], parts[2], parts[0]};
  for (const cloudsim::ClusterSetup& other : setup.clusters)
    if (other.gke == gke) return bad("there is such a cluster already");
  setup.clusters.push_back({.gke = gke, .zone = parts[3]});
  if (parts.size() == 5) return true;
  const std::size_t equals = parts[5].find('=');
  const auto chips = equals == std::string::npos
                         ? std::optional(kReservationChips)
                         : number(std::string_view(parts[5]).substr(equals + 1));
  if (!chips || parts[5].substr(0, equals).empty())
    return bad("the reservation must be NAME or NAME=CHIPS");
  setup.reservations.push_back(
      {.id = {parts[1], parts[3], parts[5].substr(0, equals)},
       .machine_type = std::string(generation->machines.back().machine_type),
       .aggregate = true,
       .total = *chips});
  return true;
}

std::expected<SimOptions, int> parse_sim_options(std::span<const std::string> args,
                                                 std::ostream& out, std::ostream& err) {
  SimOptions options;
  Raw raw;
  CLI::App app{
      "Runs a simulated cloud on this machine: GKE, Compute, Kubernetes, buckets. It starts "
      "empty each time; only the buckets stay.",
      "falcon sim"};
  app.add_option("--data", raw.data,
                 "Its folder ($FALCON_DATA/cloud, ~/.local/share/falcon/cloud)");
  usage::add_number(
      app, "--port", 0, 65'535,
      [&options](std::int64_t port) { options.port = static_cast<std::uint16_t>(port); },
      "Port of Google's APIs; 0: any free one (0)");
  app.add_option("--speed", options.cloud.speed,
                 "The cloud's delays are divided by this; programs run in real time (1)");
  app.add_option("--seed", options.cloud.seed, "Of the cloud's dice (1)");
  app.add_option("--cluster", raw.clusters,
                 "NAME:PROJECT:LOCATION:ZONE:TYPE[:RESERVATION[=CHIPS]]; may be repeated");
  app.add_option("--capacity", raw.capacities,
                 "MACHINE_TYPE=MACHINES that each zone has; may be repeated (no limit)");
  app.add_option("--machine-memory", raw.memory,
                 "What a pod without a limit may use before it ends as OOMKilled (1Gi)");
  app.add_option("--fault", options.cloud.orders,
                 "What goes wrong, as in \"falcon sim fault\"; may be repeated");
  app.add_flag("--allow-root", options.allow_root, "Run pods' commands as root");
  app.require_subcommand(0, 1);
  CLI::App* status = app.add_subcommand("status", "What exists in the running cloud");
  status->add_option("--data", raw.data, "The cloud's folder");
  usage::add_choice(
      *status, "-o,--output", {"text", "json"},
      [&options](std::size_t place) { options.json = place == 1; }, "text or json (text)");
  status->add_flag("--expect-empty", options.expect_empty,
                   "Exit code 1 when a pool or Job of Falcon's is left");
  CLI::App* fault = app.add_subcommand("fault", "Lets something go wrong in the running cloud");
  fault->add_option("--data", raw.data, "The cloud's folder");
  fault->add_option("order", options.order, "\"stock-out\", \"node-lost=NODE\", \"clear\", ...")
      ->required();
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& asked = *status ? *status : *fault ? *fault : app;
    out << asked.help();
    return std::unexpected(0);
  } catch (const CLI::ParseError& error) {
    err << fmt::format("falcon sim: {}; falcon sim --help shows what there is\n",
                       usage::complaint(app, error, args));
    return std::unexpected(2);
  }
  options.verb = *status  ? SimOptions::Verb::kStatus
                 : *fault ? SimOptions::Verb::kFault
                          : SimOptions::Verb::kRun;
  if (const auto done = complete(raw, options); !done) {
    err << fmt::format("falcon sim: {}\n", done.error().what);
    return std::unexpected(2);
  }
  return options;
}

}  // namespace falcon::simserver
