#include "simserver/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace falcon::simserver {
namespace {

constexpr std::size_t kGroupsMax = 4'096;  // more than a machine runs of them

void close_range(unsigned first, unsigned last) {
  if (first <= last) ::syscall(SYS_close_range, first, last, 0);
}

// The process of its own. After a fork of a process with threads: only what is safe in a signal
// handler, and no memory from the heap.
[[noreturn]] void guard(int pipe) {
  ::setsid();  // no Ctrl-C of a terminal
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const auto kept = static_cast<unsigned>(pipe);
  if (kept > 0) close_range(0, kept - 1);
  close_range(kept + 1, ~0U);
  static std::array<pid_t, kGroupsMax> groups;
  std::size_t count = 0;
  pid_t message = 0;
  for (;;) {
    const ssize_t got = ::read(pipe, &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof message)) break;
    if (message > 0) {
      if (count < kGroupsMax) groups[count++] = message;
      continue;
    }
    for (std::size_t i = 0; i < count; ++i)
      if (groups[i] == -message) {
        groups[i] = groups[--count];
        break;
      }
  }
  for (std::size_t i = 0; i < count; ++i) ::kill(-groups[i], SIGKILL);
  ::_exit(0);
}

}  // namespace

Guardian::Guardian() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) guard(ends[0]);
  ::close(ends[0]);
  if (pid_ > 0)
    pipe_ = ends[1];
  else
    ::close(ends[1]);
}

Guardian::~Guardian() {
  if (pipe_ < 0) return;
  ::close(pipe_);
  ::waitpid(pid_, nullptr, 0);
}

void Guardian::watch(pid_t group) { tell(group); }
void Guardian::forget(pid_t group) { tell(-group); }

// SIGPIPE is ignored or blocked by whoever serves; a guardian that was killed is missed by nobody.
void Guardian::tell(pid_t message) const {
  if (pipe_ < 0) return;
  while (::write(pipe_, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace falcon::simserver
