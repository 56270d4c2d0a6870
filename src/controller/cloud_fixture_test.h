// For tests: Google's side of clusters, as far as a connection to one needs it, through sockets.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.h"
#include "simserver/certificate.h"

namespace falcon::controller {

// What tests wait for and change, whatever thread it happens on.
class Watched {
 public:
  template <class Do>
  auto with(Do action) {
    const std::scoped_lock lock(mutex_);
    auto result = action();
    changed_.notify_all();
    return result;
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// A Kubernetes API over TLS that has pods and nothing else.
class FakeKubernetes : public Watched {
 public:
  FakeKubernetes() {
    const auto certificate = simserver::make_certificate("127.0.0.1");
    EXPECT_TRUE(certificate);
    ca_pem_ = certificate->ca_pem;
    http::ServerSettings settings;
    settings.certificate_pem = certificate->cert_pem;
    settings.private_key_pem = certificate->key_pem;
    server_ = std::make_unique<http::Server>(
        settings, [this](const http::ServerRequest& request, const http::Reply& reply) {
          with([&] {
            answer(request, reply);
            return 0;
          });
        });
    port_ = server_->start().value();
  }
  ~FakeKubernetes() { server_->stop(); }
  std::string endpoint() const { return fmt::format("127.0.0.1:{}", port_); }
  const std::string& ca_pem() const { return ca_pem_; }

  // With the lock held (in `with` or `wait`).
  int watches = 0;  // open ones
  std::vector<std::string> pods;

 private:
  void answer(const http::ServerRequest& request, const http::Reply& reply) {
    if (request.has_parameter("watch")) {
      ++watches;
      streams_.push_back(reply.stream({}, [this] { with([&] { return --watches; }); }));
      return;
    }
    std::string items;
    if (request.target.starts_with("/api/v1/pods"))
      for (const std::string& pod : pods)
        items += fmt::format(R"({}{{"metadata":{{"name":"{}","namespace":"n","uid":"u-{}"}}}})",
                             items.empty() ? "" : ",", pod, pod);
    reply.send(
        {200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", items)});
  }

  std::string ca_pem_;
  std::vector<std::shared_ptr<http::ServerStream>> streams_;
  std::unique_ptr<http::Server> server_;
  std::uint16_t port_ = 0;
};

// Tokens, and where each cluster's Kubernetes API is; all else is not found.
class FakeGoogle : public Watched {
 public:
  FakeGoogle()
      : server_({}, [this](const http::ServerRequest& request, const http::Reply& reply) {
          reply.send(with([&] { return answer(request); }));
        }) {
    url_ = fmt::format("http://127.0.0.1:{}", server_.start().value());
  }
  ~FakeGoogle() { server_.stop(); }
  const std::string& url() const { return url_; }

  // With the lock held (in `with` or `wait`).
  struct Place {
    std::string endpoint;
    std::string ca_pem;
  };
  std::map<std::string, Place> places;  // by the cluster's name
  std::map<std::string, int> asked;     // by the cluster's name: for its place

 private:
  http::ServerResponse answer(const http::ServerRequest& request) {
    if (request.target.starts_with("/computeMetadata"))
      return {200,
              R"({"access_token":"t","expires_in":3600})",
              "application/json",
              {{"Metadata-Flavor", "Google"}}};
    const std::string name = request.path.empty() ? std::string() : request.path.back();
    ++asked[name];
    const auto found = places.find(name);
    if (found == places.end()) return {404, R"({"error":{"code":404,"message":"no cluster"}})"};
    std::string encoded(found->second.ca_pem.size() * 2, '\0');
    const int size =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                        reinterpret_cast<const unsigned char*>(found->second.ca_pem.data()),
                        static_cast<int>(found->second.ca_pem.size()));
    encoded.resize(static_cast<std::size_t>(size));
    return {200, fmt::format(R"({{"name":"{}","status":"RUNNING","endpoint":"{}",)"
                             R"("masterAuth":{{"clusterCaCertificate":"{}"}}}})",
                             name, found->second.endpoint, encoded)};
  }

  std::string url_;
  http::Server server_;
};

}  // namespace falcon::controller
