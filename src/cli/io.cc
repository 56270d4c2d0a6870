#include "cli/io.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <thread>

namespace falcon::cli {
namespace {

Result<std::string> read_whole_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(ErrorKind::kInvalid, fmt::format("{}: is a folder, not a file", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.is_open() && !file.bad()) return text;
  const int number = errno;
  return fail(number == ENOENT ? ErrorKind::kNotFound : ErrorKind::kDenied,
              fmt::format("{}: {}", path, std::strerror(number == 0 ? EIO : number)));
}

// From the system's list of users. Only main() calls this, before there are threads.
std::string login_name() {
  const passwd* entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe)
  return entry == nullptr ? std::string() : entry->pw_name;
}

WallTime system_now() {
  return wall_time_from_unix_ms(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

}  // namespace

Io make_process_io() {
  const auto client = std::make_shared<std::unique_ptr<http::Client>>();
  return Io{
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .environment = [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      },
      .user = login_name(),
      .now = system_now,
      .sleep = [](Duration span) { std::this_thread::sleep_for(span); },
      .read_file = read_whole_file,
      .send =
          [client](http::Request request) {
            if (!*client) *client = std::make_unique<http::Client>();
            return http::send_and_wait(**client, std::move(request));
          },
  };
}

}  // namespace falcon::cli
