// Inside the server: one connection's life, as a coroutine of the server's thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <list>
#include <memory>
#include <optional>

#include "http/exchange.h"
#include "http/server.h"

namespace falcon::http {

// What all connections of a server share; the server's thread only, once it runs.
struct Engine {
  // A connection, as stopping needs to see it.
  struct Open {
    bool idle = true;  // between two requests
    std::function<void()> close;
    std::shared_ptr<QueuedStream> stream;
  };

  ServerSettings settings;
  Handler handler;
  std::shared_ptr<boost::asio::io_context> io;
  std::optional<boost::asio::ssl::context> tls;
  std::list<Open> open;
  std::shared_ptr<Bell> closed;  // rings when a connection has ended
  bool stopping = false;
};

boost::asio::awaitable<void> serve_connection(std::shared_ptr<Engine> engine,
                                              boost::asio::ip::tcp::socket socket);

}  // namespace falcon::http
