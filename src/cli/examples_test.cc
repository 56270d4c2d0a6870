// The job files in examples/ are good ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/job_file.h"

namespace falcon::cli {
namespace {

TEST(Examples, AreGoodJobFiles) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FALCON_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    std::ifstream stream(entry.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const JobFile file = parse_job_file(text, entry.path().string(), model::Actor("ann"));
    EXPECT_THAT(file.problems, ::testing::IsEmpty());
    ASSERT_EQ(file.jobs.size(), 1u);
    EXPECT_EQ(file.jobs[0].name, entry.path().stem().string());
  }
  EXPECT_EQ(files, 5u);
}

}  // namespace
}  // namespace falcon::cli
