#include "kube/kubernetes.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <memory>

#include "base/text.h"
#include "http/status.h"
#include "kube/views.h"
#include "wire/foreign.h"

namespace falcon::kube {
namespace {

namespace json = boost::json;

// Ends before a lease could be lost: a leader keeps so much of it in hand (src/controller). A slow
// answer counts as a lost one, and is looked for.
constexpr Duration kDeadline{10'000};

std::uint32_t count_if(const json::array& objects, bool (*holds)(const json::object&)) {
  return static_cast<std::uint32_t>(std::ranges::count_if(objects, [holds](const json::value& one) {
    return one.is_object() && holds(one.as_object());
  }));
}

std::string jobs_path(const std::string& kube_namespace) {
  return "/apis/batch/v1/namespaces/" + kube_namespace + "/jobs";
}

}  // namespace

Error sort_answer(const http::Response& response, bool change) {
  std::string message = clean_text(response.body, 300);
  std::string reason;
  if (auto status = wire::object_of(response.body); status && status->contains("reason")) {
    reason = wire::text(*status, "reason");
    if (const std::string text = wire::text(*status, "message"); !text.empty())
      message = clean_text(text, 1'500);
  }
  const auto error = [&](ErrorKind kind) { return Error{kind, message}; };
  switch (response.status) {
    case 401:
      return error(ErrorKind::kUnavailable);  // tokens are renewed underneath
    case 409:
      return error(reason == "AlreadyExists" ? ErrorKind::kAlreadyExists : ErrorKind::kConflict);
    default:
      return error(http::sort_status(response.status, change));
  }
}

Kubernetes::Kubernetes(http::Client& client, gke::TokenSource& tokens, gke::ControlPlane plane)
    : client_(client), tokens_(tokens), plane_(std::move(plane)) {}

http::Request Kubernetes::request(std::string method, const std::string& path) const {
  http::Request request;
  request.method = std::move(method);
  request.url = plane_.url + path;
  request.ca_pem = plane_.ca_pem;
  request.timeout = kDeadline;
  request.headers.emplace_back("Accept", "application/json");
  request.headers.emplace_back("User-Agent", "falcon");
  return request;
}

void Kubernetes::call(std::string method, const std::string& path, std::string body,
                      http::OnResponse done) {
  const bool change = method != "GET";
  http::Request wanted = request(std::move(method), path);
  if (!body.empty()) wanted.headers.emplace_back("Content-Type", "application/json");
  wanted.body = std::move(body);
  gke::send_authorized(
      client_, tokens_, std::move(wanted),
      [change, done = std::move(done)](Result<http::Response> answer) {
        if (answer && answer->status / 100 != 2)
          return done(std::unexpected(sort_answer(*answer, change)));
        if (!answer && !change && answer.error().kind == ErrorKind::kUnknownOutcome)
          return done(fail(ErrorKind::kUnavailable, answer.error().what));
        done(std::move(answer));
      });
}

void Kubernetes::create_workload(const WorkloadSpec& spec, On<core::WorkloadCreated> done) {
  if (!needs_service(spec)) return create_job(spec, std::move(done));
  call("POST", "/api/v1/namespaces/" + spec.cluster.kubernetes_namespace + "/services",
       render_service(spec),
       [self = shared_from_this(), spec, done = std::move(done)](Result<http::Response> answer) {
         if (!answer && answer.error().kind != ErrorKind::kAlreadyExists) {
           // Without its service the Job was not sent: whatever became of the service, repeat.
           Error error = answer.error();
           if (error.kind == ErrorKind::kUnknownOutcome) error.kind = ErrorKind::kUnavailable;
           return done(std::unexpected(std::move(error)));
         }
         self->create_job(spec, done);
       });
}

void Kubernetes::create_job(const WorkloadSpec& spec, On<core::WorkloadCreated> done) {
  call("POST", jobs_path(spec.cluster.kubernetes_namespace) + "?fieldManager=falcon",
       render_job(spec),
       [self = shared_from_this(), spec, done = std::move(done)](Result<http::Response> answer) {
         if (!answer && answer.error().kind == ErrorKind::kAlreadyExists)
           return self->adopt(spec, done);
         if (!answer) return done(std::unexpected(answer.error()));
         auto job = wire::object_of(answer->body);
         if (!job) return done(std::unexpected(job.error()));
         const model::Uid uid = uid_of(*job);
         if (uid.empty()) return done(fail(ErrorKind::kUnknownOutcome, "the answer has no uid"));
         done(core::WorkloadCreated{uid});
       });
}

// The name is taken: by our own earlier request, or by somebody else's object.
void Kubernetes::adopt(const WorkloadSpec& spec, On<core::WorkloadCreated> done) {
  call(
      "GET", jobs_path(spec.cluster.kubernetes_namespace) + "/" + spec.name.value(), {},
      [spec, done = std::move(done)](Result<http::Response> answer) {
        if (!answer) return done(fail(ErrorKind::kUnknownOutcome, answer.error().what));
        auto job = wire::object_of(answer->body);
        if (!job) return done(std::unexpected(job.error()));
        if (!is_attempt(*job, spec.installation, spec.job.id, spec.attempt))
          return done(fail(ErrorKind::kAlreadyExists,
                           "a Job named " + spec.name.value() + " exists and is not Falcon's"));
        if (workload_view(*job).deleting)
          return done(fail(ErrorKind::kUnavailable, "the Job of that name is still being deleted"));
        done(core::WorkloadCreated{uid_of(*job)});
      });
}

void Kubernetes::delete_workload(const std::string& kube_namespace, const model::WorkloadName& name,
                                 const model::Uid& uid, On<std::monostate> done) {
  json::object options{
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", "Foreground"}};
  if (!uid.empty()) options["preconditions"] = {{"uid", uid.value()}};
  // The service of several hosts has the Job's name; most Jobs have none. It goes first, so that a
  // repetition of this call finds it while the Job is there to be asked for; being refused it alone
  // does not keep the Job.
  const std::string job = jobs_path(kube_namespace) + "/" + name.value();
  call("DELETE", "/api/v1/namespaces/" + kube_namespace + "/services/" + name.value(), {},
       [self = shared_from_this(), job, body = json::serialize(options),
        done = std::move(done)](Result<http::Response> service) {
         const bool again = !service && service.error().kind != ErrorKind::kNotFound &&
                            service.error().kind != ErrorKind::kDenied;
         if (again) return done(std::unexpected(service.error()));
         self->call("DELETE", job, body, [done](Result<http::Response> answer) {
           if (!answer) return done(std::unexpected(answer.error()));
           done(std::monostate{});
         });
       });
}

// A whole list; one without items is no list.
void Kubernetes::list(const std::string& path, On<json::array> done) {
  call("GET", path, {}, [path, done = std::move(done)](Result<http::Response> answer) {
    if (!answer) return done(std::unexpected(answer.error()));
    auto body = wire::object_of(answer->body);
    if (!body) return done(std::unexpected(body.error()));
    json::value* items = body->if_contains("items");
    if (items == nullptr || !(items->is_array() || items->is_null()))
      return done(fail(ErrorKind::kUnavailable, "the list " + path + " has no items"));
    done(items->is_null() ? json::array() : std::move(items->as_array()));
  });
}

void Kubernetes::look(const std::string& kube_namespace, const model::WorkloadName& name,
                      const model::PoolName& pool, On<core::WorkloadLook> done) {
  const std::string pods_path = "/api/v1/namespaces/" + kube_namespace +
                                "/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D" +
                                name.value();
  const std::string nodes_path =
      "/api/v1/nodes?labelSelector=cloud.google.com%2Fgke-nodepool%3D" + pool.value();
  call("GET", jobs_path(kube_namespace) + "/" + name.value(), {},
       [self = shared_from_this(), pods_path, nodes_path,
        done = std::move(done)](Result<http::Response> answer) {
         core::WorkloadLook look;
         if (answer) {
           auto job = wire::object_of(answer->body);
           if (!job) return done(std::unexpected(job.error()));
           look.workload = workload_view(*job);
         } else if (answer.error().kind != ErrorKind::kNotFound) {
           return done(std::unexpected(answer.error()));
         }
         self->list(pods_path, [self, nodes_path, look, done](Result<json::array> pods) mutable {
           if (!pods) return done(std::unexpected(pods.error()));
           look.pods = static_cast<std::uint32_t>(pods->size());
           look.pods_left = count_if(*pods, [](const json::object& pod) {
             const auto phase = pod_view(pod).phase;
             return phase != core::PodView::Phase::kSucceeded &&
                    phase != core::PodView::Phase::kFailed;
           });
           self->list(nodes_path, [look, done](Result<json::array> nodes) mutable {
             if (!nodes) return done(std::unexpected(nodes.error()));
             look.machines_ready =
                 count_if(*nodes, [](const json::object& node) { return node_view(node).ready; });
             done(std::move(look));
           });
         });
       });
}

}  // namespace falcon::kube
