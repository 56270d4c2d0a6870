#include "api/directory.h"

#include <algorithm>

namespace falcon::api {
namespace {

constexpr std::chrono::seconds kPictureAgeMax{1};

bool shows_place(const model::JobState& state) {
  return state.status == model::JobStatus::kPending &&
         (state.message.code == model::MessageCode::kQueued ||
          state.message.code == model::MessageCode::kQueuePosition);
}

// "position, ahead, names" from the published order.
model::Message place_message(const Picture& picture, const Picture::Place& place,
                             words::Language language) {
  const std::vector<model::JobId>& order = picture.queues[place.queue].order.order;
  std::vector<words::QueuedJob> first;
  for (std::size_t i = 0; i < std::min(place.ahead, Directory::kNamesShown); ++i)
    if (const auto front = picture.fronts.find(order[i]); front != picture.fronts.end())
      first.push_back({front->second.first, front->second.second});
  return model::make_message(
      model::MessageCode::kQueuePosition,
      {std::to_string(place.ahead + 1), std::to_string(place.ahead),
       place.ahead == 0 ? std::string() : words::render_names(first, place.ahead, language)});
}

std::optional<model::Message> trouble_of(const Picture& picture, const model::ClusterRow& cluster) {
  const auto condition = picture.conditions.find(cluster.id);
  if (condition == picture.conditions.end() ||
      condition->second.health == model::ClusterHealth::kReachable)
    return std::nullopt;
  std::string status(model::to_string(condition->second.health));
  if (!condition->second.words.empty()) status += ": " + condition->second.words;
  return model::make_message(model::MessageCode::kClusterUnavailable,
                             {cluster.name, std::move(status)});
}

// Says why nothing moves while the job's cluster can't be had, or the only ones that offer its type
// can't; nothing when that is not so.
std::optional<model::Message> trouble_message(const Picture& picture, const model::JobRow& job) {
  if (job.state.status != model::JobStatus::kPending) return std::nullopt;
  if (const model::ClusterRow* cluster = picture.cluster(job.state.cluster))
    return trouble_of(picture, *cluster);
  if (job.state.message.code != model::MessageCode::kNoCluster) return std::nullopt;
  for (const model::ClusterRow& cluster : picture.clusters)
    if (cluster.tpu_type == job.spec.tpu_type && cluster.status == model::ClusterStatus::kActive)
      if (auto trouble = trouble_of(picture, cluster)) return trouble;
  return std::nullopt;
}

}  // namespace

const model::ClusterRow* Picture::cluster(const model::ClusterId& id) const {
  const auto found = std::ranges::find(clusters, id, &model::ClusterRow::id);
  return found == clusters.end() ? nullptr : &*found;
}

std::shared_ptr<const Picture> Directory::picture() {
  const std::scoped_lock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (valid_ && now - read_at_ < kPictureAgeMax) return picture_;
  if (std::shared_ptr<const Picture> fresh = read()) picture_ = std::move(fresh);
  read_at_ = now;
  valid_ = true;
  return picture_;
}

void Directory::forget() {
  const std::scoped_lock lock(mutex_);
  valid_ = false;
}

std::shared_ptr<const Picture> Directory::read() {
  auto picture = std::make_shared<Picture>();
  auto clusters = store_.clusters();
  auto queues = store_.queues();
  if (!clusters || !queues) return nullptr;
  picture->clusters = std::move(clusters->items);
  picture->conditions = std::move(clusters->conditions);
  picture->queues = *std::move(queues);
  for (std::size_t q = 0; q < picture->queues.size(); ++q) {
    const std::vector<model::JobId>& order = picture->queues[q].order.order;
    for (std::size_t i = 0; i < order.size(); ++i)
      picture->places.emplace(order[i], Picture::Place{q, i});
    for (std::size_t i = 0; i < std::min(order.size(), kNamesShown); ++i) {
      // Names never change; those known from the picture before need no look-up.
      if (const auto known = picture_->fronts.find(order[i]); known != picture_->fronts.end())
        picture->fronts.insert(*known);
      else if (const auto job = store_.job(order[i]))
        picture->fronts.emplace(order[i], std::pair{job->actor.value(), job->name});
    }
  }
  return picture;
}

std::string render_job(const model::JobRow& row, const Picture& picture, words::Language language,
                       Codes codes, WallTime now) {
  wire::JobExtras extras;
  model::JobState shown = row.state;
  if (auto trouble = trouble_message(picture, row)) {
    shown.message = *std::move(trouble);
  } else if (shows_place(row.state)) {
    if (const auto place = picture.places.find(row.id); place != picture.places.end()) {
      shown.message = place_message(picture, place->second, language);
      const Duration age = now - picture.queues[place->second.queue].published_at;
      extras.queue_age_seconds = std::max<std::int64_t>(0, age.count() / 1000);
    }
  }
  extras.message = words::render_with_cleanup(shown, language);
  if (const model::ClusterRow* cluster = picture.cluster(row.state.cluster)) {
    extras.cluster_name = cluster->name;
    extras.log_prefix = "gs://" + cluster->gcs_bucket + "/logs/" + row.id.value() + "/";
  }
  if (codes == Codes::kStored || shown.message == row.state.message)
    return wire::to_json(row, extras);
  model::JobRow copy = row;
  copy.state.message = std::move(shown.message);
  return wire::to_json(copy, extras);
}

}  // namespace falcon::api
