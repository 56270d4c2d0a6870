#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <fstream>
#include <optional>

#include "simserver/google_error.h"
#include "simserver/google_face.h"

namespace falcon::simserver {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

Answer not_found(std::string_view what) {
  return legacy_error(Error{ErrorKind::kNotFound, fmt::format("No such object: {}", what)});
}

// One step of a path, never a way out of the folder.
bool is_plain(std::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." &&
         segment.find('\0') == std::string_view::npos;
}

std::optional<fs::path> path_of(const fs::path& bucket, std::string_view name) {
  fs::path path = bucket;
  std::size_t start = 0;
  while (start <= name.size()) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string_view segment = name.substr(start, end - start);
    if (!is_plain(segment)) return std::nullopt;
    path /= segment;
    start = end + 1;
  }
  return path;
}

WallTime modified(const struct stat& info) {
  return wall_time_from_unix_ms(static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000 +
                                info.st_mtim.tv_nsec / 1'000'000);
}

json::object describe(const std::string& bucket, const std::string& name, const struct stat& info) {
  const std::string time = to_rfc3339(modified(info));
  return {{"kind", "storage#object"},
          {"bucket", bucket},
          {"name", name},
          {"size", std::to_string(info.st_size)},
          {"generation", std::to_string(to_unix_ms(modified(info)) * 1000)},
          {"metageneration", "1"},
          {"contentType", "application/octet-stream"},
          {"timeCreated", time},
          {"updated", time}};
}

Answer list(const Call& call, const std::string& bucket, const fs::path& folder) {
  const std::string prefix(call.parameter("prefix"));
  const std::string after(call.parameter("pageToken"));
  std::size_t most = 1000;
  const std::string_view wanted = call.parameter("maxResults");
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), most);
  most = std::clamp<std::size_t>(most, 1, 1000);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    std::string name = it->path().lexically_relative(folder).generic_string();
    if (name.starts_with(prefix) && name > after) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  json::object out{{"kind", "storage#objects"}};
  json::array items;
  for (const std::string& name : names) {
    if (items.size() == most) {
      out["nextPageToken"] = std::string(items.back().at("name").get_string());
      break;
    }
    struct stat info{};
    if (::stat((folder / name).c_str(), &info) == 0) items.push_back(describe(bucket, name, info));
  }
  if (!items.empty()) out["items"] = std::move(items);
  return Answer{.body = json::serialize(out)};
}

struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included
};

// "bytes=FIRST-[LAST]" or "bytes=-SUFFIX"; empty: the whole. False: not to be satisfied.
bool range_of(std::string_view header, std::int64_t size, std::optional<Span>& span) {
  constexpr std::string_view kBytes = "bytes=";
  if (!header.starts_with(kBytes)) return true;
  header.remove_prefix(kBytes.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return true;
  const auto number = [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
      return std::nullopt;
    return value;
  };
  const auto first = number(header.substr(0, dash));
  const auto last = number(header.substr(dash + 1));
  if (!first && !last) return true;
  const std::int64_t from = first ? *first : std::max<std::int64_t>(0, size - *last);
  const std::int64_t to = first && last ? std::min(*last, size - 1) : size - 1;
  if (from >= size || from > to) return false;
  span = Span{from, to};
  return true;
}

Answer content(const Call& call, const fs::path& path, std::int64_t size) {
  std::optional<Span> span;
  if (!range_of(call.header("range"), size, span))
    return Answer{.status = 416,
                  .body = "The requested range cannot be satisfied.",
                  .content_type = "text/plain",
                  .headers = {{"Content-Range", fmt::format("bytes */{}", size)}}};
  const std::int64_t first = span ? span->first : 0;
  const std::int64_t length = span ? span->last - span->first + 1 : size;
  std::ifstream file(path, std::ios::binary);
  file.seekg(first);
  std::string bytes(static_cast<std::size_t>(length), '\0');
  file.read(bytes.data(), length);
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  Answer answer{.body = std::move(bytes), .content_type = "application/octet-stream"};
  if (span) {
    answer.status = 206;
    answer.headers.emplace_back("Content-Range",
                                fmt::format("bytes {}-{}/{}", span->first, span->last, size));
  }
  return answer;
}

}  // namespace

// /storage/v1/b/BUCKET/o[/NAME]; a NAME with slashes comes as one encoded segment.
Answer read_bucket(const Call& call, const fs::path& buckets) {
  const std::vector<std::string>& path = call.path;
  if (call.method != "GET" || path.size() < 5 || path[2] != "b" || path[4] != "o" ||
      !is_plain(path[3]) || path[3].find('/') != std::string::npos)
    return not_found(call.path.back());
  const fs::path folder = buckets / path[3];
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return legacy_error(Error{ErrorKind::kNotFound, "The specified bucket does not exist."});
  if (path.size() == 5) return list(call, path[3], folder);
  std::string name = path[5];
  for (std::size_t i = 6; i < path.size(); ++i) name += "/" + path[i];
  const auto file = path_of(folder, name);
  struct stat info{};
  if (!file || ::stat(file->c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return not_found(fmt::format("{}/{}", path[3], name));
  if (call.parameter("alt") == "media") return content(call, *file, info.st_size);
  return Answer{.body = json::serialize(describe(path[3], name, info))};
}

}  // namespace falcon::simserver
