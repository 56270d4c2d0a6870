// Bytes of a stream cut into lines, whatever the borders of its chunks. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace falcon::kube {

class LineSplitter {
 public:
  // Longer lines end the stream: an object is at most 1.5 MiB, its watch line little more.
  static constexpr std::size_t kLineBytesMax = 16U << 20U;

  // Calls on_line for each line that is complete, without its newline; empty lines are passed over.
  // False when a line is too long.
  bool feed(std::string_view bytes, const std::function<void(std::string_view)>& on_line) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (end == std::string_view::npos) {
        rest_.append(bytes);
        return rest_.size() <= kLineBytesMax;
      }
      const std::string_view piece = bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (rest_.empty()) {
        if (!piece.empty()) on_line(piece);
        continue;
      }
      rest_.append(piece);
      std::string line;
      line.swap(rest_);
      on_line(line);
    }
    return true;
  }

 private:
  std::string rest_;
};

}  // namespace falcon::kube
