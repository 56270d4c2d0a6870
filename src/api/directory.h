// What is rendered beside a job's own fields: cluster name, place in the queue, text for people.
//
// Reads clusters and published orders from the store at most once a second, whatever the number of
// readers: a place is as old as its order's publication plus that second. Any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/store.h"
#include "wire/wire.h"
#include "words/words.h"

namespace falcon::api {

// One consistent picture; does not change.
struct Picture {
  struct Place {
    std::size_t queue = 0;
    std::size_t ahead = 0;
  };
  std::vector<model::ClusterRow> clusters;
  std::map<model::ClusterId, model::ClusterCondition> conditions;
  std::vector<store::Store::PublishedQueue> queues;
  std::unordered_map<model::JobId, Place> places;
  std::unordered_map<model::JobId, std::pair<std::string, std::string>> fronts;  // actor, name

  const model::ClusterRow* cluster(const model::ClusterId& id) const;
};

// Whose code and arguments a job's JSON carries: those that the text was made of, or the stored
// ones, which the controller compares with what it wants.
enum class Codes : std::uint8_t { kRendered, kStored };

class Directory {
 public:
  // `now`: the wall clock, for the age of places.
  Directory(store::Store& store, std::function<WallTime()> now)
      : store_(store), now_(std::move(now)) {}

  // The last picture if a new one can't be had; never null.
  std::shared_ptr<const Picture> picture();
  void forget();  // the clusters were changed: read again with the next call

  static constexpr std::size_t kNamesShown = 3;

 private:
  std::shared_ptr<const Picture> read();

  store::Store& store_;
  std::function<WallTime()> now_;
  std::mutex mutex_;
  std::shared_ptr<const Picture> picture_ = std::make_shared<Picture>();
  std::chrono::steady_clock::time_point read_at_{};
  bool valid_ = false;
};

// The JSON of a job as a reader of `language` sees it at `now`.
std::string render_job(const model::JobRow& row, const Picture& picture, words::Language language,
                       Codes codes, WallTime now);

}  // namespace falcon::api
