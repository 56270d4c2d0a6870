#include "gke/token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "wire/foreign.h"

namespace falcon::gke {
namespace {

// Renewed this long before the end, but never later than at half of its life: more than clocks
// differ and than a call lasts. Google's own library: 3 min 45 s.
constexpr std::chrono::seconds kMargin{225};
constexpr std::chrono::seconds kRenewRetry{5};  // while the old one still goes
constexpr std::chrono::seconds kEndMargin{10};  // for the call that carries it

struct Token {
  std::string text;
  std::chrono::seconds life{0};
};

Result<Token> read_token(const Result<http::Response>& answer) {
  if (!answer) return fail(ErrorKind::kUnavailable, "the metadata server: " + answer.error().what);
  if (answer->status != 200)
    return fail(ErrorKind::kUnavailable,
                fmt::format("the metadata server answers {}: {}", answer->status,
                            clean_text(answer->body, 200)));
  if (http::header(*answer, "metadata-flavor") != "Google")
    return fail(ErrorKind::kDenied,
                "the metadata server's answer lacks Metadata-Flavor: Google; not trusted");
  const auto body = wire::object_of(answer->body);
  Token token;
  if (body)
    token = {wire::text(*body, "access_token"),
             std::chrono::seconds(wire::number(*body, "expires_in"))};
  if (token.text.empty() || token.life.count() <= 0)
    return fail(ErrorKind::kUnavailable, "the metadata server's token is not readable");
  return token;
}

}  // namespace

TokenSource::TokenSource(http::Client& client, std::string metadata_url,
                         std::function<Clock::time_point()> now)
    : client_(client),
      url_(std::move(metadata_url) + "/computeMetadata/v1/instance/service-accounts/default/token"),
      now_(now ? std::move(now) : Clock::now) {}

void TokenSource::get(const OnToken& on_token) {
  std::string token;
  bool renew = false;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = now_();
    if (now < ends_) token = token_;
    if (token.empty()) waiting_.push_back(on_token);
    renew = !fetching_ && (token.empty() || now >= renew_at_);
    if (renew) fetching_ = true;
  }
  if (renew) fetch();
  if (!token.empty()) on_token(token);
}

void TokenSource::refuse(const std::string& token) {
  const std::lock_guard lock(mutex_);
  if (token_ == token) token_.clear();
}

void TokenSource::fetch() {
  http::Request request;
  request.url = url_;
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.timeout = Duration(5'000);
  request.body_bytes_max = 1U << 20U;
  client_.send(std::move(request),
               [this](const Result<http::Response>& answer) { fetched(answer); });
}

void TokenSource::fetched(const Result<http::Response>& answer) {
  const Result<Token> token = read_token(answer);
  std::vector<OnToken> waiting;
  {
    const std::lock_guard lock(mutex_);
    fetching_ = false;
    const Clock::time_point now = now_();
    if (token) {
      token_ = token->text;
      // The server may hand out the same token again near its end: no loop around that.
      const std::chrono::seconds margin = std::min(kMargin, token->life / 2);
      renew_at_ = now + std::max(token->life - margin, std::chrono::seconds(1));
      ends_ = now + token->life - std::min(kEndMargin, token->life / 4);
    } else {
      renew_at_ = now + kRenewRetry;
    }
    waiting.swap(waiting_);
  }
  for (OnToken& on_token : waiting) {
    if (token)
      on_token(token->text);
    else
      on_token(std::unexpected(token.error()));
  }
}

void send_authorized(http::Client& client, TokenSource& tokens, http::Request request,
                     http::OnResponse on_response) {
  auto shared = std::make_shared<http::Request>(std::move(request));
  auto answer = std::make_shared<http::OnResponse>(std::move(on_response));
  const auto with_token = [](const http::Request& plain, const std::string& token) {
    http::Request authorized = plain;
    authorized.headers.emplace_back("Authorization", "Bearer " + token);
    return authorized;
  };
  tokens.get([&client, &tokens, shared, answer, with_token](Result<std::string> token) {
    if (!token) return (*answer)(std::unexpected(token.error()));
    client.send(with_token(*shared, *token), [&client, &tokens, shared, answer, with_token,
                                              used = *token](Result<http::Response> first) {
      if (!first || first->status != 401) return (*answer)(std::move(first));
      tokens.refuse(used);
      tokens.get([&client, shared, answer, with_token](Result<std::string> renewed) {
        if (!renewed) return (*answer)(std::unexpected(renewed.error()));
        client.send(with_token(*shared, *renewed),
                    [answer](Result<http::Response> second) { (*answer)(std::move(second)); });
      });
    });
  });
}

}  // namespace falcon::gke
