#include "up/data_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace falcon::up {
namespace {

using ::testing::HasSubstr;

class DataFolderTest : public ::testing::Test {
 protected:
  DataFolderTest() {
    std::string form = (std::filesystem::temp_directory_path() / "falcon-XXXXXX").string();
    root_ = ::mkdtemp(form.data());
  }
  ~DataFolderTest() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(DataFolderTest, IsMadeForItsOwnerAlone) {
  const auto folder = DataFolder::open(root_ + "/a/b");
  ASSERT_TRUE(folder) << folder.error().what;
  struct stat status{};
  ASSERT_EQ(::stat((root_ + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
}

TEST_F(DataFolderTest, BelongsToOneAtATime) {
  {
    const auto first = DataFolder::open(root_);
    ASSERT_TRUE(first);
    const auto second = DataFolder::open(root_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
    EXPECT_THAT(second.error().what, HasSubstr("another falcon runs in " + root_));
  }
  EXPECT_TRUE(DataFolder::open(root_));
}

TEST_F(DataFolderTest, SaysWhatIsInTheWay) {
  std::ofstream(root_ + "/file") << "x";
  const auto folder = DataFolder::open(root_ + "/file/x");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::kDenied);
  EXPECT_THAT(folder.error().what, HasSubstr("--data"));
}

}  // namespace
}  // namespace falcon::up
