#include "cli/home.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/testing/fake_clock.h"
#include "base/testing/temp_dir.h"
#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kNow = stallhound::testing::FakeClock::kStartRealtimeNs;

class HomeTest : public ::testing::Test {
 protected:
  std::string AddCapture(const std::string& uuid, int age_s, const std::string& time = "000000") {
    const std::string path = folder_.Write("home/20260101-" + time + "-" + uuid + ".stallhound", "content");
    const timespec times[2] = {{1'700'000'000 - age_s, 0}, {1'700'000'000 - age_s, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
    return path;
  }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
};

TEST_F(HomeTest, IsAbsoluteWhateverTheVariableSays) {
  setenv("STALLHOUND_HOME", "relative/../home", 1);
  EXPECT_THAT(HomeFolder(), AllOf(StartsWith("/"), EndsWith("/home")));
  setenv("STALLHOUND_HOME", "", 1);
  EXPECT_THAT(HomeFolder(), EndsWith("/.stallhound"));
  unsetenv("STALLHOUND_HOME");
}

TEST_F(HomeTest, SpoolFoldersArePrivateAndDifferent) {
  const std::string first = *NewSpoolFolder(home_, kNow);
  const std::string second = *NewSpoolFolder(home_, kNow);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, HasSubstr("/spool/20260101-000000-"));
  struct stat status {};
  ASSERT_EQ(stat(first.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  folder_.Write("file", "x");
  EXPECT_FALSE(NewSpoolFolder(folder_.File("file"), kNow).ok());
}

TEST_F(HomeTest, AMachineKeepsItsRandomNameUnlessItIsLabelled) {
  const std::string name = *MachineName(home_);
  EXPECT_EQ(name.size(), 32u);
  EXPECT_EQ(*MachineName(home_), name);
  EXPECT_NE(*MachineName(folder_.File("other")), name);
  setenv("STALLHOUND_MACHINE", "rack 7", 1);
  EXPECT_EQ(*MachineName(home_), "rack 7");
  unsetenv("STALLHOUND_MACHINE");
  folder_.Write("home/machine", "by hand\n");
  EXPECT_EQ(*MachineName(home_), "by hand");
  folder_.Write("file", "x");
  EXPECT_EQ(ExitCodeOf(MachineName(folder_.File("file")).status()), kExitEnvironment);
}

TEST_F(HomeTest, ListsNewestFirst) {
  EXPECT_TRUE(ListRecordings(home_)->empty());
  AddCapture("aaaa-1", 100);
  AddCapture("bbbb-2", 10);
  folder_.Write("home/notes.txt", "x");
  folder_.Write("home/short.stallhound", "x");
  folder_.Write("home/spool/20260101-000000-x/stallhound-999999999-a.spool", "12345");
  folder_.Write("home/spool/20260101-000000-y/stallhound-" + std::to_string(getpid()) + "-a.spool", "1");
  const std::vector<Recording> recordings = *ListRecordings(home_);
  ASSERT_EQ(recordings.size(), 4u);
  EXPECT_TRUE(recordings[0].is_spool);
  EXPECT_NE(recordings[0].is_live, recordings[1].is_live);
  EXPECT_EQ(recordings[2].uuid, "bbbb-2");
  EXPECT_EQ(recordings[3].uuid, "aaaa-1");
  EXPECT_EQ(recordings[3].bytes, 7u);
  EXPECT_EQ(*NewestCapture(home_), recordings[2].path);
}

TEST_F(HomeTest, OneThatCannotBeUsedIsTheEnvironments) {
  const std::string file = folder_.Write("file", "x");
  EXPECT_EQ(ExitCodeOf(NewSpoolFolder(file, kNow).status()), kExitEnvironment);
  EXPECT_EQ(ExitCodeOf(NewCapturePath(file + "/below", "aaaa", kNow).status()), kExitEnvironment);
  EXPECT_EQ(ExitCodeOf(ListRecordings(file).status()), kExitEnvironment);
  EXPECT_EQ(ExitCodeOf(NewestCapture(file).status()), kExitEnvironment);
  EXPECT_EQ(ExitCodeOf(FindCapture(file, "aaaa").status()), kExitEnvironment);
  EXPECT_EQ(ExitCodeOf(NewestCapture(home_).status()), kExitData) << "one that does not exist is empty";
}

TEST_F(HomeTest, AnUnreadableOneIsNotEmpty) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads every folder";
  std::filesystem::create_directory(home_);
  chmod(home_.c_str(), 0);
  const absl::Status status = ListRecordings(home_).status();
  chmod(home_.c_str(), 0700);
  EXPECT_EQ(ExitCodeOf(status), kExitEnvironment);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ermission"));
}

TEST_F(HomeTest, FindsByPathAndUuid) {
  const std::string first = AddCapture("aaaa-1", 0);
  AddCapture("aaab-2", 0);
  EXPECT_EQ(*FindCapture(home_, first), first);
  EXPECT_EQ(*FindCapture(home_, "aaaa"), first);
  EXPECT_EQ(FindCapture(home_, "aaa").status().code(), absl::StatusCode::kNotFound);
  AddCapture("aaaa-3", 0);
  EXPECT_EQ(FindCapture(home_, "aaaa").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FindCapture(home_, "cccc").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(NewestCapture(folder_.File("empty")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(HomeTest, TheNewestOfOneUuidIsMeant) {
  AddCapture("aaaa-1", 50, "000000");
  const std::string newest = AddCapture("aaaa-1", 10, "000001");
  AddCapture("aaaa-1", 90, "000002");
  EXPECT_EQ(*FindCapture(home_, "aaaa-1"), newest);
  EXPECT_EQ(*FindCapture(home_, "aaaa"), newest);
  AddCapture("aaaa-2", 0);
  EXPECT_EQ(FindCapture(home_, "aaaa").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*FindCapture(home_, "aaaa-1"), newest);
}

}  // namespace
}  // namespace stallhound::cli
