// REST over any store: sockets, guard, workers and watch put together.
//
// The input-output thread never blocks: it checks who calls and hands requests to the workers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/guard.h"
#include "api/handlers.h"
#include "http/server.h"
#include "store/store.h"

namespace falcon::api {

struct ServiceSettings {
  http::ServerSettings http;  // `refuse` is set by the service
  Guard guard;
  Identity identity;
  std::size_t threads = 16;  // requests at the store at once; they share commits
  Duration bookmark_every{10'000};
  std::function<WallTime()> now;              // the system's clock when empty
  std::function<void(std::string_view)> log;  // a JSON line for each write and refusal; or empty
};

class Service {
 public:
  // `store` must outlive this.
  Service(store::Store& store, ServiceSettings settings);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Result<std::uint16_t> start();  // errors of http::Server::start()
  void stop();                    // requests under way are answered, watches end

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace falcon::api
