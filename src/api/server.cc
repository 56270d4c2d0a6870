#include "api/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "api/service.h"
#include "base/digest.h"
#include "http/server.h"
#include "store/store.h"
#include "wire/wire.h"

namespace falcon::api {
namespace {

std::unexpected<Error> no_file(const std::string& path, const std::string& why) {
  return fail(ErrorKind::kDenied,
              fmt::format("{} can't be used: {}; name another data folder with --data", path, why));
}

WallTime now() {
  return WallTime(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

Result<std::monostate> make_folder(const std::string& path) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(path, error);
  if (error) return no_file("the data folder " + path, error.message());
  if (is_new && ::chmod(path.c_str(), 0700) != 0)
    return no_file("the data folder " + path, std::strerror(errno));
  return std::monostate();
}

// Whole or not at all: another name first, then renamed, both durable.
Result<std::monostate> write_file(const std::string& path, std::string_view text) {
  const std::string draft = path + ".new";
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return no_file(path, std::strerror(errno));
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fchmod(file, 0600) == 0 && ::fsync(file) == 0;
  const int number = errno;
  ::close(file);
  if (!written) return no_file(path, std::strerror(number));
  if (::rename(draft.c_str(), path.c_str()) != 0) return no_file(path, std::strerror(errno));
  return std::monostate();
}

Result<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) return std::string();
    return no_file(path, std::strerror(errno));
  }
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(file, bytes.data(), bytes.size());
  const int number = errno;
  ::close(file);
  if (count < 0) return no_file(path, std::strerror(number));
  return std::string(bytes.data(), static_cast<std::size_t>(count));
}

// The folder's token, made when there is none yet.
Result<std::string> token_of(const std::string& folder) {
  const std::string path = folder + "/token";
  FALCON_TRY(token, read_file(path));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!token.empty()) return std::move(token);
  std::array<std::uint8_t, 32> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(ErrorKind::kInternal, "the system gives no random numbers for the token");
  token = hex_lower(bytes);
  if (const auto written = write_file(path, token + "\n"); !written)
    return std::unexpected(written.error());
  return std::move(token);
}

}  // namespace

struct ApiServer::Parts {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Service> service;
};

ApiServer::ApiServer(Settings settings) : settings_(std::move(settings)) {}

ApiServer::~ApiServer() { stop(); }

Result<std::monostate> ApiServer::check_port() const {
  if (settings_.port == 0) return std::monostate{};
  http::ServerSettings settings;
  settings.address = settings_.address;
  settings.port = settings_.port;
  http::Server probe(settings, [](const http::ServerRequest&, const http::Reply&) {});
  FALCON_TRY(port, probe.start());
  probe.stop();
  return std::monostate{};
}

Result<std::monostate> ApiServer::open() {
  if (const auto folder = make_folder(settings_.data); !folder)
    return std::unexpected(folder.error());
  store::SqliteSettings sqlite;
  sqlite.path = settings_.data + "/falcon.db";
  if (settings_.log)
    sqlite.on_trouble = [log = settings_.log](const std::string& what) {
      log(fmt::format("{{\"time\":\"{}\",\"severity\":\"error\",\"message\":{}}}",
                      to_rfc3339(now()), wire::quoted(what)));
    };
  FALCON_TRY(store, store::open_sqlite(std::move(sqlite)));
  token_ = settings_.token;
  if (token_.empty()) {
    FALCON_TRY(token, token_of(settings_.data));
    token_ = std::move(token);
  }
  parts_ = std::make_unique<Parts>();
  parts_->store = std::move(store);
  return std::monostate{};
}

Result<std::uint16_t> ApiServer::start() {
  if (!parts_)
    if (const auto opened = open(); !opened) return std::unexpected(opened.error());
  ServiceSettings service;
  service.http.address = settings_.address;
  service.http.port = settings_.port;
  service.guard = {token_, settings_.host_names};
  service.identity = {settings_.language, settings_.installation, settings_.storage_endpoint,
                      settings_.version};
  service.log = settings_.log;
  auto started = std::make_unique<Service>(*parts_->store, std::move(service));
  FALCON_TRY(port, started->start());
  const bool v6 = settings_.address.find(':') != std::string::npos;
  url_ = fmt::format("http://{}{}{}:{}", v6 ? "[" : "", settings_.address, v6 ? "]" : "", port);
  if (const auto written =
          write_file(settings_.data + "/api.json", fmt::format("{{\"url\": \"{}\"}}\n", url_));
      !written)
    return std::unexpected(written.error());
  parts_->service = std::move(started);
  return port;
}

void ApiServer::stop() {
  if (parts_ && parts_->service) {
    ::unlink((settings_.data + "/api.json").c_str());
    parts_->service->stop();
  }
  parts_.reset();
}

}  // namespace falcon::api
