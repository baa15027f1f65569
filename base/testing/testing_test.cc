#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"

namespace stallhound::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kGolden[] = "base/testing/testdata/two_lines.txt";

TEST(TempDirTest, RemovesWhatItHolds) {
  std::string path;
  {
    TempDir folder;
    path = folder.path();
    EXPECT_EQ(*ReadFile(folder.Write("deep/er/file", "x")), "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(GoldenTest, NamesTheFirstDifference) {
  EXPECT_TRUE(MatchesGolden("first\nsecond\n", kGolden));
  const ::testing::AssertionResult result = MatchesGolden("first\nother\n", kGolden);
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("differs from line 2"));
  EXPECT_FALSE(MatchesGolden("x", "base/testing/testdata/missing.txt"));
}

TEST(GoldenTest, UpdatesTheSourceTree) {
  TempDir tree;
  setenv("BUILD_WORKSPACE_DIRECTORY", tree.path().c_str(), 1);
  setenv("STALLHOUND_UPDATE_GOLDEN", "1", 1);
  EXPECT_TRUE(MatchesGolden("new\n", "some/folder/expected.txt"));
  unsetenv("BUILD_WORKSPACE_DIRECTORY");
  EXPECT_FALSE(MatchesGolden("new\n", "some/folder/expected.txt"));
  unsetenv("STALLHOUND_UPDATE_GOLDEN");
  EXPECT_EQ(*ReadFile(tree.File("some/folder/expected.txt")), "new\n");
}

TEST(SubprocessTest, KeepsOutputAndExitCode) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", "cat; echo $GREETING; echo oops >&2; exit 3"};
  options.environment = {{"GREETING", "hello"}};
  options.stdin_text = "input\n";
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "input\nhello\n");
  EXPECT_EQ(result.err, "oops\n");
}

TEST(SubprocessTest, SeesSignalsAndTimeouts) {
  SubprocessOptions killed;
  killed.argv = {"sh", "-c", "kill -TERM $$"};
  EXPECT_EQ(RunSubprocess(killed).signal, SIGTERM);
  SubprocessOptions slow;
  slow.argv = {"sleep", "10"};
  slow.timeout_ms = 50;
  EXPECT_TRUE(RunSubprocess(slow).timed_out);
  SubprocessOptions missing;
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(RunSubprocess(missing).exit_code, 127);
}

TEST(SubprocessTest, CanSignalWhileItRuns) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", "trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.01; done"};
  options.while_running = [](pid_t pid, const std::string& out, const std::string&) {
    if (out == "ready\n") kill(pid, SIGUSR1);
  };
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.out, HasSubstr("caught"));
}

}  // namespace
}  // namespace stallhound::testing
