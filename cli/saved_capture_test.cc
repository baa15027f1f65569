// What a hunt keeps of the recording it reports on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "capture/spool/generate_spool.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using ::testing::HasSubstr;
using ::testing::Not;

class SavedCaptureTest : public ::testing::Test {
 protected:
  SubprocessResult HuntFrom(const std::string& spool) {
    return RunSubprocess(StallhoundOptions(home_, {"hunt", "--from", spool}));
  }

  std::string Capture() {
    std::vector<std::string> captures;
    for (const auto& entry : std::filesystem::directory_iterator(home_)) {
      if (entry.path().extension() == ".stallhound") captures.push_back(entry.path());
    }
    EXPECT_EQ(captures.size(), 1u);
    return captures.front();
  }

  std::string Cut(const std::string& spool, uint64_t bytes) {
    const std::string path = folder_.File("cut.spool");
    std::filesystem::copy_file(spool, path, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path, bytes);
    return path;
  }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
};

TEST_F(SavedCaptureTest, ACutCopyNeverReplacesTheWholeRecording) {
  const std::string spool = folder_.File("pytorch.spool");
  ASSERT_TRUE(stallhound::testing::Unpack(stallhound::testing::DataPath("examples/recorded/pytorch.spool.zst"), spool));
  const SubprocessResult cut_first = HuntFrom(Cut(spool, 200'000));
  EXPECT_EQ(cut_first.exit_code, 0) << cut_first.err;
  const std::string of_cut = *ReadFile(Capture());
  const SubprocessResult whole = HuntFrom(spool);
  EXPECT_THAT(whole.err, Not(HasSubstr("stays as it is")));
  const std::string of_whole = *ReadFile(Capture());
  EXPECT_GT(of_whole.size(), of_cut.size()) << "the whole recording replaces the cut one";

  const SubprocessResult cut_again = HuntFrom(Cut(spool, 200'000));
  EXPECT_EQ(cut_again.exit_code, 0) << cut_again.err;
  EXPECT_THAT(cut_again.err, HasSubstr("stays as it is (of the new one: the spool file ends before"));
  EXPECT_EQ(*ReadFile(Capture()), of_whole);
}

TEST_F(SavedCaptureTest, OfTwoCutCopiesTheLongerIsKept) {
  capture::spool::GeneratedSpool killed;
  killed.kernel_count = 20'000;
  killed.is_closed = false;
  const std::string spool = capture::spool::GenerateSpool(folder_.path(), killed);
  const uint64_t bytes = std::filesystem::file_size(spool);
  EXPECT_EQ(HuntFrom(Cut(spool, bytes / 2)).exit_code, 0);
  const std::string longer = *ReadFile(Capture());
  EXPECT_THAT(HuntFrom(Cut(spool, bytes / 4)).err, HasSubstr("stays as it is (of the new one: ends earlier)"));
  EXPECT_EQ(*ReadFile(Capture()), longer);
}

TEST_F(SavedCaptureTest, ACaptureThatCannotBeReadIsReplaced) {
  const std::string spool = capture::spool::GenerateSpool(folder_.path(), {.is_closed = false});
  EXPECT_EQ(HuntFrom(spool).exit_code, 0);
  std::filesystem::resize_file(Capture(), 100);
  EXPECT_EQ(HuntFrom(spool).exit_code, 0);
  EXPECT_GT(std::filesystem::file_size(Capture()), 100u);
}

TEST_F(SavedCaptureTest, NoReportIsWrittenOverWhatItIsOf) {
  const std::string spool = capture::spool::GenerateSpool(folder_.path(), {});
  const std::string before = *ReadFile(spool);
  const std::string link = folder_.File("link");
  std::filesystem::create_hard_link(spool, link);
  const std::vector<std::vector<std::string>> commands = {{"hunt", "--output", spool, "--from", spool},
                                                          {"counts", spool, "--output", link},
                                                          {"export", "--output", spool, spool}};
  for (const std::vector<std::string>& command : commands) {
    const SubprocessResult result = RunSubprocess(StallhoundOptions(home_, command));
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_THAT(result.err, HasSubstr("is what is read, and would be overwritten")) << command[0];
  }
  EXPECT_EQ(*ReadFile(spool), before);
  const std::string budget = folder_.Write("b.toml", "[[range]]\nmax-waits = 0\n");
  EXPECT_EQ(RunSubprocess(StallhoundOptions(home_, {"hunt", "--budget", budget, "--output", budget, "--from", spool}))
                .exit_code,
            2);
  ASSERT_EQ(HuntFrom(spool).exit_code, 0);
  const SubprocessResult newest = RunSubprocess(StallhoundOptions(home_, {"counts", "--output", Capture()}));
  EXPECT_EQ(newest.exit_code, 2) << newest.err;
}

TEST_F(SavedCaptureTest, AnExportGoesToStdoutToo) {
  const std::string spool = capture::spool::GenerateSpool(folder_.path(), {.kernel_count = 10});
  const std::string file = folder_.File("events.csv");
  RunSubprocess(StallhoundOptions(home_, {"export", "--format", "csv", "--output", file, spool}));
  const SubprocessResult result =
      RunSubprocess(StallhoundOptions(home_, {"export", "--format", "csv", "--output", "-", spool}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, *ReadFile(file));
  EXPECT_THAT(result.err, HasSubstr("stdout: "));
}

}  // namespace
}  // namespace stallhound::cli
