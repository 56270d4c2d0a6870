// An HTTP client for everything Falcon calls: Google's APIs, Kubernetes, its own API server.
//
// libcurl's multi interface on one thread of its own: proxies, TLS, HTTP/2, connection reuse and
// time-outs are libcurl's. All callbacks run on that thread and must not block. Knows nothing of
// jobs. Errors of the transport are sorted by what they say about the request:
//   kUnavailable     it cannot have arrived (name not resolved, connection refused, TLS refused)
//   kUnknownOutcome  it may have arrived (time-out, reset, cut off, unreadable answer)
// An answer of the server, whatever its status code, is a Response.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace falcon::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "GET";
  std::string url;
  Headers headers;
  std::string body;
  Duration timeout{30'000};  // whole request; of a stream: until its headers have arrived
  Duration silence_max{0};   // of a stream: no byte for so long ends it; 0: no limit
  std::string ca_pem;        // trust exactly these roots; empty: the system's
  std::size_t body_bytes_max = 256u << 20;  // of the answer; more ends in kUnknownOutcome
};

struct Response {
  int status = 0;
  Headers headers;  // names in lower case
  std::string body;
};
// The value of the first header of that (lower-case) name, or empty.
std::string_view header(const Response& response, std::string_view name);

using OnResponse = std::function<void(Result<Response>)>;

// A long answer, piece by piece. `on_start` comes first (status, headers, no body); an answer that
// is not 2xx is collected and given whole to on_end through on_start's response instead of pieces.
struct StreamHandler {
  std::function<void(const Response&)> on_start;
  std::function<void(std::string_view)> on_bytes;
  // Exactly once, and last. No error: the server ended it in order.
  std::function<void(std::optional<Error>)> on_end;
};

class Client {
 public:
  Client();  // starts the thread
  // Ends all requests (their callbacks get kUnknownOutcome) and joins the thread. What callbacks
  // send meanwhile is answered the same way: whoever sends again at each such answer ends never.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Any thread may call these. Each send gets exactly one callback.
  void send(Request request, OnResponse on_response);
  using StreamId = std::uint64_t;
  StreamId open(Request request, StreamHandler handler);
  void close(StreamId stream);  // on_end still comes

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

// Sends and waits: for the command line and for tests.
Result<Response> send_and_wait(Client& client, Request request);

}  // namespace falcon::http
