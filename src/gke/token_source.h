// Access tokens from the metadata server, shared by all callers.
//
// Fetched once at a time whoever asks, renewed ahead of their end on a clock that cannot be set
// back, dropped when a server refuses them. While a renewal is under way, or fails, the old token
// goes on until its end. A metadata server that is not there yet is asked again by the next caller;
// its answers without `Metadata-Flavor: Google` are refused. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "http/client.h"

namespace falcon::gke {

class TokenSource {
 public:
  using Clock = std::chrono::steady_clock;
  // `metadata_url` without a path, for example "http://metadata.google.internal". `now`: the clock;
  // the process's when empty.
  TokenSource(http::Client& client, std::string metadata_url,
              std::function<Clock::time_point()> now = {});

  using OnToken = std::function<void(Result<std::string>)>;
  void get(const OnToken& on_token);
  // A server answered 401 to this token: the next get() fetches a new one.
  void refuse(const std::string& token);

 private:
  void fetch();
  void fetched(const Result<http::Response>& answer);

  http::Client& client_;
  std::string url_;
  std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::string token_;             // empty: none
  Clock::time_point renew_at_{};  // ahead of its end, or when a failed renewal is tried again
  Clock::time_point ends_{};
  bool fetching_ = false;
  std::vector<OnToken> waiting_;
};

// Sends with a token; a 401 is answered by one new token and one repetition.
void send_authorized(http::Client& client, TokenSource& tokens, http::Request request,
                     http::OnResponse on_response);

}  // namespace falcon::gke
