// The local cloud of `falcon up --sim`: a process of its own, as it is in the demo.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "cli/io.h"
#include "up/child.h"
#include "up/options.h"

namespace falcon::up {

class LocalCloud {
 public:
  // May it start here? kDenied with one line that says what to do. Touches no file.
  static Result<std::monostate> check(const Options& options);
  // Returns when it is ready. Its data stand in DATA/cloud and begin empty each time. Waits, and
  // says so, while the cloud of a start before still ends.
  static Result<LocalCloud> start(const Options& options, const cli::Io& io);
  // One URL for all that Google offers.
  const std::string& url() const { return url_; }
  // Have the rows of its clusters been added, at this start or one before? Kept in DATA/cloud.
  bool is_known() const;
  void note_known() const;
  // Its exit code, should it have ended by itself.
  std::optional<int> exit_code() { return child_.exit_code(); }
  void stop() { child_.stop(); }

 private:
  LocalCloud(Child child, std::string folder, std::string url)
      : child_(std::move(child)), folder_(std::move(folder)), url_(std::move(url)) {}

  Child child_;
  std::string folder_;
  std::string url_;
};

}  // namespace falcon::up
