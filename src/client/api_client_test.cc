#include "client/api_client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>

#include "http/server.h"

namespace falcon::client {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kJob =
    R"({"id":"j-%","name":"train","actor":"ann","spec":{"image":"busybox","command":["true"],)"
    R"("args":[],"env":[],"tpu_type":"v6e","topology":"2x2","timeout_seconds":60,)"
    R"("termination_grace_seconds":30,"max_retries":0},"created_at":"2026-12-01T08:30:00Z",)"
    R"("version":7,"status":"Pending","reason":"Waiting","message_code":"Queued",)"
    R"("message_arguments":[]})";

std::string job_json(std::string_view number) {
  std::string text(kJob);
  return text.replace(text.find('%'), 1, number);
}

std::string problem(int status, std::string_view code) {
  return fmt::format(R"({{"status":{},"title":"T","code":"{}","detail":"in words"}})", status,
                     code);
}

// A server that answers as the test says, and a client of it.
class ApiClientTest : public testing::Test {
 protected:
  void start(http::Handler handler) {
    server_ = std::make_unique<http::Server>(http::ServerSettings{}, std::move(handler));
    const auto port = server_->start();
    ASSERT_TRUE(port) << port.error().what;
    api_.emplace(http_, "http://127.0.0.1:" + std::to_string(*port), "secret");
  }
  // Every request gets this.
  void start_with(int status, std::string body) {
    start([status, body](const http::ServerRequest&, const http::Reply& reply) {
      reply.send({status, body});
    });
  }
  void TearDown() override {
    if (server_) server_->stop();
  }
  // Calls and waits for the answer.
  template <class T, class Call>
  Result<T> wait(Call call) {
    std::promise<Result<T>> promise;
    call([&promise](Result<T> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }
  Result<std::uint64_t> write_job() {
    return wait<std::uint64_t>([this](auto done) {
      api_->write_job(model::JobId("j-1"), wire::JobWrite{3, 7, model::JobState{}}, done);
    });
  }
  Result<model::JobRow> read_job() {
    return wait<model::JobRow>([this](auto done) { api_->job(model::JobId("j-1"), done); });
  }

  http::Client http_;
  std::unique_ptr<http::Server> server_;
  std::optional<ApiClient> api_;
};

TEST_F(ApiClientTest, CarriesTheTokenAndJson) {
  http::ServerRequest heard;
  start([&](http::ServerRequest request, const http::Reply& reply) {
    heard = std::move(request);
    reply.send({200, R"({"version": 8})"});
  });
  const auto version = write_job();
  ASSERT_TRUE(version) << version.error().what;
  EXPECT_EQ(*version, 8U);
  EXPECT_EQ(heard.method, "PUT");
  EXPECT_EQ(heard.target, "/v1/jobs/j-1/state");
  EXPECT_EQ(heard.header("authorization"), "Bearer secret");
  EXPECT_EQ(heard.header("content-type"), "application/json");
  const auto write = wire::read_job_write(heard.body);  // as strictly as the server reads it
  ASSERT_TRUE(write);
  EXPECT_EQ(write->term, 3U);
  EXPECT_EQ(write->version, 7U);
}

TEST_F(ApiClientTest, SortsWhatTheServerRefuses) {
  struct Row {
    int status;
    const char* code;
    ErrorKind write;
    ErrorKind read;
  };
  static constexpr Row kRows[] = {
      {400, "invalid", ErrorKind::kInvalid, ErrorKind::kInvalid},
      {401, "unauthorized", ErrorKind::kDenied, ErrorKind::kDenied},
      {403, "forbidden", ErrorKind::kDenied, ErrorKind::kDenied},
      {404, "not_found", ErrorKind::kNotFound, ErrorKind::kNotFound},
      {409, "conflict", ErrorKind::kConflict, ErrorKind::kConflict},
      {409, "fenced", ErrorKind::kFenced, ErrorKind::kFenced},
      {410, "too_old", ErrorKind::kNotFound, ErrorKind::kNotFound},
      {503, "unavailable", ErrorKind::kUnavailable, ErrorKind::kUnavailable},
      {500, "internal", ErrorKind::kUnknownOutcome, ErrorKind::kUnavailable},
      {502, "", ErrorKind::kUnknownOutcome, ErrorKind::kUnavailable},
  };
  std::mutex mutex;
  Row row{};
  start([&](const http::ServerRequest&, const http::Reply& reply) {
    const std::scoped_lock lock(mutex);
    reply.send({row.status, problem(row.status, row.code)});
  });
  for (const Row& next : kRows) {
    {
      const std::scoped_lock lock(mutex);
      row = next;
    }
    const auto written = write_job();
    const auto read = read_job();
    ASSERT_FALSE(written);
    ASSERT_FALSE(read);
    EXPECT_EQ(written.error().kind, next.write) << next.status << next.code;
    EXPECT_EQ(read.error().kind, next.read) << next.status << next.code;
    EXPECT_EQ(written.error().what, "in words");
  }
}

// A proxy's page is no problem+json; what it says is still shown.
TEST_F(ApiClientTest, AnErrorThatIsNoProblemIsShownAsItIs) {
  start_with(502, "<html>bad gateway</html>");
  const auto read = read_job();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(read.error().what.find("502"), std::string::npos) << read.error().what;
  EXPECT_NE(read.error().what.find("bad gateway"), std::string::npos) << read.error().what;
}

TEST_F(ApiClientTest, WhereNobodyListensAReadIsUnavailable) {
  start_with(200, "{}");
  server_->stop();
  const auto read = read_job();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kUnavailable);
}

TEST_F(ApiClientTest, AllPagesMakeOneListAndTheWatchStartsAtTheFirst) {
  std::vector<std::string> targets;
  start([&](const http::ServerRequest& request, const http::Reply& reply) {
    targets.push_back(request.target);
    const std::string_view token = request.parameter("page_token");
    const bool last = token == "2";
    const std::string number = token.empty() ? "0" : std::string(token);
    const std::string next = last ? "" : std::to_string(std::stoi(number) + 1);
    reply.send({200, fmt::format(R"({{"items":[{}],"next_page_token":"{}","sequence":{},)"
                                 R"("unreadable":[{{"id":"u-{}","what":"why"}}]}})",
                                 job_json(number), next, 40 + std::stoi(number), number)});
  });
  const auto list =
      wait<wire::JobListRead>([this](auto done) { api_->open_jobs(std::move(done)); });
  ASSERT_TRUE(list) << list.error().what;
  ASSERT_EQ(list->items.size(), 3U);
  EXPECT_EQ(list->items[0].row.id, model::JobId("j-0"));
  EXPECT_EQ(list->items[2].row.id, model::JobId("j-2"));
  ASSERT_EQ(list->unreadable.size(), 3U);
  EXPECT_EQ(list->unreadable[2].id, model::JobId("u-2"));
  EXPECT_EQ(list->sequence, 40U);  // what changed while the pages were read comes again
  ASSERT_EQ(targets.size(), 3U);
  EXPECT_EQ(targets[0].find("page_token"), std::string::npos);
  EXPECT_NE(targets[2].find("page_token=2"), std::string::npos);
}

TEST_F(ApiClientTest, AListThatBreaksOffIsNoList) {
  start([&](const http::ServerRequest& request, const http::Reply& reply) {
    if (request.parameter("page_token").empty())
      reply.send({200, R"({"items":[],"next_page_token":"1","sequence":5})"});
    else
      reply.send({503, problem(503, "unavailable")});
  });
  const auto list =
      wait<wire::JobListRead>([this](auto done) { api_->open_jobs(std::move(done)); });
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().kind, ErrorKind::kUnavailable);
}

// What a watch brought, and its end.
struct Watched {
  std::mutex mutex;
  std::vector<wire::WatchLine> lines;
  std::promise<std::optional<Error>> ended;

