#include "up/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/connection.h"
#include "cli/table.h"
#include "usage/flags.h"

namespace falcon::up {
namespace {

struct CommandWords {
  const char* name;
  const char* what;
};

CommandWords words_of(Command command) {
  switch (command) {
    case Command::kUp:
      return {"falcon up", "Runs the API server and the controller in one process."};
    case Command::kApiServer:
      return {"falcon apiserver", "Runs the API server."};
    case Command::kController:
      return {"falcon controller", "Runs the controller of the API server in the data folder."};
  }
  std::abort();
}

void add_api_flags(CLI::App& app, Options& options) {
  usage::add_number(
      app, "--port", 0, 65'535,
      [&options](std::int64_t port) { options.port = static_cast<std::uint16_t>(port); },
      "Port of the API server on loopback; chosen by the system");
  usage::add_choice(
      app, "--language", {"zh", "en"},
      [&options](std::size_t place) { options.language = place == 0 ? "zh" : "en"; },
      "Language of messages: zh (default) or en");
  app.add_option("--installation", options.installation,
                 "Name of this Falcon in the cloud (default falcon); never change it later");
  app.add_option("--storage-endpoint", options.storage_endpoint,
                 "Where buckets are read (https://storage.googleapis.com)");
  app.add_option("--host-name", options.host_names,
                 "A name by which it may be called, beside localhost; may be repeated")
      ->allow_extra_args(false);
}

void print_settings(const Tuning& tuning, const cli::Io& io) {
  cli::Table table({"NAME", "VALUE", "MAY BE", "WHAT"});
  for (const TunableRow& row : tunable(tuning))
    table.add({row.name, row.value, row.range, row.what});
  table.print(io.out);
}

// Empty when all is well.
std::string complaint(const Options& options) {
  const std::string& name = options.installation;
  const bool good = !name.empty() && name.size() <= 20 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!good)
    return fmt::format("--installation: \"{}\" is no name: 1 to 20 characters a-z, 0-9 and -",
                       clean_text(name, 40));
  return {};
}

}  // namespace

std::vector<SimCluster> sim_clusters() {
  return {{"tpu-east", "local", "us-east5", "us-east5-a", "v6e", "tpu-east-bucket"},
          {"tpu-west", "local", "us-central1", "us-central1-c", "v7x", "tpu-west-bucket"}};
}

std::expected<Options, int> parse_options(Command command, std::span<const std::string> args,
                                          const cli::Io& io) {
  Options options;
  std::vector<std::string> assignments;
  bool list_settings = false;
  const CommandWords words = words_of(command);
  CLI::App app{words.what, words.name};
  app.add_option("--data", options.data,
                 "Folder for all that is kept ($FALCON_DATA, ~/.local/share/falcon)");
  if (command != Command::kController) add_api_flags(app, options);
  if (command != Command::kApiServer) {
    app.add_option("--google-endpoint", options.google_endpoint,
                   "One URL in place of Google's APIs: that of falcon sim");
    app.add_option("--set", assignments, "NAME=VALUE, a number behind its decisions; repeatable")
        ->allow_extra_args(false);
    app.add_flag("--settings", list_settings, "Lists what --set may set, as it would be, and ends");
  }
  if (command == Command::kUp) {
    app.add_flag("--sim", options.sim,
                 "With a local cloud that runs jobs' programs on this machine");
    usage::add_number(
        app, "--speed", 1, 10'000,
        [&options](std::int64_t speed) { options.speed = static_cast<std::uint32_t>(speed); },
        "How many times faster its clock runs (30)");
    app.add_flag("--allow-root", options.allow_root, "Let it run jobs' programs as root");
  }
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    io.out << app.help();
    return std::unexpected(cli::kExitOk);
  } catch (const CLI::ParseError& error) {
    io.err << fmt::format("{}: {}; {} --help shows what there is\n", words.name,
                          usage::complaint(app, error, args), words.name);
    return std::unexpected(cli::kExitUsage);
  }
  std::string what = complaint(options);
  for (const std::string& assignment : assignments)
    if (const auto done = set(options.tuning, assignment); !done && what.empty())
      what = "--set: " + done.error().what;
  if (const std::string wrong = contradiction(options.tuning); what.empty() && !wrong.empty())
    what = "--set: " + wrong;
  if (!what.empty()) {
    io.err << fmt::format("{}: {}\n", words.name, what);
    return std::unexpected(cli::kExitUsage);
  }
  if (list_settings) {
    print_settings(options.tuning, io);
    return std::unexpected(cli::kExitOk);
  }
  options.data = cli::data_folder(io, options.data);
  return options;
}

}  // namespace falcon::up
