#include "http/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace falcon::http {
namespace {

using namespace std::chrono_literals;

// The server's end of one connection, told byte by byte what to say.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}
  ~Line() { ::close(socket_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // One whole request, headers and body; empty when the client has gone.
  std::string read_request() {
    while (true) {
      const std::size_t blank = unread_.find("\r\n\r\n");
      if (blank != std::string::npos) {
        const std::size_t length = blank + 4 + body_length(unread_.substr(0, blank + 2));
        if (unread_.size() >= length) {
          std::string request = unread_.substr(0, length);
          unread_.erase(0, length);
          return request;
        }
      }
      std::array<char, 4096> bytes;
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (count <= 0) return {};
      unread_.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  const std::string& unread() const { return unread_; }
  void say(std::string_view text) const { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  void answer(std::string_view body, std::string_view status = "200 OK") const {
    say("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + std::string(body));
  }
  // Says nothing more; returns when the client (or the peer's end) closes.
  void stay_silent() {
    while (!read_request().empty()) {
    }
  }

 private:
  static std::size_t body_length(const std::string& headers) {
    constexpr std::string_view kName = "Content-Length: ";
    const std::size_t at = headers.find(kName);
    return at == std::string::npos ? 0 : std::stoul(headers.substr(at + kName.size()));
  }
  int socket_;
  std::string unread_;
};

// Listens on a free port and plays `script` on each connection, numbered from 1.
class Peer {
 public:
  using Script = std::function<void(Line&, int connection)>;
  explicit Peer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~Peer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    lines_.clear();
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      sockets_.push_back(::dup(socket));  // kept so that the end can wake a script that reads
      lines_.emplace_back([this, socket, number = ++connections_] {
        Line line(socket);
        script_(line, number);
        ::shutdown(socket, SHUT_RDWR);
      });
    }
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::vector<int> sockets_;  // the acceptor's thread, then the destructor
  std::vector<std::jthread> lines_;
  std::jthread acceptor_;
};

Request request_to(const Peer& peer, std::string method = "GET", std::string body = {}) {
  Request request;
  request.method = std::move(method);
  request.url = peer.url();
  request.body = std::move(body);
  return request;
}

ErrorKind kind_of(const Result<Response>& answer) {
  EXPECT_FALSE(answer) << "status " << answer->status;
  return answer ? ErrorKind::kInternal : answer.error().kind;
}

// Everything that a stream's handler heard, in order.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> calls;
  std::optional<Error> error;

  StreamHandler handler() {
    StreamHandler handler;
    handler.on_start = [this](const Response& response) {
      add("start " + std::to_string(response.status) + " " + response.body);
    };
    handler.on_bytes = [this](std::string_view bytes) { add(std::string(bytes)); };
    handler.on_end = [this](std::optional<Error> reason) {
      {
        const std::scoped_lock lock(mutex);
        error = std::move(reason);
      }
      add("end");
    };
    return handler;
  }
  void add(std::string call) {
    const std::scoped_lock lock(mutex);
    calls.push_back(std::move(call));
    changed.notify_all();
  }
  bool wait_for(const std::string& call) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 20s, [&] { return std::ranges::count(calls, call) > 0; });
  }
};

TEST(Client, SendsMethodHeadersAndBodyAndOffersNoCompression) {
  std::string heard;
  Peer peer([&](Line& line, int) {
    heard = line.read_request();
    line.say("HTTP/1.1 200 OK\r\nX-Kind:  Some Value\r\nContent-Length: 2\r\n\r\nok");
  });
  Client client;
  Request request = request_to(peer, "DELETE", R"({"a":1})");
  request.headers = {{"Authorization", "Bearer t"}, {"Content-Type", "application/json"}};
  const auto answer = send_and_wait(client, std::move(request));
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(header(*answer, "x-kind"), "Some Value");
  EXPECT_EQ(header(*answer, "x-other"), "");
  EXPECT_TRUE(heard.starts_with("DELETE / HTTP/1.1\r\n")) << heard;
  EXPECT_NE(heard.find("Authorization: Bearer t\r\n"), std::string::npos) << heard;
  EXPECT_TRUE(heard.ends_with("\r\n\r\n{\"a\":1}")) << heard;
  EXPECT_EQ(heard.find("Accept-Encoding"), std::string::npos) << heard;
  EXPECT_EQ(heard.find("Expect"), std::string::npos) << heard;
}

TEST(Client, AnyStatusIsAnAnswerAndARedirectIsNotFollowed) {
  std::atomic<int> requests = 0;
  Peer peer([&](Line& line, int) {
    while (!line.read_request().empty()) {
      if (++requests == 1)
        line.say("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
      else
        line.answer("broken", "503 Service Unavailable");
    }
  });
  Client client;
  const auto moved = send_and_wait(client, request_to(peer));
  ASSERT_TRUE(moved) << moved.error().what;
  EXPECT_EQ(moved->status, 302);
  EXPECT_EQ(requests, 1);
  const auto broken = send_and_wait(client, request_to(peer));
  ASSERT_TRUE(broken) << broken.error().what;
  EXPECT_EQ(broken->status, 503);
  EXPECT_EQ(broken->body, "broken");
  EXPECT_EQ(peer.connections(), 1);  // the connection is used again
}

TEST(Client, WhereNobodyListensNothingArrived) {
  std::string url;
  {
    const Peer gone([](Line&, int) {});
    url = gone.url();
  }
  Client client;
  Request request;
  request.method = "POST";
  request.url = url;
  EXPECT_EQ(kind_of(send_and_wait(client, std::move(request))), ErrorKind::kUnavailable);
}

TEST(Client, AnAddressThatIsNoneIsInvalid) {
  Client client;
  Request request;
  request.url = "gopher://127.0.0.1/";
  EXPECT_EQ(kind_of(send_and_wait(client, std::move(request))), ErrorKind::kInvalid);
}

TEST(Client, ATimeOutMayHaveArrived) {
  Peer peer([](Line& line, int) { line.stay_silent(); });
  Client client;
  Request request = request_to(peer, "POST", "x");
  request.timeout = 200ms;
  EXPECT_EQ(kind_of(send_and_wait(client, std::move(request))), ErrorKind::kUnknownOutcome);
}

// No connection is made for it, which must not be taken for "it never left".
TEST(Client, ATimeOutOnAConnectionUsedAgainMayHaveArrived) {
  std::atomic<bool> arrived = false;
  Peer peer([&](Line& line, int connection) {
    EXPECT_EQ(connection, 1);
    line.read_request();
    line.answer("first");
    arrived = !line.read_request().empty();
    line.stay_silent();
  });
  Client client;
  ASSERT_TRUE(send_and_wait(client, request_to(peer)));
  Request second = request_to(peer, "POST", "x");
  second.timeout = 300ms;
  EXPECT_EQ(kind_of(send_and_wait(client, std::move(second))), ErrorKind::kUnknownOutcome);
  EXPECT_TRUE(arrived);
}

TEST(Client, AConnectionThatBreaksBeforeTheAnswerMayHaveArrived) {
  Peer peer([](Line& line, int) { line.read_request(); });
  Client client;
  EXPECT_EQ(kind_of(send_and_wait(client, request_to(peer, "POST", "x"))),
            ErrorKind::kUnknownOutcome);
}

// A change is never sent twice behind the caller's back.
TEST(Client, AChangeIsNotSentAgainWhenAnOldConnectionBreaks) {
  std::atomic<int> changes = 0;
  Peer peer([&](Line& line, int connection) {
    if (connection == 1) {
      line.read_request();
      line.answer("first");
    }
    if (line.read_request().starts_with("POST")) ++changes;
    EXPECT_EQ(line.unread(), "");  // nor half of it
  });
  Client client;
  ASSERT_TRUE(send_and_wait(client, request_to(peer)));
  EXPECT_EQ(kind_of(send_and_wait(client, request_to(peer, "POST", "x"))),
            ErrorKind::kUnknownOutcome);
  EXPECT_EQ(changes, 1);
}

TEST(Client, AnAnswerThatIsCutOffIsUnknown) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  Client client;
  EXPECT_EQ(kind_of(send_and_wait(client, request_to(peer))), ErrorKind::kUnknownOutcome);
}

TEST(Client, AnAnswerThatIsNoHttpIsUnknown) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.say("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  });
  Client client;
  EXPECT_EQ(kind_of(send_and_wait(client, request_to(peer, "POST", "x"))),
            ErrorKind::kUnknownOutcome);
}

TEST(Client, AnAnswerThatIsTooLargeIsUnknownAndSaysTheLimit) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.answer(std::string(5000, 'x'));
  });
  Client client;
  Request request = request_to(peer);
  request.body_bytes_max = 1000;
  const auto answer = send_and_wait(client, std::move(request));
  EXPECT_EQ(kind_of(answer), ErrorKind::kUnknownOutcome);
  EXPECT_NE(answer.error().what.find("1000 bytes"), std::string::npos) << answer.error().what;
}

