// Logs are read from the bucket, where each pod's lines stand in logs/JOB/POD.log and grow while
// the pod runs. Falcon itself takes no part in them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/wait.h"
#include "model/tpu.h"

namespace falcon::cli {
namespace {

struct Place {
  std::string endpoint;
  std::string bucket;
  std::string prefix;
};

// "gs://bucket/logs/id/" into its parts.
Result<Place> place_of(const std::string& log_prefix, const std::string& endpoint) {
  constexpr std::string_view kScheme = "gs://";
  const std::size_t slash =
      log_prefix.starts_with(kScheme) ? log_prefix.find('/', kScheme.size()) : std::string::npos;
  if (slash == std::string::npos)
    return fail(ErrorKind::kInternal,
                fmt::format("the API server gave \"{}\" as the place of the logs", log_prefix));
  return Place{endpoint, log_prefix.substr(kScheme.size(), slash - kScheme.size()),
               log_prefix.substr(slash + 1)};
}

// "falcon-abc…-0-x7k2p" is "0-x7k2p" for people: index and chance.
std::string short_pod_name(const std::string& pod) {
  std::size_t cut = pod.rfind('-');
  if (cut != std::string::npos && cut > 0) cut = pod.rfind('-', cut - 1);
  return cut == std::string::npos ? pod : pod.substr(cut + 1);
}

// Prints what is new in each pod's log. Of several pods, lines are kept whole and named.
class LogPrinter {
 public:
  LogPrinter(Context& context, const LogsOptions& options) : context_(context), options_(options) {}

  // Number of bytes printed.
  Result<std::size_t> print_new(const Place& place, bool several_pods) {
    FALCON_TRY(objects, context_.server.objects(place.endpoint, place.bucket, place.prefix));
    several_ = several_ || several_pods || objects.size() > 1;
    std::size_t printed = 0;
    for (const StoredObject& object : objects) {
      std::string pod = object.name.substr(place.prefix.size());
      if (!pod.ends_with(".log")) continue;
      pod.resize(pod.size() - 4);
      if (!options_.pod.empty() && pod != options_.pod && short_pod_name(pod) != options_.pod &&
          !short_pod_name(pod).starts_with(options_.pod + "-"))
        continue;
      any_ = true;
      Log& log = logs_[pod];
      if (object.size < log.offset) {
        context_.io.err << fmt::format("falcon: the log of {} was replaced; from its start again\n",
                                       pod);
        log.offset = 0;
      }
      while (log.offset < object.size) {
        FALCON_TRY(bytes, context_.server.object_bytes(place.endpoint, place.bucket, object.name,
                                                       log.offset));
        if (bytes.empty()) break;
        log.offset += bytes.size();
        printed += bytes.size();
        print(pod, log, bytes);
      }
    }
    context_.io.out.flush();
    return printed;
  }
  // What a pod wrote without an end of line.
  void print_rest() {
    for (auto& [pod, log] : logs_)
      if (!log.partial.empty()) print_line(pod, std::exchange(log.partial, {}));
    context_.io.out.flush();
  }
  bool any() const { return any_; }

 private:
  struct Log {
    std::uint64_t offset = 0;  // bytes read so far
    std::string partial;       // behind the last end of line
  };

  void print_line(const std::string& pod, const std::string& line) {
    context_.io.out << '[' << short_pod_name(pod) << "] " << line << '\n';
  }

  void print(const std::string& pod, Log& log, const std::string& bytes) {
    if (!several_) {
      context_.io.out << bytes;
      return;
    }
    log.partial += bytes;
    std::size_t begin = 0;
    for (std::size_t end = log.partial.find('\n'); end != std::string::npos;
         end = log.partial.find('\n', begin)) {
      print_line(pod, log.partial.substr(begin, end - begin));
      begin = end + 1;
    }
    log.partial.erase(0, begin);
  }

  Context& context_;
  const LogsOptions& options_;
  std::map<std::string, Log> logs_;
  bool several_ = false;
  bool any_ = false;
};

bool has_several_pods(const Job& job) {
  const Result<model::Slice> slice =
      model::find_slice(job.row.spec.tpu_type, job.row.spec.topology);
  return (slice && slice->multi_host()) || job.row.state.attempt > 1;
}

int print_once(Context& context, const LogsOptions& options, const std::string& endpoint) {
  const Result<Job> job = context.server.job(options.job);
  if (!job) return report(context.io, job.error());
  LogPrinter printer(context, options);
  if (!job->log_prefix.empty()) {
    const Result<Place> place = place_of(job->log_prefix, endpoint);
    if (!place) return report(context.io, place.error());
    const auto printed = printer.print_new(*place, has_several_pods(*job));
    if (!printed) return report(context.io, printed.error());
    printer.print_rest();
  }
  if (printer.any()) return kExitOk;
  if (!options.pod.empty())
    context.io.err << fmt::format("falcon: {} has no log of a pod {}\n", job->row.name,
                                  options.pod);
  else
    context.io.err << fmt::format("falcon: {} has no log yet; it is {}{}{}\n", job->row.name,
                                  status_text(job->row.state), job->message.empty() ? "" : ": ",
                                  job->message);
  return kExitFailed;
}

int follow(Context& context, const LogsOptions& options, const std::string& endpoint) {
  JobFollower follower(context, options.job);
  LogPrinter printer(context, options);
  int quiet_looks_at_end = 0;  // the last publication may come a moment behind the job's end
  std::string last_error;
  while (true) {
    const auto seen = follower.look();
    if (!seen) return report(context.io, seen.error());
    std::size_t printed = 0;
    if (*seen && !(*seen)->log_prefix.empty()) {
      const Result<Place> place = place_of((*seen)->log_prefix, endpoint);
      if (!place) return report(context.io, place.error());
      const auto count = printer.print_new(*place, has_several_pods(**seen));
      if (count)
        printed = *count;
      else if (count.error().kind == ErrorKind::kDenied)
        return report(context.io, count.error());
      else if (last_error != count.error().what)
        context.io.err << "falcon: the logs can't be read now, still trying: "
                       << (last_error = count.error().what) << std::endl;
    }
    if (*seen && model::is_terminal((*seen)->row.state.status)) {
      quiet_looks_at_end = printed == 0 ? quiet_looks_at_end + 1 : 0;
      if (quiet_looks_at_end >= 2) {
        printer.print_rest();
        follower.tell(**seen);
        return kExitOk;
      }
    } else if (*seen) {
      follower.tell(**seen);
    }
    context.io.sleep(kLookEvery);
  }
}

}  // namespace

int run_logs(Context& context, const LogsOptions& options) {
  const Result<Version> version = context.server.version();
  if (!version) return report(context.io, version.error());
  return options.follow ? follow(context, options, version->storage_endpoint)
                        : print_once(context, options, version->storage_endpoint);
}

}  // namespace falcon::cli
