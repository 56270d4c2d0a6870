#include "http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

namespace falcon::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using TcpStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Parser = beast::http::request_parser<beast::http::string_body>;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kDiscardedBytesMax = 64u << 20;  // of a request that was refused
constexpr Duration kDiscardMax{5'000};

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

template <class Stream>
class Connection {
 public:
  Connection(std::shared_ptr<Engine> engine, std::shared_ptr<Stream> stream)
      : engine_(std::move(engine)), stream_(std::move(stream)) {
    open_ = engine_->open.insert(engine_->open.end(), Engine::Open{});
    open_->close = [stream = stream_.get()] { beast::get_lowest_layer(*stream).close(); };
  }
  ~Connection() {
    engine_->open.erase(open_);
    engine_->closed->ring();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  asio::awaitable<void> run() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      tcp().expires_after(engine_->settings.request_max);
      const auto [error] =
          co_await stream_->async_handshake(asio::ssl::stream_base::server, kToken);
      if (error) co_return;
    }
    bool more = true;
    while (more && !engine_->stopping) more = co_await serve_one();
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      if (!streamed_) {
        tcp().expires_after(Duration(2'000));
        co_await stream_->async_shutdown(kToken);
      }
    }
    tcp().close();
  }

 private:
  TcpStream& tcp() { return beast::get_lowest_layer(*stream_); }

  // One request and its answer; false: the connection is over.
  asio::awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(engine_->settings.header_bytes_max);
    parser.body_limit(engine_->settings.body_bytes_max);
    open_->idle = true;
    tcp().expires_after(engine_->settings.idle_max);
    auto [header_error, header_bytes] =
        co_await beast::http::async_read_header(*stream_, buffer_, parser, kToken);
    open_->idle = false;
    if (header_error) co_return co_await refuse_unread(header_error);
    tcp().expires_after(engine_->settings.request_max);
    if (beast::iequals(parser.get()[beast::http::field::expect], "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      auto [error, bytes] = co_await asio::async_write(
          *stream_, asio::buffer(kContinue.data(), kContinue.size()), kToken);
      if (error) co_return false;
    }
    auto [error, bytes] = co_await beast::http::async_read(*stream_, buffer_, parser, kToken);
    if (error) co_return co_await refuse_unread(error);

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

  ServerResponse refusal(int status, const std::string& what) const {
    if (engine_->settings.refuse) return engine_->settings.refuse(status, what);
    return ServerResponse{status, what + "\n", "text/plain; charset=utf-8", {}};
  }

  // What could not be read is answered as far as there is somebody to hear it.
  asio::awaitable<bool> refuse_unread(boost::system::error_code error) {
    keep_alive_ = false;
    int status = 400;
    std::string what = "this is no HTTP request: " + error.message();
    if (error == make_error_code(beast::http::error::body_limit)) {
      status = 413;
      what = fmt::format("the body is larger than {} bytes", engine_->settings.body_bytes_max);
    } else if (error == make_error_code(beast::http::error::header_limit)) {
      status = 431;
      what =
          fmt::format("the headers are larger than {} bytes", engine_->settings.header_bytes_max);
    } else if (error.category() != make_error_code(beast::http::error::body_limit).category() ||
               error == make_error_code(beast::http::error::end_of_stream)) {
      co_return false;  // gone, or silent for too long
    }
    if (!co_await write(refusal(status, what), true)) co_return false;
    co_await discard();
    co_return false;
  }

  // Reads on until the client has stopped sending: closing earlier would reset the connection, and
  // the client might never see the answer.
  asio::awaitable<void> discard() {
    if constexpr (std::is_same_v<Stream, TcpStream>) {
      boost::system::error_code ignored;
      tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }
    tcp().expires_after(kDiscardMax);
    std::array<char, 16'384> bytes;
    for (std::size_t total = 0; total < kDiscardedBytesMax;) {
      auto [error, count] = co_await stream_->async_read_some(asio::buffer(bytes), kToken);
      if (error) co_return;
      total += count;
    }
  }

  template <class Body>
  beast::http::response<Body> head_of(const ServerResponse& response) const {
    beast::http::response<Body> message;
    message.version(version_);
    message.result(static_cast<unsigned>(response.status));
    if (!response.content_type.empty())
      message.set(beast::http::field::content_type, response.content_type);
    for (const auto& [name, value] : response.headers) message.insert(name, value);
    return message;
  }

  // True when the connection may go on; of a refusal: when it was written.
  asio::awaitable<bool> write(ServerResponse response, bool refusing = false) {
    const bool bodiless = response.status == 204 || response.status == 304;
    if (bodiless) response.content_type.clear();
    auto message = head_of<beast::http::string_body>(response);
    const bool keep = keep_alive_ && !engine_->stopping;
    message.keep_alive(keep);
    if (bodiless) response.body.clear();
    const std::size_t size = response.body.size();
    if (!head_only_) message.body() = std::move(response.body);
    if (!bodiless) message.content_length(size);
    // A slow reader gets a second more for each MiB.
    tcp().expires_after(engine_->settings.request_max +
                        Duration(static_cast<std::int64_t>(size >> 10)));
    auto [error, bytes] = co_await beast::http::async_write(*stream_, message, kToken);
    co_return !error && (keep || refusing);
  }

  // Tells a stream that its reader has gone. Owns the connection's stream as long as it reads.
  static asio::awaitable<void> watch_reader(std::shared_ptr<Stream> stream,
                                            std::shared_ptr<QueuedStream> queued) {
    std::array<char, 256> bytes;
    for (;;) {
      auto [error, count] = co_await stream->async_read_some(asio::buffer(bytes), kToken);
      if (error) break;
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
    auto message = head_of<beast::http::empty_body>(head);
    message.keep_alive(false);
    if (chunked) message.chunked(true);
    tcp().expires_after(engine_->settings.request_max);
    beast::http::response_serializer<beast::http::empty_body> serializer(message);
    auto [error, bytes] = co_await beast::http::async_write_header(*stream_, serializer, kToken);
    if (error) co_return;
    tcp().expires_never();
    asio::co_spawn(tcp().get_executor(), watch_reader(stream_, queued), asio::detached);
    for (;;) {
      const std::string piece = queued->take();
      if (piece.empty()) {
        if (queued->is_drained()) break;
        co_await bell->wait();
        continue;
      }
      if (!co_await write_piece(piece, chunked)) co_return;
    }
    if (chunked && queued->was_ended()) co_await write_text("0\r\n\r\n");
  }

  asio::awaitable<bool> write_piece(const std::string& piece, bool chunked) {
    if (!chunked) co_return co_await write_text(piece);
    std::string framed = fmt::format("{:x}\r\n", piece.size());
    framed.reserve(framed.size() + piece.size() + 2);
    framed += piece;
    framed += "\r\n";
    co_return co_await write_text(framed);
  }

  asio::awaitable<bool> write_text(std::string_view text) {
    tcp().expires_after(engine_->settings.request_max);
    auto [error, bytes] =
        co_await asio::async_write(*stream_, asio::buffer(text.data(), text.size()), kToken);
    co_return !error;
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Stream> stream_;
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
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (engine->tls) {
    auto stream = std::make_shared<TlsStream>(std::move(socket), *engine->tls);
    Connection<TlsStream> connection(std::move(engine), std::move(stream));
    co_await connection.run();
  } else {
    auto stream = std::make_shared<TcpStream>(std::move(socket));
    Connection<TcpStream> connection(std::move(engine), std::move(stream));
    co_await connection.run();
  }
}

}  // namespace falcon::http
