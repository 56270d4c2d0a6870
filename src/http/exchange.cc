#include "http/exchange.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace falcon::http {

namespace asio = boost::asio;

void Bell::ring() {
  const std::shared_ptr<asio::io_context> io = io_.lock();
  if (!io || rung_.exchange(true)) return;
  asio::post(*io, [self = shared_from_this()] {
    self->rung_ = false;
    if (self->timer_ != nullptr) self->timer_->cancel();
  });
}

asio::awaitable<void> Bell::wait() {
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  timer_ = &timer;
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  timer_ = nullptr;
}

bool QueuedStream::send(std::string bytes) {
  bool open = false;
  {
    const std::scoped_lock lock(mutex_);
    if (ended_ || closed_) return false;
    if (pending_.size() + bytes.size() > bytes_unread_max_)
      closed_ = true;
    else if (pending_.empty())
      pending_ = std::move(bytes);
    else
      pending_ += bytes;
    open = !closed_;
  }
  bell_->ring();
  return open;
}

void QueuedStream::end() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  bell_->ring();
}

bool QueuedStream::is_open() const {
  const std::scoped_lock lock(mutex_);
  return !ended_ && !closed_;
}

std::string QueuedStream::take() {
  const std::scoped_lock lock(mutex_);
  return closed_ ? std::string() : std::exchange(pending_, std::string());
}

bool QueuedStream::is_drained() const {
  const std::scoped_lock lock(mutex_);
  return closed_ || (ended_ && pending_.empty());
}

bool QueuedStream::was_ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_ && !closed_;
}

void QueuedStream::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    pending_.clear();
  }
  bell_->ring();
}

void QueuedStream::finish() {
  std::function<void()> on_closed;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    std::swap(on_closed, on_closed_);
  }
  if (on_closed) on_closed();
}

Reply Reply::Exchange::handle(const std::shared_ptr<Exchange>& exchange) {
  return Reply(std::shared_ptr<Exchange>(exchange.get(), [exchange](Exchange*) {
    {
      const std::scoped_lock lock(exchange->mutex_);
      if (exchange->answered_) return;
      exchange->answered_ = true;
      exchange->abandoned_ = true;
    }
    exchange->bell_->ring();
  }));
}

void Reply::Exchange::send(ServerResponse response) {
  {
    const std::scoped_lock lock(mutex_);
    if (answered_) return;
    answered_ = true;
    response_ = std::move(response);
  }
  bell_->ring();
}

std::shared_ptr<ServerStream> Reply::Exchange::stream(ServerResponse head,
                                                      std::function<void()> on_closed) {
  auto stream = std::make_shared<QueuedStream>(bell_, bytes_unread_max_, std::move(on_closed));
  {
    const std::scoped_lock lock(mutex_);
    if (!answered_) {
      answered_ = true;
      response_ = std::move(head);
      stream_ = stream;
    }
  }
  bell_->ring();
  return stream;
}

bool Reply::Exchange::is_answered() const {
  const std::scoped_lock lock(mutex_);
  return answered_;
}

bool Reply::Exchange::was_abandoned() const {
  const std::scoped_lock lock(mutex_);
  return abandoned_;
}

void Reply::send(ServerResponse response) const { exchange_->send(std::move(response)); }

std::shared_ptr<ServerStream> Reply::stream(ServerResponse head,
                                            std::function<void()> on_closed) const {
  return exchange_->stream(std::move(head), std::move(on_closed));
}

}  // namespace falcon::http
