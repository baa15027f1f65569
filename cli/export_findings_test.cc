#include "cli/export_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

analysis::HuntReport TwoSites() {
  analysis::HuntReport report;
  analysis::Site line;
  line.innermost_user = analysis::Frame{.function = "step", .file = "train.py", .line = 12, .is_user = true};
  report.sites.push_back(line);
  analysis::Site call;
  call.apis = {"cudaFree"};
  report.sites.push_back(call);
  report.waits = {{0, 1000, 3000, 1500, 4000},
                  {1, 5000, 5100, std::nullopt, std::nullopt},
                  {0, 10'000, 20'000, 9'000, 8'000},
                  {1, 30'000, 40'000, 5'000, std::nullopt}};
  return report;
}

TEST(ExportFindingsTest, StallsBecomeATrackWithLineAndIdle) {
  const std::vector<capture::ExtraTrack> tracks = WaitTracks(TwoSites());
  ASSERT_EQ(tracks.size(), 2u);
  ASSERT_EQ(tracks[0].slices.size(), 3u) << "what did not block is no stall";
  EXPECT_EQ(tracks[0].slices[0].name, "#1 train.py:12 step");
  EXPECT_EQ(tracks[0].slices[2].name, "#2 cudaFree");
  EXPECT_THAT(tracks[0].slices[2].arguments, ::testing::Contains(::testing::Pair("GPU idle", "no later GPU work")));
  ASSERT_EQ(tracks[1].slices.size(), 2u);
  EXPECT_EQ(tracks[1].slices[0].start_ns, 2500) << "idle begins when the awaited work ended";
  EXPECT_EQ(tracks[1].slices[0].end_ns, 6500);
}

TEST(ExportFindingsTest, TheWindowHoldsTheCostliestWaitAndItsIdle) {
  const auto found = WindowAround(TwoSites(), 1, 2000);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->window.start_ns, 9'000);
  EXPECT_EQ(found->window.end_ns, 20'000 + 8'000 + 1'000);
  EXPECT_EQ(found->finding, "#1 train.py:12 step");
  const auto without_idle = WindowAround(TwoSites(), 2, 3);
  ASSERT_TRUE(without_idle.ok()) << without_idle.status();
  EXPECT_EQ(without_idle->window.start_ns, 29'999);
  EXPECT_EQ(without_idle->window.end_ns, 40'002);
}

TEST(ExportFindingsTest, SaysWhatIsNoFinding) {
  EXPECT_EQ(WindowAround(TwoSites(), 3, 2000).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*FindingNumber("1"), 1u);
  EXPECT_EQ(*FindingNumber("#12"), 12u);
  for (const char* finding : {"", "#", "0", "1x", "-1", "one"}) {
    EXPECT_EQ(FindingNumber(finding).status().code(), absl::StatusCode::kInvalidArgument) << finding;
  }
}

}  // namespace
}  // namespace stallhound::cli
