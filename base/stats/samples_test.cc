#include "base/stats/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace stallhound::stats {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(MedianTest, IsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(*Median(std::vector<double>{7}), 7);
  EXPECT_EQ(*Median(std::vector<double>{9, 1, 4}), 4);
  EXPECT_EQ(*Median(std::vector<double>{9, 1, 4, 6}), 5);
  EXPECT_EQ(*Median(std::vector<double>{2, 2, 2, 8}), 2);
}

TEST(MedianTest, SurvivesTheLargestValues) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  EXPECT_EQ(*Median(std::vector<double>{kLargest, kLargest}), kLargest);
  EXPECT_EQ(*Median(std::vector<double>{-kLargest, kLargest}), 0);
}

TEST(MedianTest, RefusesWhatHasNoMedian) {
  EXPECT_EQ(Median({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Median(std::vector<double>{1, kNan}).status().message(), HasSubstr("sample 1"));
  EXPECT_THAT(Median(std::vector<double>{kInfinity}).status().message(), HasSubstr("inf"));
}

TEST(CheckPositiveTest, RefusesZeroAndBelow) {
  EXPECT_TRUE(CheckPositive("test", "it", std::vector<double>{1e-300, 1}).ok());
  EXPECT_THAT(CheckPositive("divide", "baseline", std::vector<double>{1, 0}).message(),
              HasSubstr("sample 1 of baseline"));
  EXPECT_FALSE(CheckPositive("test", "it", std::vector<double>{-1}).ok());
  EXPECT_FALSE(CheckPositive("test", "it", std::vector<double>{kNan}).ok());
}

TEST(IntervalOfMedianTest, TakesTheOrderStatisticsOfTheSignTest) {
  std::vector<double> values;
  for (int i = 1; i <= 6; ++i) values.push_back(i);
  const auto six = IntervalOfMedian(values, 0.95);
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->low, 1);
  EXPECT_EQ(six->high, 6);
  EXPECT_DOUBLE_EQ(six->confidence_ratio, 1 - 2.0 / 64);
  // 10 values: outside the 2nd and 9th lie 2 * (1 + 10) / 1024 of the distribution.
  for (int i = 7; i <= 10; ++i) values.push_back(i);
  const auto ten = IntervalOfMedian(values, 0.95);
  ASSERT_TRUE(ten.ok());
  EXPECT_EQ(ten->low, 2);
  EXPECT_EQ(ten->median, 5.5);
  EXPECT_EQ(ten->high, 9);
  EXPECT_NEAR(ten->confidence_ratio, 1 - 22.0 / 1024, 1e-12);
}

TEST(IntervalOfMedianTest, NeedsSixSamplesForNinetyFivePercent) {
  EXPECT_EQ(LeastSampleCount(0.95), 6);
  EXPECT_EQ(LeastSampleCount(0.99), 8);
  EXPECT_EQ(LeastSampleCount(0.5), 2);
  EXPECT_THAT(IntervalOfMedian(std::vector<double>{1, 2, 3, 4, 5}, 0.95).status().message(), HasSubstr("needs 6"));
}

TEST(IntervalOfMedianTest, RefusesAConfidenceThatIsNone) {
  const std::vector<double> values(20, 1.0);
  for (const double confidence : {0.0, 1.0, -1.0, 2.0, kNan}) {
    EXPECT_EQ(IntervalOfMedian(values, confidence).status().code(), absl::StatusCode::kInvalidArgument) << confidence;
  }
}

TEST(IntervalOfMedianTest, CoversAtLeastAsOftenAsItSays) {
  std::mt19937_64 random(11);
  for (const int size : {6, 16, 51, 400}) {
    std::exponential_distribution<double> skewed(1.0);
    constexpr int kTrials = 4000;
    int covered = 0;
    double stated = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(static_cast<size_t>(size));
      for (double& value : values) value = skewed(random);
      const auto interval = IntervalOfMedian(values, 0.95);
      ASSERT_TRUE(interval.ok());
      covered += interval->low <= std::numbers::ln2 && std::numbers::ln2 <= interval->high;
      stated = interval->confidence_ratio;
    }
    // Four standard errors of 4000 trials.
    EXPECT_NEAR(static_cast<double>(covered) / kTrials, stated, 0.014) << size;
    EXPECT_GE(stated, 0.95);
  }
}

}  // namespace
}  // namespace stallhound::stats
