#include "cli/json_text.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace falcon::cli {
namespace {

TEST(PrettyJson, IndentsAndKeepsOrder) {
  EXPECT_EQ(pretty_json(R"({"b":1,"a":[true,{"x":null}],"e":[],"o":{},"s":"队\"\n"})"),
            "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    {\n      \"x\": null\n    }\n  ],\n"
            "  \"e\": [],\n  \"o\": {},\n  \"s\": \"队\\\"\\n\"\n}\n");
  EXPECT_EQ(pretty_json("no json"), "no json");
}

TEST(YamlOfJson, ReadsBackAsTheSame) {
  const std::string text = yaml_of_json(
      R"({"name":"train","spec":{"command":["python3","-c","a: b #c"],"env":[{"name":"A","value":"1"}],)"
      R"("none":[]},"list":[[1,2],{"k":{"v":"no"}}],"n":3,"t":"true","z":"","nul":null})");
  const YAML::Node node = YAML::Load(text);
  EXPECT_EQ(node["name"].as<std::string>(), "train");
  EXPECT_EQ(node["spec"]["command"][2].as<std::string>(), "a: b #c");
  EXPECT_EQ(node["spec"]["env"][0]["value"].as<std::string>(), "1");
  EXPECT_EQ(node["spec"]["env"][0]["value"].Tag(), "!");  // quoted: still a text
  EXPECT_EQ(node["spec"]["none"].size(), 0u);
  EXPECT_EQ(node["list"][0][1].as<int>(), 2);
  EXPECT_EQ(node["list"][1]["k"]["v"].Tag(), "!");
  EXPECT_EQ(node["n"].as<int>(), 3);
  EXPECT_EQ(node["t"].Tag(), "!");
  EXPECT_EQ(node["z"].as<std::string>(), "");
  EXPECT_TRUE(node["nul"].IsNull());
  EXPECT_NE(text.find("    - name: A\n      value: \"1\"\n"), std::string::npos) << text;
}

TEST(ListOfJson, WrapsDocuments) {
  EXPECT_EQ(list_of_json({R"({"a":1})", R"({"b":2})"}), R"({"items":[{"a":1},{"b":2}]})");
  EXPECT_EQ(list_of_json({}), R"({"items":[]})");
}

}  // namespace
}  // namespace falcon::cli
