#include "cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/spans.h"
#include "model/validation.h"
#include "usage/flags.h"
#include "words/words.h"

namespace falcon::cli {
namespace {

constexpr const char* kVersion = FALCON_VERSION;

constexpr const char* kFooter = R"help(
Exit codes
  0  done; of a wait: the job succeeded      3  the job failed
  1  refused, or falcon's own failure        4  the job was aborted
  2  wrong flags or job file, nothing sent   5  the wait's --timeout has passed
                                             6  the API server does not answer

Environment
  FALCON_DATA                folder with api.json and token (~/.local/share/falcon)
  FALCON_URL, FALCON_TOKEN   an API server elsewhere
  FALCON_LANGUAGE            zh or en, for messages (the installation's by default)
  FALCON_ACTOR               who jobs are charged to ($USER)
  FALCON_GOOGLE_TOKEN        access token to read logs from a real bucket
                             ("$(gcloud auth print-access-token)"))help";

// Commands of the same program that do not end; apps/falcon runs them.
constexpr std::array<std::pair<const char*, const char*>, 4> kServers{
    {{"up", "Run the API server and the controller, with --sim a local cloud as well"},
     {"apiserver", "Run the API server alone"},
     {"controller", "Run the controller alone"},
     {"sim", "Run the local cloud, look at it, break it"}}};

struct OutputWord {
  const char* word;
  Output output;
};
constexpr std::array kListOutputs{
    OutputWord{"table", Output::kTable}, OutputWord{"wide", Output::kWide},
    OutputWord{"json", Output::kJson}, OutputWord{"yaml", Output::kYaml},
    OutputWord{"name", Output::kName}};
constexpr std::array kSubmitOutputs{OutputWord{"text", Output::kTable},
                                    OutputWord{"json", Output::kJson},
                                    OutputWord{"name", Output::kName}};

void add_output(CLI::App& command, std::span<const OutputWord> known, Output& output,
                const char* what) {
  std::vector<std::string> words;
  for (const OutputWord& each : known) words.emplace_back(each.word);
  usage::add_choice(
      command, "-o,--output", words,
      [known, &output](std::size_t place) { output = known[place].output; }, what);
}

// Options without CLI11's lists of types, alternatives and exclusions: the words say it.
class PlainFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_items_expected_max() == 0 || option->get_positional() ? "" : " VALUE";
  }
};

std::vector<std::string> status_words() {
  std::vector<std::string> words;
  for (const model::JobStatus status : model::kAllJobStatuses)
    words.emplace_back(model::to_string(status));
  return words;
}

using Verb = std::function<int(Context&)>;

// The whole grammar. Options are parsed into members; `verb` is what was chosen.
class Grammar {
 public:
  Grammar() {
    app_.formatter(std::make_shared<PlainFormatter>());
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.add_option("--data", data, "Folder with the API server's address and token");
    app_.add_option("--language", language, "Language of messages: zh or en");
    add_submit();
    add_get();
    add_looks();
    add_logs();
    add_wait();
    add_clusters();
    app_.add_subcommand("version", "Show this program's and the API server's version")
        ->callback(
            [this] { verb = [](Context& context) { return run_version(context, kVersion); }; });
    app_.add_subcommand("help", "Show this help; of a command: falcon COMMAND --help");
    for (const auto& [name, what] : kServers) app_.add_subcommand(name, what);
    app_.footer(kFooter);  // the last: commands inherit what is set before them
  }
  CLI::App& app() { return app_; }

  std::string data;
  std::string language;
  Verb verb;
  SubmitOptions submit;
  // The first flag of a job that was given beside --file; empty: none.
  std::string flag_beside_file() const {
    for (const CLI::Option* flag : submit_flags_)
      if (!submit.file.empty() && flag->count() > 0) return flag->get_name();
    return {};
  }

