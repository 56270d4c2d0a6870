#include "http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "http/url.h"

namespace falcon::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Parser = beast::http::request_parser<beast::http::string_body>;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kDiscardedBytesMax = 64u << 20;  // of a request that was refused
constexpr Duration kDiscardMax{5'000};
constexpr Duration kGoodbyeMax{2'000};
constexpr std::size_t kReadAtOnce = 16'384;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

ServerRequest to_request(beast::http::request<beast::http::string_body>&& message) {
  ServerRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  const std::string_view target = request.target;
  const std::size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const std::size_t slash = std::min(path.find('/'), path.size());
    request.path.push_back(decode_url(path.substr(0, slash), false));
    path.remove_prefix(slash);
  }
  std::string_view query =
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty())
      request.query.emplace_back(decode_url(pair.substr(0, equals), true),
                                 decode_url(pair.substr(std::min(equals + 1, pair.size())), true));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  for (const auto& field : message)
    request.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  request.body = std::move(message.body());
  return request;
}

// The bytes of a connection. Everything above it is compiled once, not once for each kind: Beast's
// own readers and writers over two kinds of streams took the compiler minutes.
class Transport {
 public:
  virtual ~Transport() = default;
  // Zero bytes: the other side has ended, or time is over.
  virtual asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) = 0;
  virtual asio::awaitable<std::size_t> write_some(std::string_view text) = 0;
  virtual asio::awaitable<bool> begin() = 0;  // handshake, where there is one
  virtual asio::awaitable<void> say_goodbye() = 0;
  virtual beast::tcp_stream& tcp() = 0;
};

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(asio::ip::tcp::socket socket) : stream_(std::move(socket)) {}
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) override {
    auto [error, count] = co_await stream_.async_read_some(buffer, kToken);
    co_return error ? 0 : count;
  }
  asio::awaitable<std::size_t> write_some(std::string_view text) override {
    auto [error, count] =
        co_await stream_.async_write_some(asio::const_buffer(text.data(), text.size()), kToken);
    co_return error ? 0 : count;
  }
  asio::awaitable<bool> begin() override { co_return true; }
  asio::awaitable<void> say_goodbye() override {
    boost::system::error_code ignored;
    ignored = stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    co_return;
  }
  beast::tcp_stream& tcp() override { return stream_; }

 private:
  beast::tcp_stream stream_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(asio::ip::tcp::socket socket, asio::ssl::context& context)
      : stream_(std::move(socket), context) {}
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer buffer) override {
    auto [error, count] = co_await stream_.async_read_some(buffer, kToken);
    co_return error ? 0 : count;
  }
  asio::awaitable<std::size_t> write_some(std::string_view text) override {
    auto [error, count] =
        co_await stream_.async_write_some(asio::const_buffer(text.data(), text.size()), kToken);
    co_return error ? 0 : count;
  }
  asio::awaitable<bool> begin() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kToken);
    co_return !error;
  }
  asio::awaitable<void> say_goodbye() override { co_await stream_.async_shutdown(kToken); }
  beast::tcp_stream& tcp() override { return beast::get_lowest_layer(stream_); }

 private:
  TlsStream stream_;
};

