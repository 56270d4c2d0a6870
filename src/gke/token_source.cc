#include "gke/token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>

#include "base/text.h"

namespace falcon::gke {
namespace {

// Renewed this long before the end, but never later than at half of its life: more than clocks
// differ and than a call lasts. Google's own library: 3 min 45 s.
constexpr std::chrono::seconds kMargin{225};

}  // namespace

TokenSource::TokenSource(http::Client& client, std::string metadata_url)
    : client_(client),
      url_(std::move(metadata_url) +
           "/computeMetadata/v1/instance/service-accounts/default/token") {}

void TokenSource::get(OnToken on_token) {
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    if (token_.empty() || std::chrono::steady_clock::now() >= good_until_) {
      waiting_.push_back(std::move(on_token));
      if (fetching_) return;
      fetching_ = true;
    } else {
      token = token_;
    }
  }
  if (!token.empty())
    on_token(token);
  else
    fetch();
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
               [this](Result<http::Response> answer) { fetched(std::move(answer)); });
}

void TokenSource::fetched(Result<http::Response> answer) {
  Result<std::string> token = fail(ErrorKind::kUnavailable, "no token yet");
  std::chrono::seconds life{0};
  if (!answer) {
    token = fail(ErrorKind::kUnavailable, "the metadata server: " + answer.error().what);
  } else if (answer->status != 200) {
    token =
        fail(ErrorKind::kUnavailable, fmt::format("the metadata server answers {}: {}",
                                                  answer->status, clean_text(answer->body, 200)));
  } else if (http::header(*answer, "metadata-flavor") != "Google") {
    token = fail(ErrorKind::kDenied,
                 "the metadata server's answer lacks Metadata-Flavor: Google; not trusted");
  } else {
    boost::system::error_code error;
    const boost::json::value value = boost::json::parse(answer->body, error);
    const auto* object = error ? nullptr : value.if_object();
    const auto* text = object == nullptr ? nullptr : object->if_contains("access_token");
    const auto* seconds = object == nullptr ? nullptr : object->if_contains("expires_in");
    if (text == nullptr || !text->is_string() || seconds == nullptr || !seconds->is_number()) {
      token = fail(ErrorKind::kUnavailable, "the metadata server's token is not readable");
    } else {
      token = std::string(text->as_string());
      const auto life_seconds = seconds->to_number<std::int64_t>(error);
      life = std::chrono::seconds(error ? 0 : life_seconds);
    }
  }
  std::vector<OnToken> waiting;
  {
    const std::lock_guard lock(mutex_);
    fetching_ = false;
    if (token) {
      token_ = *token;
      const std::chrono::seconds margin = std::min(kMargin, life / 2);
      // The server may hand out the same token again near its end: no loop around that.
      good_until_ =
          std::chrono::steady_clock::now() + std::max(life - margin, std::chrono::seconds(1));
    }
    waiting.swap(waiting_);
  }
  for (OnToken& on_token : waiting) on_token(token);
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
