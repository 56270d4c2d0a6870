// What the command line says about words and flags that it does not understand.
#include <gmock/gmock.h>

#include "cli/test_cli.h"

namespace falcon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Slip {
  std::vector<std::string> args;
  std::string words;  // the first line, whole
};

TEST_F(Cli, SaysInItsOwnWordsWhatIsWrongAndWhatThereIs) {
  const std::vector<Slip> slips{
      {{"sumbit", "-f", "x"}, "falcon: there is no \"sumbit\"; did you mean \"submit\"?\n"},
      {{"frobnicate"}, "falcon: there is no \"frobnicate\"; there are submit, get, describe, "},
      {{"get"}, "falcon get: say which: jobs, clusters, queues, pools\n"},
      {{"get", "jobz"}, "falcon get: there is no \"jobz\"; did you mean \"jobs\"?\n"},
      {{"get", "xyz"},
       "falcon get: there is no \"xyz\"; there are jobs, clusters, queues, pools\n"},
      {{"get", "jobs", "a", "b"}, "falcon get jobs: \"b\" is one word too many\n"},
      {{"get", "jobs", "-o", "yml"},
       "falcon get jobs: --output: \"yml\" is not one of table, wide, json, yaml, name; did you "
       "mean \"yaml\"?\n"},
      {{"get", "jobs", "--limit", "many"},
       "falcon get jobs: --limit: \"many\" is no whole number; 1 to 100000\n"},
      {{"get", "jobs", "--limit", "0"}, "falcon get jobs: --limit: \"0\" is not in 1 to 100000\n"},
      {{"get", "jobs", "--limit", "99999999999999999999"},
       "falcon get jobs: --limit: \"99999999999999999999\" is not in 1 to 100000\n"},
      {{"get", "jobs", "--limit"}, "falcon get jobs: --limit needs a value\n"},
      {{"get", "jobs", "--limit", "1", "--limit", "2"},
       "falcon get jobs: --limit is given twice\n"},
      {{"get", "jobs", "--status", "running"},
       "falcon get jobs: --status: \"running\" is not one of Pending, Running, Succeeded, Failed, "
       "Aborting, Aborted; did you mean \"Running\"?\n"},
      {{"submit", "--topolgy", "2x2"},
       "falcon submit: there is no flag \"--topolgy\"; did you mean \"--topology\"?\n"},
      {{"submit", "--tpu", "v6e"},
       "falcon submit: there is no flag \"--tpu\"; did you mean \"--tpu-type\"?\n"},
      {{"submit", "--wait=perhaps"}, "falcon submit: --wait takes no value\n"},
      {{"submit", "--priority", "high"},
       "falcon submit: --priority: \"high\" is no whole number; -1000 to 1000\n"},
      {{"submit", "--max-retries", "11"},
       "falcon submit: --max-retries: \"11\" is not in 0 to 10\n"},
      {{"describe", "job"}, "falcon describe job: NAME is missing\n"},
      {{"wait"}, "falcon wait: JOB is missing\n"},
      {{"wait", "x", "--for", "Done"},
       "falcon wait: --for: \"Done\" is not one of Pending, Running, Succeeded, Failed, Aborting, "
       "Aborted\n"},
      {{"wait", "x", "--timeout", "soon"},
       "falcon wait: --timeout: \"soon\" is no span of time; write it like 90s, 15m, 2h or "
       "1h30m\n"},
      {{"wait", "x", "--timeout", "99999999999d"},
       "falcon wait: --timeout: \"99999999999d\" is too long; at most 36500d\n"},
      {{"cluster", "add", "--name", "c"},
       "falcon cluster add: --project, --location, --tpu-type, --bucket are missing\n"},
  };
  std::size_t seen = 0;
  for (const Slip& slip : slips) {
    EXPECT_EQ(run(slip.args), kExitUsage) << slip.words;
    const std::string words = err().substr(seen);
    EXPECT_THAT(words, ::testing::StartsWith(slip.words));
    EXPECT_THAT(words, HasSubstr(" --help shows what there is\n"));
    seen = err().size();
  }
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(Cli, RefusesWhatSaysNothing) {
  EXPECT_EQ(run({"get", "jobs", "--", "x"}), kExitUsage);
  EXPECT_EQ(run({}), kExitUsage);
  EXPECT_EQ(run({"cluster", "set", "c1"}), kExitUsage);
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(Cli, ComplaintsNameTheFlagThatTheValueCameFrom) {
  const std::vector<Slip> slips{
      {{"--tpu-type", "v9"}, "falcon: --tpu-type: "},
      {{"--topology", "3x5"}, "falcon: --topology: "},
      {{"--image", "a b"}, "falcon: --image: "},
      {{"--timeout", "99999999999d"},
       "falcon: --timeout: \"99999999999d\" is too long; at most 30d\n"},
      {{"--timeout", "0"}, "falcon: --timeout: 0 is not in 1 to 2592000\n"},
      {{"--grace", "2h"}, "falcon: --grace: \"2h\" is too long; at most 1h\n"},
      {{"--env", "1A=b"}, "falcon: --env: "},
  };
  std::size_t seen = 0;
  for (const Slip& slip : slips) {
    std::vector<std::string> args{"submit", "--name", "x"};
    const auto add = [&](const std::string& flag, const std::string& value) {
      if (slip.args[0] != flag) args.insert(args.end(), {flag, value});
    };
    add("--image", "i");
    add("--tpu-type", "v6e");
    add("--topology", "2x2");
    args.insert(args.end(), slip.args.begin(), slip.args.end());
    args.insert(args.end(), {"--", "true"});
    EXPECT_EQ(run(args), kExitUsage) << slip.words;
    EXPECT_THAT(err().substr(seen), ::testing::StartsWith(slip.words));
    seen = err().size();
  }
  EXPECT_THAT(requests_, IsEmpty());
}

}  // namespace
}  // namespace falcon::cli
