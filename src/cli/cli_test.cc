// The command line as people and scripts meet it: what is sent, what is printed where, and the exit
// code.
#include "cli/cli.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/test_cli.h"

namespace falcon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Cli, SubmitsAFile) {
  files_["job.yaml"] =
      "name: train\nspec: {image: i, command: [a, b c], tpu_type: v6e, topology: 2x2}\n";
  answer("POST /v1/jobs", 201, job_json({}));
  EXPECT_EQ(run({"submit", "-f", "job.yaml"}), kExitOk);
  EXPECT_EQ(out(),
            fmt::format("job train submitted ({}); follow it: falcon logs -f train\n", kJobId));
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_THAT(requests_[0].body, HasSubstr(R"("command":["a","b c"])"));
  EXPECT_THAT(requests_[0].body, HasSubstr(R"("actor":"ann")"));
  EXPECT_THAT(requests_[0].headers,
              ElementsAre(std::pair<std::string, std::string>("Authorization", "Bearer secret"),
                          std::pair<std::string, std::string>("Content-Type", "application/json")));
}

TEST_F(Cli, SubmitsStandardInputAndPrintsTheIdAlone) {
  in_.str("name: train\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n");
  answer("POST /v1/jobs", 201, job_json({}));
  EXPECT_EQ(run({"submit", "-f", "-", "-o", "name"}), kExitOk);
  EXPECT_EQ(out(), std::string(kJobId) + "\n");
}

TEST_F(Cli, SubmitsByFlagsAndLeavesTheCommandAlone) {
  answer("POST /v1/jobs", 201, job_json({}));
  EXPECT_EQ(run({"submit",     "--name",    "train",      "--image", "i",
                 "--tpu-type", "v6e",       "--topology", "2x2",     "--supply-mode",
                 "flex-start", "--timeout", "90m",        "--env",   "A=1=2",
                 "--env",      "B=",        "--label",    "team=x",  "--",
                 "python3",    "-c",        "print(1)",   "--",      "--help"}),
            kExitOk)
      << err();
  const std::string& body = requests_.at(0).body;
  EXPECT_THAT(body, HasSubstr(R"j(["python3","-c","print(1)","--","--help"])j"));
  EXPECT_THAT(body, HasSubstr(R"("timeout_seconds":5400)"));
  EXPECT_THAT(body, HasSubstr(R"("flex-start")"));
  EXPECT_THAT(body, HasSubstr(R"({"name":"A","value":"1=2"})"));
  EXPECT_THAT(body, HasSubstr(R"({"name":"B","value":""})"));
  EXPECT_THAT(body, HasSubstr(R"("labels":{"team":"x"})"));
}

TEST_F(Cli, KnowsWhoSubmitsWhereNoUserIsSet) {
  environment_.erase("USER");
  in_.str("name: train\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n");
  answer("POST /v1/jobs", 201, job_json({}));
  EXPECT_EQ(run({"submit", "-f", "-"}), kExitOk);
  EXPECT_THAT(requests_.at(0).body, HasSubstr(R"("actor":"login")"));
}

TEST_F(Cli, SendsNothingWhenAFileIsWrong) {
  files_["jobs.yaml"] =
      "name: good\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n---\n"
      "name: bad\nspec: {image: i, command: [a], tpu_type: v6e, topolgy: 2x2}\n";
  EXPECT_EQ(run({"submit", "-f", "jobs.yaml"}), kExitUsage);
  EXPECT_EQ(err(),
            "falcon: jobs.yaml:5: spec.topolgy: unknown field; did you mean \"topology\"?\n"
            "falcon: nothing was submitted\n");
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(Cli, NamesTheFlagThatIsWrong) {
  EXPECT_EQ(run({"submit", "--name", "Train", "--image", "i", "--tpu-type", "v6e", "--topology",
                 "3x3", "--", "a"}),
            kExitUsage);
  EXPECT_THAT(err(), HasSubstr("falcon: --name: \"Train\" is no name"));
  EXPECT_THAT(err(), HasSubstr("falcon: --topology: "));
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(Cli, PassesTheServersRefusalOn) {
  files_["job.yaml"] =
      "name: train\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n";
  answer("POST /v1/jobs", 400,
         R"({"status":400,"title":"Bad Request","code":"invalid","detail":"d",)"
         R"("errors":[{"field":"spec.image","what":"is not allowed here"}]})");
  EXPECT_EQ(run({"submit", "-f", "job.yaml"}), kExitUsage);
  EXPECT_EQ(err(), "falcon: spec.image: is not allowed here\n");
  EXPECT_EQ(out(), "");
}

TEST_F(Cli, WaitsForWhatItSubmittedAndTellsTheOutcomeByItsExitCode) {
  files_["job.yaml"] =
      "name: train\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n";
  answer("POST /v1/jobs", 201, job_json({}));
  answer("GET " + kJobPath, 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({}));
  answer("GET " + kJobPath, 200, failed_job_json());
  EXPECT_EQ(run({"submit", "-f", "job.yaml", "--wait"}), kExitJobFailed);
  EXPECT_EQ(err(),
            "train  Running  Pod 运行中 (1/1 active)\n"
            "train  Failed/JobFailed  Pod terminated: Error (exit code 3)\n");
}

TEST_F(Cli, WaitsByNameAndStaysWithTheJobItFound) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({.status = "Aborted", .message = "用户中止"}));
  EXPECT_EQ(run({"wait", "train"}), kExitJobAborted);
  EXPECT_THAT(sent(), ElementsAre("GET /v1/jobs/train", "GET " + kJobPath));
}

