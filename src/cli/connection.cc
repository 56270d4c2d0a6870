#include "cli/connection.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace falcon::cli {
namespace {

std::string without_end(std::string text, std::string_view ends) {
  while (!text.empty() && ends.find(text.back()) != std::string_view::npos) text.pop_back();
  return text;
}

std::string environment(const Io& io, const char* name) {
  return io.environment(name).value_or(std::string());
}

}  // namespace

std::string data_folder(const Io& io, const std::string& given) {
  if (!given.empty()) return given;
  if (std::string folder = environment(io, "FALCON_DATA"); !folder.empty()) return folder;
  return environment(io, "HOME") + "/.local/share/falcon";
}

Result<Connection> find_connection(const Io& io, const std::string& given_data_folder) {
  const std::string url = environment(io, "FALCON_URL");
  if (!url.empty() && given_data_folder.empty()) {
    const std::string token = environment(io, "FALCON_TOKEN");
    if (token.empty())
      return fail(ErrorKind::kUnavailable,
                  "FALCON_URL is set but FALCON_TOKEN is not; the token stands in the API server's "
                  "data folder, in the file \"token\"");
    return Connection{without_end(url, "/"), token};
  }
  const std::string folder = data_folder(io, given_data_folder);
  const Result<std::string> address = io.read_file(folder + "/api.json");
  if (!address)
    return fail(
        ErrorKind::kUnavailable,
        fmt::format("no API server has started in {} ({}); start one with \"falcon up\", or "
                    "name another folder with --data",
                    folder, address.error().what));
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(*address, error);
  const boost::json::value* place = error ? nullptr : document.find_pointer("/url", error);
  if (place == nullptr || !place->is_string())
    return fail(ErrorKind::kUnavailable,
                fmt::format("{}/api.json is damaged; start \"falcon up\" again", folder));
  const Result<std::string> token = io.read_file(folder + "/token");
  if (!token)
    return fail(ErrorKind::kUnavailable,
                fmt::format("{}; it is readable by the user who started the API server only",
                            token.error().what));
  return Connection{without_end(std::string(place->get_string()), "/"),
                    without_end(*token, "\r\n \t")};
}

}  // namespace falcon::cli
