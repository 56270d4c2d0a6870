#include "up/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <variant>

#include "api/server.h"
#include "cli/connection.h"
#include "cli/server.h"
#include "controller/controller.h"
#include "up/data_folder.h"
#include "up/local_cloud.h"
#include "up/log_lines.h"
#include "up/shutdown.h"
#include "words/words.h"

namespace falcon::up {
namespace {

constexpr Duration kLookEvery{200};

const char* name_of(Command command) {
  switch (command) {
    case Command::kUp:
      return "falcon up";
    case Command::kApiServer:
      return "falcon apiserver";
    case Command::kController:
      return "falcon controller";
  }
  std::abort();
}

// Who holds the term: no two starts of a controller have the same name.
std::string holder(const cli::Io& io) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}-{}-{}", host.data(), ::getpid(), to_unix_ms(io.now()));
}

// The parts of one process, started in order and stopped in the reverse one.
class Parts {
 public:
  Parts(const Options& options, const cli::Io& io) : options_(options), io_(io) {}

  Result<std::monostate> start(Command command) {
    // What stands in the way is found before a file is made or a process started.
    if (options_.sim)
      if (const auto may = LocalCloud::check(options_); !may) return std::unexpected(may.error());
    if (command != Command::kController) {
      make_api();
      FALCON_TRY(port, api_->check_port());
      FALCON_TRY(folder, DataFolder::open(options_.data));
      folder_.emplace(std::move(folder));
      FALCON_TRY(opened, api_->open());
    }
    log_ = std::make_unique<LogLines>(command == Command::kUp ? options_.data + "/falcon.log" : "");
    log_->take_spdlog();
    if (options_.sim) {
      FALCON_TRY(cloud, LocalCloud::start(options_, io_));
      cloud_.emplace(std::move(cloud));
      options_.google_endpoint = cloud_->url();
      if (api_) api_->set_storage_endpoint(cloud_->url());
    }
    if (command != Command::kController) {
      FALCON_TRY(port, api_->start());  // the URL has it
    }
    if (options_.sim && !cloud_->is_known()) {
      FALCON_TRY(added, add_clusters());
      cloud_->note_known();
    }
    if (command != Command::kApiServer) {
      FALCON_TRY(controlled, start_controller());
    }
    return std::monostate{};
  }

  // Until Ctrl-C, SIGTERM, or the local cloud's own end; gives the exit code.
  int run(ShutdownSignals& signals) {
    while (!signals.wait_for(kLookEvery)) {
      if (!cloud_) continue;
      if (const auto code = cloud_->exit_code()) {
        io_.err << fmt::format("falcon up: the local cloud has ended ({})\n", *code);
        return cli::kExitFailed;
      }
    }
    return cli::kExitOk;
  }

  const std::string& api_url() const { return api_->url(); }

 private:
  void make_api() {
    api::Settings settings;
    settings.data = options_.data;
    settings.port = options_.port;
    settings.language = *words::language_from_string(options_.language);
    settings.installation = options_.installation;
    settings.storage_endpoint = options_.storage_endpoint;
    settings.host_names = options_.host_names;
    settings.version = FALCON_VERSION;
    settings.log = [this](std::string_view line) {
      if (log_)
        log_->write(line);
      else
        io_.err << line << std::endl;
    };
    api_ = std::make_unique<api::ApiServer>(std::move(settings));
  }

  // Rows of the local cloud's clusters, once: what the operator removes later stays removed.
  Result<std::monostate> add_clusters() {
    cli::Server server(io_, cli::Connection{api_->url(), api_->token()}, "");
    FALCON_TRY(present, server.clusters());
    for (const SimCluster& cluster : sim_clusters()) {
      const bool is_there = std::ranges::any_of(
          present, [&](const cli::Cluster& other) { return other.row.name == cluster.name; });
      if (is_there) continue;
      model::ClusterRow row;
      row.name = cluster.name;
      row.project = cluster.project;
      row.location = cluster.location;
      row.zone = cluster.zone;
      row.tpu_type = cluster.tpu_type;
      row.gcs_bucket = cluster.bucket;
      FALCON_TRY(added, server.add_cluster(row));
    }
    return std::monostate{};
  }

  Result<std::monostate> start_controller() {
    controller::ControllerSettings settings;
    if (api_) {
      settings.api_url = api_->url();
      settings.api_token = api_->token();
    } else {
      FALCON_TRY(connection, cli::find_connection(io_, options_.data));
      settings.api_url = std::move(connection.url);
      settings.api_token = std::move(connection.token);
    }
    settings.google_url = options_.google_endpoint;
    settings.holder = holder(io_);
    settings.core = options_.tuning.core;
    settings.gke = options_.tuning.gke;
    controller_ = std::make_unique<controller::Controller>(std::move(settings));
    controller_->start();
    return std::monostate{};
  }

  Options options_;
  const cli::Io& io_;
  std::optional<DataFolder> folder_;
  std::unique_ptr<LogLines> log_;
  std::optional<LocalCloud> cloud_;
  std::unique_ptr<api::ApiServer> api_;
  std::unique_ptr<controller::Controller> controller_;
};

void print_ready(Command command, const Options& options, const Parts& parts, const cli::Io& io) {
  if (command == Command::kController) {
    io.out << fmt::format("controller of {} is running\n", options.data) << std::flush;
    return;
  }
  io.out << fmt::format("Falcon is ready at {} (data in {})\n", parts.api_url(), options.data);
  if (command == Command::kUp) {
    if (cli::data_folder(io, "") != options.data)
      io.out << fmt::format("  export FALCON_DATA={}\n", options.data);
    io.out << "  falcon submit -f examples/matrix-benchmark.yaml\n"
              "  falcon get jobs\n"
              "Ctrl-C stops it.\n";
  }
  io.out << std::flush;
}

}  // namespace

int run_server_command(Command command, std::span<const std::string> args, const cli::Io& io) {
  const auto options = parse_options(command, args, io);
  if (!options) return options.error();
  ShutdownSignals signals;
  Parts parts(*options, io);
  if (const auto started = parts.start(command); !started) {
    io.err << fmt::format("{}: {}\n", name_of(command), started.error().what);
    return cli::kExitFailed;
  }
  print_ready(command, *options, parts, io);
  return parts.run(signals);
}

}  // namespace falcon::up
