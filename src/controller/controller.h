// The shell around the decision core: observers in, executors out.
//
// One thread runs the core. Everything else (HTTP answers, watches, timers) arrives as closures in
// its queue. A controller leads by a term from Falcon's own store; each write carries it; when the
// lease could be lost, or a higher term is heard of, the core is thrown away and nothing more is
// executed. There is no resuming: a new term starts an empty core that fills up again.
//
// Calls to a cloud have deadlines that end before the next leader's first call: it waits one lease
// before it begins.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "core/settings.h"
#include "gke/gke.h"

namespace falcon::controller {

struct ControllerSettings {
  std::string api_url;  // "http://127.0.0.1:8180"
  std::string api_token;
  std::string
      google_url;      // one base for all of Google's APIs (the local cloud); empty: the real ones
  std::string holder;  // unique for each process start
  std::int64_t lease_seconds = 20;
  core::Settings core{};   // but for the installation, which the API server tells
  gke::GkeSettings gke{};  // but for the installation and the URLs
};

class Controller {
 public:
  explicit Controller(ControllerSettings settings);
  ~Controller();  // stops
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void start();
  // Ends in order: no new calls, those under way are bounded, the term is released.
  void stop();
  bool leads() const;

 private:
  class Shell;
  std::unique_ptr<Shell> shell_;
};

}  // namespace falcon::controller
