#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "http/client.h"

namespace falcon::http {
namespace {

// A plain socket, for what no proper client would send.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  bool connected() const { return connected_; }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  std::string read_to_end() const {
    std::string all;
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (count <= 0) return all;
      all.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::string url(std::uint16_t port, std::string_view path) {
  return "http://127.0.0.1:" + std::to_string(port) + std::string(path);
}

ServerResponse echo(const ServerRequest& request) {
  std::string text = request.method;
  for (const std::string& segment : request.path) text += "|" + segment;
  for (const auto& [name, value] : request.query) text += "?" + name + "=" + value;
  return ServerResponse{200, text + "#" + request.body, "text/plain", {{"x-a", "b"}}};
}

// Collects a stream and lets the test wait for what it needs.
struct Collected {
  std::mutex mutex;
  std::condition_variable changed;
  std::string bytes;
  bool ended = false;
  std::optional<Error> error;

  StreamHandler handler() {
    StreamHandler handler;
    handler.on_start = [](const Response& response) { EXPECT_EQ(response.status, 200); };
    handler.on_bytes = [this](std::string_view piece) {
      const std::scoped_lock lock(mutex);
      bytes += piece;
      changed.notify_all();
    };
    handler.on_end = [this](std::optional<Error> reason) {
      const std::scoped_lock lock(mutex);
      ended = true;
      error = std::move(reason);
      changed.notify_all();
    };
    return handler;
  }
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), condition);
  }
};

// Hands the stream of the only request to the test.
struct Streaming {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<ServerStream> stream;
  bool closed = false;

  Handler handler() {
    return [this](const ServerRequest&, const Reply& reply) {
      auto opened = reply.stream({200, "", "application/json", {}}, [this] {
        const std::scoped_lock lock(mutex);
        closed = true;
        changed.notify_all();
      });
      const std::scoped_lock lock(mutex);
      stream = std::move(opened);
      changed.notify_all();
    };
  }
  std::shared_ptr<ServerStream> wait_for_stream() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return stream != nullptr; });
    return stream;
  }
  bool wait_for_close() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return closed; });
  }
};

class ServerTest : public testing::Test {
 protected:
  std::uint16_t start(Handler handler, ServerSettings settings = {}) {
    server_ = std::make_unique<Server>(std::move(settings), std::move(handler));
    const Result<std::uint16_t> port = server_->start();
    EXPECT_TRUE(port) << port.error().what;
    return port.value_or(0);
  }
  Result<Response> ask(std::uint16_t port, const std::string& path, std::string method = "GET",
                       std::string body = "") {
    Request request;
    request.method = std::move(method);
    request.url = url(port, path);
    request.body = std::move(body);
    return send_and_wait(client_, std::move(request));
  }
  Collected collected_;  // outlive those who call them
  Streaming streaming_;
  Client client_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, DecodesTheTargetAndCarriesTheBody) {
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); });
  const auto answer = ask(port, "/v1/a%20b%2Fc/d+e:abort?x=1+2&y=%E4%BD%A0&z", "POST", "hello");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "POST|v1|a b/c|d+e:abort?x=1 2?y=你?z=#hello");
  EXPECT_EQ(header(*answer, "x-a"), "b");
  EXPECT_EQ(header(*answer, "content-type"), "text/plain");
}

TEST_F(ServerTest, AnswersFromOtherThreadsInTheOrderOfEachConnection) {
  std::vector<std::jthread> workers;
  const auto port = start([&](ServerRequest request, Reply reply) {
    workers.emplace_back(
        [request = std::move(request), reply = std::move(reply)] { reply.send(echo(request)); });
  });
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask(port, "/" + std::to_string(i));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->body, "GET|" + std::to_string(i) + "#");
  }
  server_->stop();
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); });
  const RawClient raw(port);
  raw.send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = raw.read_to_end();
  EXPECT_LT(all.find("GET|1#"), all.find("GET|2#"));
  EXPECT_NE(all.find("GET|2#"), std::string::npos);
}

TEST_F(ServerTest, ARequestDroppedByItsHandlerIsA500) {
  const auto port = start([](const ServerRequest&, const Reply&) {});
  const auto answer = ask(port, "/");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 500);
}

TEST_F(ServerTest, OnlyTheFirstAnswerCounts) {
  const auto port = start([](const ServerRequest&, const Reply& reply) {
    reply.send({201, "first"});
    reply.send({202, "second"});
    EXPECT_TRUE(reply.stream({203, ""}) != nullptr);
  });
  const auto answer = ask(port, "/");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, "first");
}

TEST_F(ServerTest, ABodyThatIsTooLargeIsRefusedSoThatTheClientHearsIt) {
  ServerSettings settings;
  settings.body_bytes_max = 1000;
  settings.refuse = [](int status, std::string_view what) {
    return ServerResponse{status, "refused: " + std::string(what)};
  };
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); },
                          std::move(settings));
  const auto large = ask(port, "/", "POST", std::string(10'000'000, 'x'));
  ASSERT_TRUE(large) << large.error().what;
  EXPECT_EQ(large->status, 413);
  EXPECT_EQ(large->body, "refused: the body is larger than 1000 bytes");
  const RawClient raw(port);  // sends all of it without waiting for "100 Continue"
  raw.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" +
           std::string(3'000'000, 'x'));
  EXPECT_TRUE(raw.read_to_end().starts_with("HTTP/1.1 413 "));
  const auto exact = ask(port, "/", "POST", std::string(1000, 'x'));
  ASSERT_TRUE(exact) << exact.error().what;
  EXPECT_EQ(exact->status, 200);
}