  ApiClient::WatchHandler handler() {
    ApiClient::WatchHandler handler;
    handler.on_line = [this](wire::WatchLine line) {
      const std::scoped_lock lock(mutex);
      lines.push_back(std::move(line));
    };
    handler.on_end = [this](std::optional<Error> error) { ended.set_value(std::move(error)); };
    return handler;
  }
  std::optional<Error> wait_for_end() {
    auto end = ended.get_future();
    EXPECT_EQ(end.wait_for(20s), std::future_status::ready) << "the watch does not end";
    return end.wait_for(0s) == std::future_status::ready ? end.get() : std::nullopt;
  }
};

TEST_F(ApiClientTest, AWatchPutsLinesTogetherWhereverTheyWereCut) {
  const std::string text =
      R"({"sequence":12,"kind":"job","change":"put","object":)" + job_json("1") + "}\n" +
      R"({"sequence":13,"kind":"bookmark"})" + "\n\n" +
      R"({"sequence":14,"kind":"job","change":"delete","object":{"id":"j-1"}})" + "\n" +
      R"({"sequence":15,"kind":"comet","change":"put","object":{}})" + "\n";
  std::string target;
  start([&](const http::ServerRequest& request, const http::Reply& reply) {
    target = request.target;
    const auto stream = reply.stream({});
    for (const char byte : text) stream->send(std::string(1, byte));
    stream->end();
  });
  Watched watched;
  api_->watch(11, watched.handler());
  EXPECT_FALSE(watched.wait_for_end());
  EXPECT_EQ(target, "/v1/watch?since=11&kinds=jobs,clusters");
  ASSERT_EQ(watched.lines.size(), 4U);
  EXPECT_EQ(watched.lines[0].kind, wire::WatchLine::Kind::kJob);
  EXPECT_EQ(watched.lines[0].sequence, 12U);
  EXPECT_EQ(watched.lines[0].job.id, model::JobId("j-1"));
  EXPECT_EQ(watched.lines[0].job.version, 7U);
  EXPECT_EQ(watched.lines[1].kind, wire::WatchLine::Kind::kBookmark);
  EXPECT_TRUE(watched.lines[2].removed);
  EXPECT_EQ(watched.lines[2].job.id, model::JobId("j-1"));
  EXPECT_EQ(watched.lines[3].kind, wire::WatchLine::Kind::kUnknown);
  EXPECT_EQ(watched.lines[3].sequence, 15U);
}

TEST_F(ApiClientTest, AWatchThatIsTooOldSaysSo) {
  start_with(410, problem(410, "too_old"));
  Watched watched;
  api_->watch(1, watched.handler());
  const auto error = watched.wait_for_end();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kNotFound);
  EXPECT_TRUE(watched.lines.empty());
}

// The database is another one, or was restored: its numbers begin anew.
TEST_F(ApiClientTest, AWatchFromASequenceOfAnotherDatabaseMeansListAgain) {
  start_with(400, problem(400, "invalid"));
  Watched watched;
  api_->watch(1, watched.handler());
  const auto error = watched.wait_for_end();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::kNotFound);
}

// The server goes on sending: without an end of our own, nobody would ever list again.
TEST_F(ApiClientTest, AWatchThatCannotBeReadEndsThoughTheServerGoesOn) {
  std::jthread sender;
  start([&](const http::ServerRequest&, const http::Reply& reply) {
    sender = std::jthread([stream = reply.stream({})](const std::stop_token& stop) {
      stream->send("{\"sequence\":12,\"kind\":\"bookmark\"}\nthis is no JSON\n");
      while (!stop.stop_requested() && stream->send("{\"sequence\":13,\"kind\":\"bookmark\"}\n"))
        std::this_thread::yield();
    });
  });
  Watched watched;
  api_->watch(11, watched.handler());
  EXPECT_TRUE(watched.wait_for_end());
  EXPECT_EQ(watched.lines.size(), 1U);  // nothing after what could not be read
}

}  // namespace
}  // namespace falcon::client
