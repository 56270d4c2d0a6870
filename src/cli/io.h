// What the command line touches of the world, handed in by main(): streams, environment, clock,
// files and the network. Tests hand in their own.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "http/client.h"

namespace falcon::cli {

struct Io {
  std::istream& in;
  std::ostream& out;  // what was asked for, and nothing else: it may be piped on
  std::ostream& err;  // complaints, progress, advice
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string user;  // the login name, for containers that set no USER; empty: none known
  std::function<WallTime()> now;
  std::function<void(Duration)> sleep;
  // kNotFound when there is no such file; kDenied when it must not be read.
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<Result<http::Response>(http::Request)> send;
};

// The process's own streams, environment, clock and files, and an HTTP client that starts with the
// first request.
Io make_process_io();

// Exit codes, the same for every command; scripts may rely on them.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;       // refused, or falcon's own failure
inline constexpr int kExitUsage = 2;        // flags or a job file are wrong; nothing was sent
inline constexpr int kExitJobFailed = 3;    // a job that was waited for ended as Failed
inline constexpr int kExitJobAborted = 4;   // a job that was waited for ended as Aborted
inline constexpr int kExitTimedOut = 5;     // the wait's own --timeout has passed
inline constexpr int kExitUnreachable = 6;  // the API server was not found or did not answer

}  // namespace falcon::cli
