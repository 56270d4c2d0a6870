#include "simserver/kube_watch.h"

#include <boost/json.hpp>

#include "simserver/kube_json.h"

namespace falcon::simserver {
namespace {

namespace json = boost::json;
constexpr Duration kBookmarkEvery{60'000};  // as the watch cache does
constexpr Duration kBookmarkBeforeEnd{2'000};

}  // namespace

KubeWatch::KubeWatch(WatchRequest request, const Calendar& calendar, MonoTime now)
    : request_(std::move(request)),
      calendar_(calendar),
      bookmark_at_(MonoTime::max()),
      ends_at_(now + request_.timeout) {
  if (request_.bookmarks)
    bookmark_at_ = std::min(now + kBookmarkEvery, ends_at_ - kBookmarkBeforeEnd);
}

bool KubeWatch::concerns(const cloudsim::Object& object) const {
  return object.kind == request_.kind &&
         (request_.kube_namespace.empty() || request_.kube_namespace == object.kube_namespace);
}

void KubeWatch::line(std::string_view type, const cloudsim::Object& object,
                     std::string& out) const {
  out += json::serialize(json::object{{"type", type}, {"object", render(object, calendar_)}});
  out += '\n';
}

void KubeWatch::bookmark(bool end_of_initial, std::string& out) const {
  const KindNames& names = names_of(request_.kind);
  json::object metadata{{"resourceVersion", std::to_string(version_)},
                        {"creationTimestamp", nullptr}};
  if (end_of_initial) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  out += json::serialize(json::object{{"type", "BOOKMARK"},
                                      {"object", json::object{{"kind", names.name},
                                                              {"apiVersion", names.api_version},
                                                              {"metadata", std::move(metadata)}}}});
  out += '\n';
}

void KubeWatch::initial(cloudsim::World& world, std::string& out) {
  begun_ = true;
  const auto listing = world.list(request_.cluster, request_.kind);
  if (!listing) {
    ended_ = true;
    return;
  }
  for (const cloudsim::ObjectPtr& object : listing->objects) {
    if (!concerns(*object) || !request_.selector.matches(*object, calendar_)) continue;
    shown_.insert(object->uid);
    if (!request_.from) line("ADDED", *object, out);
  }
  version_ = request_.from.value_or(listing->resource_version);
  if (!request_.from && request_.initial_events_end) bookmark(true, out);
}

// Objects that stop matching are reported as deleted, those that begin to match as added.
void KubeWatch::change(const cloudsim::Change& change, std::string& out) {
  version_ = change.resource_version;
  const cloudsim::Object& object = *change.object;
  if (!concerns(object)) return;
  const bool matches = request_.selector.matches(object, calendar_);
  const bool was_shown = shown_.contains(object.uid);
  if (change.type == cloudsim::ChangeType::kDeleted) {
    if (matches || was_shown) line("DELETED", object, out);
    shown_.erase(object.uid);
  } else if (matches) {
    line(change.type == cloudsim::ChangeType::kAdded || !was_shown ? "ADDED" : "MODIFIED", object,
         out);
    shown_.insert(object.uid);
  } else if (was_shown) {
    line("DELETED", object, out);
    shown_.erase(object.uid);
  }
}

std::string KubeWatch::next(cloudsim::World& world) {
  std::string out;
  if (ended_) return out;
  if (!begun_) initial(world, out);
  const cloudsim::Changes changes = world.changes_since(request_.cluster, version_);
  if (changes.state == cloudsim::WatchState::kDown) {
    ended_ = true;
    return out;
  }
  if (changes.state == cloudsim::WatchState::kGone) {
    out += "{\"type\":\"ERROR\",\"object\":";
    out += status_json({410, "Expired"}, "too old resource version: " + std::to_string(version_),
                       "", "");
    out += "}\n";
    ended_ = true;
    return out;
  }
  for (const cloudsim::Change& each : changes.changes) change(each, out);
  const MonoTime now = world.now();
  if (now >= bookmark_at_ && now < ends_at_) {
    bookmark(false, out);
    bookmark_at_ = now + kBookmarkEvery < ends_at_ - kBookmarkBeforeEnd ? now + kBookmarkEvery
                   : now < ends_at_ - kBookmarkBeforeEnd ? ends_at_ - kBookmarkBeforeEnd
                                                         : MonoTime::max();
  }
  if (now >= ends_at_) ended_ = true;
  return out;
}

}  // namespace falcon::simserver
