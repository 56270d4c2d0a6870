#include "up/local_cloud.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

namespace falcon::up {
namespace {

constexpr Duration kLookEvery{20};
constexpr Duration kStartLimit{15'000};
constexpr Duration kEndLimit{10'000};  // of a cloud whose parent was killed
constexpr const char* kKnown = "/clusters-added";

// "url" of a document {"url": "..."}; empty while it is not there or not whole.
std::string url_in(const Result<std::string>& text) {
  if (!text) return {};
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(*text, error);
  if (error || !document.is_object()) return {};
  const boost::json::value* url = document.get_object().if_contains("url");
  return url != nullptr && url->is_string() ? std::string(url->get_string()) : std::string();
}

// Free: another process that had the file locked has let it go.
bool is_free(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return true;  // nobody ever had it
  const bool free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return free;
}

Result<std::monostate> wait_for_lock(const std::string& path, const cli::Io& io) {
  for (Duration waited{0}; !is_free(path); waited += kLookEvery) {
    if (waited == Duration(0))
      io.err << "falcon up: the local cloud of an earlier start still runs; waiting for its end"
             << std::endl;
    if (waited >= kEndLimit)
      return fail(
          ErrorKind::kConflict,
          fmt::format("another simulated cloud has {}; stop it, or name another folder with "
                      "--data",
                      path));
    io.sleep(kLookEvery);
  }
  return std::monostate{};
}

}  // namespace

Result<std::monostate> LocalCloud::check(const Options& options) {
  if (::geteuid() != 0 || options.allow_root) return std::monostate{};
  return fail(ErrorKind::kDenied,
              "--sim: jobs' programs would run as root on this machine; start it as another user, "
              "or say --allow-root if this machine (a container, say) is meant for that");
}

bool LocalCloud::is_known() const { return std::filesystem::exists(folder_ + kKnown); }

void LocalCloud::note_known() const { std::ofstream(folder_ + kKnown, std::ios::app).flush(); }

Result<LocalCloud> LocalCloud::start(const Options& options, const cli::Io& io) {
  const std::string folder = options.data + "/cloud";
  const std::string address = folder + "/sim.json";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (const auto free = wait_for_lock(folder + "/lock", io); !free)
    return std::unexpected(free.error());
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
      return LocalCloud(std::move(child), folder, std::move(url));
    if (child.exit_code())  // it has said why
      return fail(ErrorKind::kUnavailable, "the local cloud did not start");
    io.sleep(kLookEvery);
  }
  return fail(ErrorKind::kUnavailable,
              fmt::format("the local cloud was not ready within {} s", kStartLimit.count() / 1000));
}

}  // namespace falcon::up
