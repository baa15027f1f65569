#include "base/stats/median_ratio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace stallhound::stats {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<double>;

Values Ramp(int size, double first, double step) {
  Values values;
  for (int i = 0; i < size; ++i) values.push_back(first + step * i);
  return values;
}

TEST(IntervalOfMedianRatioTest, TheSameSeedGivesTheSameInterval) {
  const Values baseline = Ramp(16, 100, 1), candidate = Ramp(16, 104, 1);
  const auto first = IntervalOfMedianRatio(baseline, candidate, {.seed = 7});
  const auto again = IntervalOfMedianRatio(baseline, candidate, {.seed = 7});
  const auto other = IntervalOfMedianRatio(baseline, candidate, {.confidence_ratio = 0.5, .seed = 7});
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_DOUBLE_EQ(first->ratio, 111.5 / 107.5);
  EXPECT_EQ(first->low, again->low);
  EXPECT_EQ(first->high, again->high);
  EXPECT_LT(first->low, other->low);
  EXPECT_LT(other->high, first->high);
}

TEST(IntervalOfMedianRatioTest, HasNoWidthWithoutNoise) {
  const auto interval = IntervalOfMedianRatio(Values(8, 2.0), Values(8, 3.0), {});
  ASSERT_TRUE(interval.ok());
  EXPECT_EQ(interval->ratio, 1.5);
  EXPECT_EQ(interval->low, 1.5);
  EXPECT_EQ(interval->high, 1.5);
}

TEST(IntervalOfMedianRatioTest, DoesNotDependOnTheUnit) {
  const Values baseline = Ramp(9, 1, 0.125), candidate = Ramp(12, 1.5, 0.0625);
  Values small_baseline = baseline, small_candidate = candidate;
  for (double& value : small_baseline) value /= 1024;
  for (double& value : small_candidate) value /= 1024;
  const auto large = IntervalOfMedianRatio(baseline, candidate, {});
  const auto small = IntervalOfMedianRatio(small_baseline, small_candidate, {});
  ASSERT_TRUE(large.ok() && small.ok());
  EXPECT_EQ(large->low, small->low);
  EXPECT_EQ(large->high, small->high);
}

// Nominal 95%: the ratio of the true medians must lie inside about as often, whatever the shape of the noise.
TEST(IntervalOfMedianRatioTest, CoversTheTrueRatio) {
  std::mt19937_64 random(21);
  std::normal_distribution<double> normal;
  constexpr int kTrials = 200;
  for (const bool is_skewed : {false, true}) {
    for (const size_t size : {8u, 16u}) {
      int covered = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        Values baseline(size), candidate(size);
        const auto noise = [&] { return is_skewed ? std::exp(0.3 * normal(random)) : 1 + 0.01 * normal(random); };
        for (double& value : baseline) value = 500 * noise();
        for (double& value : candidate) value = 510 * noise();
        const auto interval = IntervalOfMedianRatio(baseline, candidate, {.seed = static_cast<uint64_t>(trial)});
        ASSERT_TRUE(interval.ok());
        covered += interval->low <= 1.02 && 1.02 <= interval->high;
      }
      // Four standard errors below and above 0.95; the bootstrap of a median errs to the wide side.
      EXPECT_GE(covered, kTrials * 0.89) << size << is_skewed;
      EXPECT_LE(covered, kTrials * 0.99) << size << is_skewed;
    }
  }
}

TEST(IntervalOfMedianRatioTest, RefusesWhatHasNoRatio) {
  const Values good = Ramp(8, 1, 1);
  EXPECT_THAT(IntervalOfMedianRatio({}, good, {}).status().message(), HasSubstr("baseline has no samples"));
  EXPECT_THAT(IntervalOfMedianRatio(good, Ramp(8, 0, 1), {}).status().message(),
              HasSubstr("sample 0 of candidate is 0"));
  EXPECT_THAT(IntervalOfMedianRatio(Ramp(5, 1, 1), good, {}).status().message(), HasSubstr("needs 6"));
  EXPECT_FALSE(IntervalOfMedianRatio(good, good, {.confidence_ratio = 1}).ok());
  Values infinite = good;
  infinite[3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(IntervalOfMedianRatio(infinite, good, {}).ok());
}

}  // namespace
}  // namespace stallhound::stats
