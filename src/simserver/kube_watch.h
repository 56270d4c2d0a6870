// One watch of a simulated Kubernetes API: hands out the lines that are due, no sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "cloudsim/world.h"
#include "simserver/face.h"
#include "simserver/selector.h"

namespace falcon::simserver {

struct WatchRequest {
  model::GkeCluster cluster;
  cloudsim::Kind kind = cloudsim::Kind::kPod;
  std::string kube_namespace;  // empty: all
  Selector selector;
  std::optional<std::uint64_t> from;  // empty: everything there is, then changes
  bool bookmarks = false;
  bool initial_events_end = false;  // a bookmark marks the end of the initial objects
  Duration timeout{1'800'000};
};

class KubeWatch {
 public:
  KubeWatch(WatchRequest request, const Calendar& calendar, MonoTime now);

  // Lines that are due, possibly none. Call under the world's lock.
  std::string next(cloudsim::World& world);
  bool ended() const { return ended_; }
  // When `next` has something to say even if nothing changes.
  MonoTime due() const { return std::min(bookmark_at_, ends_at_); }

 private:
  bool concerns(const cloudsim::Object& object) const;
  void initial(cloudsim::World& world, std::string& out);
  void change(const cloudsim::Change& change, std::string& out);
  void line(std::string_view type, const cloudsim::Object& object, std::string& out) const;
  void bookmark(bool end_of_initial, std::string& out) const;

  const WatchRequest request_;
  const Calendar calendar_;
  std::uint64_t version_ = 0;
  bool begun_ = false;
  bool ended_ = false;
  MonoTime bookmark_at_;
  MonoTime ends_at_;
  std::set<model::Uid> shown_;
};

}  // namespace falcon::simserver
