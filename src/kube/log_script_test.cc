// The script that runs a job's program, run by the system's own /bin/sh (dash).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kube/render.h"

namespace falcon::kube {
namespace {

namespace fs = std::filesystem;

class LogScript : public testing::Test {
 protected:
  LogScript() {
    std::string pattern = fs::temp_directory_path() / "falcon-script-XXXXXX";
    home_ = mkdtemp(pattern.data());
    bucket_ = home_ / "bucket";
    spool_ = home_ / "spool";
    fs::create_directories(bucket_);
    fs::create_directories(spool_);
  }
  ~LogScript() override { fs::remove_all(home_); }

  // Starts the program under the script; publishing every second.
  pid_t start(std::vector<std::string> program) {
    std::vector<std::string> words{"/bin/sh", "-c", std::string(log_script()), "falcon"};
    words.insert(words.end(), program.begin(), program.end());
    std::error_code ignored;  // a pod's spool is empty; one test has none
    fs::remove_all(spool_, ignored);
    fs::create_directories(spool_, ignored);
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("FALCON_BUCKET", bucket_.c_str(), 1);
    setenv("FALCON_SPOOL", spool_.c_str(), 1);
    setenv("FALCON_JOB_ID", "j1", 1);
    setenv("FALCON_POD", "p-0", 1);
    setenv("FALCON_PUBLISH_SECONDS", "1", 1);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv("/bin/sh", argv.data());
    _exit(99);
  }

  static int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "the script itself died of signal " << WTERMSIG(status);
    return WEXITSTATUS(status);
  }

  int run(std::vector<std::string> program) { return wait_for(start(std::move(program))); }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  std::string log() const { return read(bucket_ / "logs/j1/p-0.log"); }

  // Until the condition holds; a minute at most.
  template <class Condition>
  static bool eventually(Condition condition) {
    for (int i = 0; i < 6'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  fs::path home_, bucket_, spool_;
};

TEST_F(LogScript, KeepsTheExitCode) {
  EXPECT_EQ(run({"/bin/sh", "-c", "exit 0"}), 0);
  EXPECT_EQ(run({"/bin/sh", "-c", "exit 3"}), 3);
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -KILL $$"}), 128 + SIGKILL);
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -SEGV $$"}), 128 + SIGSEGV);
  EXPECT_EQ(run({"/no/such/program"}), 127);
  std::ofstream(home_ / "plain") << "not a program";
  EXPECT_EQ(run({home_ / "plain"}), 126);
}

TEST_F(LogScript, PublishesAllBytesAndTheLastLineWithoutItsNewline) {
  EXPECT_EQ(run({"/bin/sh", "-c", "head -c 10485760 /dev/zero; printf '\\nlast'; exit 7"}), 7);
  const std::string bytes = log();
  ASSERT_EQ(bytes.size(), 10'485'760U + 5);
  EXPECT_EQ(bytes.substr(10'485'760U), "\nlast");
}

TEST_F(LogScript, PublishesBothStreamsWhileTheProgramRuns) {
  const fs::path go = home_ / "go";
  const pid_t child = start(
      {"/bin/sh", "-c", "echo out; echo err >&2; until [ -e \"$1\" ]; do sleep 0.1; done; echo end",
       "sh", go});
  EXPECT_TRUE(eventually([&] { return log() == "out\nerr\n"; })) << log();
  std::ofstream(go) << "";
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(log(), "out\nerr\nend\n");
}

TEST_F(LogScript, ALogThatCannotBeWrittenChangesNothing) {
  bucket_ = home_ / "file";  // not a folder: nothing can be made in it, by root neither
  std::ofstream(bucket_) << "";
  EXPECT_EQ(run({"/bin/sh", "-c", "echo lost; exit 5"}), 5);
  bucket_ = "/dev/full";
  EXPECT_EQ(run({"/bin/sh", "-c", "echo lost; exit 6"}), 6);
  bucket_ = home_ / "bucket";
  fs::create_directories(bucket_ / "logs/j1");
  fs::create_symlink("/dev/full", bucket_ / "logs/j1/p-0.log");
  EXPECT_EQ(run({"/bin/sh", "-c", "echo lost; exit 7"}), 7);
}

TEST_F(LogScript, RunsWithoutASpool) {
  spool_ = home_ / "file/spool";
  std::ofstream(home_ / "file") << "";
  EXPECT_EQ(run({"/bin/sh", "-c", "exit 4"}), 4);
}

TEST_F(LogScript, TermReachesTheProgramWhoseCodeCounts) {
  const fs::path ready = home_ / "ready";
  const pid_t child = start(
      {"/bin/sh", "-c", "trap 'echo saved; exit 9' TERM; touch \"$1\"; while :; do sleep 0.1; done",
       "sh", ready});
  ASSERT_TRUE(eventually([&] { return fs::exists(ready); }));
  kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 9);
  EXPECT_EQ(log(), "saved\n");
}

TEST_F(LogScript, AProgramThatEndsByTermAndOneThatIgnoresIt) {
  const fs::path ready = home_ / "ready";
  const pid_t child = start({"/bin/sh", "-c", "touch \"$1\"; exec sleep 600", "sh", ready});
  ASSERT_TRUE(eventually([&] { return fs::exists(ready); }));
  kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child), 128 + SIGTERM);

  const fs::path deaf = home_ / "deaf";
  const fs::path go = home_ / "go";
  const pid_t other =
      start({"/bin/sh", "-c",
             "trap '' TERM; touch \"$1\"; until [ -e \"$2\" ]; do sleep 0.1; done; exit 2", "sh",
             deaf, go});
  ASSERT_TRUE(eventually([&] { return fs::exists(deaf); }));
  kill(other, SIGTERM);
  kill(other, SIGTERM);
  std::ofstream(go) << "";
  EXPECT_EQ(wait_for(other), 2);
}

TEST_F(LogScript, ArgumentsComeThroughByteForByte) {
  const std::vector<std::string> arguments{
      "a b", "", "*", "'", "\"", "\\n", "$HOME", "$(id)", "`id`", "-n", "两\n行", "a;b|c&d", "$$"};
  std::vector<std::string> program{"printf", "[%s]\n"};
  std::string wanted;
  for (const std::string& argument : arguments) {
    program.push_back(argument);
    wanted += "[" + argument + "]\n";
  }
  EXPECT_EQ(run(program), 0);
  EXPECT_EQ(log(), wanted);
}

TEST_F(LogScript, BuiltinsAndFunctionsOfTheShellAreNotThePrograms) {
  EXPECT_EQ(run({"publish"}), 127);      // a function of the script
  EXPECT_EQ(run({"exit", "3"}), 127);    // a builtin that is no program
  EXPECT_EQ(run({"echo", "a\\tb"}), 0);  // dash's own echo would write a tab
  EXPECT_TRUE(log().ends_with("a\\tb\n")) << log();
}

TEST_F(LogScript, AHangingBucketDoesNotKeepThePod) {
  fs::create_directories(bucket_ / "logs/j1");
  ASSERT_EQ(mkfifo((bucket_ / "logs/j1/p-0.log").c_str(), 0600), 0);  // opening it waits for ever
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(run({"/bin/sh", "-c", "echo lost; exit 5"}), 5);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(25));
  // Let the writer go that the script had to leave behind.
  const int reader = open((bucket_ / "logs/j1/p-0.log").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  close(reader);
}

}  // namespace
}  // namespace falcon::kube
