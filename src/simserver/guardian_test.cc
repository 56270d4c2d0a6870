#include "simserver/guardian.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace falcon::simserver {
namespace {

// A process group of two, whose second process holds the pipe's writing end while it lives.
struct Group {
  pid_t leader = -1;
  int alive = -1;

  Group() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    leader = ::fork();
    if (leader == 0) {
      ::setpgid(0, 0);
      if (::fork() == 0) {
        const char ready = 'r';
        static_cast<void>(!::write(ends[1], &ready, 1));
      }
      ::close(ends[0]);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    alive = ends[0];
    char ready = 0;
    EXPECT_EQ(::read(alive, &ready, 1), 1);
  }
  ~Group() {
    ::kill(-leader, SIGKILL);
    ::waitpid(leader, nullptr, 0);
    ::close(alive);
  }
  void wait_for_end() const {  // of both
    char byte = 0;
    EXPECT_EQ(::read(alive, &byte, 1), 0);
  }
  bool runs() const { return ::waitpid(leader, nullptr, WNOHANG) == 0; }
};

TEST(Guardian, EndsWholeGroupsWhenItsProcessWasKilled) {
  const Group watched;
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    Guardian guardian;
    guardian.watch(watched.leader);
    const char ready = 'r';
    static_cast<void>(!::write(told[1], &ready, 1));
    for (;;) ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(told[0], &ready, 1), 1);
  EXPECT_TRUE(watched.runs());
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  watched.wait_for_end();
}

TEST(Guardian, LeavesAloneWhatItWasToldToForget) {
  const Group watched;
  const Group forgotten;
  {
    Guardian guardian;
    guardian.watch(watched.leader);
    guardian.watch(forgotten.leader);
    guardian.forget(forgotten.leader);
  }
  watched.wait_for_end();
  EXPECT_TRUE(forgotten.runs());
}

}  // namespace
}  // namespace falcon::simserver
