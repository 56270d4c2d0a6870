#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/json_text.h"
#include "cli/spans.h"
#include "cli/table.h"
#include "cli/wait.h"

namespace falcon::cli {
namespace {

constexpr std::size_t kMessageCells = 70;

// The text, cut to so many cells.
std::string cut(const std::string& text, std::size_t cells_max) {
  if (display_width(text) <= cells_max) return text;
  std::string head = text;
  do {  // whole characters from the end
    while (!head.empty() && (static_cast<unsigned char>(head.back()) & 0xC0u) == 0x80u)
      head.pop_back();
    if (!head.empty()) head.pop_back();
  } while (display_width(head) > cells_max - 1);
  return head + "…";
}

std::string age(const Io& io, WallTime since) { return format_span(io.now() - since); }

// Prints documents in the form that was asked for; false when a table was.
template <class Item, class NameOf>
bool print_documents(const Io& io, const std::vector<Item>& items, const GetOptions& options,
                     NameOf name_of) {
  if (options.output == Output::kTable || options.output == Output::kWide) return false;
  if (options.output == Output::kName) {
    for (const Item& item : items) io.out << name_of(item) << '\n';
    return true;
  }
  std::vector<std::string> documents;
  documents.reserve(items.size());
  for (const Item& item : items) documents.push_back(item.json);
  const bool single = !options.name.empty() && documents.size() == 1;
  const std::string text = single ? documents.front() : list_of_json(documents);
  io.out << (options.output == Output::kJson ? pretty_json(text) : yaml_of_json(text));
  return true;
}

void print_table(const Io& io, const Table& table, const char* nothing) {
  if (table.empty())
    io.err << nothing << '\n';
  else
    table.print(io.out);
}

Table job_table(const Io& io, const std::vector<Job>& jobs, bool wide) {
  std::vector<std::string> header{"NAME", "ACTOR", "STATUS", "REASON", "TPU", "CLUSTER", "AGE"};
  if (wide) header.insert(header.end(), {"ID", "PRIORITY", "POOL", "ATTEMPT", "EXIT"});
  header.emplace_back("MESSAGE");
  Table table(header);
  for (const Job& job : jobs) {
    const model::JobState& state = job.row.state;
    std::vector<std::string> cells{job.row.name,
                                   job.row.actor.value(),
                                   std::string(model::to_string(state.status)),
                                   std::string(model::to_string(state.reason)),
                                   model::to_string(model::shape_of(job.row.spec)),
                                   job.cluster_name,
                                   age(io, job.row.created_at)};
    if (wide)
      cells.insert(cells.end(), {job.row.id.value(), std::to_string(job.row.priority),
                                 state.node_pool_name.value(), std::to_string(state.attempt),
                                 state.exit_code ? std::to_string(*state.exit_code) : ""});
    cells.push_back(wide ? job.message : cut(job.message, kMessageCells));
    table.add(std::move(cells));
  }
  return table;
}

int get_jobs(Context& context, const GetOptions& options) {
  Query query;
  if (!options.name.empty()) query.emplace_back("name", options.name);
  if (!options.status.empty()) query.emplace_back("status", options.status);
  if (!options.actor.empty()) query.emplace_back("actor", options.actor);
  if (!options.cluster.empty()) query.emplace_back("cluster", options.cluster);
  Result<std::vector<Job>> jobs = context.server.jobs(query, options.count_max);
  if (jobs && jobs->empty() && !options.name.empty()) {  // not a name: an id?
    Result<Job> one = context.server.job(options.name);
    if (!one) return report(context.io, one.error());
    jobs->push_back(*std::move(one));
  }
  if (!jobs) return report(context.io, jobs.error());
  const auto id = [](const Job& job) { return job.row.id.value(); };
  if (print_documents(context.io, *jobs, options, id)) return kExitOk;
  print_table(context.io, job_table(context.io, *jobs, options.output == Output::kWide),
              "No jobs. Submit one: falcon submit -f job.yaml");
  if (jobs->size() == options.count_max)
    context.io.err << fmt::format("The newest {} are shown; more with --limit\n", jobs->size());
  return kExitOk;
}

// Empty while nobody has looked.
std::string health(const Cluster& cluster) {
  return cluster.condition ? std::string(model::to_string(cluster.condition->health)) : "";
}

int get_clusters(Context& context, const GetOptions& options) {
  Result<std::vector<Cluster>> clusters = context.server.clusters();
  if (!clusters) return report(context.io, clusters.error());
  if (!options.name.empty()) {
    std::erase_if(*clusters, [&](const Cluster& cluster) {
      return cluster.row.name != options.name && cluster.row.id.value() != options.name;
    });
    if (clusters->empty())
      return report(context.io, {ErrorKind::kNotFound,
                                 fmt::format("there is no cluster \"{}\"", options.name)});
  }
  const auto name = [](const Cluster& cluster) { return cluster.row.name; };
  if (print_documents(context.io, *clusters, options, name)) return kExitOk;
  const bool wide = options.output == Output::kWide;
  std::vector<std::string> header{"NAME",     "TPU",  "STATUS", "CONDITION",  "PROJECT",
                                  "LOCATION", "ZONE", "BUCKET", "RESERVATION"};
  if (wide) header.insert(header.end(), {"ID", "NAMESPACE", "SERVICE-ACCOUNT", "AGE"});
  header.emplace_back("MESSAGE");
  Table table(header);
  for (const Cluster& cluster : *clusters) {
    const model::ClusterRow& row = cluster.row;
    std::vector<std::string> cells{
        row.name,        row.tpu_type,   std::string(model::to_string(row.status)),
        health(cluster), row.project,    row.location,
        row.zone,        row.gcs_bucket, row.default_reservation};
    if (wide)
      cells.insert(cells.end(), {row.id.value(), row.kubernetes_namespace, row.service_account,
                                 age(context.io, row.created_at)});
    const std::string words = cluster.condition ? cluster.condition->words : "";
    cells.push_back(wide ? words : cut(words, kMessageCells));
    table.add(std::move(cells));
  }
  print_table(context.io, table, "No clusters. Add one: falcon cluster add --help");
  return kExitOk;
}

// Names of clusters by id, for lists whose rows carry ids only; ids where it can't be read.
std::map<model::ClusterId, std::string> cluster_names(Context& context) {
  std::map<model::ClusterId, std::string> names;
  if (const Result<std::vector<Cluster>> clusters = context.server.clusters())
    for (const Cluster& cluster : *clusters) names.emplace(cluster.row.id, cluster.row.name);
  return names;
}

std::string name_or_id(const std::map<model::ClusterId, std::string>& names,
                       const model::ClusterId& id) {
  const auto found = names.find(id);
  return found == names.end() ? id.value() : found->second;
}

int get_pools(Context& context, const GetOptions& options) {
  Result<std::vector<Pool>> pools = context.server.pools();
  if (!pools) return report(context.io, pools.error());
  if (!options.name.empty()) {
    std::erase_if(*pools, [&](const Pool& pool) { return pool.row.name.value() != options.name; });
    if (pools->empty())
      return report(context.io, {ErrorKind::kNotFound,
                                 fmt::format("there is no node pool \"{}\"; what there is: falcon "
                                             "get pools",
                                             options.name)});
  }
  const auto name = [](const Pool& pool) { return pool.row.name.value(); };
  if (print_documents(context.io, *pools, options, name)) return kExitOk;
  const auto names = cluster_names(context);
  Table table({"NAME", "PHASE", "TPU", "SUPPLY", "CLUSTER", "SERVES", "AGE", "ERROR"});
  for (const Pool& pool : *pools) {
    const model::PoolRow& row = pool.row;
    table.add(
        {row.name.value(), std::string(model::to_string(row.phase)), model::to_string(row.shape),
         std::string(model::to_string(row.supply)), name_or_id(names, row.cluster),
         row.serves.value(), age(context.io, row.intent_at),
         options.output == Output::kWide ? row.last_error : cut(row.last_error, kMessageCells)});
  }
  print_table(context.io, table, "No node pools.");
  return kExitOk;
}

int get_queues(Context& context, const GetOptions& options) {
  Result<std::vector<Queue>> queues = context.server.queues();
  if (!queues) return report(context.io, queues.error());
  const auto names = cluster_names(context);
  if (!options.name.empty()) {  // those of a cluster
    if (std::ranges::none_of(names, [&](const auto& cluster) {
          return cluster.second == options.name || cluster.first.value() == options.name;
        }))
      return report(context.io, {ErrorKind::kNotFound,
                                 fmt::format("there is no cluster \"{}\"", options.name)});
    std::erase_if(*queues, [&](const Queue& queue) {
      return name_or_id(names, queue.cluster) != options.name &&
             queue.cluster.value() != options.name;
    });
  }
  std::erase_if(*queues, [](const Queue& queue) { return queue.order.empty(); });
  const auto name = [&](const Queue& queue) {
    return fmt::format("{}/{}/{}", name_or_id(names, queue.cluster), queue.shape.type,
                       queue.shape.topology);
  };
  if (print_documents(context.io, *queues, options, name)) return kExitOk;
  Result<std::vector<Job>> waiting =
      context.server.jobs({{"status", "Pending"}}, options.count_max);
  if (!waiting) return report(context.io, waiting.error());
  std::map<model::JobId, const Job*> by_id;
  for (const Job& job : *waiting) by_id.emplace(job.row.id, &job);
  Table table({"CLUSTER", "TPU", "PLACE", "ACTOR", "JOB", "AGE"});
  for (const Queue& queue : *queues) {
    std::size_t place = 0;
    for (const model::JobId& id : queue.order) {
      const auto found = by_id.find(id);
      const Job* job = found == by_id.end() ? nullptr : found->second;
      table.add({name_or_id(names, queue.cluster), model::to_string(queue.shape),
                 fmt::format("#{}", ++place), job ? job->row.actor.value() : "",
                 job ? job->row.name : id.value(),
                 job ? age(context.io, job->row.created_at) : ""});
    }
  }
  print_table(context.io, table, "Nothing waits.");
  return kExitOk;
}

}  // namespace

int run_get(Context& context, const GetOptions& options) {
  if (options.kind == "jobs") return get_jobs(context, options);
  if (options.kind == "clusters") return get_clusters(context, options);
  if (options.kind == "pools") return get_pools(context, options);
  return get_queues(context, options);
}

}  // namespace falcon::cli
