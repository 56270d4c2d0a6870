#include "simserver/sim_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kBodyMax = 3U << 20;  // as a real API server

Call call_of(http::ServerRequest request) {
  return Call{std::move(request.method), std::move(request.path), std::move(request.query),
              std::move(request.headers), std::move(request.body)};
}

http::ServerResponse response_of(Answer answer) {
  return http::ServerResponse{.status = answer.status,
                              .body = std::move(answer.body),
                              .content_type = std::move(answer.content_type),
                              .headers = std::move(answer.headers)};
}

http::ServerSettings settings_with(std::uint16_t port, const Certificate* certificate) {
  http::ServerSettings settings;
  settings.port = port;
  settings.body_bytes_max = kBodyMax;
  if (certificate != nullptr) {
    settings.certificate_pem = certificate->cert_pem;
    settings.private_key_pem = certificate->key_pem;
  }
  return settings;
}

// A web page's request names the page; nobody else sends this header.
bool comes_from_a_web_page(const http::ServerRequest& request) {
  return !request.header("origin").empty();
}

// Whole or not at all.
Result<bool> write_file(const fs::path& file, const std::string& text) {
  const fs::path draft = file.string() + ".draft";
  {
    std::ofstream out(draft, std::ios::trunc);
    out << text;
    out.flush();
    if (!out)
      return fail(ErrorKind::kDenied,
                  fmt::format("{} cannot be written: {}", draft.string(), std::strerror(errno)));
  }
  std::error_code error;
  fs::rename(draft, file, error);
  if (error)
    return fail(ErrorKind::kDenied,
                fmt::format("{} cannot be written: {}", file.string(), error.message()));
  return true;
}

}  // namespace

Result<std::unique_ptr<SimServer>> SimServer::start(const CloudSetup& setup, std::uint16_t port) {
  if (port != 0) {  // found before a file is made
    http::Server probe(settings_with(port, nullptr),
                       [](const http::ServerRequest&, const http::Reply&) {});
    FALCON_TRY(free, probe.start());
    (void)free;
    probe.stop();
  }
  std::unique_ptr<SimServer> server(new SimServer(setup.data));
  FALCON_TRY(lock, server->lock_folder());
  server->lock_ = lock;
  std::error_code ignored;
  fs::remove(setup.data / "sim.json", ignored);  // of a run that was killed
  FALCON_TRY(certificate, make_certificate("falcon-sim"));
  FALCON_TRY(cloud, SimCloud::make(setup));
  server->cloud_ = std::move(cloud);
  std::map<model::GkeCluster, GoogleFace::Endpoint> endpoints;
  for (const cloudsim::ClusterSetup& cluster : setup.clusters) {
    FALCON_TRY(address, server->open_kubernetes(cluster.gke, certificate));
    endpoints[cluster.gke] = GoogleFace::Endpoint{address, certificate.ca_pem};
  }
  server->cloud_->set_endpoints(endpoints);
  SimCloud* cloud_face = server->cloud_.get();
  auto google = std::make_unique<http::Server>(
      settings_with(port, nullptr),
      [cloud_face](http::ServerRequest request, const http::Reply& reply) {
        if (comes_from_a_web_page(request))
          return reply.send({.status = 403, .body = "{\"error\":\"not for web pages\"}"});
        reply.send(response_of(cloud_face->google(call_of(std::move(request)))));
      });
  FALCON_TRY(google_port, google->start());
  server->servers_.push_back(std::move(google));
  server->url_ = fmt::format("http://127.0.0.1:{}", google_port);
  FALCON_TRY(written, write_file(setup.data / "ca.pem", certificate.ca_pem));
  FALCON_TRY(announced, server->announce(endpoints));
  (void)written;
  (void)announced;
  return server;
}

Result<int> SimServer::lock_folder() const {
  std::error_code error;
  fs::create_directories(data_, error);
  if (error)
    return fail(ErrorKind::kDenied,
                fmt::format("the data folder {} cannot be made: {}; name another one with --data",
                            data_.string(), error.message()));
  fs::permissions(data_, fs::perms::owner_all, error);
  const fs::path file = data_ / "lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return fail(ErrorKind::kDenied,
                fmt::format("the data folder {} cannot be written: {}; name another one with "
                            "--data",
                            data_.string(), std::strerror(errno)));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return fail(ErrorKind::kAlreadyExists,
              fmt::format("another simulated cloud runs in {}; stop it or name another folder with "
                          "--data",
                          data_.string()));
}

Result<std::string> SimServer::open_kubernetes(const model::GkeCluster& cluster,
                                               const Certificate& certificate) {
  SimCloud* cloud = cloud_.get();
  auto server = std::make_unique<http::Server>(
      settings_with(0, &certificate),
      [cloud, cluster](http::ServerRequest request, const http::Reply& reply) {
        const auto begin = [&reply] {
          const auto stream = reply.stream({});
          return LineSink{[stream](std::string lines) { return stream->send(std::move(lines)); },
                          [stream] { stream->end(); }};
        };
        auto answer = cloud->kube(cluster, call_of(std::move(request)), begin);
        if (answer) reply.send(response_of(*std::move(answer)));
      });
  FALCON_TRY(port, server->start());
  servers_.push_back(std::move(server));
  return fmt::format("127.0.0.1:{}", port);
}

Result<bool> SimServer::announce(
    const std::map<model::GkeCluster, GoogleFace::Endpoint>& endpoints) const {
  json::array clusters;
  for (const auto& [gke, endpoint] : endpoints)
    clusters.push_back(json::object{{"name", gke.name},
                                    {"project", gke.project},
                                    {"location", gke.location},
                                    {"endpoint", endpoint.address}});
  return write_file(
      data_ / "sim.json",
      json::serialize(json::object{{"url", url_}, {"clusters", std::move(clusters)}}) + "\n");
}

SimServer::~SimServer() {
  std::error_code ignored;
  if (!url_.empty()) fs::remove(data_ / "sim.json", ignored);
  for (const auto& server : servers_) server->stop();
  servers_.clear();
  cloud_.reset();
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace falcon::simserver