TEST(Client, AStreamStartsWithItsHeadersAndKeepsPiecesApart) {
  Heard heard;
  Peer peer([&](Line& line, int) {
    line.read_request();
    line.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_TRUE(heard.wait_for("start 200 "));  // before any byte of the body
    line.say("3\r\none\r\n");
    EXPECT_TRUE(heard.wait_for("one"));
    line.say("3\r\ntwo\r\n0\r\n\r\n");
  });
  Client client;
  client.open(request_to(peer), heard.handler());
  ASSERT_TRUE(heard.wait_for("end"));
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"start 200 ", "one", "two", "end"}));
  EXPECT_FALSE(heard.error);
}

TEST(Client, AStreamThatIsRefusedComesWhole) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.answer("too old", "410 Gone");
  });
  Heard heard;
  Client client;
  client.open(request_to(peer), heard.handler());
  ASSERT_TRUE(heard.wait_for("end"));
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"start 410 too old", "end"}));
  EXPECT_FALSE(heard.error);
}

TEST(Client, AStreamThatIsCutOffEndsWithAnError) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n");
  });
  Heard heard;
  Client client;
  client.open(request_to(peer), heard.handler());
  ASSERT_TRUE(heard.wait_for("end"));
  ASSERT_TRUE(heard.error);
  EXPECT_EQ(heard.error->kind, ErrorKind::kUnknownOutcome);
}

