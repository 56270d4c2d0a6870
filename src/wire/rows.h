// Inside the wire: JSON forms of single rows, both ways.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "model/cluster.h"
#include "model/job.h"
#include "model/state_change.h"
#include "wire/document.h"

namespace falcon::wire {

// --- reading; the caller calls done() where it made the Fields itself ---------------------------
model::JobRow read_wish(Fields& fields);  // name, actor, priority, labels, spec
model::JobState read_state(Fields& fields);
model::ClusterRow read_cluster_row(Fields& fields);  // all but id, created_at, version
model::PoolRow read_pool(Fields& fields);
model::AttemptRow read_attempt(Fields& fields);
model::TurnRow read_turn(Fields& fields);
model::BackoffRow read_backoff(Fields& fields);
model::QueueKey read_queue_key(Fields& fields);  // cluster, shape
std::optional<model::StateChange> read_change(Fields& fields);

// --- writing ----------------------------------------------------------------------------------
boost::json::object wish_object(const model::JobRow& row);
void add_state(boost::json::object& object, const model::JobState& state);
boost::json::object cluster_wish_object(const model::ClusterRow& row);
boost::json::object pool_object(const model::PoolRow& row);
boost::json::object attempt_object(const model::AttemptRow& row);
boost::json::object turn_object(const model::TurnRow& row);
boost::json::object backoff_object(const model::BackoffRow& row);
boost::json::object change_object(const model::StateChange& change);
void add_queue_key(boost::json::object& object, const model::QueueKey& key);
boost::json::value time_value(const std::optional<WallTime>& time);

}  // namespace falcon::wire
