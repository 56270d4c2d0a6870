// Who may call, what is refused, and the data folder: through real sockets.
#include "api/server.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "api/test_api.h"

namespace falcon::api {
namespace {

class ServerTest : public ApiTest {};

TEST_F(ServerTest, WritesTokenAndAddressForTheCommandLine) {
  const std::string token = file_text(folder_.path() + "/data/token");
  EXPECT_EQ(token, server_->token() + "\n");
  EXPECT_EQ(server_->token().size(), 64u);
  EXPECT_NE(file_text(folder_.path() + "/data/api.json").find(server_->url()), std::string::npos);
  struct stat status{};
  ASSERT_EQ(::stat((folder_.path() + "/data/token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  ASSERT_EQ(::stat((folder_.path() + "/data").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  server_->stop();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/data/api.json"));
  start();
  EXPECT_EQ(file_text(folder_.path() + "/data/token"), token);
}

TEST_F(ServerTest, OnlyThoseWithTheTokenMayCall) {
  http::Request bare = request("GET", "/v1/jobs");
  bare.headers.clear();
  EXPECT_EQ(send(bare).status, 401);
  EXPECT_EQ(send(bare).at("/code"), "unauthorized");
  bare.headers = {{"Authorization", "Bearer " + server_->token() + "0"}};
  EXPECT_EQ(send(bare).status, 401);
  bare.headers = {{"Authorization", "Basic " + server_->token()}};
  EXPECT_EQ(send(bare).status, 401);
  bare.headers = {{"Authorization", "bearer " + server_->token()}};
  EXPECT_EQ(send(bare).status, 200);
  bare.headers.clear();
  bare.url = server_->url() + "/healthz";
  EXPECT_EQ(send(bare).status, 200);
  bare.url = server_->url() + "/readyz";
  EXPECT_EQ(send(bare).status, 200);
}

TEST_F(ServerTest, WebPagesMayNotCall) {
  http::Request page = request("GET", "/v1/jobs");
  page.headers.emplace_back("Origin", "http://127.0.0.1");
  EXPECT_EQ(send(page).status, 403);
  http::Request rebound = request("GET", "/v1/jobs");
  rebound.headers.emplace_back("Host", "evil.example:80");
  EXPECT_EQ(send(rebound).status, 403);
  EXPECT_EQ(send(rebound).at("/code"), "forbidden");
  http::Request local = request("GET", "/v1/jobs");
  local.headers.emplace_back("Host", "LOCALHOST:1");
  EXPECT_EQ(send(local).status, 200);
  http::Request form = request("POST", "/v1/jobs", job_text("a"));
  form.headers.back().second = "text/plain";
  EXPECT_EQ(send(form).status, 415);
  form.headers.back().second = "application/json; charset=utf-8";
  EXPECT_EQ(send(form).status, 201);
  EXPECT_EQ(call("GET", "/v1/jobs").at("/items/1"), "-");
}

TEST_F(ServerTest, NamesGivenAsHostNamesMayBeUsed) {
  server_->stop();
  Settings settings;
  settings.host_names = {"falcon.example"};
  start(std::move(settings));
  http::Request named = request("GET", "/v1/jobs");
  named.headers.emplace_back("Host", "falcon.example:8080");
  EXPECT_EQ(send(named).status, 200);
}

TEST_F(ServerTest, BrokenBodiesAreRefusedAndChangeNothing) {
  const std::string good = job_text("a");
  const Answer large = call("POST", "/v1/jobs", good + std::string(10'000'000, ' '));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.at("/code"), "too_large");
  const Answer half = call("POST", "/v1/jobs", good.substr(0, good.size() / 2));
  EXPECT_EQ(half.status, 400);
  EXPECT_EQ(half.at("/errors/0/what"), "ends in the middle of the JSON");
  EXPECT_EQ(half.content_type, "application/problem+json");
  const Answer twice = call("POST", "/v1/jobs", R"({"name":"b",)" + good.substr(1));
  EXPECT_EQ(twice.status, 400);
  EXPECT_EQ(twice.at("/errors/0/field"), "name");
  EXPECT_EQ(call("POST", "/v1/jobs", good + "x").status, 400);
  const Answer unknown = call("POST", "/v1/jobs", R"({"pritority":1,)" + good.substr(1));
  EXPECT_EQ(unknown.at("/errors/0/what"), "there is no such field; did you mean priority?");
  EXPECT_EQ(unknown.at("/title"), "Bad Request");
  EXPECT_EQ(call("GET", "/v1/jobs").at("/items"), "[]");
}

TEST_F(ServerTest, EveryAbsurdNumberIsA400) {
  for (const char* field :
       {"timeout_seconds", "termination_grace_seconds", "max_retries", "max_wait_seconds"})
    for (const char* value : {"-1", "2147483648", "9223372036854775808", "1e308", "3600.5",
                              "\"3600\"", "null", "true"}) {
      std::string text = job_text("a");
      text.insert(text.find("\"image\""), fmt::format("\"{}\":{},", field, value));
      const Answer answer = call("POST", "/v1/jobs", text);
      EXPECT_EQ(answer.status, 400) << field << " " << value;
      EXPECT_EQ(answer.at("/errors/0/field"), std::string("spec.") + field) << value;
    }
  for (const char* limit : {"0", "-1", "1001", "9223372036854775808", "1.5", "x", ""})
    EXPECT_EQ(call("GET", std::string("/v1/jobs?limit=") + limit).status, 400) << limit;
  EXPECT_EQ(call("GET", "/v1/jobs").at("/items"), "[]");
}

TEST_F(ServerTest, PathsParametersAndMethodsThatDoNotExist) {
  EXPECT_EQ(call("GET", "/v1/job").status, 404);
  EXPECT_EQ(call("GET", "/").status, 404);
  EXPECT_EQ(call("GET", "/v1/jobs/").status, 404);
  EXPECT_EQ(call("DELETE", "/v1/jobs").status, 405);
  EXPECT_EQ(call("POST", "/v1/jobs/x:explode", "{}").status, 404);
  const Answer wrong = call("GET", "/v1/jobs?statsu=Pending");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.at("/errors/0/what"), "there is no such parameter; did you mean status?");
  EXPECT_EQ(call("GET", "/v1/jobs?status=pending").status, 400);
  EXPECT_EQ(call("GET", "/v1/jobs?status=Pending&status=Running").status, 400);
  EXPECT_EQ(call("GET", "/v1/jobs?cluster=nowhere").status, 404);
  EXPECT_EQ(call("GET", "/v1/jobs/%FF%00").status, 404);
}

TEST_F(ServerTest, APortInUseAndAFolderWithoutPermissionAreSaidInOneLine) {
  Settings settings;
  settings.data = folder_.path() + "/other";
  settings.port = port_;
  ApiServer second(settings);
  const auto in_use = second.start();
  ASSERT_FALSE(in_use);
  EXPECT_EQ(in_use.error().kind, ErrorKind::kAlreadyExists);
  EXPECT_EQ(in_use.error().what.find('\n'), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/other/api.json"));
  std::ofstream(folder_.path() + "/file") << "x";
  settings.data = folder_.path() + "/file/data";
  settings.port = 0;
  ApiServer third(settings);
  const auto refused = third.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
}

TEST_F(ServerTest, SaysWhoItIs) {
  const Answer version = call("GET", "/v1/version");
  EXPECT_EQ(version.status, 200);
  EXPECT_EQ(version.at("/version"), "test");
  EXPECT_EQ(version.at("/installation"), "falcon");
  EXPECT_EQ(version.at("/language"), "zh");
  EXPECT_NE(version.at("/now"), "-");
}

TEST_F(ServerTest, LogsWritesAndRefusalsWithTheirRequestId) {
  server_->stop();
  std::mutex mutex;
  std::vector<Answer> lines;
  Settings settings;
  settings.log = [&](std::string_view line) {
    const std::scoped_lock lock(mutex);
    lines.push_back(Answer{0, std::string(line), ""});
  };
  start(std::move(settings));
  const auto response = http::send_and_wait(client_, request("POST", "/v1/jobs", job_text("a")));
  ASSERT_TRUE(response);
  EXPECT_EQ(call("GET", "/v1/jobs").status, 200);
  server_->stop();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].at("/request"), http::header(*response, "x-request-id"));
  EXPECT_EQ(lines[0].at("/status"), "201");
  EXPECT_EQ(lines[0].at("/target"), "/v1/jobs");
}

}  // namespace
}  // namespace falcon::api
