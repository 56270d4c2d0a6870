// For tests of what Falcon asks others for: a JSON document against a table of its fields, each
// with the reason why it stands there. A field that the table lacks is a mistake, too.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace falcon::gke {

struct Field {
  std::string path;   // "spec.containers[0].image"
  std::string value;  // as JSON; "*": anything
  std::string why;
};

inline void flatten(const boost::json::value& value, const std::string& path,
                    std::map<std::string, std::string>& fields) {
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    for (const auto& pair : *object)
      flatten(pair.value(), path + (path.empty() ? "" : ".") + std::string(pair.key()), fields);
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    for (std::size_t i = 0; i < array->size(); ++i)
      flatten((*array)[i], path + "[" + std::to_string(i) + "]", fields);
  } else {
    fields[path] = boost::json::serialize(value);
  }
}

inline void expect_fields(const std::string& document, const std::vector<Field>& expected) {
  std::map<std::string, std::string> fields;
  flatten(boost::json::parse(document), "", fields);
  for (const Field& field : expected) {
    const auto found = fields.find(field.path);
    if (found == fields.end()) {
      ADD_FAILURE() << field.path << " is missing: " << field.why;
      continue;
    }
    if (field.value != "*")
      EXPECT_EQ(found->second, field.value) << field.path << ": " << field.why;
    fields.erase(found);
  }
  for (const auto& [path, value] : fields) ADD_FAILURE() << path << " = " << value << ": why?";
}

}  // namespace falcon::gke
