#include "up/shutdown.h"

#include <csignal>
#include <ctime>

#include "base/check.h"

namespace falcon::up {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

ShutdownSignals::ShutdownSignals() {
  const sigset_t set = ending_signals();
  FALCON_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  std::signal(SIGPIPE, SIG_IGN);
}

int ShutdownSignals::wait() {
  const sigset_t set = ending_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return give_back(signal);
}

std::optional<int> ShutdownSignals::wait_for(Duration limit) {
  const sigset_t set = ending_signals();
  const timespec span{limit.count() / 1000, (limit.count() % 1000) * 1'000'000};
  const int signal = sigtimedwait(&set, nullptr, &span);
  if (signal < 0) return std::nullopt;
  return give_back(signal);
}

int ShutdownSignals::give_back(int signal) {
  const sigset_t set = ending_signals();
  FALCON_CHECK(pthread_sigmask(SIG_UNBLOCK, &set, nullptr) == 0);
  return signal;
}

}  // namespace falcon::up
