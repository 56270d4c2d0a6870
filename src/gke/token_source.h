// Access tokens from the metadata server, shared by all callers.
//
// Fetched once at a time whoever asks, kept until shortly before their end on a clock that cannot
// be set back, dropped when a server refuses them. A metadata server that is not there yet is asked
// again by the next caller; its answers without `Metadata-Flavor: Google` are refused. Any thread.
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
  // `metadata_url` without a path, for example "http://metadata.google.internal".
  TokenSource(http::Client& client, std::string metadata_url);

  using OnToken = std::function<void(Result<std::string>)>;
  void get(OnToken on_token);
  // A server answered 401 to this token: the next get() fetches a new one.
  void refuse(const std::string& token);

 private:
  void fetch();
  void fetched(Result<http::Response> answer);

  http::Client& client_;
  std::string url_;
  std::mutex mutex_;
  std::string token_;
  std::chrono::steady_clock::time_point good_until_{};
  bool fetching_ = false;
  std::vector<OnToken> waiting_;
};

// Sends with a token; a 401 is answered by one new token and one repetition.
void send_authorized(http::Client& client, TokenSource& tokens, http::Request request,
                     http::OnResponse on_response);

}  // namespace falcon::gke