 private:
  void add_submit() {
    CLI::App* command = app_.add_subcommand(
        "submit", "Submit jobs from a file, or one by flags: falcon submit --name … -- prog args…");
    command->footer(
        "\nExamples\n"
        "  falcon submit -f job.yaml\n"
        "  falcon submit --name hello --image python:3.12-slim --tpu-type v6e --topology 2x2 "
        "-- python3 -c 'print(1)'");
    command->add_option("-f,--file", submit.file, "YAML file, - for standard input");
    submit_flags_ = {
        command->add_option("--name", submit.name, "Name of the job: a-z, 0-9 and -"),
        command->add_option("--actor", submit.actor, "Who it is charged to; $USER by default"),
        usage::add_number(
            *command, "--priority", model::kPriorityMin, model::kPriorityMax,
            [this](std::int64_t value) { submit.priority = static_cast<std::int32_t>(value); },
            "-1000 to 1000; higher goes first"),
        command->add_option("--image", submit.image, "Container image"),
        command->add_option("--tpu-type", submit.tpu_type, "v6e, v7x, v5p, v5e, v4"),
        command->add_option("--topology", submit.topology, "2x2, 4x4, 2x2x4, …"),
        command->add_option(
            "--supply-mode", submit.supply_mode,
            "reservation, on-demand or flex-start; the cluster's default if not given"),
        command->add_option("--timeout", submit.timeout,
                            "How long it may run: 3600, 90m, 2h (24h)"),
        command->add_option("--grace", submit.grace, "Time to end after SIGTERM (30s)"),
        usage::add_number(
            *command, "--max-retries", 0, model::kRetriesMax,
            [this](std::int64_t value) { submit.max_retries = value; },
            "Runs again after failures: 0 to 10"),
        command->add_option("--max-wait", submit.max_wait,
                            "Gives up when it has no machines after so long: 30m, 2d"),
        command->add_option("--env", submit.env, "NAME=VALUE, may be repeated")
            ->allow_extra_args(false),
        command->add_option("--label", submit.labels, "KEY=VALUE, may be repeated")
            ->allow_extra_args(false)};
    command->add_flag("--wait", submit.wait, "Wait for the end; the exit code tells how it went");
    add_output(*command, kSubmitOutputs, submit.output, "text, json or name (the id alone)");
    command->callback(
        [this] { verb = [this](Context& context) { return run_submit(context, submit); }; });
  }

  void add_get() {
    CLI::App* get = app_.add_subcommand("get", "List jobs, clusters, queues or node pools");
    get->require_subcommand(1);
    const std::array<std::array<const char*, 3>, 4> kinds{
        {{"jobs", "job", "Jobs, newest first"},
         {"clusters", "cluster", "Clusters"},
         {"queues", "queue", "Who waits where, in the order of service"},
         {"pools", "pool", "Node pools that Falcon has made"}}};
    for (const auto& [kind, alias, what] : kinds) {
      CLI::App* command = get->add_subcommand(kind, what)->alias(alias);
      command->add_option("name", get_.name,
                          std::string_view(kind) == "queues"
                              ? "Those of a cluster; all if not given"
                              : "Name or id; all if not given");
      if (std::string_view(kind) == "jobs") {
        usage::add_choice(
            *command, "--status", status_words(),
            [this](std::size_t place) {
              get_.status = model::to_string(model::kAllJobStatuses[place]);
            },
            "Pending, Running, Succeeded, Failed, …");
        command->add_option("--actor", get_.actor, "Jobs of this actor");
        command->add_option("--cluster", get_.cluster, "Jobs on this cluster");
        usage::add_number(
            *command, "--limit", 1, 100'000,
            [this](std::int64_t value) { get_.count_max = static_cast<std::size_t>(value); },
            "How many at most (200)");
      }
      add_output(*command, kListOutputs, get_.output, "wide, json, yaml or name");
      command->callback([this, name = std::string(kind)] {
        get_.kind = name;
        verb = [this](Context& context) { return run_get(context, get_); };
      });
    }
  }

  void add_looks() {
    CLI::App* describe = app_.add_subcommand("describe", "Tell all about one job or cluster");
    describe->require_subcommand(1);
    for (const char* kind : {"job", "cluster"}) {
      CLI::App* command = describe->add_subcommand(kind, fmt::format("Tell all about a {}", kind));
      command->add_option("name", name_, "Name or id")->required();
      command->callback([this, name = std::string(kind)] {
        verb = [this, name](Context& context) { return run_describe(context, name, name_); };
      });
    }
    CLI::App* events = app_.add_subcommand("events", "Show what happened to a job");
    events->add_option("job", name_, "Name or id")->required();
    events->callback(
        [this] { verb = [this](Context& context) { return run_events(context, name_); }; });
    CLI::App* abort = app_.add_subcommand("abort", "Abort jobs");
    abort->add_option("job", names_, "Names or ids")->required();
    abort->callback(
        [this] { verb = [this](Context& context) { return run_abort(context, names_); }; });
  }