TEST(Client, SilenceEndsAStreamAndABeginningThatNeverComesToo) {
  Peer peer([](Line& line, int connection) {
    line.read_request();
    if (connection == 1)
      line.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    line.stay_silent();
  });
  Client client;
  Heard quiet;
  Request silent = request_to(peer);
  silent.silence_max = 200ms;
  client.open(std::move(silent), quiet.handler());
  ASSERT_TRUE(quiet.wait_for("end"));
  EXPECT_EQ(quiet.calls, (std::vector<std::string>{"start 200 ", "one", "end"}));
  ASSERT_TRUE(quiet.error);
  EXPECT_EQ(quiet.error->kind, ErrorKind::kUnknownOutcome);

  Heard never;
  Request without_start = request_to(peer);
  without_start.timeout = 200ms;
  client.open(std::move(without_start), never.handler());
  ASSERT_TRUE(never.wait_for("end"));
  EXPECT_EQ(never.calls, (std::vector<std::string>{"end"}));
  EXPECT_TRUE(never.error);
}

TEST(Client, AClosedStreamEndsOnceAndWithoutAnError) {
  Peer peer([](Line& line, int) {
    line.read_request();
    line.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    line.stay_silent();
  });
  Heard heard;
  Client client;
  const auto stream = client.open(request_to(peer), heard.handler());
  ASSERT_TRUE(heard.wait_for("one"));
  client.close(stream);
  client.close(stream);
  ASSERT_TRUE(heard.wait_for("end"));
  EXPECT_EQ(std::ranges::count(heard.calls, "end"), 1);
  EXPECT_FALSE(heard.error);
}

TEST(Client, TheEndOfTheClientAnswersWhatIsUnderWay) {
  Peer peer([](Line& line, int) { line.stay_silent(); });
  std::atomic<int> answers = 0;
  Heard heard;
  {
    Client client;
    for (int i = 0; i < 3; ++i)
      client.send(request_to(peer, "POST", "x"), [&](Result<Response> answer) {
        EXPECT_EQ(kind_of(answer), ErrorKind::kUnknownOutcome);
        ++answers;
      });
    client.open(request_to(peer), heard.handler());
  }
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(heard.calls, (std::vector<std::string>{"end"}));
}

TEST(Client, TheEndOfTheClientAnswersWhatCallbacksSendMeanwhile) {
  Peer peer([](Line& line, int) { line.stay_silent(); });
  std::vector<ErrorKind> answers;  // the client's thread, then this one
  auto owned = std::make_unique<Client>();
  Client& client = *owned;
  const auto note = [&](const Result<Response>& answer) { answers.push_back(kind_of(answer)); };
  const auto note_and_send = [&](const Result<Response>& answer) {
    note(answer);
    client.send(request_to(peer, "POST", "third"), note);
  };
  StreamHandler handler;
  handler.on_end = [&](const std::optional<Error>&) { client.send(request_to(peer), note); };
  client.send(request_to(peer, "POST", "first"), [&](const Result<Response>& answer) {
    note(answer);
    client.send(request_to(peer, "POST", "second"), note_and_send);
  });
  client.open(request_to(peer), std::move(handler));
  owned.reset();
  EXPECT_EQ(answers, std::vector(4, ErrorKind::kUnknownOutcome));
}

}  // namespace
}  // namespace falcon::http
