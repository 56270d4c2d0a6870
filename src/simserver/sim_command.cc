#include "simserver/sim_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <map>

#include "http/client.h"
#include "simserver/sim_options.h"
#include "simserver/sim_server.h"

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// The URL of the cloud that runs in the folder, or in its folder "cloud" (of `falcon up --sim`).
Result<std::string> find_url(const fs::path& data) {
  for (const fs::path& folder : {data, data / "cloud"}) {
    std::ifstream file(folder / "sim.json");
    if (!file) continue;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    boost::system::error_code error;
    const json::value document = json::parse(text, error);
    const json::value* url =
        !error && document.is_object() ? document.get_object().if_contains("url") : nullptr;
    if (url != nullptr && url->is_string()) return std::string(url->get_string());
  }
  return fail(
      ErrorKind::kNotFound,
      fmt::format("no simulated cloud runs in {}; start one with \"falcon sim\" or name its "
                  "folder with --data",
                  data.string()));
}

Result<json::object> ask(const SimOptions& options, http::Request request, const char* path) {
  FALCON_TRY(url, find_url(options.cloud.data));
  request.url = url + path;
  http::Client client;
  const auto response = http::send_and_wait(client, std::move(request));
  if (!response)
    return fail(response.error().kind, fmt::format("the simulated cloud at {} does not answer: {}",
                                                   url, response.error().what));
  boost::system::error_code error;
  json::value body = json::parse(response->body, error);
  if (error || !body.is_object())
    return fail(ErrorKind::kInternal, fmt::format("{} is no simulated cloud", url));
  if (response->status == 200) return std::move(body.as_object());
  const json::value* words = body.as_object().if_contains("error");
  return fail(ErrorKind::kInvalid, words != nullptr && words->is_string()
                                       ? std::string(words->get_string())
                                       : fmt::format("HTTP {}", response->status));
}

std::string text_of(const json::value& item, std::string_view key) {
  const json::value& value = item.at(key);
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

void print(const json::object& status, std::ostream& out) {
  const auto section = [&](std::string_view title, std::string_view key, auto line) {
    const json::array& items = status.at(key).as_array();
    out << fmt::format("{}: {}\n", title, items.size());
    for (const json::value& item : items) out << "  " << line(item) << '\n';
  };
  section("pools", "pools", [](const json::value& pool) {
    return fmt::format(
        "{}/{}  {}  {} {}  machines {}{}", text_of(pool, "cluster"), text_of(pool, "name"),
        text_of(pool, "status"), text_of(pool, "machine_type"), text_of(pool, "topology"),
        text_of(pool, "machines"), pool.at("falcon").as_bool() ? "" : "  (not Falcon's)");
  });
  section("nodes", "nodes", [](const json::value& node) {
    return fmt::format("{}/{}  {}", text_of(node, "cluster"), text_of(node, "name"),
                       text_of(node, "ready"));
  });
  section("Jobs", "jobs", [](const json::value& job) {
    return fmt::format("{}/{}/{}  active {}", text_of(job, "cluster"), text_of(job, "namespace"),
                       text_of(job, "name"), text_of(job, "active"));
  });
  section("pods", "pods", [](const json::value& pod) {
    return fmt::format("{}/{}/{}  {}  {}", text_of(pod, "cluster"), text_of(pod, "namespace"),
                       text_of(pod, "name"), text_of(pod, "phase"), text_of(pod, "node"));
  });
  out << "chips: " << text_of(status, "chips") << '\n';
  section("faults", "faults", [](const json::value& fault) {
    return std::string(std::string_view(fault.as_string()));
  });
}

std::size_t falcons(const json::object& status, std::string_view key) {
  std::size_t number = 0;
  for (const json::value& item : status.at(key).as_array())
    if (item.at("falcon").as_bool()) ++number;
  return number;
}

int show_status(const SimOptions& options, std::ostream& out, std::ostream& err) {
  const auto status = ask(options, {}, "/sim/status");
  if (!status) {
    err << fmt::format("falcon sim: {}\n", status.error().what);
    return 1;
  }
  if (options.json)
    out << json::serialize(*status) << '\n';
  else
    print(*status, out);
  const std::size_t pools = falcons(*status, "pools");
  const std::size_t jobs = falcons(*status, "jobs");
  if (!options.expect_empty || pools + jobs == 0) return 0;
  err << fmt::format("falcon sim: {} pools and {} Jobs of Falcon's are left\n", pools, jobs);
  return 1;
}

int send_order(const SimOptions& options, std::ostream& out, std::ostream& err) {
  http::Request request;
  request.method = "POST";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = json::serialize(json::object{{"order", options.order}});
  const auto done = ask(options, std::move(request), "/sim/fault");
  if (!done) {
    err << fmt::format("falcon sim: {}\n", done.error().what);
    return 1;
  }
  out << text_of(*done, "done") << '\n';
  return 0;
}

int serve(const SimOptions& options, std::ostream& out, std::ostream& err) {
  if (::geteuid() == 0 && !options.allow_root) {
    err << "falcon sim: pods' commands would run as root on this machine; start it as another "
           "user, "
           "or say --allow-root if this machine (a container, say) is meant for that\n";
    return 1;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before any thread: they inherit it
  ::signal(SIGPIPE, SIG_IGN);
  auto server = SimServer::start(options.cloud, options.port);
  if (!server) {
    err << fmt::format("falcon sim: {}\n", server.error().what);
    return 1;
  }
  out << fmt::format("simulated cloud ready at {} (data in {})\n", (*server)->url(),
                     options.cloud.data.string())
      << std::flush;
  int signal = 0;
  ::sigwait(&ends, &signal);
  return 0;
}

}  // namespace

int run_sim(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  const auto options = parse_sim_options(args, out, err);
  if (!options) return options.error();
  switch (options->verb) {
    case SimOptions::Verb::kRun:
      return serve(*options, out, err);
    case SimOptions::Verb::kStatus:
      return show_status(*options, out, err);
    case SimOptions::Verb::kFault:
      return send_order(*options, out, err);
  }
  return 2;
}

}  // namespace falcon::simserver
