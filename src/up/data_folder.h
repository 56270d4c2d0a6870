// The folder with all that one API server keeps: database, token, api.json. One server at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace falcon::up {

// Holds the folder until it goes: an advisory lock on DIR/lock, which the kernel gives up when the
// process dies, however that happens.
class DataFolder {
 public:
  // Makes the folder (0700) if it is not there. kDenied with one line when it can't be written;
  // kConflict when another falcon has it.
  static Result<DataFolder> open(const std::string& path);
  DataFolder(DataFolder&& other) noexcept;
  DataFolder& operator=(DataFolder&&) = delete;
  ~DataFolder();
  const std::string& path() const { return path_; }

 private:
  DataFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;  // file descriptor
};

}  // namespace falcon::up
