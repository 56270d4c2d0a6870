// From a pod's JSON to what a node agent runs for it.
//
// The main container is the first one. Its image is only noted. A mount of a volume with the CSI
// driver gcsfuse.csi.storage.gke.io, or of an emptyDir, becomes a private folder of the pod, and an
// environment value that equals or begins with the container's mountPath (followed by "/") is
// rewritten to that folder: a program finds its mounts through its environment. `$(NAME)` in
// command, args and environment is expanded as Kubernetes does ("$$" is "$").
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace falcon::simserver {

struct Mount {
  std::string path;              // in the container
  std::filesystem::path folder;  // here
  std::string bucket;            // empty: an emptyDir
};

struct Program {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Mount> mounts;
  std::string working_directory;  // empty: the pod's own folder
  std::optional<std::int64_t> memory_bytes_max;
};

// kInvalid: the kubelet could not start this container; the words say why. `folder` is the pod's.
Result<Program> program_of(const boost::json::object& pod, const std::filesystem::path& folder);

// "512Mi", "1.5G", "1e9", "128974848" in bytes, rounded up; empty when it is no quantity.
std::optional<std::int64_t> bytes_of_quantity(std::string_view text);

}  // namespace falcon::simserver
