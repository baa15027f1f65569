// The built library in real processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using namespace capture::spool;

constexpr char kLibrary[] = "record/libstallhound_record.so";
constexpr char kProgram[] = "record/inject/testdata/nvtx_program";

class LibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/library_test.XXXXXX";
    folder_ = mkdtemp(pattern);
    spools_ = folder_ + "/spools";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  pid_t Spawn(const std::vector<std::string>& arguments, std::vector<std::string> environment = {},
              int output = STDOUT_FILENO) {
    const std::string library = std::filesystem::absolute(kLibrary);
    environment.push_back("STALLHOUND_SPOOL_DIR=" + spools_);
    environment.push_back("NVTX_INJECTION64_PATH=" + library);
    std::vector<char*> argv{const_cast<char*>(kProgram)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& variable : environment) envp.push_back(variable.data());
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output != STDOUT_FILENO) posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t pid = -1;
    EXPECT_EQ(posix_spawn(&pid, kProgram, &actions, nullptr, argv.data(), envp.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  int Run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
    int status = -1;
    waitpid(Spawn(arguments, environment), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::vector<std::string> Spools() {
    std::vector<std::string> paths;
    if (!std::filesystem::exists(spools_)) return paths;
    for (const auto& entry : std::filesystem::directory_iterator(spools_)) paths.push_back(entry.path());
    return paths;
  }
  size_t RangeCount(const std::string& path) { return SpoolRecords(path).Of<RangeRecord>(RecordType::kRange).size(); }

  std::string folder_;
  std::string spools_;
};

TEST_F(LibraryTest, RecordsAndClosesAtExit) {
  EXPECT_EQ(Run({"exit"}), 0);
  ASSERT_EQ(Spools().size(), 1u);
  EXPECT_EQ(RangeCount(Spools()[0]), 200u);
  const SpoolRecords records(Spools()[0]);
  EXPECT_NE(records.header().close_ns.load(), 0);
  EXPECT_EQ(records.header().gpu_state.load(), GpuState::kNotInitialised);
}

TEST_F(LibraryTest, EightThreadsAtFirstUse) {
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(Run({"threads"}), 0);
    ASSERT_EQ(Spools().size(), 1u);
    EXPECT_EQ(RangeCount(Spools()[0]), 32000u);
    std::filesystem::remove_all(spools_);
  }
}

TEST_F(LibraryTest, NothingToRecordLeavesNothing) {
  EXPECT_EQ(Run({""}), 0);
  EXPECT_TRUE(Spools().empty());
}

TEST_F(LibraryTest, DisabledDoesNothing) {
  EXPECT_EQ(Run({"exit"}, {"STALLHOUND_DISABLE=1"}), 0);
  EXPECT_TRUE(Spools().empty());
}

TEST_F(LibraryTest, QuickExitKeepsWhatWasWritten) {
  EXPECT_EQ(Run({"quick"}), 7);
  ASSERT_EQ(Spools().size(), 1u);
  EXPECT_EQ(RangeCount(Spools()[0]), 200u);
  EXPECT_EQ(SpoolRecords(Spools()[0]).header().close_ns.load(), 0);
}

TEST_F(LibraryTest, KilledAgainAndAgain) {
  for (int round = 0; round < 8; ++round) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = Spawn({"kill"}, {}, ends[1]);
    close(ends[1]);
    char text[6];
    ASSERT_EQ(read(ends[0], text, sizeof(text)), 6);
    usleep(700 * round);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(ends[0]);
    ASSERT_EQ(Spools().size(), 1u);
    EXPECT_GE(RangeCount(Spools()[0]), 4000u);
    std::filesystem::remove_all(spools_);
  }
}

TEST_F(LibraryTest, EveryForkHasItsOwnSpool) {
  EXPECT_EQ(Run({"fork"}), 0);
  ASSERT_EQ(Spools().size(), 6u);
  for (const std::string& path : Spools()) {
    EXPECT_EQ(RangeCount(path), 2u);
    EXPECT_NE(SpoolRecords(path).header().close_ns.load(), 0);
  }
}

TEST_F(LibraryTest, DriverEntryAndControlFunctions) {
  EXPECT_EQ(Run({"driver", std::filesystem::absolute(kLibrary)}, {"STALLHOUND_WINDOW_API=1"}), 0);
  ASSERT_EQ(Spools().size(), 1u);
  const SpoolRecords records(Spools()[0]);
  EXPECT_EQ(records.Of<RangeRecord>(RecordType::kRange).size(), 22u) << "the pushes and pops, and the control range";
  const auto windows = records.Of<WindowRecord>(RecordType::kWindow);
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(records.Text(windows[0]->reason), "control: here");
  EXPECT_EQ(records.header().gpu_state.load(), GpuState::kNoCupti) << "there is no CUDA here";
}

TEST_F(LibraryTest, UnwritableFolderHarmsNothing) {
  spools_ = "/proc/nowhere";
  EXPECT_EQ(Run({"threads"}), 0);
  EXPECT_EQ(Run({"quick"}), 7);
}

TEST_F(LibraryTest, FullDiskHarmsNothing) {
  std::filesystem::create_directory(folder_ + "/disk");
  if (mount("tmpfs", (folder_ + "/disk").c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  spools_ = folder_ + "/disk/spools";
  EXPECT_EQ(Run({"threads"}), 0);
  {
    ASSERT_EQ(Spools().size(), 1u);
    const SpoolRecords records(Spools()[0]);
    EXPECT_GT(records.Of<RangeRecord>(RecordType::kRange).size(), 3000u);
    EXPECT_GT(records.header().losses[static_cast<int>(capture::LossCounter::kDiskFull)].count.load(), 0u);
  }
  EXPECT_EQ(umount((folder_ + "/disk").c_str()), 0);
}

}  // namespace
}  // namespace stallhound::record