  void add_logs() {
    CLI::App* command = app_.add_subcommand("logs", "Print what a job has printed");
    command->add_option("job", logs_.job, "Name or id")->required();
    command->add_flag("-f,--follow", logs_.follow, "Go on until the job has ended");
    command->add_option("--pod", logs_.pod, "Of this pod only: its name, its end, or its index");
    command->callback(
        [this] { verb = [this](Context& context) { return run_logs(context, logs_); }; });
  }

  void add_wait() {
    CLI::App* command = app_.add_subcommand("wait", "Wait for jobs, telling what changes");
    command->add_option("job", names_, "Names or ids")->required();
    usage::add_choice(
        *command, "--for", status_words(),
        [this](std::size_t place) { wait_.until = model::kAllJobStatuses[place]; },
        "This status instead of the end");
    command->add_option_function<std::string>(
        "--timeout",
        [this](const std::string& text) {
          const Result<Duration> span = parse_span(text);
          if (!span) throw CLI::ValidationError("--timeout", span.error().what);
          wait_.limit = *span;
        },
        "How long to wait: 90s, 15m, 2h; without end if not given");
    command->callback(
        [this] { verb = [this](Context& context) { return run_wait(context, names_, wait_); }; });
  }

  void add_clusters() {
    CLI::App* cluster = app_.add_subcommand("cluster", "Look after clusters");
    cluster->require_subcommand(1);
    CLI::App* add = cluster->add_subcommand("add", "Let Falcon use a GKE cluster for a TPU type");
    add->add_option("--name,name", row_.name, "The GKE cluster's name")->required();
    add->add_option("--project", row_.project, "Google Cloud project")->required();
    add->add_option("--location", row_.location, "Region or zone of the cluster")->required();
    add->add_option("--zone", row_.zone, "Zone of the node pools; --location if that is a zone");
    add->add_option("--tpu-type", row_.tpu_type, "v6e, v7x, v5p, v5e, v4")->required();
    add->add_option("--bucket", row_.gcs_bucket, "Bucket for logs and results")->required();
    add->add_option("--reservation", row_.default_reservation,
                    "NAME or projects/OWNER/reservations/NAME; without it jobs use flex-start");
    add->add_option("--namespace", row_.kubernetes_namespace, "Where jobs run (default)");
    add->add_option("--service-account", row_.service_account,
                    "Kubernetes service account of the pods");
    add->callback([this] {
      if (row_.zone.empty() && model::is_zone(row_.location)) row_.zone = row_.location;
      verb = [this](Context& context) { return run_cluster_add(context, row_); };
    });
    CLI::App* list = cluster->add_subcommand("list", "List clusters");
    add_output(*list, kListOutputs, get_.output, "wide, json, yaml or name");
    list->callback([this] {
      get_.kind = "clusters";
      verb = [this](Context& context) { return run_get(context, get_); };
    });
    CLI::App* set = cluster->add_subcommand("set", "Change a cluster's row");
    set->add_option("name", name_, "Name or id")->required();
    const std::array<std::array<const char*, 3>, 6> fields{
        {{"--status", "status", "active, maintenance (nothing new) or offline (no calls)"},
         {"--zone", "zone", "Zone of the node pools"},
         {"--bucket", "gcs_bucket", "Bucket for logs and results"},
         {"--reservation", "default_reservation", "Default reservation; \"\" for none"},
         {"--namespace", "kubernetes_namespace", "Where jobs run"},
         {"--service-account", "service_account", "Kubernetes service account of the pods"}}};
    for (const auto& [flag, field, what] : fields)
      set->add_option_function<std::string>(
          flag,
          [this, name = std::string(field)](const std::string& value) {
            changes_.emplace_back(name, value);
          },
          what);
    set->callback([this] {
      verb = [this](Context& context) { return run_cluster_set(context, name_, changes_); };
    });
    CLI::App* remove = cluster->add_subcommand("remove", "Forget a cluster that has no node pools");
    remove->add_option("name", name_, "Name or id")->required();
    remove->callback(
        [this] { verb = [this](Context& context) { return run_cluster_remove(context, name_); }; });
  }

  CLI::App app_{"Falcon runs jobs on TPU slices of GKE clusters.", "falcon"};
  std::vector<CLI::Option*> submit_flags_;
  GetOptions get_;
  LogsOptions logs_;
  WaitOptions wait_;
  model::ClusterRow row_;
  Query changes_;
  std::string name_;
  std::vector<std::string> names_;
};

