#include "simserver/kube_face.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <charconv>

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using cloudsim::Kind;

constexpr std::size_t kPagesMax = 64;  // unfinished lists kept; older ones get 410

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Answer bad_request(std::string_view message) {
  return Answer{.status = 400, .body = status_json({400, "BadRequest"}, message, "", "")};
}

Answer ok(const json::object& object, int status = 200) {
  return Answer{.status = status, .body = json::serialize(object)};
}

std::optional<json::object> object_in(const std::string& body) {
  boost::system::error_code error;
  json::value value = json::parse(body, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.as_object());
}

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

const json::object* metadata_of(const json::object& object) {
  const json::value* value = object.if_contains("metadata");
  return value != nullptr ? value->if_object() : nullptr;
}

cloudsim::Labels labels_in(const json::object& object) {
  cloudsim::Labels labels;
  const json::object* metadata = metadata_of(object);
  const json::value* value = metadata != nullptr ? metadata->if_contains("labels") : nullptr;
  if (value == nullptr || !value->is_object()) return labels;
  for (const auto& [key, text] : value->get_object())
    if (text.is_string()) labels[std::string(key)] = std::string(text.get_string());
  return labels;
}

// RFC 7386.
void merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null())
      target.as_object().erase(key);
    else
      merge(target.as_object()[key], value);
  }
}

json::object resource_list(std::string_view group_version, std::string_view group) {
  json::array resources;
  for (const Kind kind :
       {Kind::kNode, Kind::kJob, Kind::kPod, Kind::kService, Kind::kEvent, Kind::kLease}) {
    const KindNames& names = names_of(kind);
    if (names.group != group) continue;
    json::array verbs{"get", "list", "watch", "patch"};
    if (kind != Kind::kNode) verbs.push_back("delete");
    if (kind != Kind::kNode && kind != Kind::kPod) verbs.push_back("create");
    if (kind == Kind::kLease || kind == Kind::kService) verbs.push_back("update");
    json::object resource{{"name", names.resource},
                          {"singularName", ""},
                          {"namespaced", names.namespaced},
                          {"kind", names.name},
                          {"verbs", std::move(verbs)}};
    if (kind == Kind::kPod) resource["shortNames"] = json::array{"po"};
    if (kind == Kind::kNode) resource["shortNames"] = json::array{"no"};
    if (kind == Kind::kService) resource["shortNames"] = json::array{"svc"};
    resources.push_back(std::move(resource));
  }
  if (group.empty())
    resources.push_back(json::object{{"name", "namespaces"},
                                     {"singularName", ""},
                                     {"namespaced", false},
                                     {"kind", "Namespace"},
                                     {"verbs", json::array{"get", "list"}},
                                     {"shortNames", json::array{"ns"}}});
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", group_version},
          {"resources", std::move(resources)}};
}

json::object group_json(std::string_view group) {
  const json::object version{{"groupVersion", fmt::format("{}/v1", group)}, {"version", "v1"}};
  return {{"name", group}, {"versions", json::array{version}}, {"preferredVersion", version}};
}

struct DeleteOptions {
  std::optional<cloudsim::Propagation> propagation;
  std::optional<model::Uid> uid;
  std::optional<Duration> grace;
};

// The body, or with an empty one the query.
Result<DeleteOptions> delete_options(const Call& call) {
  DeleteOptions options;
  std::string policy(call.parameter("propagationPolicy"));
  std::string grace(call.parameter("gracePeriodSeconds"));
  if (!call.body.empty()) {
    const auto body = object_in(call.body);
    if (!body) return fail(ErrorKind::kInvalid, "DeleteOptions must be a JSON object");
    policy = text_of(*body, "propagationPolicy");
    grace.clear();
    if (const json::value* seconds = body->if_contains("gracePeriodSeconds");
        seconds != nullptr && seconds->is_int64())
      grace = std::to_string(seconds->get_int64());
    const json::value* conditions = body->if_contains("preconditions");
    if (conditions != nullptr && conditions->is_object())
      if (const std::string uid = text_of(conditions->get_object(), "uid"); !uid.empty())
        options.uid = model::Uid(uid);
  }
  if (policy == "Foreground")
    options.propagation = cloudsim::Propagation::kForeground;
  else if (policy == "Background")
    options.propagation = cloudsim::Propagation::kBackground;
  else if (policy == "Orphan")
    options.propagation = cloudsim::Propagation::kOrphan;
  else if (!policy.empty())
    return fail(ErrorKind::kInvalid,
                fmt::format("propagationPolicy: Unsupported value: \"{}\": supported values: "
                            "\"Background\", \"Foreground\", \"Orphan\"",
                            policy));
  if (const auto seconds = number(grace))
    options.grace = Duration(static_cast<std::int64_t>(*seconds) * 1000);
  return options;
}

}  // namespace

