// Job files: one or several YAML documents (JSON is YAML, too), each a job to submit.
//
//   name: train
//   actor: ann              # who it is charged to; without it: the person who submits
//   priority: 0
//   labels: {team: vision}
//   spec:
//     image: python:3.12-slim
//     command: [python3, train.py]
//     args: []
//     env: {STEPS: "100"}   # or the list of names and values that Kubernetes has
//     tpu_type: v6e
//     topology: 4x4
//     supply_mode: on-demand
//     timeout_seconds: 3600
//     termination_grace_seconds: 30
//     max_retries: 0
//     max_wait_seconds: 0
//
// Everything that can be known wrong is found here, with its line, before anything is sent; the
// limits are those of model/validation.h. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace falcon::cli {

inline constexpr std::size_t kJobFileBytesMax = 1u << 20;

struct JobFile {
  std::vector<model::JobRow> jobs;    // in the file's order; ids, times and state are not set
  std::vector<std::string> problems;  // "job.yaml:7: spec.topolgy: unknown field; did you mean …"
};

// `file_name` is for the words only. With problems, nothing should be sent.
JobFile parse_job_file(std::string_view text, std::string_view file_name,
                       const model::Actor& default_actor);

}  // namespace falcon::cli
