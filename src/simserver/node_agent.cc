#include "simserver/node_agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "base/check.h"
#include "simserver/bucket_mirror.h"
#include "simserver/guardian.h"

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;

constexpr int kMemoryLookMs = 500;
constexpr std::chrono::milliseconds kLastGrace{2'000};
constexpr std::int32_t kStartError = 128;

struct ProcessStat {
  pid_t group = 0;
  std::int64_t resident_bytes = 0;
  std::uint64_t started = 0;  // clock ticks since boot
};

// /proc/PID/stat, whose second field may hold anything in parentheses.
std::optional<ProcessStat> stat_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::vector<std::string> words;
  for (std::string word; fields >> word;) words.push_back(std::move(word));
  if (words.size() < 22) return std::nullopt;
  ProcessStat stat;
  stat.group = std::atoi(words[2].c_str());
  stat.started = std::strtoull(words[19].c_str(), nullptr, 10);
  stat.resident_bytes = std::atoll(words[21].c_str()) * ::sysconf(_SC_PAGESIZE);
  return stat;
}

std::map<pid_t, std::int64_t> resident_by_group() {
  std::map<pid_t, std::int64_t> groups;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.front() < '1' || name.front() > '9') continue;
    if (const auto stat = stat_of(name)) groups[stat->group] += stat->resident_bytes;
  }
  return groups;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The new process's id, or an errno.
std::expected<pid_t, int> spawn(const Program& program, const fs::path& folder) {
  const fs::path log = folder / "log";
  std::string directory =
      program.working_directory.empty() ? (folder / "work").string() : program.working_directory;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = program.argv;
  std::vector<std::string> variables;
  for (const auto& [name, value] : program.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0].c_str(), &actions, &attributes,
                                   pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::unexpected(error);
  return pid;
}

// Programs of an agent that was killed; told from others that got their number by their start.
void end_leftovers(const fs::path& pods) {
  std::error_code error;
  for (fs::directory_iterator it(pods, error), end; !error && it != end; it.increment(error)) {
    std::ifstream file(it->path() / "process");
    std::string pid;
    std::uint64_t started = 0;
    if (!(file >> pid >> started)) continue;
    const auto stat = stat_of(pid);
    if (stat && stat->started == started) ::kill(-std::atoi(pid.c_str()), SIGKILL);
  }
  fs::remove_all(pods, error);
}

}  // namespace