KubeFace::KubeFace(cloudsim::World& world, model::GkeCluster cluster, Calendar calendar,
                   std::function<std::optional<std::string>(const model::Uid&)> log_of)
    : world_(world),
      cluster_(std::move(cluster)),
      calendar_(calendar),
      log_of_(std::move(log_of)) {}

std::optional<Answer> KubeFace::discovery(const Call& call) const {
  const std::vector<std::string>& path = call.path;
  const auto is = [&](std::initializer_list<std::string_view> parts) {
    return std::ranges::equal(path, parts);
  };
  if (is({"readyz"}) || is({"livez"}) || is({"healthz"}))
    return Answer{.body = "ok", .content_type = "text/plain"};
  if (is({"version"}))
    return ok({{"major", "1"},
               {"minor", "34"},
               {"gitVersion", "v1.34.1-gke.2541000"},
               {"platform", "linux/amd64"}});
  if (is({"api"}))
    return ok({{"kind", "APIVersions"},
               {"versions", json::array{"v1"}},
               {"serverAddressByClientCIDRs", json::array{}}});
  if (is({"apis"}))
    return ok({{"kind", "APIGroupList"},
               {"apiVersion", "v1"},
               {"groups", json::array{group_json("batch"), group_json("coordination.k8s.io")}}});
  if (is({"api", "v1"})) return ok(resource_list("v1", ""));
  for (const std::string_view group : {"batch", "coordination.k8s.io"}) {
    if (is({"apis", group})) {
      json::object object = group_json(group);
      object["kind"] = "APIGroup";
      object["apiVersion"] = "v1";
      return ok(object);
    }
    if (is({"apis", group, "v1"})) return ok(resource_list(fmt::format("{}/v1", group), group));
  }
  return std::nullopt;
}

Answer KubeFace::namespaces(const Call& call) const {
  const auto one = [&](const std::string& name) {
    return json::object{{"apiVersion", "v1"},
                        {"kind", "Namespace"},
                        {"metadata", json::object{{"name", name}, {"uid", "namespace-" + name}}},
                        {"status", json::object{{"phase", "Active"}}}};
  };
  for (const cloudsim::ClusterSetup& setup : world_.clusters()) {
    if (setup.gke != cluster_) continue;
    if (call.path.size() == 4) {
      if (setup.namespaces.contains(call.path[3])) return ok(one(call.path[3]));
      break;
    }
    json::array items;
    for (const std::string& name : setup.namespaces) items.push_back(one(name));
    return ok({{"kind", "NamespaceList"},
               {"apiVersion", "v1"},
               {"metadata", json::object{{"resourceVersion", "1"}}},
               {"items", std::move(items)}});
  }
  return answer_of(Error{ErrorKind::kNotFound, "namespace not found"}, "namespaces", "");
}

// /api/v1/..., /apis/GROUP/v1/...; then [namespaces/NS/]RESOURCE[/NAME[/SUB]].
std::optional<KubeFace::Target> KubeFace::target_of(const Call& call) {
  const std::vector<std::string>& path = call.path;
  std::string group;
  std::size_t at = 0;
  if (path.size() >= 3 && path[0] == "api") {
    at = 1;
  } else if (path.size() >= 4 && path[0] == "apis") {
    group = path[1];
    at = 2;
  } else {
    return std::nullopt;
  }
  const std::string& version = path[at++];
  Target target;
  if (path[at] == "namespaces" && path.size() >= at + 3) {
    target.kube_namespace = path[at + 1];
    at += 2;
  }
  target.names = find_resource(group, version, path[at++]);
  if (target.names == nullptr) return std::nullopt;
  if (path.size() > at) target.name = path[at++];
  if (path.size() > at) target.subresource = path[at++];
  if (path.size() > at ||
      (target.names->namespaced && !target.name.empty() && target.kube_namespace.empty()))
    return std::nullopt;
  return target;
}

