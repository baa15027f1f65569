#include "cli/open_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/testing/temp_dir.h"
#include "capture/spool/generate_spool.h"

namespace stallhound::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OpenRecordingTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedRecording> Open(const std::vector<std::string>& paths) {
    return OpenRecording(folder_.File("home"), paths);
  }
  std::string Fifo(const char* name) {
    EXPECT_EQ(mkfifo(folder_.File(name).c_str(), 0600), 0);
    return folder_.File(name);
  }
  stallhound::testing::TempDir folder_;
};

TEST_F(OpenRecordingTest, ASpoolIsOneWhateverItsName) {
  const std::string spool = capture::spool::GenerateSpool(folder_.path(), {.kernel_count = 10});
  ASSERT_NE(spool, "");
  const std::string renamed = folder_.File("recording.bin");
  std::filesystem::rename(spool, renamed);
  const auto opened = Open({renamed});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->reader->info().format, "spool");
  EXPECT_THAT(opened->spools, ElementsAre(renamed));
  const std::string second = capture::spool::GenerateSpool(folder_.path(), {.kernel_count = 10});
  EXPECT_TRUE(Open({renamed, second}).ok()) << "together one recording";
}

TEST_F(OpenRecordingTest, AFifoIsRefusedNotWaitedFor) {
  for (const char* name : {"fifo", "fifo.spool", "fifo.stallhound"}) {
    EXPECT_THAT(std::string(Open({Fifo(name)}).status().message()), HasSubstr("not a regular file")) << name;
  }
}

}  // namespace
}  // namespace stallhound::cli
