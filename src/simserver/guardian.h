// Ends the programs of pods when this process dies without doing so itself (SIGKILL, a crash): a
// small process beside it that waits for the end of a pipe and kills the process groups it was told
// of. It holds no file, lock or socket of this process.
#pragma once

#include <sys/types.h>

namespace falcon::simserver {

class Guardian {
 public:
  // Without processes to be had there is none, and the rest works all the same.
  Guardian();
  ~Guardian();  // what it still knows of is killed
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // One thread at a time.
  void watch(pid_t group);
  void forget(pid_t group);  // before the group's leader is reaped: its number may pass on then

 private:
  void tell(pid_t message) const;

  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace falcon::simserver