std::variant<Answer, std::unique_ptr<KubeWatch>> KubeFace::handle(const Call& call) {
  if (auto answer = discovery(call)) return *std::move(answer);
  if (call.path.size() >= 3 && call.path.size() <= 4 && call.path[0] == "api" &&
      call.path[2] == "namespaces" && call.method == "GET")
    return namespaces(call);
  const auto target = target_of(call);
  if (!target)
    return Answer{.status = 404,
                  .body = status_json({404, "NotFound"},
                                      "the server could not find the requested resource", "", "")};
  const bool one = !target->name.empty();
  if (call.method == "GET" && one && target->subresource == "log" &&
      target->names->kind == Kind::kPod)
    return log(*target);
  if (!target->subresource.empty())
    return Answer{.status = 404,
                  .body = status_json({404, "NotFound"},
                                      "the server could not find the requested resource", "", "")};
  if (call.method == "GET" && one) return get(*target);
  if (call.method == "GET") {
    const std::string_view wants = call.parameter("watch");
    if (wants == "1" || wants == "true") return watch(call, *target);
    return list(call, *target);
  }
  if (call.method == "POST" && !one) return create(call, *target);
  if (call.method == "DELETE" && one) return remove(call, *target);
  if (call.method == "PATCH" && one) return patch(call, *target);
  if (call.method == "PUT" && one) return replace(call, *target);
  return Answer{.status = 405,
                .body = status_json({405, "MethodNotAllowed"},
                                    "the server does not allow this method on the requested "
                                    "resource",
                                    "", "")};
}

Answer KubeFace::object_answer(const Result<cloudsim::ObjectPtr>& result, const Target& target,
                               int status) const {
  if (!result) return answer_of(result.error(), target.names->resource, target.name);
  return ok(render(**result, calendar_), status);
}

std::variant<Answer, std::unique_ptr<KubeWatch>> KubeFace::watch(const Call& call,
                                                                 const Target& target) {
  const auto selector =
      Selector::parse(call.parameter("labelSelector"), call.parameter("fieldSelector"));
  if (!selector) return bad_request(selector.error().what);
  if (!world_.kubernetes_up(cluster_))
    return answer_of(Error{ErrorKind::kUnavailable, "the API server is not available"}, "", "");
  WatchRequest request{.cluster = cluster_,
                       .kind = target.names->kind,
                       .kube_namespace = target.kube_namespace,
                       .selector = *selector,
                       .from = {}};
  const std::string_view version = call.parameter("resourceVersion");
  if (!version.empty() && version != "0") {
    request.from = number(version);
    if (!request.from) return bad_request(fmt::format("invalid resource version \"{}\"", version));
    if (*request.from > world_.resource_version(cluster_))
      return Answer{.status = 504,
                    .body = status_json({504, "Timeout"}, "Too large resource version", "", ""),
                    .headers = {{"Retry-After", "1"}}};
    const cloudsim::Changes changes = world_.changes_since(cluster_, *request.from);
    if (changes.state == cloudsim::WatchState::kGone) {
      gone_in_stream_ = !gone_in_stream_;
      if (!gone_in_stream_)
        return Answer{
            .status = 410,
            .body = status_json({410, "Expired"},
                                fmt::format("too old resource version: {}", version), "", "")};
    }
  }
  request.bookmarks = call.parameter("allowWatchBookmarks") == "true";
  request.initial_events_end = call.parameter("sendInitialEvents") == "true";
  if (request.initial_events_end) request.from.reset();
  if (const auto seconds = number(call.parameter("timeoutSeconds")); seconds && *seconds > 0)
    request.timeout = Duration(static_cast<std::int64_t>(*seconds) * 1000);
  return std::make_unique<KubeWatch>(std::move(request), calendar_, world_.now());
}

Answer KubeFace::list(const Call& call, const Target& target) {
  if (call.has("continue") && !call.parameter("continue").empty()) return next_page(call, target);
  const auto selector =
      Selector::parse(call.parameter("labelSelector"), call.parameter("fieldSelector"));
  if (!selector) return bad_request(selector.error().what);
  const auto listing = world_.list(cluster_, target.names->kind);
  if (!listing) return answer_of(listing.error(), target.names->resource, "");
  std::vector<cloudsim::ObjectPtr> objects;
  for (const cloudsim::ObjectPtr& object : listing->objects)
    if ((target.kube_namespace.empty() || target.kube_namespace == object->kube_namespace) &&
        selector->matches(*object, calendar_))
      objects.push_back(object);
  const std::size_t limit =
      call.parameter("resourceVersion") == "0" ? 0 : number(call.parameter("limit")).value_or(0);
  return page_of(target, std::move(objects), listing->resource_version, limit);
}

