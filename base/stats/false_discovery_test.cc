#include "base/stats/false_discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace stallhound::stats {
namespace {

// The definition: all p up to the largest p(k) with p(k) <= k q / m are rejected.
std::vector<bool> RejectByDefinition(const std::vector<double>& p, double q) {
  std::vector<double> sorted = p;
  std::sort(sorted.begin(), sorted.end());
  double threshold = -1;
  for (size_t k = 1; k <= sorted.size(); ++k) {
    if (sorted[k - 1] * static_cast<double>(sorted.size()) / static_cast<double>(k) <= q) threshold = sorted[k - 1];
  }
  std::vector<bool> rejected;
  for (const double value : p) rejected.push_back(value <= threshold);
  return rejected;
}

TEST(AdjustForFalseDiscoveryTest, RejectsWhatTheDefinitionRejects) {
  std::mt19937_64 random(31);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<double> p(1 + static_cast<size_t>(trial % 40));
    const bool has_ties = trial % 3 == 0;
    for (double& value : p) {
      value = std::pow(uniform(random), 4);
      if (has_ties) value = std::round(value * 50) / 50;
    }
    const double q = 0.01 + 0.3 * uniform(random);
    const auto adjusted = AdjustForFalseDiscovery(p);
    ASSERT_TRUE(adjusted.ok());
    const std::vector<bool> expected = RejectByDefinition(p, q);
    for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ((*adjusted)[i] <= q, expected[i]) << trial << " " << i;
  }
}

TEST(AdjustForFalseDiscoveryTest, GivesTheKnownValues) {
  const auto adjusted = AdjustForFalseDiscovery(std::vector<double>{0.04, 0.01, 0.03, 0.005});
  ASSERT_TRUE(adjusted.ok());
  const std::vector<double> expected = {0.04, 0.02, 0.04, 0.02};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ((*adjusted)[i], expected[i]);
}

TEST(AdjustForFalseDiscoveryTest, KeepsTheShareOfFalseRejectionsBelowQ) {
  std::mt19937_64 random(32);
  std::uniform_real_distribution<double> uniform;
  constexpr int kTrials = 3000, kNull = 40, kReal = 10;
  double false_share = 0;
  int found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> p(kNull + kReal);
    for (size_t i = 0; i < p.size(); ++i) p[i] = i < kNull ? uniform(random) : uniform(random) * 1e-3;
    const auto adjusted = AdjustForFalseDiscovery(p);
    int wrong = 0, right = 0;
    for (size_t i = 0; i < p.size(); ++i) ((i < kNull ? wrong : right)) += (*adjusted)[i] <= 0.1;
    if (wrong + right > 0) false_share += static_cast<double>(wrong) / (wrong + right);
    found += right;
  }
  // Expected exactly q times the share of true nulls.
  EXPECT_NEAR(false_share / kTrials, 0.1 * kNull / (kNull + kReal), 0.01);
  EXPECT_EQ(found, kTrials * kReal);
}

TEST(AdjustForFalseDiscoveryTest, NoTestsGiveNoValues) { EXPECT_TRUE(AdjustForFalseDiscovery({})->empty()); }

TEST(AdjustForFalseDiscoveryTest, RefusesWhatIsNoProbability) {
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(AdjustForFalseDiscovery(std::vector<double>{0.5, bad}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace stallhound::stats
