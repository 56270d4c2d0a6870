// An HTTP/1.1 server, plain or TLS: whole answers, and long ones piece by piece. Knows no jobs.
//
// One thread of its own does all input and output. The handler is called on that thread and must
// not block: what takes time goes to the caller's threads, and the reply is given from there.
// Limits on headers, bodies, connections, silence and unread bytes bound what a stranger can use
// up. Errors of start(): kInvalid (no such address, unusable certificate), kAlreadyExists (the port
// is in use), kDenied (a port below 1024 and the like).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace falcon::http {

struct ServerRequest {
  std::string method;
  std::string target;             // as sent: "/v1/jobs/a%20b?limit=5"
  std::vector<std::string> path;  // decoded segments: {"v1", "jobs", "a b"}
  std::vector<std::pair<std::string, std::string>> query;    // decoded
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;

  // The first value of that name, or empty.
  std::string_view parameter(std::string_view name) const;
  std::string_view header(std::string_view name) const;  // name in lower case
  bool has_parameter(std::string_view name) const;
};

struct ServerResponse {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
};

// A long answer. Any thread may call these; none blocks.
class ServerStream {
 public:
  virtual ~ServerStream() = default;
  // False: nobody reads any more. A reader that leaves more than `stream_bytes_unread_max` unread
  // is cut off.
  virtual bool send(std::string bytes) = 0;
  virtual void end() = 0;  // in order, after what was sent
  virtual bool is_open() const = 0;
};

// The one answer to a request. Copies share it: the first answer counts, later ones do nothing.
// When all copies go without one, the client gets a 500. Any thread may call these.
class Reply {
 public:
  class Exchange;
  explicit Reply(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  void send(ServerResponse response) const;
  // Sends status and headers (the body of `head` is not used). `on_closed` is called once on the
  // server's thread when the stream is over, whoever ended it; must not block.
  std::shared_ptr<ServerStream> stream(ServerResponse head,
                                       std::function<void()> on_closed = nullptr) const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

using Handler = std::function<void(ServerRequest, Reply)>;

struct ServerSettings {
  std::string address = "127.0.0.1";  // an IP address
  std::uint16_t port = 0;             // 0: any free one
  std::string certificate_pem;        // chain; empty: no TLS
  std::string private_key_pem;
  std::size_t body_bytes_max = 1u << 20;  // of a request
  std::uint32_t header_bytes_max = 32u << 10;
  std::size_t connections_max = 1000;  // more wait in the system's queue
  std::size_t stream_bytes_unread_max = 64u << 20;
  Duration idle_max{75'000};     // between requests of a connection
  Duration request_max{30'000};  // to send one request, or to read a piece of an answer
  // What the server itself refuses (400, 408, 413, 431, 500): makes the answer of it. Plain text
  // when empty.
  std::function<ServerResponse(int status, std::string_view what)> refuse;
};

class Server {
 public:
  Server(ServerSettings settings, Handler handler);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Result<std::uint16_t> start();  // listens; gives the port. Call it once
  // No new requests; those under way are answered for at most 2 s, streams are ended, the thread is
  // joined. Not from the handler. A second call does nothing.
  void stop();

 private:
  class Loop;
  ServerSettings settings_;
  Handler handler_;
  std::shared_ptr<Loop> loop_;
};

}  // namespace falcon::http