Answer KubeFace::next_page(const Call& call, const Target& target) {
  const std::string_view token = call.parameter("continue");
  const auto found = std::ranges::find(pages_, token, &Page::token);
  if (found == pages_.end())
    return Answer{.status = 410,
                  .body = status_json({410, "Expired"},
                                      "The provided continue parameter is too old to display a "
                                      "consistent list result.",
                                      "", "")};
  std::vector<cloudsim::ObjectPtr> rest = found->rest;  // a page may be asked for again
  return page_of(target, std::move(rest), found->resource_version,
                 number(call.parameter("limit")).value_or(0));
}

Answer KubeFace::page_of(const Target& target, std::vector<cloudsim::ObjectPtr> objects,
                         std::uint64_t version, std::size_t limit) {
  json::object metadata{{"resourceVersion", std::to_string(version)}};
  if (limit > 0 && objects.size() > limit) {
    const auto cut = objects.begin() + static_cast<std::ptrdiff_t>(limit);
    pages_.push_back(Page{fmt::format("page-{}", ++last_token_), {cut, objects.end()}, version});
    if (pages_.size() > kPagesMax) pages_.pop_front();
    metadata["continue"] = pages_.back().token;
    metadata["remainingItemCount"] = objects.size() - limit;
    objects.resize(limit);
  }
  json::array items;
  for (const cloudsim::ObjectPtr& object : objects) {
    json::object item = render(*object, calendar_);
    item.erase("kind");  // items of a list do not say what they are
    item.erase("apiVersion");
    items.push_back(std::move(item));
  }
  return ok({{"kind", fmt::format("{}List", target.names->name)},
             {"apiVersion", target.names->api_version},
             {"metadata", std::move(metadata)},
             {"items", std::move(items)}});
}

Answer KubeFace::get(const Target& target) {
  return object_answer(world_.get(cluster_, target.names->kind, target.kube_namespace, target.name),
                       target);
}

Answer KubeFace::log(const Target& target) {
  const auto pod = world_.get(cluster_, Kind::kPod, target.kube_namespace, target.name);
  if (!pod) return answer_of(pod.error(), "pods", target.name);
  auto text = log_of_ ? log_of_((*pod)->uid) : std::nullopt;
  if (!text)
    return bad_request(fmt::format("container in pod \"{}\" is waiting to start", target.name));
  return Answer{.body = *std::move(text), .content_type = "text/plain"};
}

Answer KubeFace::create(const Call& call, const Target& target) {
  auto body = object_in(call.body);
  if (!body) return bad_request("the object provided is unrecognized: it must be a JSON object");
  const std::string kind = text_of(*body, "kind");
  if (!kind.empty() && kind != target.names->name)
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}", kind,
                                   text_of(*body, "apiVersion"), target.names->name));
  Target named = target;
  const json::object* metadata = metadata_of(*body);
  if (metadata != nullptr) named.name = text_of(*metadata, "name");
  switch (target.names->kind) {
    case Kind::kJob: {
      const auto request = job_from_json(call.body, target.kube_namespace);
      if (!request) return answer_of(request.error(), "jobs", named.name);
      return object_answer(world_.create_job(cluster_, *request), named, 201);
    }
    case Kind::kService:
    case Kind::kEvent:
    case Kind::kLease: {
      if (named.name.empty() && metadata != nullptr) {
        if (const std::string prefix = text_of(*metadata, "generateName"); !prefix.empty())
          named.name = fmt::format("{}{:05x}", prefix, ++last_token_);
      }
      if (named.name.empty())
        return answer_of(Error{ErrorKind::kInvalid, "metadata.name: Required value"},
                         target.names->resource, "");
      cloudsim::PlainObject plain{.body = std::make_shared<const std::string>(call.body)};
      return object_answer(world_.create_plain(cluster_, target.names->kind, target.kube_namespace,
                                               named.name, labels_in(*body), std::move(plain)),
                           named, 201);
    }
    case Kind::kPod:
    case Kind::kNode:
      return Answer{.status = 405,
                    .body = status_json({405, "MethodNotAllowed"},
                                        fmt::format("{} cannot be created here: pods come from "
                                                    "Jobs, nodes from node pools",
                                                    target.names->resource),
                                        target.names->resource, named.name)};
  }
  std::abort();
}

