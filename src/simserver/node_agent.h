// Runs pods' programs as real processes of this machine, each in a process group of its own.
//
// SIGTERM goes to the program alone, as to a container's first process; SIGKILL to its group; what
// is left of the group when the program ends is killed. Memory beyond the container's limit
// (resident, summed over the group, looked at twice a second) ends in OOMKilled, 137. Output goes
// to <data>/pods/<uid>/log. One thread of its own; all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "simserver/program.h"

namespace falcon::simserver {

class NodeAgent {
 public:
  struct Reports {  // called on the agent's thread
    std::function<void(const std::string& pod)> started;
    std::function<void(const std::string& pod, std::int32_t exit_code, const std::string& reason,
                       const std::string& message)>
        exited;
  };

  // Buckets are folders of <data>/buckets. Ends what an earlier agent left running there.
  NodeAgent(const std::filesystem::path& data, Reports reports);
  ~NodeAgent();  // SIGTERM to all, SIGKILL two seconds later
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  std::filesystem::path folder_of(const std::string& pod) const;
  void start(const std::string& pod, Program program);
  void terminate(const std::string& pod);  // SIGTERM
  void kill(const std::string& pod);       // SIGKILL
  std::optional<std::string> log_of(const std::string& pod) const;

 private:
  class Loop;
  const std::filesystem::path data_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace falcon::simserver