int usage_error(const Io& io, const CLI::App& app, const CLI::ParseError& error,
                std::span<const std::string> args) {
  std::string path;
  usage::innermost(app, path);
  io.err << fmt::format("{}: {}\n{} --help shows what there is\n", path,
                        usage::complaint(app, error, args), path);
  return kExitUsage;
}

CLI::App* subcommand(CLI::App& command, const std::string& name) {
  const std::vector<CLI::App*> found =
      command.get_subcommands([&](CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

// "falcon help", "falcon help get", "falcon".
int print_help(const Io& io, CLI::App& app, std::span<const std::string> path) {
  CLI::App* command = &app;
  std::string before;  // the names above the command's own
  for (const std::string& word : path) {
    CLI::App* const sub = subcommand(*command, word);
    if (sub == nullptr) {
      io.err << fmt::format("falcon help: there is no command \"{}\"{}\n", clean_text(word, 40),
                            usage::suggestion(*command, path));
      return kExitUsage;
    }
    before += (before.empty() ? "" : " ") + command->get_name();
    command = sub;
  }
  io.out << command->help(before);
  return kExitOk;
}

// The language that the server is asked for, or a complaint.
Result<std::string> language_asked_for(const Io& io, const std::string& given) {
  std::string text = given.empty() ? io.environment("FALCON_LANGUAGE").value_or("") : given;
  if (text.empty()) return text;
  const auto language = words::language_from_string(text);
  if (!language)
    return fail(ErrorKind::kInvalid,
                fmt::format("--language: \"{}\" is not one of zh, en", clean_text(text, 40)));
  return std::string(words::to_string(*language));
}

int run_verb(const Io& io, Grammar& grammar) {
  const Result<std::string> language = language_asked_for(io, grammar.language);
  if (!language) return report(io, language.error());
  Server server(io, find_connection(io, grammar.data), *language);
  Context context{io, server};
  return grammar.verb(context);
}

}  // namespace

int report(const Io& io, const Error& error) {
  io.err << "falcon: " << clean_text(error.what, 4000) << '\n';
  switch (error.kind) {
    case ErrorKind::kInvalid:
      return kExitUsage;
    case ErrorKind::kUnavailable:
    case ErrorKind::kUnknownOutcome:
      return kExitUnreachable;
    case ErrorKind::kDenied:
    case ErrorKind::kQuota:
    case ErrorKind::kNotFound:
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kConflict:
    case ErrorKind::kFenced:
    case ErrorKind::kBusy:
    case ErrorKind::kThrottled:
    case ErrorKind::kOutOfCapacity:
    case ErrorKind::kInternal:
      return kExitFailed;
  }
  std::abort();
}

int run_cli(std::span<const std::string> args, const Io& io) {
  Grammar grammar;
  if (args.empty()) return print_help(io, grammar.app(), {}), kExitUsage;
  if (args.front() == "help") return print_help(io, grammar.app(), args.subspan(1));
  // What stands behind "--" is the job's own and no flag of ours.
  const auto end = std::ranges::find(args, "--");
  std::vector<std::string> own(args.begin(), end);
  if (end != args.end()) grammar.submit.command.assign(end + 1, args.end());
  if (end != args.end() && own.empty()) return print_help(io, grammar.app(), {}), kExitUsage;
  std::vector<std::string> reversed(own.rbegin(), own.rend());  // as CLI11 wants it
  try {
    grammar.app().parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::string path;
    const CLI::App& command = usage::innermost(grammar.app(), path);
    io.out << command.help(
        path.substr(0, path.rfind(' ') == std::string::npos ? 0 : path.rfind(' ')));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return usage_error(io, grammar.app(), error, own);
  }
  if (end != args.end() && !(grammar.submit.file.empty() && own.front() == "submit")) {
    io.err << "falcon: a command behind -- goes with falcon submit by flags only\n";
    return kExitUsage;
  }
  if (const std::string flag = grammar.flag_beside_file(); !flag.empty()) {
    io.err << fmt::format("falcon submit: {} does not go with --file; write it into the file\n",
                          flag);
    return kExitUsage;
  }
  if (!grammar.verb) return print_help(io, grammar.app(), {});
  return run_verb(io, grammar);
}

}  // namespace falcon::cli
