// The verbs of the REST API (docs/design/rest-api.md) that people use, and the reading side of the
// bucket, over whatever sends HTTP requests. Blocking; one thread.
//
// Errors are the server's words in one line, sorted by what the caller can do: kInvalid, kDenied
// (401, 403), kNotFound, kAlreadyExists, kConflict, kUnavailable, kUnknownOutcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/connection.h"
#include "cli/io.h"
#include "model/cluster.h"
#include "model/condition.h"
#include "model/job.h"
#include "model/pool.h"

namespace falcon::cli {

struct Job {
  model::JobRow row;
  std::string message;       // in the reader's language, clean-up's failure included
  std::string cluster_name;  // empty while none is chosen
  std::string log_prefix;    // gs://BUCKET/logs/ID/; empty while no cluster is chosen
  std::string json;          // as the server said it
};
struct Event {
  WallTime at{};
  std::string status;
  std::string reason;
  std::string message;
};
struct Cluster {
  model::ClusterRow row;
  std::optional<model::ClusterCondition> condition;  // empty: nobody has looked yet
  std::string json;
};
struct Pool {
  model::PoolRow row;
  std::string json;
};
struct Queue {
  model::ClusterId cluster;
  model::Shape shape;
  std::vector<model::JobId> order;
  std::string json;
};
struct Version {
  std::string version;
  std::string installation;
  std::string
      storage_endpoint;  // of the bucket's JSON API, for example https://storage.googleapis.com
  std::string json;
};
struct StoredObject {
  std::string name;
  std::uint64_t size = 0;  // bytes
};

using Query = std::vector<std::pair<std::string, std::string>>;

class Server {
 public:
  // `connection` may be an error: each call answers with it. `language`: what the reader reads;
  // empty: the installation's. `io` must outlive this.
  Server(const Io& io, Result<Connection> connection, std::string language)
      : io_(io), connection_(std::move(connection)), language_(std::move(language)) {}

  Result<Job> submit(const model::JobRow& job);
  Result<Job> job(const std::string& id_or_name);
  // Newest first; follows pages up to `count_max` jobs.
  Result<std::vector<Job>> jobs(const Query& query, std::size_t count_max);
  Result<std::vector<Event>> events(const std::string& id_or_name);
  Result<Job> abort(const std::string& id_or_name);

  Result<std::vector<Cluster>> clusters();
  Result<Cluster> cluster(const std::string& id_or_name);
  Result<Cluster> add_cluster(const model::ClusterRow& cluster);
  // `changes`: fields and their new values, all of them texts.
  Result<Cluster> set_cluster(const std::string& id_or_name, const Query& changes);
  Result<std::string> remove_cluster(const std::string& id_or_name);

  Result<std::vector<Pool>> pools();
  Result<std::vector<Queue>> queues();
  Result<Version> version();

  // The bucket, by Google's JSON API, with FALCON_GOOGLE_TOKEN or a token of the metadata server:
  // GCE_METADATA_HOST, else a simulated cloud's own, else that of the machine. Sorted by name.
  Result<std::vector<StoredObject>> objects(const std::string& endpoint, const std::string& bucket,
                                            const std::string& prefix);
  // Bytes from `offset` to the end; empty when there are none.
  Result<std::string> object_bytes(const std::string& endpoint, const std::string& bucket,
                                   const std::string& name, std::uint64_t offset);

 private:
  Result<std::string> call(std::string method, const std::string& path, std::string body = {});
  Result<http::Response> fetch(const std::string& endpoint, const std::string& path,
                               const http::Headers& headers);
  void get_storage_token(const std::string& endpoint);

  const Io& io_;
  Result<Connection> connection_;
  std::string language_;
  std::optional<std::string> storage_token_;  // empty text: there is none to be had
};

}  // namespace falcon::cli
