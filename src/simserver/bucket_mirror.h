// gcsfuse's rule for the private folders of pods: a file shows nothing in the bucket until it is
// closed after writing; then all of it appears at once.
//
// Watches folders with inotify and copies closed or moved-in files to the bucket's folder (atomic
// rename); deleted and moved-away files go from the bucket, too. What is in the bucket when a pod
// starts is copied into its folder (up to 64 MiB, logs/ left out); what others write later does not
// appear there. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace falcon::simserver {

class BucketMirror {
 public:
  explicit BucketMirror(std::filesystem::path buckets);
  ~BucketMirror();
  BucketMirror(const BucketMirror&) = delete;
  BucketMirror& operator=(const BucketMirror&) = delete;

  int descriptor() const { return inotify_; }  // readable when drain() has something to do
  void watch(const std::filesystem::path& folder, const std::string& bucket);
  void drain();
  // Publishes whatever nobody has open for writing, then forgets the folder.
  void finish(const std::filesystem::path& folder);

 private:
  struct Folder {
    std::filesystem::path path;
    std::filesystem::path root;
    std::string bucket;
  };
  void add_tree(const std::filesystem::path& path, const std::filesystem::path& root,
                const std::string& bucket);
  void publish_closed(const Folder& folder);
  void publish(const Folder& folder, const std::filesystem::path& file);
  void retract(const Folder& folder, const std::filesystem::path& file);
  void fill(const std::filesystem::path& folder, const std::string& bucket);
  std::filesystem::path object_of(const Folder& folder, const std::filesystem::path& file) const;

  const std::filesystem::path buckets_;
  int inotify_ = -1;
  std::map<int, Folder> watched_;
};

}  // namespace falcon::simserver
