// Job files, good and bad: what people write must arrive byte for byte, and what is wrong must be
// named with its line.
#include "cli/job_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace falcon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const model::Actor kAnn("ann");

JobFile parse(std::string_view text) { return parse_job_file(text, "job.yaml", kAnn); }

// A good job with one more line under spec (two blanks in front of it are ours).
std::string with_spec_line(std::string_view line) {
  return "name: train\nspec:\n  image: python:3.12-slim\n  command: [python3]\n  tpu_type: v6e\n"
         "  topology: 2x2\n  " +
         std::string(line) + "\n";
}

TEST(JobFile, ReadsEveryField) {
  const JobFile file = parse(R"yaml(
name: train
actor: bob
priority: -5
labels: {team: vision, "example.com/run": "7"}
spec:
  image: python:3.12-slim
  command: ["python3", "-c", "print('hi')"]
  args: [--steps, 100, "", "$HOME", "*"]
  env:
    - {name: A, value: "1"}
    - name: B
      valueFrom: {
  secretKeyRef: {
  name:
    s, key : k
  }}
  tpu_type: v6e
  topology: 4x4
  supply_mode: on-demand
  timeout_seconds: 7200
  termination_grace_seconds: 60
  max_retries: 2
  max_wait_seconds: 900
)yaml");
  ASSERT_THAT(file.problems, IsEmpty());
  ASSERT_EQ(file.jobs.size(), 1u);
  const model::JobRow& job = file.jobs[0];
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.actor, model::Actor("bob"));
  EXPECT_EQ(job.priority, -5);
  EXPECT_EQ(job.labels.at("example.com/run"), "7");
  EXPECT_THAT(job.spec.command, ElementsAre("python3", "-c", "print('hi')"));
  EXPECT_THAT(job.spec.args, ElementsAre("--steps", "100", "", "$HOME", "*"));
  ASSERT_EQ(job.spec.env.size(), 2u);
  EXPECT_EQ(job.spec.env[0], (model::EnvironmentVariable{"A", "1", "", ""}));
  EXPECT_EQ(job.spec.env[1], (model::EnvironmentVariable{"B", "", "s", "k"}));
  EXPECT_EQ(job.spec.supply_mode, model::SupplyMode::kOnDemand);
  EXPECT_EQ(job.spec.timeout_seconds, 7200);
  EXPECT_EQ(job.spec.termination_grace_seconds, 60);
  EXPECT_EQ(job.spec.max_retries, 2);
  EXPECT_EQ(job.spec.max_wait_seconds, 900);
}

