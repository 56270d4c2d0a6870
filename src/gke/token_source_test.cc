#include "gke/token_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <optional>

#include "http/server.h"

namespace falcon::gke {
namespace {

using namespace std::chrono_literals;

// A metadata server, and an API that takes the newest token only.
class TokenSourceTest : public testing::Test {
 protected:
  TokenSourceTest()
      : server_({}, [this](const http::ServerRequest& request, const http::Reply& reply) {
          const std::scoped_lock lock(mutex_);
          if (request.target.starts_with("/computeMetadata"))
            metadata(request, reply);
          else
            api(request, reply);
          changed_.notify_all();
        }) {
    url_ = "http://127.0.0.1:" + std::to_string(server_.start().value());
    tokens_.emplace(http_, url_, [this] {
      const std::scoped_lock lock(mutex_);
      return now_;
    });
  }
  ~TokenSourceTest() override { server_.stop(); }

  void metadata(const http::ServerRequest& request, const http::Reply& reply) {
    EXPECT_EQ(request.target, "/computeMetadata/v1/instance/service-accounts/default/token");
    EXPECT_EQ(request.header("metadata-flavor"), "Google");
    ++fetched_;
    if (hold_) {
      held_.push_back(reply);
      return;
    }
    reply.send(token());
  }
  http::ServerResponse token() {
    http::ServerResponse response{status_, strange_};
    if (strange_.empty())
      response.body = fmt::format(R"({{"access_token":"t-{}","expires_in":{}}})", fetched_, life_);
    if (flavored_) response.headers = {{"Metadata-Flavor", "Google"}};
    return response;
  }
  void api(const http::ServerRequest& request, const http::Reply& reply) {
    seen_.emplace_back(request.header("authorization"));
    reply.send({request.header("authorization") == accepted_ ? 200 : 401, "{}"});
  }

  Result<std::string> get() {
    std::promise<Result<std::string>> promise;
    tokens_->get([&](Result<std::string> token) { promise.set_value(std::move(token)); });
    return promise.get_future().get();
  }
  void pass(std::chrono::seconds time) {
    const std::scoped_lock lock(mutex_);
    now_ += time;
  }
  int fetched() {
    const std::scoped_lock lock(mutex_);
    return fetched_;
  }
  bool wait_for_fetch(int number) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return fetched_ >= number; });
  }
  // The renewal goes on beside the caller: asks until it has come.
  std::string get_until_not(const std::string& old) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    std::string token = old;
    while (token == old && std::chrono::steady_clock::now() < end) token = get().value_or(old);
    return token;
  }
  Result<http::Response> call() {
    std::promise<Result<http::Response>> promise;
    http::Request request;
    request.url = url_ + "/v1/x";
    send_authorized(http_, *tokens_, request,
                    [&](Result<http::Response> answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point now_ = std::chrono::steady_clock::now();
  int fetched_ = 0;
  int life_ = 3600;  // seconds
  int status_ = 200;
  bool flavored_ = true;
  std::string strange_;  // the answer's body, instead of a token
  bool hold_ = false;
  std::vector<http::Reply> held_;
  std::string accepted_;
  std::vector<std::string> seen_;
  std::string url_;
  http::Server server_;
  std::optional<TokenSource> tokens_;
  http::Client http_;  // ends first: its last callbacks use the others
};

TEST_F(TokenSourceTest, IsFetchedOnceForAllWhoAsk) {
  hold_ = true;
  std::vector<std::future<Result<std::string>>> answers;
  for (int i = 0; i < 10; ++i) {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    answers.push_back(promise->get_future());
    tokens_->get([promise](Result<std::string> token) { promise->set_value(std::move(token)); });
  }
  ASSERT_TRUE(wait_for_fetch(1));
  {
    const std::scoped_lock lock(mutex_);
    hold_ = false;
    for (const http::Reply& reply : held_) reply.send(token());
  }
  for (auto& answer : answers) EXPECT_EQ(answer.get().value(), "t-1");
  EXPECT_EQ(get().value(), "t-1");
  EXPECT_EQ(fetched(), 1);
}

TEST_F(TokenSourceTest, IsRenewedAheadWhileTheOldOneGoesOn) {
  ASSERT_EQ(get().value(), "t-1");
  pass(3600s - 226s);
  EXPECT_EQ(get().value(), "t-1");
  EXPECT_EQ(fetched(), 1);
  pass(2s);  // 3 min 44 s before its end
  EXPECT_EQ(get().value(), "t-1") << "nobody waits for the renewal";
  EXPECT_EQ(get_until_not("t-1"), "t-2");
  EXPECT_EQ(fetched(), 2);
}

TEST_F(TokenSourceTest, TheOldOneGoesOnWhileRenewalsFail) {
  ASSERT_EQ(get().value(), "t-1");
  {
    const std::scoped_lock lock(mutex_);
    status_ = 503;
  }
  pass(3600s - 200s);
  EXPECT_EQ(get().value(), "t-1");
  ASSERT_TRUE(wait_for_fetch(2));
  EXPECT_EQ(get().value(), "t-1");
  pass(195s);  // too near its end to be carried to anybody
  const auto none = get();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kUnavailable);
  {
    const std::scoped_lock lock(mutex_);
    status_ = 200;
  }
  EXPECT_TRUE(get()) << "the next caller asks again";
}

TEST_F(TokenSourceTest, AShortLifeIsNoLoop) {
  life_ = 4;  // the server hands out the same token again near its end
  ASSERT_TRUE(get());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(get());
  EXPECT_EQ(fetched(), 1);
}

TEST_F(TokenSourceTest, AnAnswerThatIsNotGooglesIsRefused) {
  flavored_ = false;
  const auto token = get();
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().kind, ErrorKind::kDenied);
  EXPECT_NE(token.error().what.find("Metadata-Flavor"), std::string::npos);
}

TEST_F(TokenSourceTest, AnAnswerThatIsNoTokenIsRefused) {
  for (const char* body :
       {"<html>", "{}", R"({"access_token":"","expires_in":3600})", R"({"access_token":"t"})",
        R"({"access_token":7,"expires_in":3600})", R"({"access_token":"t","expires_in":-1})"}) {
    {
      const std::scoped_lock lock(mutex_);
      strange_ = body;
    }
    const auto token = get();
    ASSERT_FALSE(token) << body;
    EXPECT_EQ(token.error().kind, ErrorKind::kUnavailable) << body;
  }
}

TEST_F(TokenSourceTest, ACallThatIsRefusedIsSentOnceMoreWithANewToken) {
  accepted_ = "Bearer t-2";  // the first was revoked
  const auto answer = call();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(seen_, (std::vector<std::string>{"Bearer t-1", "Bearer t-2"}));
  EXPECT_EQ(fetched(), 2);
}

TEST_F(TokenSourceTest, ACallThatIsRefusedAgainIsNotSentAThirdTime) {
  accepted_ = "none";
  const auto answer = call();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 401);
  EXPECT_EQ(seen_.size(), 2U);
}

TEST_F(TokenSourceTest, WithoutATokenNothingIsSent) {
  status_ = 404;  // no service account is bound
  const auto answer = call();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace falcon::gke
