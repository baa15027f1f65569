// Recordings of a GPU (examples/recorded) with a range `step`: without the range the same steps are found.

#include <gtest/gtest.h>

#include <string>

#include "analysis/testing/hidden_steps.h"
#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "capture/spool/reader.h"

namespace stallhound::analysis {
namespace {

using stallhound::testing::DataPath;

class RecordedStepsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedStepsTest, AreFoundWithoutTheirMarks) {
  const stallhound::testing::TempDir folder;
  const std::string path = folder.File("recording.spool");
  const std::string packed = DataPath(std::string("examples/recorded/") + GetParam() + ".spool.zst");
  ASSERT_TRUE(stallhound::testing::Unpack(packed, path));
  const auto reader = capture::OpenSpools({path});
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::StatusOr<HiddenSteps> steps = CompareHiddenSteps(**reader);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->marked.how, "nvtx step");
  EXPECT_EQ(steps->found.how, "sequence");
  EXPECT_TRUE(steps->period_agrees()) << steps->marked.period_ns << " and " << steps->found.period_ns << " ns";
  EXPECT_EQ(steps->found.sync_point_count, steps->marked.sync_point_count);
  EXPECT_GE(steps->found.step_count, steps->marked.step_count - 1);
}

INSTANTIATE_TEST_SUITE_P(OnH200, RecordedStepsTest,
                         ::testing::Values("cuda-runtime", "detection", "graph-model", "libtorch", "pytorch"));

}  // namespace
}  // namespace stallhound::analysis
