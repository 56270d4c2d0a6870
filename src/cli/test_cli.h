// For tests: the command line as people and scripts meet it. The API server is played by a table of
// answers; the clock moves when a command sleeps.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/server.h"

namespace falcon::cli {

inline constexpr const char* kJobId = "0193a000-0000-7000-8000-000000000001";

struct JobJson {
  std::string status = "Running";
  std::string reason = "";
  std::string message = "Pod 运行中 (1/1 active)";
  std::string exit_code = "null";
  std::string topology = "2x2";
  std::string started_at = "\"2026-12-01T08:01:00Z\"";
};

inline std::string job_json(const JobJson& job) {
  return fmt::format(
      R"j({{"id":"{}","name":"train","actor":"ann","priority":0,"labels":{{}},"spec":{{"image":"i",)j"
      R"j("command":["python3","-c","print('x')"],"args":[],"env":[],"tpu_type":"v6e","topology":"{}",)j"
      R"j("supply_mode":"on-demand","timeout_seconds":3600,"termination_grace_seconds":30,"max_retries":0}},)j"
      R"j("created_at":"2026-12-01T08:00:00Z","aborting_at":null,"version":7,"status":"{}","reason":"{}",)j"
      R"j("message":"{}","message_code":"Running","message_arguments":["1","1"],"cluster":"c-id",)j"
      R"j("node_pool_name":"falcon-pool","job_uid":"u","attempt":1,"provision":1,"exit_code":{},)j"
      R"j("dispatched_at":null,"started_at":{},"finished_at":null,"aborted_at":null,"cleanup":"",)j"
      R"j("cleanup_error":"","cluster_name":"c1","log_prefix":"gs://bucket/logs/{}/"}})j",
      kJobId, job.topology, job.status, job.reason, job.message, job.exit_code, job.started_at,
      kJobId);
}

inline std::string failed_job_json() {
  return job_json({.status = "Failed",
                   .reason = "JobFailed",
                   .message = "Pod terminated: Error (exit code 3)",
                   .exit_code = "3"});
}

class Cli : public ::testing::Test {
 protected:
  Cli() {
    files_["/data/api.json"] = R"({"url": "http://127.0.0.1:1"})";
    files_["/data/token"] = "secret\n";
    environment_["FALCON_DATA"] = "/data";
    environment_["USER"] = "ann";
  }

  // The answer to a request, given once, or for ever when it is the last one for it.
  void answer(const std::string& request, int status, std::string body) {
    answers_[request].push_back({status, {}, std::move(body)});
  }

  int run(std::vector<std::string> args) {
    const Io io{
        .in = in_,
        .out = out_,
        .err = err_,
        .environment = [this](const std::string& name) -> std::optional<std::string> {
          const auto found = environment_.find(name);
          return found == environment_.end() ? std::nullopt
                                             : std::optional<std::string>(found->second);
        },
        .user = "login",
        .now = [this] { return now_; },
        .sleep = [this](Duration span) { now_ += span; },
        .read_file = [this](const std::string& path) -> Result<std::string> {
          const auto found = files_.find(path);
          if (found == files_.end())
            return fail(ErrorKind::kNotFound, path + ": No such file or directory");
          return found->second;
        },
        .send = [this](const http::Request& request) { return serve(request); },
    };
    return run_cli(args, io);
  }

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  // "METHOD path" of all that was sent, in order.
  std::vector<std::string> sent() const {
    std::vector<std::string> lines;
    for (const http::Request& request : requests_) lines.push_back(key_of(request));
    return lines;
  }

  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> environment_;
  std::vector<http::Request> requests_;
  std::istringstream in_;

 private:
  static std::string key_of(const http::Request& request) {
    const std::size_t path = request.url.find('/', std::string_view("http://").size());
    return request.method + " " + request.url.substr(path);
  }

  Result<http::Response> serve(const http::Request& request) {
    requests_.push_back(request);
    const auto found = answers_.find(key_of(request));
    if (found == answers_.end())
      return fail(ErrorKind::kUnavailable, "connection refused: " + key_of(request));
    http::Response response = found->second.front();
    if (found->second.size() > 1) found->second.pop_front();
    return response;
  }

  std::map<std::string, std::deque<http::Response>> answers_;
  std::ostringstream out_;
  std::ostringstream err_;
  WallTime now_ = *parse_rfc3339("2026-12-01T08:02:05Z");
};

inline const std::string kJobPath = std::string("/v1/jobs/") + kJobId;

}  // namespace falcon::cli
