// The server's JSON in the layouts that people read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace falcon::cli {

// Two blanks for each level, fields in the server's order. Text that is no JSON comes back as it
// is.
std::string pretty_json(std::string_view json);
// The same as YAML; texts that could be read as something else are quoted.
std::string yaml_of_json(std::string_view json);
// {"items": [...]} of documents.
std::string list_of_json(const std::vector<std::string>& documents);

}  // namespace falcon::cli
