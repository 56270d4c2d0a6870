#include "cli/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"
#include "http/status.h"
#include "http/url.h"
#include "wire/wire.h"

namespace falcon::cli {
namespace {

namespace json = boost::json;

constexpr Duration kMetadataTimeout{2'000};
constexpr std::size_t kPageSize = 200;
constexpr std::size_t kLogPieceMax = 8u << 20;  // bytes of one reading of a log

std::string text_of(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Result<json::value> parse(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object())
    return fail(ErrorKind::kInternal,
                "the answer is not the API server's; is another program on its port? (" +
                    clean_text(text, 80) + ")");
  return value;
}

const json::array& items_of(const json::value& list) {
  static const json::array kNone;
  const json::value* items = list.get_object().if_contains("items");
  return items != nullptr && items->is_array() ? items->get_array() : kNone;
}

Result<Job> job_of(const json::value& value) {
  std::string text = json::serialize(value);
  FALCON_TRY(read, wire::job_from_json(text));
  return Job{std::move(read.row), std::move(read.extras.message),
             std::move(read.extras.cluster_name), std::move(read.extras.log_prefix),
             std::move(text)};
}

Result<Job> job_of_text(const std::string& text) {
  FALCON_TRY(value, parse(text));
  return job_of(value);
}

Result<Cluster> cluster_of_text(std::string text) {
  FALCON_TRY(row, wire::cluster_from_json(text));
  return Cluster{std::move(row), wire::condition_of_cluster_json(text), std::move(text)};
}

// What a problem document says, else what there is.
std::string words_of(const http::Response& response) {
  const std::string words = wire::problem_from_json(response.body).detail;
  if (!words.empty()) return words;
  return fmt::format("the server answers {}: {}", response.status, clean_text(response.body, 200));
}

Error error_of(const http::Response& response) {
  const std::string words = words_of(response);
  switch (response.status) {
    case 401:
      return {ErrorKind::kDenied,
              words + " (the token does not fit: is --data the folder of the running API server?)"};
    default:
      return {http::sort_status(response.status, true), words};
  }
}

std::string query_text(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query)
    text += fmt::format("{}{}={}", text.empty() ? '?' : '&', name, http::encode_url(value));
  return text;
}

}  // namespace

Result<std::string> Server::call(std::string method, const std::string& path, std::string body) {
  if (!connection_) return std::unexpected(connection_.error());
  http::Request request;
  request.method = std::move(method);
  request.url = connection_->url + path;
  request.headers = {{"Authorization", "Bearer " + connection_->token}};
  if (!language_.empty()) request.headers.emplace_back("Accept-Language", language_);
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  Result<http::Response> response = io_.send(std::move(request));
  if (!response) {
    Error error = response.error();
    if (error.kind == ErrorKind::kUnavailable)
      error.what =
          fmt::format("the API server at {} is not there ({}); start it with \"falcon up\"",
                      connection_->url, error.what);
    return std::unexpected(std::move(error));
  }
  if (response->status / 100 != 2) return std::unexpected(error_of(*response));
  return std::move(response->body);
}

Result<Job> Server::submit(const model::JobRow& job) {
  FALCON_TRY(text, call("POST", "/v1/jobs", wire::submit_json(job)));
  return job_of_text(text);
}

Result<Job> Server::job(const std::string& id_or_name) {
  FALCON_TRY(text, call("GET", "/v1/jobs/" + http::encode_url(id_or_name)));
  return job_of_text(text);
}

Result<std::vector<Job>> Server::jobs(const Query& query, std::size_t count_max) {
  std::vector<Job> jobs;
  std::string page_token;
  do {
    Query page = query;
    page.emplace_back("limit", std::to_string(std::min(kPageSize, count_max - jobs.size())));
    if (!page_token.empty()) page.emplace_back("page_token", page_token);
    FALCON_TRY(text, call("GET", "/v1/jobs" + query_text(page)));
    FALCON_TRY(list, parse(text));
    for (const json::value& item : items_of(list)) {
      FALCON_TRY(job, job_of(item));
      if (jobs.size() < count_max) jobs.push_back(std::move(job));
    }
    page_token = text_of(list.get_object(), "next_page_token");
  } while (!page_token.empty() && jobs.size() < count_max);
  return jobs;
}

Result<std::vector<Event>> Server::events(const std::string& id_or_name) {
  FALCON_TRY(text, call("GET", "/v1/jobs/" + http::encode_url(id_or_name) + "/events"));
  FALCON_TRY(list, parse(text));
  std::vector<Event> events;
  for (const json::value& item : items_of(list)) {
    if (!item.is_object()) continue;
    const json::object& object = item.get_object();
    events.push_back({parse_rfc3339(text_of(object, "at")).value_or(WallTime{}),
                      text_of(object, "status"), text_of(object, "reason"),
                      text_of(object, "message")});
  }
  return events;
}

Result<Job> Server::abort(const std::string& id_or_name) {
  FALCON_TRY(text, call("POST", "/v1/jobs/" + http::encode_url(id_or_name) + ":abort", "{}"));
  return job_of_text(text);
}

Result<std::vector<Cluster>> Server::clusters() {
  FALCON_TRY(text, call("GET", "/v1/clusters"));
  FALCON_TRY(list, parse(text));
  std::vector<Cluster> clusters;
  for (const json::value& item : items_of(list)) {
    FALCON_TRY(cluster, cluster_of_text(json::serialize(item)));
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

Result<Cluster> Server::cluster(const std::string& id_or_name) {
  FALCON_TRY(text, call("GET", "/v1/clusters/" + http::encode_url(id_or_name)));
  return cluster_of_text(std::move(text));
}

Result<Cluster> Server::add_cluster(const model::ClusterRow& cluster) {
  FALCON_TRY(text, call("POST", "/v1/clusters", wire::cluster_json(cluster)));
  return cluster_of_text(std::move(text));
}

Result<Cluster> Server::set_cluster(const std::string& id_or_name, const Query& changes) {
  json::object body;
  for (const auto& [field, value] : changes) body[field] = value;
  FALCON_TRY(text,
             call("PATCH", "/v1/clusters/" + http::encode_url(id_or_name), json::serialize(body)));
  return cluster_of_text(std::move(text));
}

Result<std::string> Server::remove_cluster(const std::string& id_or_name) {
  return call("DELETE", "/v1/clusters/" + http::encode_url(id_or_name));
}

Result<std::vector<Pool>> Server::pools() {
  FALCON_TRY(text, call("GET", "/v1/pools"));
  FALCON_TRY(list, parse(text));
  const json::array& items = items_of(list);
  FALCON_TRY(state, wire::own_state_from_json(json::serialize(json::object{{"pools", items}})));
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < state.pools.size() && i < items.size(); ++i)
    pools.push_back({std::move(state.pools[i]), json::serialize(items[i])});
  return pools;
}

Result<std::vector<Queue>> Server::queues() {
  FALCON_TRY(text, call("GET", "/v1/queues"));
  FALCON_TRY(list, parse(text));
  std::vector<Queue> queues;
  for (const json::value& item : items_of(list)) {
    if (!item.is_object()) continue;
    const json::object& object = item.get_object();
    Queue queue;
    queue.json = json::serialize(item);
    queue.cluster = model::ClusterId(text_of(object, "cluster"));
    if (const json::value* shape = object.if_contains("shape"); shape && shape->is_object()) {
      queue.shape.type = text_of(shape->get_object(), "type");
      queue.shape.topology = text_of(shape->get_object(), "topology");
    }
    if (const json::value* order = object.if_contains("order"); order && order->is_array())
      for (const json::value& id : order->get_array())
        if (id.is_string()) queue.order.emplace_back(std::string(id.get_string()));
    queues.push_back(std::move(queue));
  }
  return queues;
}

Result<Version> Server::version() {
  FALCON_TRY(text, call("GET", "/v1/version"));
  FALCON_TRY(value, parse(text));
  const json::object& object = value.get_object();
  return Version{text_of(object, "version"), text_of(object, "installation"),
                 text_of(object, "storage_endpoint"), std::move(text)};
}

void Server::get_storage_token(const std::string& endpoint) {
  storage_token_ = io_.environment("FALCON_GOOGLE_TOKEN").value_or("");
  if (!storage_token_->empty()) return;
  const std::string host = io_.environment("GCE_METADATA_HOST").value_or("");
  http::Request request;
  request.url = !host.empty()                   ? "http://" + host
                : endpoint.starts_with("http:") ? endpoint
                                                : "http://metadata.google.internal";
  request.url += "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.timeout = kMetadataTimeout;
  const Result<http::Response> response = io_.send(std::move(request));
  if (!response || response->status != 200) return;
  if (const Result<json::value> token = parse(response->body))
    storage_token_ = text_of(token->get_object(), "access_token");
}

Result<http::Response> Server::fetch(const std::string& endpoint, const std::string& path,
                                     const http::Headers& headers) {
  for (bool again = false;; again = true) {
    const bool had_token = storage_token_.has_value();
    if (!had_token) get_storage_token(endpoint);
    http::Request request;
    request.url = endpoint + path;
    request.headers = headers;
    if (!storage_token_->empty())
      request.headers.emplace_back("Authorization", "Bearer " + *storage_token_);
    Result<http::Response> response = io_.send(std::move(request));
    const bool has_expired = response && response->status == 401 && had_token && !again;
    if (!has_expired) return response;
    storage_token_.reset();  // an hour of following a log is longer than a token lives
  }
}

namespace {

std::unexpected<Error> no_bucket(const http::Response& response, const std::string& bucket) {
  if (response.status == 401 || response.status == 403)
    return fail(ErrorKind::kDenied,
                fmt::format("bucket {} can't be read ({}): set FALCON_GOOGLE_TOKEN to \"$(gcloud "
                            "auth print-access-token)\"",
                            bucket, response.status));
  return fail(response.status == 404 ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
              fmt::format("bucket {} answers {}: {}", bucket, response.status,
                          clean_text(response.body, 200)));
}

}  // namespace

Result<std::vector<StoredObject>> Server::objects(const std::string& endpoint,
                                                  const std::string& bucket,
                                                  const std::string& prefix) {
  std::vector<StoredObject> objects;
  std::string page_token;
  do {
    Query query{{"prefix", prefix}};
    if (!page_token.empty()) query.emplace_back("pageToken", page_token);
    const std::string path =
        fmt::format("/storage/v1/b/{}/o{}", http::encode_url(bucket), query_text(query));
    FALCON_TRY(response, fetch(endpoint, path, {}));
    if (response.status == 404) return objects;  // the bucket is made with its first object
    if (response.status != 200) return no_bucket(response, bucket);
    FALCON_TRY(list, parse(response.body));
    for (const json::value& item : items_of(list)) {
      if (!item.is_object()) continue;
      StoredObject object{text_of(item.get_object(), "name"), 0};
      const std::string size = text_of(item.get_object(), "size");  // a text, as Google has it
      std::from_chars(size.data(), size.data() + size.size(), object.size);
      objects.push_back(std::move(object));
    }
    page_token = text_of(list.get_object(), "nextPageToken");
  } while (!page_token.empty());
  std::ranges::sort(objects, {}, &StoredObject::name);
  return objects;
}

Result<std::string> Server::object_bytes(const std::string& endpoint, const std::string& bucket,
                                         const std::string& name, std::uint64_t offset) {
  const std::string path = fmt::format("/storage/v1/b/{}/o/{}?alt=media", http::encode_url(bucket),
                                       http::encode_url(name));
  const std::string range = fmt::format("bytes={}-{}", offset, offset + kLogPieceMax - 1);
  FALCON_TRY(response, fetch(endpoint, path, {{"Range", range}}));
  if (response.status == 416) return std::string();  // nothing behind the offset
  if (response.status == 206) return std::move(response.body);
  if (response.status != 200) return no_bucket(response, bucket);
  return response.body.size() <= offset ? std::string() : response.body.substr(offset);
}

}  // namespace falcon::cli
