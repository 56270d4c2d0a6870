#include "simserver/bucket_mirror.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <vector>

#include "base/check.h"

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR;
constexpr std::uintmax_t kFillMax = 64U << 20;

// A read lease is refused while anybody has the file open for writing.
bool is_being_written(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool refused = ::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
  if (!refused) ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
  ::close(descriptor);
  return refused;
}

}  // namespace

BucketMirror::BucketMirror(fs::path buckets)
    : buckets_(std::move(buckets)), inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  FALCON_CHECK(inotify_ >= 0);
}

BucketMirror::~BucketMirror() { ::close(inotify_); }

void BucketMirror::watch(const fs::path& folder, const std::string& bucket) {
  std::error_code ignored;
  fs::create_directories(buckets_ / bucket, ignored);
  fill(folder, bucket);
  add_tree(folder, folder, bucket);
}

void BucketMirror::fill(const fs::path& folder, const std::string& bucket) {
  const fs::path source = buckets_ / bucket;
  std::uintmax_t total = 0;
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(source, error), end; !error && it != end;
       it.increment(error)) {
    const fs::path relative = it->path().lexically_relative(source);
    if (*relative.begin() == "logs") {
      if (it->is_directory(error)) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(error)) continue;
    total += it->file_size(error);
    files.push_back(relative);
  }
  if (total > kFillMax) return;
  for (const fs::path& file : files) {
    fs::create_directories((folder / file).parent_path(), error);
    fs::copy_file(source / file, folder / file, fs::copy_options::overwrite_existing, error);
  }
}

void BucketMirror::add_tree(const fs::path& path, const fs::path& root, const std::string& bucket) {
  const int descriptor = ::inotify_add_watch(inotify_, path.c_str(), kEvents);
  if (descriptor < 0) return;  // gone again
  watched_[descriptor] = Folder{path, root, bucket};
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) add_tree(it->path(), root, bucket);
}

fs::path BucketMirror::object_of(const Folder& folder, const fs::path& file) const {
  return buckets_ / folder.bucket / file.lexically_relative(folder.root);
}

void BucketMirror::publish(const Folder& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return;
  const fs::path target = object_of(folder, file);
  const fs::path draft = buckets_ / fmt::format(".draft-{}-{}", ::getpid(), folder.bucket);
  fs::create_directories(target.parent_path(), error);
  if (fs::copy_file(file, draft, fs::copy_options::overwrite_existing, error))
    fs::rename(draft, target, error);
}

void BucketMirror::retract(const Folder& folder, const fs::path& file) {
  std::error_code ignored;
  fs::remove_all(object_of(folder, file), ignored);
}

// Files that came to a folder before it was watched. One that is still open is left for its close.
void BucketMirror::publish_closed(const Folder& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder.path, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error) && !is_being_written(it->path())) publish(folder, it->path());
  }
}

void BucketMirror::drain() {
  alignas(inotify_event) std::array<char, 16'384> buffer{};
  while (true) {
    const ssize_t length = ::read(inotify_, buffer.data(), buffer.size());
    if (length <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof(inotify_event) + event->len;
      const auto found = watched_.find(event->wd);
      if (found == watched_.end()) continue;
      if ((event->mask & IN_IGNORED) != 0) {
        watched_.erase(found);
        continue;
      }
      if (event->len == 0) continue;
      const Folder folder = found->second;
      const fs::path path = folder.path / static_cast<const char*>(event->name);
      const bool is_folder = (event->mask & IN_ISDIR) != 0;
      if ((event->mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
        retract(folder, path);
      } else if (is_folder && (event->mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
        add_tree(path, folder.root, folder.bucket);
        for (const auto& [descriptor, below] : watched_)
          if (below.path.native().starts_with(path.native())) publish_closed(below);
      } else if (!is_folder && (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) {
        publish(folder, path);
      }
    }
  }
}

void BucketMirror::finish(const fs::path& folder) {
  drain();
  for (auto it = watched_.begin(); it != watched_.end();) {
    if (it->second.root != folder) {
      ++it;
      continue;
    }
    publish_closed(it->second);
    ::inotify_rm_watch(inotify_, it->first);
    it = watched_.erase(it);
  }
}

}  // namespace falcon::simserver
