// For tests: an API server on a folder of its own, and calls to it through real sockets.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "api/server.h"
#include "http/client.h"

namespace falcon::api {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "falcon-api-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Answer {
  int status = 0;
  std::string body;
  std::string content_type;
  // The value at a JSON pointer as text: strings bare, the rest as JSON; "-" when there is none.
  std::string at(const std::string& pointer) const {
    boost::system::error_code error;
    const boost::json::value document = boost::json::parse(body, error);
    if (error) return "-";
    const boost::json::value* value = document.find_pointer(pointer, error);
    if (value == nullptr) return "-";
    return value->is_string() ? std::string(value->get_string()) : boost::json::serialize(*value);
  }
};

class ApiTest : public testing::Test {
 protected:
  void start(Settings settings = {}) {
    settings.data = folder_.path() + "/data";
    settings.version = "test";
    server_ = std::make_unique<ApiServer>(std::move(settings));
    const auto port = server_->start();
    ASSERT_TRUE(port) << port.error().what;
    port_ = *port;
  }
  void SetUp() override { start(); }

  http::Request request(std::string method, const std::string& path, std::string body = "") const {
    http::Request request;
    request.method = std::move(method);
    request.url = server_->url() + path;
    request.headers = {{"Authorization", "Bearer " + server_->token()}};
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    return request;
  }
  Answer send(http::Request request) {
    const auto response = http::send_and_wait(client_, std::move(request));
    if (!response) return Answer{0, response.error().what, ""};
    return Answer{response->status, response->body,
                  std::string(http::header(*response, "content-type"))};
  }
  Answer call(std::string method, const std::string& path, std::string body = "") {
    return send(request(std::move(method), path, std::move(body)));
  }
  Answer submit(const std::string& name, const std::string& actor = "ann") {
    return call("POST", "/v1/jobs", job_text(name, actor));
  }
  static std::string job_text(const std::string& name, const std::string& actor = "ann") {
    return R"({"name":")" + name + R"(","actor":")" + actor +
           R"(","spec":{"image":"busybox","command":["true"],"tpu_type":"v6e","topology":"4x4"}})";
  }
  std::uint64_t lead(const std::string& holder = "test") {
    const Answer answer =
        call("POST", "/v1/terms", R"({"holder":")" + holder + R"(","lease_seconds":60})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return std::stoull("0" + answer.at("/term"));
  }
  // Writes a state as the controller does; `fields` are those that differ from a bare one.
  Answer write_state(std::uint64_t term, const std::string& id, const std::string& version,
                     const std::string& fields) {
    return call("PUT", "/v1/jobs/" + id + "/state",
                R"({"term":)" + std::to_string(term) + R"(,"version":)" + version +
                    R"(,"state":{)" + fields + "}}");
  }

  Folder folder_;
  http::Client client_;
  std::unique_ptr<ApiServer> server_;
  std::uint16_t port_ = 0;
};

// A watch, line by line.
class Watch {
 public:
  Watch(http::Client& client, http::Request request) : client_(client) {
    http::StreamHandler handler;
    handler.on_start = [state = state_](const http::Response& response) {
      const std::scoped_lock lock(state->mutex);
      state->status = response.status;
      state->changed.notify_all();
    };
    handler.on_bytes = [state = state_](std::string_view bytes) {
      const std::scoped_lock lock(state->mutex);
      std::string& text = state->text;
      text += bytes;
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        state->lines.push_back(Answer{200, text.substr(0, end), ""});
        text.erase(0, end + 1);
      }
      state->changed.notify_all();
    };
    handler.on_end = [state = state_](const std::optional<Error>&) {
      const std::scoped_lock lock(state->mutex);
      state->ended = true;
      state->changed.notify_all();
    };
    id_ = client_.open(std::move(request), std::move(handler));
  }
  ~Watch() { client_.close(id_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  int status() {
    wait([](const State& state) { return state.status != 0 || state.ended; });
    const std::scoped_lock lock(state_->mutex);
    return state_->status;
  }
  // Waits until there are so many.
  std::vector<Answer> lines(std::size_t count) {
    wait([&](const State& state) { return state.lines.size() >= count || state.ended; });
    const std::scoped_lock lock(state_->mutex);
    return state_->lines;
  }
  bool wait_for_end() {
    return wait([](const State& state) { return state.ended; });
  }

 private:
  // Shared with the client's thread, which may speak last.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int status = 0;
    bool ended = false;
    std::string text;
    std::vector<Answer> lines;
  };
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, std::chrono::seconds(20),
                                    [&] { return condition(*state_); });
  }

  http::Client& client_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  http::Client::StreamId id_ = 0;
};

}  // namespace falcon::api
