#include "up/child.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/time.h"

namespace falcon::up {
namespace {

constexpr Duration kLookEvery{10};
constexpr Duration kStopLimit{15'000};  // then SIGKILL

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

// Between fork and exec: only what is safe after a fork of a process with threads.
[[noreturn]] void become(pid_t parent, char* const* arguments) {
  // At once: whoever starts anew after a crash must not meet it. It has nothing to put in order.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // died before that
  ::setpgid(0, 0);  // Ctrl-C at the terminal is for the parent; it passes it on in its own order
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

Result<Child> Child::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"falcon"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(parent, pointers.data());
  if (pid < 0)
    return fail(ErrorKind::kInternal, fmt::format("no new process: {}", std::strerror(errno)));
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), code_(other.code_) {}

std::optional<int> Child::exit_code() {
  if (pid_ < 0) return code_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  code_ = code_of(status);
  return code_;
}

void Child::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  for (Duration waited{0}; !exit_code(); waited += kLookEvery) {
    if (waited >= kStopLimit) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace falcon::up