// Status line and headers, with the empty line behind them.
std::string head_text(const ServerResponse& response, unsigned version, std::string_view framing,
                      bool keep_alive) {
  std::string text = fmt::format("HTTP/1.{} {} {}\r\n", version >= 11 ? 1 : 0, response.status,
                                 std::string_view(beast::http::obsolete_reason(
                                     static_cast<beast::http::status>(response.status))));
  const auto add = [&](std::string_view name, std::string_view value) {
    text += name;
    text += ": ";
    for (const char c : value) text += c == '\r' || c == '\n' ? ' ' : c;
    text += "\r\n";
  };
  if (!response.content_type.empty()) add("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) add(name, value);
  text += framing;
  if (!keep_alive)
    add("Connection", "close");
  else if (version < 11)
    add("Connection", "keep-alive");
  return text + "\r\n";
}

class Connection {
 public:
  Connection(std::shared_ptr<Engine> engine, std::shared_ptr<Transport> transport)
      : engine_(std::move(engine)), transport_(std::move(transport)) {
    open_ = engine_->open.insert(engine_->open.end(), Engine::Open{});
    open_->close = [transport = transport_.get()] { transport->tcp().close(); };
  }
  ~Connection() {
    engine_->open.erase(open_);
    engine_->closed->ring();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  asio::awaitable<void> run() {
    transport_->tcp().expires_after(engine_->settings.request_max);
    if (!co_await transport_->begin()) co_return;
    bool more = true;
    while (more && !engine_->stopping) more = co_await serve_one();
    if (!streamed_) {
      transport_->tcp().expires_after(kGoodbyeMax);
      co_await transport_->say_goodbye();
    }
    transport_->tcp().close();
  }

 private:
  enum class Reading : std::uint8_t { kDone, kGone, kRefused };

  // One request and its answer; false: the connection is over.
  asio::awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(engine_->settings.header_bytes_max);
    parser.body_limit(engine_->settings.body_bytes_max);
    parser.eager(true);
    const Reading reading = co_await read(&parser);
    if (reading == Reading::kRefused) co_await discard();
    if (reading != Reading::kDone) co_return false;

    version_ = parser.get().version();
    keep_alive_ = parser.get().keep_alive();
    head_only_ = parser.get().method() == beast::http::verb::head;
    const auto bell = std::make_shared<Bell>(engine_->io);
    const auto exchange =
        std::make_shared<Reply::Exchange>(bell, engine_->settings.stream_bytes_unread_max);
    engine_->handler(to_request(parser.release()), Reply::Exchange::handle(exchange));
    while (!exchange->is_answered()) co_await bell->wait();

    if (exchange->was_abandoned())
      co_return co_await write(refusal(500, "the request was dropped without an answer"));
    if (const std::shared_ptr<QueuedStream> queued = exchange->take_stream()) {
      co_await write_stream(exchange->take_response(), queued, bell);
      co_return false;
    }
    co_return co_await write(exchange->take_response());
  }

  // Reads one whole request. What is no request is answered as far as there is somebody to hear it.
  asio::awaitable<Reading> read(Parser* parser) {
    open_->idle = true;
    transport_->tcp().expires_after(engine_->settings.idle_max);
    bool header_seen = false;
    while (!parser->is_done()) {
      boost::system::error_code error;
      const std::size_t used = buffer_.size() == 0 ? 0 : parser->put(buffer_.data(), error);
      buffer_.consume(used);
      if (error == beast::http::error::need_more) error = {};
      if (error) co_return co_await refuse(error);
      if (parser->is_header_done() && !header_seen) {
        header_seen = true;
        open_->idle = false;
        transport_->tcp().expires_after(engine_->settings.request_max);
        if (!parser->is_done() &&
            beast::iequals(parser->get()[beast::http::field::expect], "100-continue") &&
            !co_await write_text("HTTP/1.1 100 Continue\r\n\r\n"))
          co_return Reading::kGone;
      }
      if (parser->is_done()) break;
      if (used > 0 && buffer_.size() > 0) continue;
      const std::size_t count = co_await transport_->read_some(buffer_.prepare(kReadAtOnce));
      if (count == 0) co_return Reading::kGone;
      buffer_.commit(count);
    }
    open_->idle = false;
    co_return Reading::kDone;
  }

  asio::awaitable<Reading> refuse(boost::system::error_code error) {
    open_->idle = false;
    keep_alive_ = false;
    int status = 400;
    std::string what = "this is no HTTP request: " + error.message();
    if (error == beast::http::error::body_limit) {
      status = 413;
      what = fmt::format("the body is larger than {} bytes", engine_->settings.body_bytes_max);
    } else if (error == beast::http::error::header_limit) {
      status = 431;
      what =
          fmt::format("the headers are larger than {} bytes", engine_->settings.header_bytes_max);
    }
    transport_->tcp().expires_after(engine_->settings.request_max);
    co_await write(refusal(status, what));
    co_return Reading::kRefused;
  }

  ServerResponse refusal(int status, const std::string& what) const {
    if (engine_->settings.refuse) return engine_->settings.refuse(status, what);
    return ServerResponse{status, what + "\n", "text/plain; charset=utf-8", {}};
  }

  // Reads on until the client has stopped sending: closing earlier would reset the connection, and
  // the client might never see the answer.
  asio::awaitable<void> discard() {
    boost::system::error_code ignored;
    if (!engine_->tls)
      ignored = transport_->tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    transport_->tcp().expires_after(kDiscardMax);
    std::array<char, kReadAtOnce> bytes;
    std::size_t total = 0;
    while (total < kDiscardedBytesMax) {
      const std::size_t count = co_await transport_->read_some(asio::buffer(bytes));
      if (count == 0) co_return;
      total += count;
    }
  }

  // True when the connection may go on.
  asio::awaitable<bool> write(ServerResponse response) {
    const bool bodiless = response.status == 204 || response.status == 304;
    if (bodiless) response.content_type.clear();
    const bool keep = keep_alive_ && !engine_->stopping;
    const std::size_t size = response.body.size();
    std::string text =
        head_text(response, version_,
                  bodiless ? std::string() : fmt::format("Content-Length: {}\r\n", size), keep);
    if (!bodiless && !head_only_) text += response.body;
    // A slow reader gets a second more for each MiB.
    transport_->tcp().expires_after(engine_->settings.request_max +
                                    Duration(static_cast<std::int64_t>(size >> 10)));
    co_return co_await write_text(text) && keep;
  }

  // Tells a stream that its reader has gone. Owns the connection's bytes as long as it reads.
  static asio::awaitable<void> watch_reader(std::shared_ptr<Transport> transport,
                                            std::shared_ptr<QueuedStream> queued) {
    std::array<char, 256> bytes;
    while (co_await transport->read_some(asio::buffer(bytes)) > 0) {
    }
    queued->close();
  }

  asio::awaitable<void> write_stream(ServerResponse head, std::shared_ptr<QueuedStream> queued,
                                     std::shared_ptr<Bell> bell) {
    struct Finish {
      QueuedStream& stream;
      ~Finish() { stream.finish(); }
    } const finish{*queued};
    streamed_ = true;
    open_->stream = queued;
    if (engine_->stopping) queued->end();
    const bool chunked = version_ >= 11;
    transport_->tcp().expires_after(engine_->settings.request_max);
    if (!co_await write_text(
            head_text(head, version_, chunked ? "Transfer-Encoding: chunked\r\n" : "", false)))
      co_return;
    transport_->tcp().expires_never();
    asio::co_spawn(transport_->tcp().get_executor(), watch_reader(transport_, queued),
                   asio::detached);
    for (;;) {
      std::string piece = queued->take();
      if (piece.empty()) {
        if (queued->is_drained()) break;
        co_await bell->wait();
        continue;
      }
      if (chunked) piece = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
      transport_->tcp().expires_after(engine_->settings.request_max);
      if (!co_await write_text(piece)) co_return;
    }
    transport_->tcp().expires_after(engine_->settings.request_max);
    if (chunked && queued->was_ended()) co_await write_text("0\r\n\r\n");
  }

  asio::awaitable<bool> write_text(std::string_view text) {
    while (!text.empty()) {
      const std::size_t count = co_await transport_->write_some(text);
      if (count == 0) co_return false;
      text.remove_prefix(count);
    }
    co_return true;
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Transport> transport_;
  std::list<Engine::Open>::iterator open_;
  beast::flat_buffer buffer_;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool streamed_ = false;
};

}  // namespace

asio::awaitable<void> serve_connection(std::shared_ptr<Engine> engine,
                                       asio::ip::tcp::socket socket) {
  boost::system::error_code ignored;
  ignored = socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  std::shared_ptr<Transport> transport;
  if (engine->tls)
    transport = std::make_shared<TlsTransport>(std::move(socket), *engine->tls);
  else
    transport = std::make_shared<PlainTransport>(std::move(socket));
  Connection connection(std::move(engine), std::move(transport));
  co_await connection.run();
}

}  // namespace falcon::http