TEST(JobFile, FillsInWhoSubmitsAndTheDefaults) {
  const JobFile file = parse(with_spec_line("env: {STEPS: 100, ON: yes}"));
  ASSERT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(file.jobs[0].actor, kAnn);
  EXPECT_EQ(file.jobs[0].spec.timeout_seconds, 86'400);
  EXPECT_EQ(file.jobs[0].spec.supply_mode, std::nullopt);
  EXPECT_EQ(file.jobs[0].spec.env[0], (model::EnvironmentVariable{"STEPS", "100", "", ""}));
  EXPECT_EQ(file.jobs[0].spec.env[1].value, "yes");
}

TEST(JobFile, KeepsArgumentsByteForByte) {
  const JobFile file = parse(with_spec_line(
      R"(args: ["it's", "a \"b\" c", "`id`", "line\nline", "a\tb", "日本語", "\\", ";echo x", "#c", "&&"])"));
  ASSERT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.jobs[0].spec.args, ElementsAre("it's", "a \"b\" c", "`id`", "line\nline", "a\tb",
                                                  "日本語", "\\", ";echo x", "#c", "&&"));
}

TEST(JobFile, HoldsSeveralJobs) {
  const std::string one = with_spec_line("max_retries: 1");
  const JobFile file = parse(one + "---\n" + one + "---\n");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(file.jobs.size(), 2u);
}

TEST(JobFile, TakesJson) {
  const JobFile file = parse(
      R"({"name": "j", "spec": {"image": "i", "command": ["a"], "tpu_type": "v6e", "topology": "2x2"}})");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(file.jobs.size(), 1u);
}

struct Bad {
  std::string text;
  std::vector<std::string> words;  // all of them in the one complaint
};

TEST(JobFile, NamesLineFieldAndRemedyOfEachMistake) {
  const Bad cases[] = {
      {with_spec_line("topolgy: 4x4"), {"job.yaml:7: spec.topolgy", "did you mean \"topology\""}},
      {with_spec_line("gpu: 1"), {"job.yaml:7: spec.gpu", "known are image, command"}},
      {"nmae: x\n", {"job.yaml:1: nmae", "did you mean \"name\""}},
      {"image: x\n", {"job.yaml:1: image", "belongs under spec"}},
      {with_spec_line("priority: 1"), {"job.yaml:7: spec.priority", "beside spec"}},
      {with_spec_line("topology: 4x4"), {"job.yaml:7: spec.topology", "twice"}},
      {with_spec_line("args: python3 x.py"), {"job.yaml:7: spec.args", "must be a list"}},
      {with_spec_line("args: [[1]]"), {"job.yaml:7: spec.args[0]", "must be a text"}},
      {with_spec_line("args: [a, ~]"), {"job.yaml:7: spec.args[1]", "is empty"}},
      {with_spec_line("timeout_seconds: 3600.5"),
       {"job.yaml:7: spec.timeout_seconds", "\"3600.5\" is no whole"}},
      {with_spec_line("timeout_seconds: \"3600\""),
       {"job.yaml:7: spec.timeout_seconds", "without quotes"}},
      {with_spec_line("timeout_seconds: 1e308"),
       {"job.yaml:7: spec.timeout_seconds", "no whole number"}},
      {with_spec_line("timeout_seconds: 9223372036854775808"),
       {"job.yaml:7: spec.timeout_seconds", "far too large"}},
      {with_spec_line("timeout_seconds: 0"),
       {"job.yaml:7: spec.timeout_seconds", "0 is not in 1 to"}},
      {with_spec_line("timeout_seconds: -1"), {"job.yaml:7: spec.timeout_seconds", "-1 is not in"}},
      {with_spec_line("timeout_seconds: true"),
       {"job.yaml:7: spec.timeout_seconds", "no whole number"}},
      {with_spec_line("timeout_seconds:"), {"spec.timeout_seconds", "must be a whole number"}},
      {with_spec_line("max_retries: 11"), {"job.yaml:7: spec.max_retries", "0 to 10"}},
      {with_spec_line("supply_mode: spot"),
       {"job.yaml:7: spec.supply_mode", "\"spot\" is not supported"}},
      {with_spec_line("env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
       {"spec.env[0]", "one of them"}},
      {with_spec_line("env: [{name: A, valueFrom: {secretKeyRef: {name: s}}}]"),
       {"secretKeyRef", "both name and key"}},
      {with_spec_line("env: [{name: A, vaule: x}]"),
       {"spec.env[0].vaule", "did you mean \"value\""}},
      {with_spec_line("env: {A: 1, A: 2}"), {"spec.env[A]", "twice"}},
      {with_spec_line("env: {1341: x}"), {"job.yaml:7: spec.env[0].name", "\"1341\" is no name"}},
      {"name: Train_Job\nspec: {image: i, command: [a], tpu_type: v6e, topology: 2x2}\n",
       {"job.yaml:1: name", "\"Train_Job\" is no name"}},
      {"name: a\nspec: {image: i, command: [], tpu_type: v6e, topology: 2x2}\n",
       {"job.yaml:2: spec.command", "is empty"}},
      {"name: a\nspec: {image: i, command: [a], tpu_type: v6x, topology: 2x2}\n",
       {"job.yaml:2: spec.tpu_type", "v6x"}},
      {"name: a\nspec:\n  image: i\n  command: [a]\n  tpu_type: v6e\n  topology: 3x5\n",
       {"job.yaml:6: spec.topology", "3x5"}},
      {"name: [a\n", {"job.yaml:", "is no YAML"}},
      {"- a\n- b\n", {"job.yaml:1:", "must be a map"}},
      {"just text", {"job.yaml:1:", "must be a map"}},
      {"", {"holds no job"}},
      {"---\n---\n", {"holds no job"}},
      {"name: \xFF\xFE\n", {"UTF-8"}},
  };
  for (const Bad& bad : cases) {
    const JobFile file = parse(bad.text);
    ASSERT_EQ(file.problems.size(), 1u) << bad.text << ::testing::PrintToString(file.problems);
    for (const std::string& words : bad.words)
      EXPECT_THAT(file.problems[0], HasSubstr(words)) << bad.text;
    EXPECT_EQ(file.problems[0].find('\n'), std::string::npos);
  }
}

TEST(JobFile, ListsAllMistakesAtOnce) {
  const JobFile file = parse("nmae: x\nspec:\n  imge: y\n---\nname: b\nspec: {}\n");
  EXPECT_THAT(file.problems,
              ElementsAre(HasSubstr("job.yaml:1: nmae"), HasSubstr("job.yaml:3: spec.imge"),
                          HasSubstr("job.yaml:6: spec.image"), HasSubstr("spec.command"),
                          HasSubstr("spec.tpu_type")));
}

TEST(JobFile, IsNotImpressedBySizeAndDepth) {
  EXPECT_THAT(parse(std::string(10 << 20, 'a')).problems,
              ElementsAre(HasSubstr("at most 1048576")));
  EXPECT_EQ(parse(std::string(100'000, '[')).problems.size(), 1u);
  std::string bomb = "a: &a [x,x]\n";
  for (char c = 'b'; c < 'z'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1}]\n", c, static_cast<char>(c - 1));
  EXPECT_FALSE(parse(bomb).problems.empty());
}

}  // namespace
}  // namespace falcon::cli
