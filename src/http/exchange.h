// Inside the server: how an answer given on any thread reaches the coroutine of its connection.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/server.h"

namespace falcon::http {

// Wakes one coroutine of the server's thread from any thread. Rings that nobody waits for are not
// kept: the waiter looks at what it waits for before it waits.
class Bell : public std::enable_shared_from_this<Bell> {
 public:
  explicit Bell(const std::shared_ptr<boost::asio::io_context>& io) : io_(io) {}
  void ring();                          // any thread
  boost::asio::awaitable<void> wait();  // the server's thread; one waiter

 private:
  std::weak_ptr<boost::asio::io_context> io_;
  std::atomic<bool> rung_ = false;
  boost::asio::steady_timer* timer_ = nullptr;  // the waiter's; the server's thread only
};

class QueuedStream : public ServerStream {
 public:
  QueuedStream(std::shared_ptr<Bell> bell, std::size_t bytes_unread_max,
               std::function<void()> on_closed)
      : bell_(std::move(bell)),
        bytes_unread_max_(bytes_unread_max),
        on_closed_(std::move(on_closed)) {}

  bool send(std::string bytes) override;
  void end() override;
  bool is_open() const override;

  // For the connection's coroutine.
  std::string take();       // what was sent since the last time
  bool is_drained() const;  // ended or closed, and nothing is left to take
  bool was_ended() const;   // in order, by its owner
  void close();             // the reader is gone, or reads too slowly
  void finish();            // over: tells the owner, once

 private:
  const std::shared_ptr<Bell> bell_;
  const std::size_t bytes_unread_max_;
  mutable std::mutex mutex_;
  std::string pending_;
  bool ended_ = false;
  bool closed_ = false;
  std::function<void()> on_closed_;
};

class Reply::Exchange {
 public:
  Exchange(std::shared_ptr<Bell> bell, std::size_t bytes_unread_max)
      : bell_(std::move(bell)), bytes_unread_max_(bytes_unread_max) {}

  // A handle for the handler; an answer of its own follows when the last copy goes.
  static Reply handle(const std::shared_ptr<Exchange>& exchange);

  void send(ServerResponse response);
  std::shared_ptr<ServerStream> stream(ServerResponse head, std::function<void()> on_closed);
  bool is_answered() const;
  bool was_abandoned() const;                                      // ask when answered
  ServerResponse take_response() { return std::move(response_); }  // once answered
  std::shared_ptr<QueuedStream> take_stream() { return std::move(stream_); }

 private:
  const std::shared_ptr<Bell> bell_;
  const std::size_t bytes_unread_max_;
  mutable std::mutex mutex_;
  bool answered_ = false;
  bool abandoned_ = false;
  ServerResponse response_;
  std::shared_ptr<QueuedStream> stream_;
};

}  // namespace falcon::http