TEST_F(ServerTest, WhatIsNoHttpIsRefused) {
  ServerSettings settings;
  settings.header_bytes_max = 2000;
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); },
                          std::move(settings));
  const RawClient garbage(port);
  garbage.send("this is not HTTP\r\n\r\n");
  EXPECT_TRUE(garbage.read_to_end().starts_with("HTTP/1.1 400 "));
  const RawClient headers(port);
  headers.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(5000, 'x') + "\r\n\r\n");
  EXPECT_TRUE(headers.read_to_end().starts_with("HTTP/1.1 431 "));
}

TEST_F(ServerTest, HeadHasTheLengthButNoBody) {
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); });
  const RawClient raw(port);
  raw.send("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = raw.read_to_end();
  EXPECT_NE(all.find("Content-Length: 6\r\n"), std::string::npos) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
}

TEST_F(ServerTest, AStreamArrivesPieceByPieceAndEndsInOrder) {
  const auto port = start(streaming_.handler());
  Request request;
  request.url = url(port, "/watch");
  client_.open(std::move(request), collected_.handler());
  const auto stream = streaming_.wait_for_stream();
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->send("one\n"));
  EXPECT_TRUE(collected_.wait([&] { return collected_.bytes == "one\n"; }));
  EXPECT_TRUE(stream->send("two\n"));
  stream->end();
  EXPECT_FALSE(stream->send("late\n"));
  EXPECT_TRUE(collected_.wait([&] { return collected_.ended; }));
  EXPECT_EQ(collected_.bytes, "one\ntwo\n");
  EXPECT_FALSE(collected_.error.has_value());
  EXPECT_TRUE(streaming_.wait_for_close());
  server_->stop();
}

TEST_F(ServerTest, AStreamLearnsThatItsReaderHasGone) {
  const auto port = start(streaming_.handler());
  Request request;
  request.url = url(port, "/watch");
  const auto id = client_.open(std::move(request), collected_.handler());
  const auto stream = streaming_.wait_for_stream();
  ASSERT_TRUE(stream);
  client_.close(id);
  EXPECT_TRUE(streaming_.wait_for_close());
  EXPECT_FALSE(stream->is_open());
  EXPECT_FALSE(stream->send("x"));
  server_->stop();
}

TEST_F(ServerTest, AReaderThatDoesNotReadIsCutOff) {
  ServerSettings settings;
  settings.stream_bytes_unread_max = 1u << 20;
  const auto port = start(streaming_.handler(), std::move(settings));
  const RawClient raw(port);
  raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = streaming_.wait_for_stream();
  ASSERT_TRUE(stream);
  std::size_t pieces = 0;  // the sockets' own buffers take some megabytes
  while (stream->send(std::string(1u << 19, 'x')) && pieces < 1000) ++pieces;
  EXPECT_LT(pieces, 1000u);
  EXPECT_FALSE(stream->is_open());
  server_->stop();
}

TEST_F(ServerTest, StoppingEndsStreamsAndIdleConnections) {
  const auto port = start(streaming_.handler());
  const RawClient idle(port);
  ASSERT_TRUE(idle.connected());
  Request request;
  request.url = url(port, "/watch");
  client_.open(std::move(request), collected_.handler());
  ASSERT_TRUE(streaming_.wait_for_stream());
  server_->stop();
  EXPECT_TRUE(collected_.wait([&] { return collected_.ended; }));
  EXPECT_FALSE(collected_.error.has_value());
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(RawClient(port).connected());
}

TEST_F(ServerTest, ConnectionsBeyondTheLimitWait) {
  ServerSettings settings;
  settings.connections_max = 1;
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); },
                          std::move(settings));
  auto first = std::make_unique<RawClient>(port);
  first->send("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const RawClient second(port);
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(first->read_to_end().find("GET|1#"), std::string::npos);
  first.reset();
  EXPECT_NE(second.read_to_end().find("GET|2#"), std::string::npos);
}

TEST_F(ServerTest, APortInUseIsSaidPlainly) {
  const auto port = start([](ServerRequest request, Reply reply) { reply.send(echo(request)); });
  ServerSettings settings;
  settings.port = port;
  Server second(settings, [](const ServerRequest&, const Reply&) {});
  const auto result = second.start();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kAlreadyExists);
  EXPECT_NE(result.error().what.find("port " + std::to_string(port)), std::string::npos);
  settings.address = "nowhere";
  Server third(settings, [](const ServerRequest&, const Reply&) {});
  const auto refused = third.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
}

struct Pem {
  std::string certificate;
  std::string key;
};

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

Pem self_signed() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  for (const auto& [nid, value] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1"},
                                   std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate, key, EVP_sha256());
  Pem pem;
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  pem.certificate = text_of(bio);
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  pem.key = text_of(bio);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pem;
}

TEST_F(ServerTest, SpeaksTls) {
  const Pem pem = self_signed();
  ServerSettings settings;
  settings.certificate_pem = pem.certificate;
  settings.private_key_pem = pem.key;
  const auto port =
      start([](ServerRequest request, Reply reply) { reply.send(echo(request)); }, settings);
  for (int i = 0; i < 3; ++i) {
    Request request;
    request.url = "https://127.0.0.1:" + std::to_string(port) + "/x";
    request.ca_pem = pem.certificate;
    const auto answer = send_and_wait(client_, std::move(request));
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->body, "GET|x#");
  }
  settings.private_key_pem = "no key";
  Server broken(settings, [](const ServerRequest&, const Reply&) {});
  EXPECT_FALSE(broken.start());
}

}  // namespace
}  // namespace falcon::http
