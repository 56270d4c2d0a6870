// The decision core: events in, commands out.
//
// Pure: no I/O, no clock, no threads, no randomness of its own, no logging. The same events give
// the same commands, byte for byte. Incremental: the work of an event is in proportion to what it
// changed. Level-triggered: every decision compares what should be with what is known, so a lost,
// repeated or late event changes nothing in the end, and a restart is an empty core that fills up.
//
// Owned by the shell (src/controller), which calls it from one thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/event.h"
#include "core/settings.h"

namespace falcon::core {

class Core {
 public:
  explicit Core(const Settings& settings);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Takes one event and appends the commands that follow from it to `out`.
  void step(const Event& event, const Now& now, std::vector<Command>& out);

  // A Tick is wanted no later than this; MonoTime::max() when nothing is due.
  MonoTime wake_at() const;

  // Compares every index with a recount from the rows it derives from. Empty: all agree.
  // For tests and the simulation; costs time in proportion to all that exists.
  std::string check_indexes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace falcon::core