TEST_F(Cli, WaitsForAStatusOrUntilItCanNeverCome) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  EXPECT_EQ(run({"wait", "train", "--for", "Running"}), kExitOk);
  answer("GET /v1/jobs/over", 200, failed_job_json());
  EXPECT_EQ(run({"wait", "over", "--for", "Running"}), kExitOk);  // it had been running
  EXPECT_EQ(run({"wait", "over", "--for", "Succeeded"}), kExitJobFailed);
  EXPECT_THAT(err(), HasSubstr("train ended as Failed and will never be Succeeded"));
  answer("GET /v1/jobs/never", 200,
         job_json({.status = "Failed", .reason = "NodePoolFailed", .started_at = "null"}));
  EXPECT_EQ(run({"wait", "never", "--for", "Running"}), kExitJobFailed);
}

TEST_F(Cli, GivesUpWaitingInTime) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({}));
  EXPECT_EQ(run({"wait", "train", "--timeout", "3s"}), kExitTimedOut);
  EXPECT_EQ(sent().size(), 4u);
  EXPECT_THAT(err(), HasSubstr("gave up waiting after 3s; the job goes on"));
}

TEST_F(Cli, BridgesAServerThatIsAwayForAWhile) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET " + kJobPath, 503, R"({"title":"Service Unavailable","detail":"starting"})");
  answer("GET " + kJobPath, 503, R"({"title":"Service Unavailable","detail":"starting"})");
  answer("GET " + kJobPath, 200, job_json({.status = "Succeeded", .message = ""}));
  EXPECT_EQ(run({"wait", "train"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("no answer, still trying: starting"));
}

TEST_F(Cli, GivesUpOnAServerThatStaysAway) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  EXPECT_EQ(run({"wait", "train"}), kExitUnreachable);
  EXPECT_EQ(sent().size(), 62u);  // one answer, then a look each second for a minute
}

TEST_F(Cli, ListsJobs) {
  answer("GET /v1/jobs?status=Running&limit=200", 200,
         fmt::format(R"({{"items":[{}],"next_page_token":"","sequence":9}})", job_json({})));
  EXPECT_EQ(run({"get", "jobs", "--status", "Running"}), kExitOk) << err();
  EXPECT_EQ(out(),
            "NAME   ACTOR  STATUS   REASON  TPU      CLUSTER  AGE   MESSAGE\n"
            "train  ann    Running  -       v6e 2x2  c1       2m5s  Pod 运行中 (1/1 active)\n");
}

TEST_F(Cli, FollowsPagesOfAList) {
  answer("GET /v1/jobs?limit=200", 200,
         fmt::format(R"({{"items":[{}],"next_page_token":"t 1"}})", job_json({})));
  answer("GET /v1/jobs?limit=199&page_token=t%201", 200,
         fmt::format(R"({{"items":[{}],"next_page_token":""}})", job_json({})));
  EXPECT_EQ(run({"get", "jobs", "-o", "name"}), kExitOk);
  EXPECT_EQ(out(), fmt::format("{0}\n{0}\n", kJobId));
}

