// The watch: one thread reads the store's changes and hands them to all who watch.
//
// Watchers at the same place share one reading and one rendering in each language, so that many
// cost little more than one. A watcher that does not read is cut off by the server's limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/directory.h"
#include "http/server.h"
#include "store/store.h"
#include "words/words.h"

namespace falcon::api {

struct WatchWish {
  std::uint64_t since = 0;
  bool jobs = true;
  bool clusters = true;
  words::Language language = words::Language::kZh;
};

class WatchHub {
 public:
  WatchHub(store::Store& store, Directory& directory, std::function<WallTime()> now,
           Duration bookmark_every);
  ~WatchHub();  // stop()
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // Answers a request for a watch: a stream, or why not. Blocks on the store; any thread.
  void answer(const http::ServerRequest& request, const http::Reply& reply,
              words::Language language);
  // Ends all streams and those asked for later; the store tells it no more. A second call does
  // nothing.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watcher {
    WatchWish wish;
    std::uint64_t position = 0;
    std::shared_ptr<http::ServerStream> stream;
    Clock::time_point bookmark_at;
  };
  // What the store's writer rings; outlives the hub if the writer still holds it.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool news = false;
    bool ending = false;
    std::vector<Watcher> arrivals;
  };

  void loop();
  bool feed(std::vector<Watcher>& watchers);  // true: there is more to read
  bool feed_group(std::uint64_t position, const std::vector<Watcher*>& group);
  void send_bookmarks(std::vector<Watcher>& watchers);

  store::Store& store_;
  Directory& directory_;
  const std::function<WallTime()> now_;
  const Duration bookmark_every_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::thread thread_;
};

}  // namespace falcon::api
