// The simulated cloud with a real clock, real programs and many callers, but without sockets.
//
// One lock guards the world. A thread of its own lets the world's time pass, hands pods to the node
// agent and feeds the open watches. The world starts empty: nothing of an earlier run comes back
// but the buckets.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "cloudsim/world.h"
#include "simserver/face.h"
#include "simserver/google_face.h"
#include "simserver/kube_face.h"
#include "simserver/node_agent.h"
#include "simserver/tokens.h"

namespace falcon::simserver {

struct CloudSetup {
  std::filesystem::path data;
  double speed = 1;  // delays of the cloud are divided by this; programs run in real time
  std::uint64_t seed = 1;
  std::vector<cloudsim::ClusterSetup> clusters;
  std::vector<cloudsim::ReservationSetup> reservations;
  struct Capacity {
    std::string machine_type;
    std::int64_t machines = 0;
  };
  std::vector<Capacity> capacities;  // of every zone
  std::vector<std::string> orders;   // see apply_order
  // What a simulated machine has for a pod that names no limit of its own: more ends as OOMKilled.
  std::int64_t machine_memory_bytes = 1LL << 30;
};

// Where the lines of a watch go. `write` says false when nobody reads any more.
struct LineSink {
  std::function<bool(std::string)> write;
  std::function<void()> finish;
};

class SimCloud {
 public:
  // kInvalid: an order is not understood.
  static Result<std::unique_ptr<SimCloud>> make(const CloudSetup& setup);
  ~SimCloud();  // ends watches and programs
  SimCloud(const SimCloud&) = delete;
  SimCloud& operator=(const SimCloud&) = delete;

  // Any thread may call these.
  void set_endpoints(std::map<model::GkeCluster, GoogleFace::Endpoint> endpoints);
  Answer google(const Call& call);  // and /sim/...
  // A whole answer; or none, and the sink that `begin` made gets lines until it is finished.
  std::optional<Answer> kube(const model::GkeCluster& cluster, const Call& call,
                             const std::function<LineSink()>& begin);

 private:
  explicit SimCloud(const CloudSetup& setup);
  struct Watching {
    std::unique_ptr<KubeWatch> watch;
    LineSink sink;
  };
  MonoTime clock() const;
  void run();
  void obey(const std::vector<cloudsim::PodOrder>& orders);
  void report(const std::string& pod,
              const std::function<void(const model::GkeCluster&, const model::Uid&)>& tell);
  MonoTime next_look() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Calendar calendar_;
  const std::filesystem::path data_;
  const std::int64_t machine_memory_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = false;
  bool ending_ = false;
  cloudsim::World world_;
  Tokens tokens_;
  std::unique_ptr<GoogleFace> google_;
  std::map<model::GkeCluster, std::unique_ptr<KubeFace>> kubes_;
  std::map<std::string, model::GkeCluster> pods_;  // where each started pod is
  std::list<Watching> watches_;
  std::unique_ptr<NodeAgent> agent_;
  std::thread thread_;
};

}  // namespace falcon::simserver
