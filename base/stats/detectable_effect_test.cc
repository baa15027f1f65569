#include "base/stats/detectable_effect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/stats/median_ratio.h"
#include "base/stats/rank_test.h"
#include "base/stats/samples.h"

namespace stallhound::stats {
namespace {

using Values = std::vector<double>;

constexpr double kNoise = 0.01;

Values Rounds(size_t size, double median, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Values values(size);
  for (double& value : values) value = median * (1 + kNoise * normal(random));
  return values;
}

bool IsSeen(const Values& baseline, const Values& candidate, const DetectionRule& rule) {
  if (RankTest(baseline, candidate, Alternative::kGreater)->p > rule.alpha) return false;
  double decisive = *Median(candidate) / *Median(baseline);
  if (rule.interval_confidence_ratio) {
    decisive = IntervalOfMedianRatio(baseline, candidate, {.confidence_ratio = *rule.interval_confidence_ratio})->low;
  }
  return decisive > 1 + rule.margin_ratio;
}

// The median of what samples of this noise say they could see.
double TypicalEffect(size_t size, const DetectionRule& rule, std::mt19937_64& random) {
  Values effects;
  for (int trial = 0; trial < 100; ++trial) {
    const auto effect = MinimumDetectableEffect(Rounds(size, 5, random), Rounds(size, 7, random), rule);
    effects.push_back(effect->value());
  }
  return *Median(effects);
}

TEST(MinimumDetectableEffectTest, IsSeenAtTheStatedPower) {
  std::mt19937_64 random(41);
  const DetectionRule rules[] = {
      {.alpha = 0.05},
      {.alpha = 1e-4},
      {.alpha = 0.05, .margin_ratio = 0.005},
      {.alpha = 1e-3, .margin_ratio = 0.005, .interval_confidence_ratio = 0.95},
  };
  for (const DetectionRule& rule : rules) {
    const size_t size = rule.alpha < 0.05 ? 16 : 8;
    const double effect = TypicalEffect(size, rule, random);
    constexpr int kTrials = 200;
    int seen = 0, seen_at_half = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Values baseline = Rounds(size, 100, random);
      seen += IsSeen(baseline, Rounds(size, 100 * (1 + effect), random), rule);
      seen_at_half += IsSeen(baseline, Rounds(size, 100 * (1 + effect / 2), random), rule);
    }
    // 90% for each of two conditions that mostly hold together, and three standard errors.
    EXPECT_GE(static_cast<double>(seen) / kTrials, 0.78) << rule.alpha << " " << rule.margin_ratio;
    EXPECT_LE(static_cast<double>(seen) / kTrials, 0.97) << rule.alpha << " " << rule.margin_ratio;
    EXPECT_LT(static_cast<double>(seen_at_half) / kTrials, 0.6) << rule.alpha << " " << rule.margin_ratio;
  }
}

TEST(MinimumDetectableEffectTest, FallsWithTheRootOfTheCount) {
  std::mt19937_64 random(42);
  const double few = TypicalEffect(100, {}, random), many = TypicalEffect(400, {}, random);
  EXPECT_NEAR(few / many, 2, 0.1);
}

TEST(MinimumDetectableEffectTest, IsUnknownWhereNoChangeCouldBeSeen) {
  std::mt19937_64 random(43);
  const auto effect = MinimumDetectableEffect(Rounds(3, 5, random), Rounds(2, 5, random), {.alpha = 0.05});
  ASSERT_TRUE(effect.ok());
  EXPECT_FALSE(effect->has_value());
}

TEST(MinimumDetectableEffectTest, IsTheMarginWithoutNoise) {
  const auto effect = MinimumDetectableEffect(Values(8, 2.0), Values(8, 2.0), {.margin_ratio = 0.005});
  ASSERT_TRUE(effect.ok());
  EXPECT_DOUBLE_EQ(effect->value(), 0.005);
}

TEST(MinimumDetectableEffectTest, RefusesWhatCannotBeAnswered) {
  const Values good(8, 1.0);
  EXPECT_FALSE(MinimumDetectableEffect({}, good, {}).ok());
  EXPECT_FALSE(MinimumDetectableEffect(good, Values{-1, 1}, {}).ok());
  EXPECT_FALSE(MinimumDetectableEffect(good, Values{1, std::numeric_limits<double>::quiet_NaN()}, {}).ok());
  EXPECT_FALSE(MinimumDetectableEffect(good, good, {.alpha = 0}).ok());
  EXPECT_FALSE(MinimumDetectableEffect(good, good, {.power_ratio = 1}).ok());
  EXPECT_FALSE(MinimumDetectableEffect(good, good, {.interval_confidence_ratio = 1.5}).ok());
}

}  // namespace
}  // namespace stallhound::stats
