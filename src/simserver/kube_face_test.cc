#include "simserver/kube_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace falcon::simserver {
namespace {

namespace json = boost::json;
using cloudsim::Kind;
using ::testing::HasSubstr;

constexpr std::string_view kJob = R"({
  "apiVersion":"batch/v1","kind":"Job",
  "metadata":{"name":"j","labels":{"managed-by":"falcon"},"annotations":{"a":"b"}},
  "spec":{"completions":2,"parallelism":2,"completionMode":"Indexed","backoffLimit":0,
    "someNewField":7,
    "template":{"metadata":{"labels":{"managed-by":"falcon"}},
      "spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":5,
        "nodeSelector":{"cloud.google.com/gke-nodepool":"pool"},
        "containers":[{"name":"main","image":"busybox","command":["true"],
          "resources":{"limits":{"google.com/tpu":"4"}}}]}}}})";

class KubeFaceTest : public ::testing::Test {
 protected:
  KubeFaceTest() { world.add_cluster({.gke = gke, .zone = "us-east5-b"}); }

  Call call(std::string method, std::vector<std::string> path,
            std::vector<std::pair<std::string, std::string>> query = {}, std::string body = {}) {
    return Call{std::move(method), std::move(path), std::move(query), {}, std::move(body)};
  }
  std::pair<int, json::object> ask(const Call& what) {
    const auto answer = std::get<Answer>(face.handle(what));
    return {answer.status, json::parse(answer.body).as_object()};
  }
  std::unique_ptr<KubeWatch> watch(std::string resource,
                                   std::vector<std::pair<std::string, std::string>> query) {
    query.emplace_back("watch", "1");
    auto answer = face.handle(call("GET", {"api", "v1", std::move(resource)}, std::move(query)));
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<KubeWatch>>(answer));
    return std::get<std::unique_ptr<KubeWatch>>(std::move(answer));
  }
  std::vector<json::object> lines(KubeWatch& stream) {
    std::vector<json::object> out;
    const std::string text = stream.next(world);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      out.push_back(json::parse(text.substr(at, end - at)).as_object());
      at = end + 1;
    }
    return out;
  }
  void create_job() {
    EXPECT_EQ(ask(call("POST", jobs, {}, std::string(kJob))).first, 201);
    world.advance(world.now() + Duration(5'000));
  }

  const std::vector<std::string> jobs{"apis", "batch", "v1", "namespaces", "default", "jobs"};
  const std::vector<std::string> job{"apis", "batch", "v1", "namespaces", "default", "jobs", "j"};
  const model::GkeCluster gke{"p", "us-east5", "edge"};
  cloudsim::World world{cloudsim::WorldSettings{}, 1};
  KubeFace face{world, gke, Calendar{wall_time_from_unix_ms(1'800'000'000'000)}, {}};
};

TEST_F(KubeFaceTest, ACreatedJobComesBackWithFieldsThatNobodyKnows) {
  create_job();
  const auto [status, object] = ask(call("GET", job));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(object.at("spec").at("someNewField"), 7);
  EXPECT_EQ(object.at("metadata").at("annotations").at("a"), "b");
  EXPECT_EQ(object.at("metadata").at("creationTimestamp"), "2027-01-15T08:00:00Z");
  EXPECT_EQ(object.at("status").at("active"), 2);
  EXPECT_EQ(ask(call("POST", jobs, {}, std::string(kJob))).first, 409);
}

TEST_F(KubeFaceTest, PodsAreMadeFromTheTemplateAndFoundByControllerUid) {
  create_job();
  const std::string uid(ask(call("GET", job)).second.at("metadata").at("uid").as_string());
  const auto [status, list] =
      ask(call("GET", {"api", "v1", "pods"},
               {{"labelSelector", "batch.kubernetes.io/controller-uid=" + uid}}));
  ASSERT_EQ(status, 200);
  ASSERT_EQ(list.at("items").as_array().size(), 2U);
  const json::value& pod = list.at("items").at(1);
  EXPECT_EQ(pod.at("spec").at("containers").at(0).at("image"), "busybox");
  EXPECT_EQ(pod.at("metadata").at("ownerReferences").at(0).at("uid").as_string(), uid);
  EXPECT_EQ(pod.at("metadata").at("annotations").at("batch.kubernetes.io/job-completion-index"),
            "1");
  EXPECT_FALSE(pod.as_object().contains("kind")) << "items of lists do not say what they are";
  const auto none = ask(call("GET", {"api", "v1", "pods"}, {{"labelSelector", "job-name=other"}}));
  EXPECT_TRUE(none.second.at("items").as_array().empty());
}

TEST_F(KubeFaceTest, AListComesInPages) {
  create_job();
  const auto first = ask(call("GET", {"api", "v1", "pods"}, {{"limit", "1"}})).second;
  ASSERT_EQ(first.at("items").as_array().size(), 1U);
  const std::string token(first.at("metadata").at("continue").as_string());
  const auto rest =
      ask(call("GET", {"api", "v1", "pods"}, {{"limit", "1"}, {"continue", token}})).second;
  EXPECT_EQ(rest.at("items").as_array().size(), 1U);
  EXPECT_FALSE(rest.at("metadata").as_object().contains("continue"));
  EXPECT_EQ(rest.at("metadata").at("resourceVersion"), first.at("metadata").at("resourceVersion"));
  EXPECT_EQ(ask(call("GET", {"api", "v1", "pods"}, {{"continue", "page-999"}})).first, 410);
}

TEST_F(KubeFaceTest, WithoutAPolicyADeletedJobOrphansItsPods) {
  create_job();
  const auto [status, object] = ask(call("DELETE", job));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(object.at("kind"), "Status");
  world.advance(world.now() + Duration(60'000));
  const auto pods = ask(call("GET", {"api", "v1", "pods"})).second;
  ASSERT_EQ(pods.at("items").as_array().size(), 2U);
  EXPECT_FALSE(pods.at("items").at(0).at("metadata").as_object().contains("ownerReferences"));
}

TEST_F(KubeFaceTest, AForegroundDeleteAnswersWithTheTerminatingJob) {
  create_job();
  const auto wrong = ask(call("DELETE", job, {}, R"({"preconditions":{"uid":"other"}})"));
  EXPECT_EQ(wrong.first, 409);
  EXPECT_EQ(wrong.second.at("reason"), "Conflict");
  const auto [status, object] =
      ask(call("DELETE", job, {}, R"({"propagationPolicy":"Foreground"})"));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(object.at("metadata").at("finalizers").at(0), "foregroundDeletion");
  world.advance(world.now() + Duration(60'000));
  EXPECT_EQ(ask(call("GET", job)).first, 404);
}

TEST_F(KubeFaceTest, AJobThatKubernetesWouldRefuseIsRefused) {
  std::string text(kJob);
  text.replace(text.find("\"Never\""), 7, "\"Always\"");
  const auto [status, object] = ask(call("POST", jobs, {}, text));
  EXPECT_EQ(status, 422);
  EXPECT_THAT(std::string(object.at("message").as_string()), HasSubstr("restartPolicy"));
  EXPECT_EQ(ask(call("POST", jobs, {}, "{half")).first, 400);
  const auto other =
      call("POST", {"apis", "batch", "v1", "namespaces", "nowhere", "jobs"}, {}, std::string(kJob));
  EXPECT_EQ(ask(other).first, 404);
}

TEST_F(KubeFaceTest, AWatchTellsWhatIsThenWhatChanges) {
  create_job();
  const auto stream = watch("pods", {{"allowWatchBookmarks", "true"}, {"timeoutSeconds", "300"}});
  const auto first = lines(*stream);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].at("type"), "ADDED");
  EXPECT_EQ(first[0].at("object").at("kind"), "Pod");
  EXPECT_TRUE(lines(*stream).empty());
  const std::string name(first[0].at("object").at("metadata").at("name").as_string());
  ask(call("DELETE", {"api", "v1", "namespaces", "default", "pods", name}));
  bool deleted = false;
  for (const json::object& line : lines(*stream))
    deleted = deleted || (line.at("type") == "DELETED" &&
                          line.at("object").at("metadata").at("name").as_string() == name);
  EXPECT_TRUE(deleted);
  world.advance(world.now() + Duration(60'000));
  EXPECT_EQ(lines(*stream).back().at("type"), "BOOKMARK");
  world.advance(world.now() + Duration(240'000));
  (void)lines(*stream);
  EXPECT_TRUE(stream->ended());
}

TEST_F(KubeFaceTest, AWatchFromAVersionTellsOnlyLaterChanges) {
  create_job();
  const std::string version = std::to_string(world.resource_version(gke));
  const auto stream = watch("pods", {{"resourceVersion", version}});
  EXPECT_TRUE(lines(*stream).empty());
}

TEST_F(KubeFaceTest, AnObjectThatStopsMatchingIsReportedAsDeleted) {
  const std::vector<std::string> services{"api", "v1", "namespaces", "default", "services"};
  const std::string body = R"({"kind":"Service","metadata":{"name":"s","labels":{"a":"1"}}})";
  ASSERT_EQ(ask(call("POST", services, {}, body)).first, 201);
  const auto stream = watch("services", {{"labelSelector", "a=1"}});
  ASSERT_EQ(lines(*stream).size(), 1U);
  Call patch = call("PATCH", {"api", "v1", "namespaces", "default", "services", "s"}, {},
                    R"({"metadata":{"labels":{"a":"2"}}})");
  patch.headers.emplace_back("content-type", "application/merge-patch+json");
  ASSERT_EQ(ask(patch).first, 200);
  const auto after = lines(*stream);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].at("type"), "DELETED");
}

TEST_F(KubeFaceTest, AVersionThatIsTooOldIsGoneInBothShapes) {
  cloudsim::WorldSettings settings;
  settings.history_max = 4;
  cloudsim::World small(settings, 1);
  small.add_cluster({.gke = gke, .zone = "us-east5-b"});
  KubeFace old(small, gke, Calendar{}, {});
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(
        small.create_plain(gke, Kind::kService, "default", "s" + std::to_string(i), {}, {}));
  const Call again =
      call("GET", {"api", "v1", "services"}, {{"watch", "1"}, {"resourceVersion", "2"}});
  bool as_status = false;
  bool in_stream = false;
  for (int i = 0; i < 2; ++i) {
    auto answer = old.handle(again);
    if (const auto* whole = std::get_if<Answer>(&answer)) {
      as_status = whole->status == 410;
    } else {
      const std::string text = std::get<std::unique_ptr<KubeWatch>>(answer)->next(small);
      in_stream = text.find("\"ERROR\"") != std::string::npos &&
                  text.find("\"code\":410") != std::string::npos;
    }
  }
  EXPECT_TRUE(as_status);
  EXPECT_TRUE(in_stream);
}

TEST_F(KubeFaceTest, LeasesAreReplacedOnTheVersionThatWasRead) {
  const std::vector<std::string> leases{
      "apis", "coordination.k8s.io", "v1", "namespaces", "default", "leases"};
  const auto made =
      ask(call("POST", leases, {}, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}})"));
  ASSERT_EQ(made.first, 201);
  std::vector<std::string> lease = leases;
  lease.emplace_back("l");
  const std::string version(made.second.at("metadata").at("resourceVersion").as_string());
  const std::string body = R"({"metadata":{"name":"l","resourceVersion":")" + version +
                           R"("},"spec":{"holderIdentity":"b"}})";
  EXPECT_EQ(ask(call("PUT", lease, {}, body)).second.at("spec").at("holderIdentity"), "b");
  EXPECT_EQ(ask(call("PUT", lease, {}, body)).first, 409);
}

TEST_F(KubeFaceTest, WhatIsNotServedIsSaid) {
  EXPECT_EQ(ask(call("GET", {"api", "v1", "secrets"})).first, 404);
  EXPECT_EQ(ask(call("POST", {"api", "v1", "namespaces", "default", "pods"}, {}, "{}")).first, 405);
  EXPECT_EQ(ask(call("GET", {"api", "v1", "pods"}, {{"fieldSelector", "spec.x=1"}})).first, 400);
  EXPECT_EQ(ask(call("GET", {"apis", "batch", "v1"})).second.at("resources").at(0).at("name"),
            "jobs");
}

}  // namespace
}  // namespace falcon::simserver
