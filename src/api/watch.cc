#include "api/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <expected>
#include <optional>

#include "api/handlers.h"
#include "api/problem.h"
#include "base/text.h"

namespace falcon::api {
namespace {

constexpr std::size_t kChangesAtOnce = 500;

std::expected<WatchWish, http::ServerResponse> read_wish(const http::ServerRequest& request) {
  static constexpr std::array<std::string_view, 2> kParameters{"since", "kinds"};
  if (auto refusal = refuse_parameters(request, kParameters))
    return std::unexpected(*std::move(refusal));
  WatchWish wish;
  const std::string_view since_text = request.parameter("since");
  const auto since = whole_number(since_text);
  if (!since)
    return std::unexpected(invalid_field(
        "since", fmt::format("\"{}\" is no sequence; take the one that a list came with",
                             clean_text(since_text, 40))));
  wish.since = *since;
  if (!request.has_parameter("kinds")) return wish;
  wish.jobs = false;
  wish.clusters = false;
  std::string_view kinds = request.parameter("kinds");
  do {
    const std::size_t comma = std::min(kinds.find(','), kinds.size());
    const std::string_view kind = kinds.substr(0, comma);
    if (kind == "jobs")
      wish.jobs = true;
    else if (kind == "clusters")
      wish.clusters = true;
    else
      return std::unexpected(invalid_field(
          "kinds", fmt::format("\"{}\" is no kind; jobs, clusters or both with a comma",
                               clean_text(kind, 40))));
    kinds.remove_prefix(std::min(comma + 1, kinds.size()));
  } while (!kinds.empty());
  return wish;
}

// One change as a line; `kind` says who wants it.
struct Line {
  bool is_job = false;
  std::string text;
};

Line line_of(const store::Change& change, const Picture& picture, words::Language language,
             WallTime now) {
  struct Writer {
    const store::Change& change;
    const Picture& picture;
    words::Language language;
    WallTime now;
    std::string head(std::string_view kind, std::string_view what) const {
      return fmt::format("{{\"sequence\":{},\"kind\":\"{}\",\"change\":\"{}\",\"object\":",
                         change.sequence, kind, what);
    }
    Line operator()(const model::JobRow& row) const {
      return {true,
              head("job", "put") + render_job(row, picture, language, Codes::kStored, now) + "}\n"};
    }
    Line operator()(const model::ClusterRow& row) const {
      return {false, head("cluster", "put") + wire::to_json(row) + "}\n"};
    }
    Line operator()(const model::JobId& id) const {
      return {true, head("job", "delete") + "{\"id\":" + wire::quoted(id.value()) + "}}\n"};
    }
    Line operator()(const model::ClusterId& id) const {
      return {false, head("cluster", "delete") + "{\"id\":" + wire::quoted(id.value()) + "}}\n"};
    }
  };
  return std::visit(Writer{change, picture, language, now}, change.object);
}

http::ServerResponse too_old(std::uint64_t since) {
  return problem(410, "too_old",
                 fmt::format("changes after {} are not kept any more; list again and watch from "
                             "the list's sequence",
                             since));
}

std::string bookmark(std::uint64_t sequence) {
  return fmt::format("{{\"sequence\":{},\"kind\":\"bookmark\"}}\n", sequence);
}

}  // namespace

WatchHub::WatchHub(store::Store& store, Directory& directory, std::function<WallTime()> now,
                   Duration bookmark_every)
    : store_(store),
      directory_(directory),
      now_(std::move(now)),
      bookmark_every_(bookmark_every),
      thread_([this] { loop(); }) {
  store_.on_change([signal = signal_](std::uint64_t) {
    {
      const std::scoped_lock lock(signal->mutex);
      signal->news = true;
    }
    signal->changed.notify_one();
  });
}

WatchHub::~WatchHub() { stop(); }

void WatchHub::stop() {
  if (!thread_.joinable()) return;
  store_.on_change(nullptr);
  {
    const std::scoped_lock lock(signal_->mutex);
    signal_->ending = true;
  }
  signal_->changed.notify_one();
  thread_.join();
}

void WatchHub::answer(const http::ServerRequest& request, const http::Reply& reply,
                      words::Language language) {
  auto wish = read_wish(request);
  if (!wish) return reply.send(std::move(wish).error());
  wish->language = language;
  const auto first = store_.changes(wish->since, 1);
  if (!first) {
    if (first.error().kind == ErrorKind::kNotFound) return reply.send(too_old(wish->since));
    if (first.error().kind == ErrorKind::kInvalid)
      return reply.send(invalid_field("since", first.error().what));
    return reply.send(problem(first.error()));
  }

  Watcher watcher{*wish, wish->since, nullptr, Clock::now() + bookmark_every_};
  watcher.stream = reply.stream({200, "", "application/json", {{"Cache-Control", "no-store"}}});
  {
    const std::scoped_lock lock(signal_->mutex);
    if (signal_->ending) return watcher.stream->end();
    signal_->arrivals.push_back(std::move(watcher));
    signal_->news = true;
  }
  signal_->changed.notify_one();
}

void WatchHub::loop() {
  std::vector<Watcher> watchers;
  bool more = false;
  for (;;) {
    {
      Clock::time_point wake = Clock::now() + bookmark_every_;
      for (const Watcher& watcher : watchers) wake = std::min(wake, watcher.bookmark_at);
      std::unique_lock lock(signal_->mutex);
      if (!more)
        signal_->changed.wait_until(lock, wake,
                                    [this] { return signal_->news || signal_->ending; });
      if (signal_->ending) break;
      signal_->news = false;
      std::ranges::move(signal_->arrivals, std::back_inserter(watchers));
      signal_->arrivals.clear();
    }
    more = feed(watchers);
    send_bookmarks(watchers);
    std::erase_if(watchers, [](const Watcher& watcher) { return !watcher.stream->is_open(); });
  }
  for (const Watcher& watcher : watchers) watcher.stream->end();
  const std::scoped_lock lock(signal_->mutex);
  for (const Watcher& watcher : signal_->arrivals) watcher.stream->end();
}

bool WatchHub::feed(std::vector<Watcher>& watchers) {
  std::map<std::uint64_t, std::vector<Watcher*>> groups;  // those at one place read together
  for (Watcher& watcher : watchers) groups[watcher.position].push_back(&watcher);
  bool more = false;
  for (const auto& [position, group] : groups) more = feed_group(position, group) || more;
  return more;
}

bool WatchHub::feed_group(std::uint64_t position, const std::vector<Watcher*>& group) {
  const auto changes = store_.changes(position, kChangesAtOnce);
  if (!changes) {
    // Compacted away, or the store does not answer: they come again from where they were.
    for (const Watcher* watcher : group) watcher->stream->end();
    return false;
  }
  if (changes->items.empty()) {
    for (Watcher* watcher : group) watcher->position = std::max(position, changes->sequence);
    return false;
  }
  const auto picture = directory_.picture();
  const WallTime now = now_();
  std::map<words::Language, std::vector<Line>> lines;
  for (Watcher* watcher : group) {
    const auto [entry, is_new] = lines.try_emplace(watcher->wish.language);
    if (is_new)
      for (const store::Change& change : changes->items)
        entry->second.push_back(line_of(change, *picture, watcher->wish.language, now));
    std::string text;
    for (const Line& line : entry->second)
      if (line.is_job ? watcher->wish.jobs : watcher->wish.clusters) text += line.text;
    watcher->position = changes->items.back().sequence;
    if (!text.empty()) watcher->stream->send(std::move(text));
  }
  return changes->items.size() >= kChangesAtOnce;
}

void WatchHub::send_bookmarks(std::vector<Watcher>& watchers) {
  const Clock::time_point now = Clock::now();
  for (Watcher& watcher : watchers) {
    if (now < watcher.bookmark_at) continue;
    watcher.stream->send(bookmark(watcher.position));
    watcher.bookmark_at = now + bookmark_every_;
  }
}

}  // namespace falcon::api
