#include "up/local_cloud.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>

namespace falcon::up {
namespace {

constexpr Duration kLookEvery{20};
constexpr Duration kStartLimit{15'000};

// "url" of a document {"url": "..."}; empty while it is not there or not whole.
std::string url_in(const Result<std::string>& text) {
  if (!text) return {};
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(*text, error);
  if (error || !document.is_object()) return {};
  const boost::json::value* url = document.get_object().if_contains("url");
  return url != nullptr && url->is_string() ? std::string(url->get_string()) : std::string();
}

}  // namespace

Result<LocalCloud> LocalCloud::start(const Options& options, const cli::Io& io) {
  const std::string folder = options.data + "/cloud";
  const std::string address = folder + "/sim.json";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::filesystem::remove(address, error);
  std::vector<std::string> arguments{
      "sim", "--data", folder, "--port", "0", "--speed", std::to_string(options.speed)};
  if (options.allow_root) arguments.emplace_back("--allow-root");
  for (const SimCluster& cluster : sim_clusters()) {
    arguments.emplace_back("--cluster");
    arguments.push_back(fmt::format("{}:{}:{}:{}:{}", cluster.name, cluster.project,
                                    cluster.location, cluster.zone, cluster.tpu_type));
  }
  FALCON_TRY(child, Child::start(arguments));
  for (Duration waited{0}; waited < kStartLimit; waited += kLookEvery) {
    if (std::string url = url_in(io.read_file(address)); !url.empty())
      return LocalCloud(std::move(child), std::move(url));
    if (child.exit_code())  // it has said why
      return fail(ErrorKind::kUnavailable, "the local cloud did not start");
    io.sleep(kLookEvery);
  }
  return fail(ErrorKind::kUnavailable,
              fmt::format("the local cloud was not ready within {} s", kStartLimit.count() / 1000));
}

}  // namespace falcon::up
