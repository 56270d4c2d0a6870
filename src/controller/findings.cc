#include "controller/findings.h"

#include <utility>

namespace falcon::controller {

void Findings::found(const model::ClusterId& id, model::ClusterHealth health,
                     const std::string& words) {
  findings_[id].latest = {id, health, words, WallTime{}};
  publish(id);
}

// One call at a time for each cluster, or an old finding might be stored after a new one.
void Findings::publish(const model::ClusterId& id) {
  Finding& finding = findings_[id];
  if (finding.under_way || finding.stored == finding.latest) return;
  finding.under_way = true;
  publish_(finding.latest, [this, id, sent = finding.latest](const Result<std::monostate>& stored) {
    Finding& now = findings_[id];
    now.under_way = false;
    if (!stored) return;
    now.stored = sent;
    publish(id);
  });
}

model::ClusterRow Findings::as_found(model::ClusterRow row) const {
  const auto finding = findings_.find(row.id);
  if (finding == findings_.end() || row.status != model::ClusterStatus::kActive) return row;
  const model::ClusterHealth health = finding->second.latest.health;
  if (health == model::ClusterHealth::kNotFound || health == model::ClusterHealth::kDenied)
    row.status = model::ClusterStatus::kMaintenance;
  return row;
}

void Findings::clear() { findings_.clear(); }

}  // namespace falcon::controller