Answer KubeFace::remove(const Call& call, const Target& target) {
  const auto options = delete_options(call);
  if (!options) return bad_request(options.error().what);
  Result<cloudsim::ObjectPtr> gone =
      fail(ErrorKind::kDenied, "nodes cannot be deleted here: they go with their node pool");
  switch (target.names->kind) {
    case Kind::kJob:
      // Over plain REST the default for Jobs is Orphan; kubectl always sends a policy.
      gone = world_.delete_job(cluster_, target.kube_namespace, target.name, options->uid,
                               options->propagation.value_or(cloudsim::Propagation::kOrphan));
      break;
    case Kind::kPod:
      gone = world_.delete_pod(cluster_, target.kube_namespace, target.name, options->uid,
                               options->grace);
      break;
    case Kind::kService:
    case Kind::kEvent:
    case Kind::kLease:
      gone = world_.delete_plain(cluster_, target.names->kind, target.kube_namespace, target.name,
                                 options->uid);
      break;
    case Kind::kNode:
      break;
  }
  if (!gone) return answer_of(gone.error(), target.names->resource, target.name);
  if ((*gone)->deletion_at) return ok(render(**gone, calendar_));
  return ok({{"kind", "Status"},
             {"apiVersion", "v1"},
             {"metadata", json::object{}},
             {"status", "Success"},
             {"details", json::object{{"name", target.name},
                                      {"group", target.names->group},
                                      {"kind", target.names->resource},
                                      {"uid", (*gone)->uid.value()}}}});
}

Answer KubeFace::patch(const Call& call, const Target& target) {
  const std::string_view type = call.header("content-type");
  if (type.find("merge-patch+json") == std::string_view::npos)
    return Answer{.status = 415,
                  .body = status_json({415, "UnsupportedMediaType"},
                                      "only application/merge-patch+json and "
                                      "application/strategic-merge-patch+json are served",
                                      "", "")};
  const auto change = object_in(call.body);
  if (!change) return bad_request("the patch must be a JSON object");
  const auto current = world_.get(cluster_, target.names->kind, target.kube_namespace, target.name);
  if (!current) return answer_of(current.error(), target.names->resource, target.name);
  if (std::holds_alternative<cloudsim::PlainObject>((*current)->body)) {
    json::value whole = render(**current, calendar_);
    merge(whole, *change);
    const cloudsim::Labels labels = labels_in(whole.as_object());
    cloudsim::PlainObject plain{.body =
                                    std::make_shared<const std::string>(json::serialize(whole))};
    return object_answer(
        world_.replace_plain(cluster_, target.names->kind, target.kube_namespace, target.name,
                             labels, std::move(plain), (*current)->resource_version),
        target);
  }
  const json::object* metadata = metadata_of(*change);
  const json::value* labels = metadata != nullptr ? metadata->if_contains("labels") : nullptr;
  if (change->size() != 1 || metadata == nullptr || metadata->size() != 1 || labels == nullptr ||
      !labels->is_object())
    return answer_of(
        Error{ErrorKind::kInvalid, fmt::format("only metadata.labels of {} can be patched here",
                                               target.names->resource)},
        target.names->resource, target.name);
  cloudsim::Labels changes;
  for (const auto& [key, value] : labels->get_object())
    changes[std::string(key)] = value.is_string() ? std::string(value.get_string()) : std::string();
  return object_answer(
      world_.label(cluster_, target.names->kind, target.kube_namespace, target.name, changes),
      target);
}

Answer KubeFace::replace(const Call& call, const Target& target) {
  if (target.names->kind != Kind::kLease && target.names->kind != Kind::kService)
    return Answer{
        .status = 405,
        .body = status_json({405, "MethodNotAllowed"},
                            fmt::format("{} cannot be replaced here", target.names->resource),
                            target.names->resource, target.name)};
  const auto body = object_in(call.body);
  if (!body) return bad_request("the object provided is unrecognized: it must be a JSON object");
  std::uint64_t expected = 0;
  if (const json::object* metadata = metadata_of(*body))
    expected = number(text_of(*metadata, "resourceVersion")).value_or(0);
  return object_answer(
      world_.replace_plain(
          cluster_, target.names->kind, target.kube_namespace, target.name, labels_in(*body),
          cloudsim::PlainObject{.body = std::make_shared<const std::string>(call.body)}, expected),
      target);
}

}  // namespace falcon::simserver
