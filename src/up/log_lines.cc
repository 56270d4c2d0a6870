#include "up/log_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "wire/wire.h"

namespace falcon::up {
namespace {

constexpr std::size_t kMessageBytesMax = 4'000;

std::string_view severity_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::warn:
      return "warning";
    case spdlog::level::err:
    case spdlog::level::critical:
      return "error";
    default:
      return "info";
  }
}

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Sink(LogLines& lines) : lines_(lines) {}

 private:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    const WallTime time(std::chrono::duration_cast<Duration>(entry.time.time_since_epoch()));
    lines_.write(log_line(time, severity_of(entry.level),
                          std::string_view(entry.payload.data(), entry.payload.size())));
  }
  void flush_() override {}

  LogLines& lines_;
};

}  // namespace

LogLines::LogLines(const std::string& file) {
  if (file.empty() || ::isatty(STDERR_FILENO) == 0) return;
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  file_.open(file, std::ios::app);
}

LogLines::~LogLines() {
  if (has_spdlog_) spdlog::set_default_logger(std::make_shared<spdlog::logger>("falcon"));
}

void LogLines::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  std::ostream& out = file_.is_open() ? file_ : std::cerr;
  out << line << std::endl;
}

void LogLines::take_spdlog() {
  has_spdlog_ = true;
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("falcon", std::make_shared<Sink>(*this)));
}

std::string log_line(WallTime time, std::string_view severity, std::string_view message) {
  std::string fields;
  for (const std::string_view noun : {"job", "cluster"}) {
    if (!message.starts_with(noun) || message.substr(noun.size(), 1) != " ") continue;
    const std::string_view rest = message.substr(noun.size() + 1);
    const std::size_t end = rest.find(": ");
    if (end == 0 || end == std::string_view::npos || rest.find(' ') < end) continue;
    fields = fmt::format(",\"{}\":{}", noun, wire::quoted(clean_text(rest.substr(0, end), 200)));
    message = rest.substr(end + 2);
  }
  return fmt::format("{{\"time\":\"{}\",\"severity\":\"{}\",\"message\":{}{}}}", to_rfc3339(time),
                     severity, wire::quoted(clean_text(message, kMessageBytesMax)), fields);
}

}  // namespace falcon::up
