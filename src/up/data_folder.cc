#include "up/data_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace falcon::up {
namespace {

std::unexpected<Error> no_folder(const std::string& path, const std::string& why) {
  return fail(
      ErrorKind::kDenied,
      fmt::format("the data folder {} can't be used: {}; name another one with --data", path, why));
}

}  // namespace

Result<DataFolder> DataFolder::open(const std::string& path) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(path, error);
  if (error) return no_folder(path, error.message());
  if (is_new) ::chmod(path.c_str(), 0700);
  const std::string lock_path = path + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return no_folder(path, std::strerror(errno));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    ::close(lock);
    if (number != EWOULDBLOCK) return no_folder(path, std::strerror(number));
    return fail(
        ErrorKind::kConflict,
        fmt::format("another falcon runs in {}; stop it, or name another folder with --data",
                    path));
  }
  return DataFolder(path, lock);
}

DataFolder::DataFolder(DataFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataFolder::~DataFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace falcon::up
