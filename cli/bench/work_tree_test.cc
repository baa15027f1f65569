#include "cli/bench/work_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"

namespace stallhound::cli {
namespace {

class WorkTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
  }
  void Git(const std::string& command) {
    stallhound::testing::SubprocessOptions options;
    options.argv = {"sh", "-c", "git -c user.name=a -c user.email=a@b -c init.defaultBranch=trunk " + command};
    options.working_folder = folder_.path();
    const stallhound::testing::SubprocessResult result = stallhound::testing::RunSubprocess(options);
    ASSERT_EQ(result.exit_code, 0) << command << ": " << result.err;
  }
  void TwoCommits() {
    Git("init -q");
    folder_.Write("a.txt", "1");
    Git("add a.txt");
    Git("commit -q -m one --date '2026-01-02T03:04:05Z'");
    Git("commit -q -m two --allow-empty --date '2026-01-02T03:04:06Z'");
  }
  stallhound::testing::TempDir folder_;
};

TEST_F(WorkTreeTest, SaysWhereACommitStands) {
  TwoCommits();
  Git("remote add origin https://user:password@example.com/group/project.git");
  const std::optional<WorkTree> tree = ReadWorkTree(folder_.path());
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->revision.repository, "project");
  EXPECT_EQ(tree->revision.sha.size(), 40u);
  EXPECT_EQ(tree->revision.parent_sha->size(), 40u);
  EXPECT_EQ(tree->revision.ordinal_count, 2);
  EXPECT_EQ(tree->revision.authored_at_ns, 1'767'323'046'000'000'000);
  EXPECT_EQ(tree->branch, "trunk");
  EXPECT_EQ(tree->has_local_changes, false);
}

TEST_F(WorkTreeTest, LocalChangesAndADetachedHead) {
  TwoCommits();
  Git("checkout -q --detach HEAD~1");
  folder_.Write("a.txt", "2");
  const std::optional<WorkTree> tree = ReadWorkTree(folder_.path());
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->branch, std::nullopt);
  EXPECT_EQ(tree->has_local_changes, true);
  EXPECT_EQ(tree->revision.parent_sha, std::nullopt);
  EXPECT_EQ(tree->revision.repository, std::filesystem::path(folder_.path()).filename());
}

TEST_F(WorkTreeTest, IsFoundFromBelowWithoutFollowingLinks) {
  EXPECT_EQ(FindWorkTree(folder_.path()), "");
  EXPECT_EQ(ReadWorkTree(folder_.path()), std::nullopt);
  Git("init -q");
  EXPECT_EQ(ReadWorkTree(folder_.path()), std::nullopt) << "there is no commit";
  const stallhound::testing::TempDir elsewhere;
  elsewhere.Write("bench/bench", "");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder_.File("bazel-bin"));
  EXPECT_EQ(FindWorkTree(folder_.File("bazel-bin/bench/bench")), folder_.path());
  EXPECT_EQ(FindWorkTree(elsewhere.File("bench/bench")), "");
}

}  // namespace
}  // namespace stallhound::cli
