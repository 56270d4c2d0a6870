#include "http/server.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "base/check.h"
#include "http/connection.h"

namespace falcon::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr Duration kStopMax{2'000};
constexpr Duration kAcceptPause{50};  // after a failed accept: too many open files, for example

Error listen_error(const ServerSettings& settings, const boost::system::error_code& error) {
  if (error == asio::error::address_in_use)
    return {ErrorKind::kAlreadyExists,
            fmt::format("port {} of {} is in use; stop the program that has it or choose another",
                        settings.port, settings.address)};
  return {error == asio::error::access_denied ? ErrorKind::kDenied : ErrorKind::kInvalid,
          fmt::format("can't listen on port {} of {}: {}", settings.port, settings.address,
                      error.message())};
}

Result<tcp::acceptor> listen(asio::io_context& io, const ServerSettings& settings) {
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(settings.address, error);
  if (error)
    return fail(ErrorKind::kInvalid,
                fmt::format("\"{}\" is no IP address; for example 127.0.0.1", settings.address));
  const tcp::endpoint endpoint(address, settings.port);
  tcp::acceptor acceptor(io);
  error = acceptor.open(endpoint.protocol(), error);
  if (!error) error = acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) error = acceptor.bind(endpoint, error);
  if (!error) error = acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return std::unexpected(listen_error(settings, error));
  return acceptor;
}

Result<std::optional<asio::ssl::context>> tls_context(const ServerSettings& settings) {
  if (settings.certificate_pem.empty()) return std::optional<asio::ssl::context>();
  asio::ssl::context context(asio::ssl::context::tls_server);
  boost::system::error_code error;
  error = context.use_certificate_chain(asio::buffer(settings.certificate_pem), error);
  if (!error)
    error = context.use_private_key(asio::buffer(settings.private_key_pem), asio::ssl::context::pem,
                                    error);
  if (error)
    return fail(ErrorKind::kInvalid,
                fmt::format("the certificate or its key is not usable: {}", error.message()));
  return std::optional<asio::ssl::context>(std::move(context));
}

asio::awaitable<void> accept_all(std::shared_ptr<Engine> engine,
                                 std::shared_ptr<tcp::acceptor> acceptor) {
  while (!engine->stopping) {
    if (engine->open.size() >= engine->settings.connections_max) {
      co_await engine->closed->wait();
      continue;
    }
    auto [error, socket] = co_await acceptor->async_accept(kToken);
    if (engine->stopping) co_return;
    if (error) {
      asio::steady_timer pause(*engine->io, kAcceptPause);
      co_await pause.async_wait(kToken);
      continue;
    }
    asio::co_spawn(*engine->io, serve_connection(engine, std::move(socket)), asio::detached);
  }
}

// Ends the connections that do nothing now; the others see `stopping` when they are through.
void begin_stop(Engine& engine, tcp::acceptor& acceptor) {
  engine.stopping = true;
  boost::system::error_code ignored;
  ignored = acceptor.close(ignored);
  engine.closed->ring();
  for (Engine::Open& open : engine.open) {
    if (open.stream) open.stream->end();
    if (open.idle) open.close();
  }
}

}  // namespace

class Server::Loop {
 public:
  Loop(std::shared_ptr<Engine> engine, std::shared_ptr<tcp::acceptor> acceptor)
      : engine_(std::move(engine)),
        acceptor_(acceptor),
        thread_([io = engine_->io] { io->run(); }) {
    asio::co_spawn(*engine_->io, accept_all(engine_, std::move(acceptor)), asio::detached);
  }
  ~Loop() {
    asio::post(*engine_->io, [this] {
      if (const std::shared_ptr<tcp::acceptor> acceptor = acceptor_.lock())
        begin_stop(*engine_, *acceptor);
      deadline_ = std::make_unique<asio::steady_timer>(*engine_->io, kStopMax);
      deadline_->async_wait([this](const boost::system::error_code& error) {
        if (!error) engine_->io->stop();
      });
      work_.reset();
      end_when_quiet();
    });
    thread_.join();
    deadline_.reset();
    engine_->io.reset();  // destroys what still waits; it holds the engine
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

 private:
  void end_when_quiet() {
    asio::co_spawn(
        *engine_->io,
        [this]() -> asio::awaitable<void> {
          while (!engine_->open.empty()) co_await quiet_step();
          deadline_->cancel();
        },
        asio::detached);
  }
  asio::awaitable<void> quiet_step() {
    asio::steady_timer pause(*engine_->io, Duration(5));
    co_await pause.async_wait(kToken);
  }

  std::shared_ptr<Engine> engine_;
  std::weak_ptr<tcp::acceptor> acceptor_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{engine_->io->get_executor()};
  std::unique_ptr<asio::steady_timer> deadline_;
  std::thread thread_;
};

Server::Server(ServerSettings settings, Handler handler)
    : settings_(std::move(settings)), handler_(std::move(handler)) {}

Server::~Server() { stop(); }

Result<std::uint16_t> Server::start() {
  FALCON_CHECK(!loop_);
  const auto engine = std::make_shared<Engine>();
  engine->settings = settings_;
  engine->handler = handler_;
  engine->io = std::make_shared<asio::io_context>(1);
  engine->closed = std::make_shared<Bell>(engine->io);
  FALCON_TRY(tls, tls_context(settings_));
  engine->tls = std::move(tls);
  FALCON_TRY(acceptor, listen(*engine->io, settings_));
  const std::uint16_t port = acceptor.local_endpoint().port();
  loop_ = std::make_shared<Loop>(engine, std::make_shared<tcp::acceptor>(std::move(acceptor)));
  return port;
}

void Server::stop() { loop_.reset(); }

}  // namespace falcon::http