class NodeAgent::Loop {
 public:
  Loop(const fs::path& data, Reports reports)
      : data_(data),
        reports_(std::move(reports)),
        mirror_(data / "buckets"),
        wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { run(); }) {}
  ~Loop() {
    post([this] { begin_end(); });
    thread_.join();
    ::close(wakeup_);
  }

  void post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    const std::uint64_t one = 1;
    FALCON_CHECK(::write(wakeup_, &one, sizeof one) == sizeof one);
  }

  void start(const std::string& pod, Program program) {
    const fs::path folder = data_ / "pods" / pod;
    std::error_code error;
    fs::create_directories(folder / "work", error);
    for (const Mount& mount : program.mounts) {
      fs::create_directories(mount.folder, error);
      if (!mount.bucket.empty()) mirror_.watch(mount.folder, mount.bucket);
    }
    const auto pid = spawn(program, folder);
    if (!pid) {
      for (const Mount& mount : program.mounts)
        if (!mount.bucket.empty()) mirror_.finish(mount.folder);
      const std::string words =
          fmt::format("exec: \"{}\": {}", program.argv[0], std::strerror(pid.error()));
      return reports_.exited(pod, kStartError, "StartError", words);
    }
    guardian_.watch(*pid);
    if (const auto stat = stat_of(std::to_string(*pid)))
      std::ofstream(folder / "process") << *pid << ' ' << stat->started << '\n';
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
    FALCON_CHECK(descriptor >= 0);
    running_[pod] = Running{*pid, descriptor, std::move(program), false};
    reports_.started(pod);
  }

  void signal(const std::string& pod, int number) {
    const auto found = running_.find(pod);
    if (found == running_.end()) return;
    ::kill(number == SIGKILL ? -found->second.pid : found->second.pid, number);
  }

 private:
  struct Running {
    pid_t pid = 0;
    int descriptor = -1;
    Program program;
    bool out_of_memory = false;
  };

  void run() {
    while (!ending_ || !running_.empty()) {
      std::vector<pollfd> polled{{wakeup_, POLLIN, 0}, {mirror_.descriptor(), POLLIN, 0}};
      std::vector<std::string> pods;
      bool limited = ending_;
      for (const auto& [pod, running] : running_) {
        polled.push_back({running.descriptor, POLLIN, 0});
        pods.push_back(pod);
        limited = limited || running.program.memory_bytes_max.has_value();
      }
      ::poll(polled.data(), polled.size(), limited ? kMemoryLookMs : -1);
      do_tasks();
      mirror_.drain();
      for (std::size_t i = 0; i < pods.size(); ++i)
        if (polled[i + 2].revents != 0) reap(pods[i]);
      if (limited) watch_memory();
      if (ending_ && std::chrono::steady_clock::now() >= kill_at_)
        for (const auto& [pod, running] : running_) ::kill(-running.pid, SIGKILL);
    }
  }

  void do_tasks() {
    std::uint64_t count = 0;
    (void)!::read(wakeup_, &count, sizeof count);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
  }

  void begin_end() {
    ending_ = true;
    kill_at_ = std::chrono::steady_clock::now() + kLastGrace;
    for (const auto& [pod, running] : running_) ::kill(running.pid, SIGTERM);
  }

  void reap(const std::string& pod) {
    const auto found = running_.find(pod);
    if (found == running_.end()) return;
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(found->second.pid), &ended,
                 WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != found->second.pid)
      return;
    guardian_.forget(found->second.pid);
    int status = 0;
    if (::waitpid(found->second.pid, &status, 0) != found->second.pid) return;
    ::kill(-found->second.pid, SIGKILL);
    ::close(found->second.descriptor);
    for (const Mount& mount : found->second.program.mounts)
      if (!mount.bucket.empty()) mirror_.finish(mount.folder);
    const bool out_of_memory = found->second.out_of_memory;
    running_.erase(found);
    std::error_code ignored;
    fs::remove(data_ / "pods" / pod / "process", ignored);
    const std::int32_t code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const std::string reason = out_of_memory ? "OOMKilled" : code == 0 ? "Completed" : "Error";
    reports_.exited(pod, code, reason, "");
  }

  void watch_memory() {
    bool limited = false;
    for (const auto& [pod, running] : running_)
      limited = limited || running.program.memory_bytes_max.has_value();
    if (!limited) return;
    const auto resident = resident_by_group();
    for (auto& [pod, running] : running_) {
      const auto used = resident.find(running.pid);
      if (!running.program.memory_bytes_max || used == resident.end() ||
          used->second <= *running.program.memory_bytes_max)
        continue;
      running.out_of_memory = true;
      ::kill(-running.pid, SIGKILL);
    }
  }

  const fs::path data_;
  const Reports reports_;
  BucketMirror mirror_;
  Guardian guardian_;
  const int wakeup_;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  std::map<std::string, Running> running_;
  bool ending_ = false;
  std::chrono::steady_clock::time_point kill_at_{};
  std::thread thread_;  // last: it uses all of the above
};

NodeAgent::NodeAgent(const fs::path& data, Reports reports)
    : data_(fs::absolute(data)) {  // programs run in folders of their own
  end_leftovers(data_ / "pods");
  std::error_code ignored;
  fs::create_directories(data_ / "pods", ignored);
  fs::create_directories(data_ / "buckets", ignored);
  loop_ = std::make_unique<Loop>(data_, std::move(reports));
}

NodeAgent::~NodeAgent() = default;

fs::path NodeAgent::folder_of(const std::string& pod) const { return data_ / "pods" / pod; }

void NodeAgent::start(const std::string& pod, Program program) {
  loop_->post(
      [loop = loop_.get(), pod, program = std::move(program)] { loop->start(pod, program); });
}
void NodeAgent::terminate(const std::string& pod) {
  loop_->post([loop = loop_.get(), pod] { loop->signal(pod, SIGTERM); });
}
void NodeAgent::kill(const std::string& pod) {
  loop_->post([loop = loop_.get(), pod] { loop->signal(pod, SIGKILL); });
}

std::optional<std::string> NodeAgent::log_of(const std::string& pod) const {
  std::ifstream file(folder_of(pod) / "log", std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace falcon::simserver
