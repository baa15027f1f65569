// The gate on rounds that were really measured: testdata/h200_rounds.txt (README.md says how they came about).

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <vector>

#include "analysis/gate/testing/dealt_rounds.h"
#include "base/testing/golden.h"

namespace stallhound::analysis::gate {
namespace {

constexpr int kSplitCount = 200;
constexpr char kPlanted[] = "layer_norm/optimized/fp32/1200000x512/forward";  // what bench/testing slows down

class RecordedRoundsTest : public ::testing::Test {
 protected:
  static std::vector<RecordedCase> Read() {
    std::ifstream file(stallhound::testing::DataPath("analysis/gate/testdata/h200_rounds.txt"));
    return ReadRecordedCases(file);
  }

  double PowerAt(double ratio) {
    const auto planted = std::find_if(cases_.begin(), cases_.end(), [](const auto& c) { return c.id == kPlanted; });
    if (planted == cases_.end()) return 0;
    std::vector<UnchangedSplit> unchanged;
    for (int i = 0; i < 5; ++i) unchanged.push_back(JudgeUnchanged(cases_, random_));
    int found = 0;
    for (int i = 0; i < kSplitCount; ++i) {
      const auto index = static_cast<size_t>(planted - cases_.begin());
      found += JudgeSlowDown(cases_, index, ratio, unchanged[static_cast<size_t>(i) % unchanged.size()], random_) ==
               Answer::kRegressed;
    }
    return static_cast<double>(found) / kSplitCount;
  }

  std::vector<RecordedCase> cases_ = Read();
  std::mt19937_64 random_{1};
};

TEST_F(RecordedRoundsTest, HoldThe64RoundsOfAWholeSuite) {
  ASSERT_EQ(cases_.size(), 87u);
  for (const RecordedCase& one : cases_) EXPECT_EQ(one.times.size(), 64u) << one.id;
}

TEST_F(RecordedRoundsTest, UnchangedSuitesRaiseAtMostOneAlarm) {
  int alarmed = 0;
  for (int i = 0; i < kSplitCount; ++i) alarmed += JudgeUnchanged(cases_, random_).regressed_count > 0;
  EXPECT_LE(alarmed, 1);
}

TEST_F(RecordedRoundsTest, ThePlantedSlowDownsAreFound) {
  EXPECT_GE(PowerAt(1.02), 0.9);
  EXPECT_GE(PowerAt(1.10), 0.9);
}

}  // namespace
}  // namespace stallhound::analysis::gate
