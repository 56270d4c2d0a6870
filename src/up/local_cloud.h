// The local cloud of `falcon up --sim`: a process of its own, as it is in the demo.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/io.h"
#include "up/child.h"
#include "up/options.h"

namespace falcon::up {

class LocalCloud {
 public:
  // Returns when it is ready. Its data stand in DATA/cloud and begin empty each time.
  static Result<LocalCloud> start(const Options& options, const cli::Io& io);
  // One URL for all that Google offers.
  const std::string& url() const { return url_; }
  // Its exit code, should it have ended by itself.
  std::optional<int> exit_code() { return child_.exit_code(); }
  void stop() { child_.stop(); }

 private:
  LocalCloud(Child child, std::string url) : child_(std::move(child)), url_(std::move(url)) {}

  Child child_;
  std::string url_;
};

}  // namespace falcon::up