TEST_F(Cli, PrintsJsonAndYamlForPrograms) {
  answer("GET /v1/jobs?name=train&limit=200", 200,
         fmt::format(R"({{"items":[{}],"next_page_token":""}})", job_json({})));
  EXPECT_EQ(run({"get", "job", "train", "-o", "json"}), kExitOk);
  EXPECT_THAT(out(), StartsWith("{\n  \"id\": \"0193a000"));
  EXPECT_EQ(run({"get", "jobs", "train", "-o", "yaml"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("\nname: train\nactor: ann\n"));
}

TEST_F(Cli, AsksForTheReadersLanguage) {
  answer("GET /v1/jobs?limit=200", 200, R"({"items":[],"next_page_token":""})");
  EXPECT_EQ(run({"--language", "en", "get", "jobs"}), kExitOk);
  EXPECT_THAT(requests_.back().headers,
              ::testing::Contains(std::pair<std::string, std::string>("Accept-Language", "en")));
  EXPECT_THAT(err(), HasSubstr("No jobs. Submit one: falcon submit -f job.yaml"));
  EXPECT_EQ(out(), "");
  environment_["FALCON_LANGUAGE"] = "zh_CN.UTF-8";
  EXPECT_EQ(run({"get", "jobs"}), kExitOk);
  EXPECT_THAT(requests_.back().headers,
              ::testing::Contains(std::pair<std::string, std::string>("Accept-Language", "zh")));
  EXPECT_EQ(run({"get", "jobs", "--language", "latin"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("--language: \"latin\" is not one of zh, en"));
}

TEST_F(Cli, DescribesAJobWithItsHistoryAndWhatToDo) {
  answer("GET /v1/jobs/train", 200, failed_job_json());
  answer(
      "GET " + kJobPath + "/events", 200,
      R"({"items":[{"at":"2026-12-01T08:00:00Z","status":"Pending","reason":"Waiting","message":"m"},)"
      R"({"at":"2026-12-01T08:02:00Z","status":"Failed","reason":"JobFailed","message":"n"}]})");
  answer("GET /v1/clusters/c-id", 200,
         R"({"id":"c-id","name":"c1","project":"p","location":"us-east5","zone":"us-east5-a",)"
         R"("tpu_type":"v6e","gcs_bucket":"bucket","default_reservation":"",)"
         R"("kubernetes_namespace":"jobs","service_account":"","status":"active",)"
         R"("created_at":"2026-12-01T07:00:00Z","version":1})");
  EXPECT_EQ(run({"describe", "job", "train"}), kExitOk) << err();
  for (const char* words :
       {"Status:      Failed/JobFailed\n", "Message:     Pod terminated: Error (exit code 3)\n",
        "Exit code:   3\n", "Machines:    v6e 2x2 (4 chips on 1 ct6e-standard-4t machine)\n",
        "Command:     python3 -c 'print('\\''x'\\'')'\n", "Logs:        gs://bucket/logs/",
        "2026-12-01T08:00:00Z  Pending/Waiting           m\n", "its last words: falcon logs train",
        "gcloud container clusters get-credentials c1 --location us-east5 --project p\n",
        "kubectl -n jobs get jobs,pods -l falcon-job="})
    EXPECT_THAT(out(), HasSubstr(words));
}

TEST_F(Cli, AbortsAndPassesOnWhyNot) {
  answer("POST /v1/jobs/train:abort", 200, job_json({.status = "Aborting", .message = "正在中止"}));
  answer("POST /v1/jobs/old:abort", 409,
         R"({"status":409,"title":"Conflict","code":"finished","detail":"job old is Succeeded"})");
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET /v1/jobs/old", 200, job_json({.status = "Succeeded"}));
  EXPECT_EQ(run({"abort", "old", "train"}), kExitFailed);
  EXPECT_EQ(out(),
            fmt::format("job train is Aborting; wait for its end: falcon wait {}\n", kJobId));
  EXPECT_EQ(err(), "falcon: job old is Succeeded\n");
}

TEST_F(Cli, AbortsNothingWhenOneNameIsNone) {
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET /v1/jobs/trian", 404,
         R"({"status":404,"title":"Not Found","code":"not_found","detail":"no job trian"})");
  EXPECT_EQ(run({"abort", "train", "trian"}), kExitFailed);
  EXPECT_THAT(sent(), ElementsAre("GET /v1/jobs/train", "GET /v1/jobs/trian"));
  EXPECT_EQ(err(), "falcon: no job trian\nfalcon: nothing was aborted\n");
}

TEST_F(Cli, NamesThatAreNoneAreNoEmptyLists) {
  answer("GET /v1/pools", 200, R"({"items":[]})");
  answer("GET /v1/clusters", 200, R"({"items":[],"sequence":1})");
  answer("GET /v1/queues", 200, R"({"items":[]})");
  EXPECT_EQ(run({"get", "pools", "nope"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("falcon: there is no node pool \"nope\"; what there is: "));
  EXPECT_EQ(run({"get", "queues", "nope"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("falcon: there is no cluster \"nope\""));
  EXPECT_EQ(run({"get", "pools"}), kExitOk);
}

// The bucket of the log tests: one object, `text` long so far.
const std::string kObjects = fmt::format("GET /storage/v1/b/bucket/o?prefix=logs%2F{}%2F", kJobId);
std::string object_json(const std::string& pod, std::size_t size) {
  return fmt::format(R"({{"name":"logs/{}/{}.log","size":"{}"}})", kJobId, pod, size);
}
std::string object_path(const std::string& pod) {
  return fmt::format("GET /storage/v1/b/bucket/o/logs%2F{}%2F{}.log?alt=media", kJobId, pod);
}
constexpr const char* kVersionJson =
    R"({"version":"1","schema":1,"language":"zh","installation":"i","storage_endpoint":"http://127.0.0.1:2","now":"2026-12-01T08:00:00Z"})";

TEST_F(Cli, PrintsALog) {
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer(kObjects, 200, fmt::format(R"({{"items":[{}]}})", object_json("falcon-abc-0-x7k2p", 8)));
  answer(object_path("falcon-abc-0-x7k2p"), 206, "one\ntwo\n");
  EXPECT_EQ(run({"logs", "train"}), kExitOk) << err();
  EXPECT_EQ(out(), "one\ntwo\n");
  EXPECT_EQ(err(), "");
}

TEST_F(Cli, FollowsALogToTheJobsEnd) {
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({.status = "Succeeded", .message = ""}));
  const std::string pod = "falcon-abc-0-x7k2p";
  answer(kObjects, 200, R"({})");
  answer(kObjects, 200, fmt::format(R"({{"items":[{}]}})", object_json(pod, 4)));
  answer(kObjects, 200, fmt::format(R"({{"items":[{}]}})", object_json(pod, 7)));
  answer(object_path(pod), 206, "one\n");
  answer(object_path(pod), 206, "two");
  EXPECT_EQ(run({"logs", "-f", "train"}), kExitOk) << err();
  EXPECT_EQ(out(), "one\ntwo");
  EXPECT_EQ(err(), "train  Running  Pod 运行中 (1/1 active)\ntrain  Succeeded\n");
  std::vector<std::string> ranges;
  for (const http::Request& request : requests_)
    for (const auto& [name, value] : request.headers)
      if (name == "Range") ranges.push_back(value);
  EXPECT_THAT(ranges, ElementsAre(StartsWith("bytes=0-"), StartsWith("bytes=4-")));
}

TEST_F(Cli, ReadsTheBucketWithATokenAndRenewsIt) {
  const std::string token = "GET /computeMetadata/v1/instance/service-accounts/default/token";
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer("GET " + kJobPath, 200, job_json({.status = "Succeeded", .message = ""}));
  answer(token, 200, R"({"access_token":"t1","expires_in":3600,"token_type":"Bearer"})");
  answer(token, 200, R"({"access_token":"t2","expires_in":3600,"token_type":"Bearer"})");
  answer(kObjects, 200, "{}");
  answer(kObjects, 401, "{}");
  answer(kObjects, 200, "{}");
  EXPECT_EQ(run({"logs", "-f", "train"}), kExitOk) << err();
  std::vector<std::string> used;
  for (const http::Request& request : requests_)
    for (const auto& [name, value] : request.headers)
      if (name == "Authorization" && request.url.find("/storage/") != std::string::npos)
        used.push_back(value);
  EXPECT_THAT(used, ElementsAre("Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"));
}

TEST_F(Cli, SaysHowToReadABucketThatIsClosed) {
  environment_["FALCON_GOOGLE_TOKEN"] = "mine";
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200, job_json({}));
  answer(kObjects, 403, "{}");
  EXPECT_EQ(run({"logs", "train"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("bucket bucket can't be read (403): set FALCON_GOOGLE_TOKEN"));
}

TEST_F(Cli, NamesThePodBeforeEachLineWhenThereAreSeveral) {
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200, job_json({.topology = "4x4"}));
  answer(kObjects, 200,
         fmt::format(R"({{"items":[{},{}]}})", object_json("falcon-a-1-bb", 5),
                     object_json("falcon-a-0-aa", 4)));
  answer(object_path("falcon-a-0-aa"), 206, "a\nb\n");
  answer(object_path("falcon-a-1-bb"), 206, "c\npar");
  EXPECT_EQ(run({"logs", "train"}), kExitOk) << err();
  EXPECT_EQ(out(), "[0-aa] a\n[0-aa] b\n[1-bb] c\n[1-bb] par\n");
  EXPECT_EQ(run({"logs", "train", "--pod", "1"}), kExitOk) << err();
  EXPECT_THAT(out(), ::testing::EndsWith("[1-bb] par\n[1-bb] c\n[1-bb] par\n"));
}

TEST_F(Cli, SaysWhyThereIsNoLogYet) {
  answer("GET /v1/version", 200, kVersionJson);
  answer("GET /v1/jobs/train", 200,
         job_json({.status = "Pending", .reason = "Provisioning", .message = "m"}));
  answer(kObjects, 404, "{}");
  EXPECT_EQ(run({"logs", "train"}), kExitFailed);
  EXPECT_EQ(err(), "falcon: train has no log yet; it is Pending/Provisioning: m\n");
}

TEST_F(Cli, TakesAFileOrFlagsNotBoth) {
  files_["job.yaml"] = "name: x";
  EXPECT_EQ(run({"submit", "-f", "job.yaml", "--image", "i"}), kExitUsage);
  EXPECT_EQ(err(), "falcon submit: --image does not go with --file; write it into the file\n");
  EXPECT_EQ(run({"submit", "-f", "job.yaml", "--", "x"}), kExitUsage);
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(Cli, FindsMistakesWithoutAServer) {
  files_.clear();
  files_["job.yaml"] = "nmae: x";
  EXPECT_EQ(run({"submit", "-f", "job.yaml"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("job.yaml:1: nmae"));
  EXPECT_EQ(run({"submit", "-f", "none.yaml"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("falcon: none.yaml: No such file"));
  EXPECT_EQ(run({"version"}), kExitUnreachable);
  EXPECT_THAT(out(), StartsWith("falcon "));
}

TEST_F(Cli, ShowsHelp) {
  EXPECT_EQ(run({"help"}), kExitOk);
  for (const char* words : {"submit", "apiserver", "controller", "sim", "up", "Exit codes"})
    EXPECT_THAT(out(), HasSubstr(words));
  EXPECT_EQ(run({"help", "cluster", "add"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("--reservation"));
  EXPECT_EQ(run({"logs", "--help"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("--follow"));
  EXPECT_EQ(run({"help", "nothing"}), kExitUsage);
}

TEST_F(Cli, SaysWhatToTypeWhenNoServerIsThere) {
  EXPECT_EQ(run({"get", "jobs"}), kExitUnreachable);
  EXPECT_THAT(err(), HasSubstr("http://127.0.0.1:1 is not there"));
  EXPECT_THAT(err(), HasSubstr("start it with \"falcon up\""));
  files_.clear();
  EXPECT_EQ(run({"get", "jobs"}), kExitUnreachable);
  EXPECT_THAT(err(), HasSubstr("no API server has started in /data"));
  EXPECT_EQ(run({"get", "jobs", "--data", "/else"}), kExitUnreachable);
  EXPECT_THAT(err(), HasSubstr("/else/api.json"));
}

TEST_F(Cli, TakesTheServersPlaceFromTheEnvironment) {
  environment_["FALCON_URL"] = "http://127.0.0.1:9/";
  EXPECT_EQ(run({"get", "jobs"}), kExitUnreachable);
  EXPECT_THAT(err(), HasSubstr("FALCON_TOKEN is not"));
  EXPECT_THAT(requests_, IsEmpty());
  environment_["FALCON_TOKEN"] = "t";
  run({"get", "jobs"});
  EXPECT_EQ(requests_.at(0).url, "http://127.0.0.1:9/v1/jobs?limit=200");
  run({"get", "jobs", "--data", "/data"});  // what is typed goes first
  EXPECT_EQ(requests_.at(1).url, "http://127.0.0.1:1/v1/jobs?limit=200");
}

TEST_F(Cli, ExplainsATokenThatDoesNotFit) {
  answer("GET /v1/jobs?limit=200", 401, R"({"status":401,"title":"Unauthorized","detail":"no"})");
  EXPECT_EQ(run({"get", "jobs"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("the token does not fit"));
}

TEST_F(Cli, IsNotFooledByAnotherProgramOnThePort) {
  answer("GET /v1/jobs?limit=200", 200, "<html>hello</html>");
  EXPECT_EQ(run({"get", "jobs"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("is another program on its port?"));
}

}  // namespace
}  // namespace falcon::cli
