#include "base/stats/rank_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace stallhound::stats {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<double>;

// Pairs in which the candidate is larger, equal ones half.
double Superior(const Values& baseline, const Values& candidate) {
  double pairs = 0;
  for (const double a : baseline) {
    for (const double b : candidate) pairs += a < b ? 1 : a == b ? 0.5 : 0;
  }
  return pairs;
}

struct BruteForce {
  double less = 0, greater = 0, least_less = 1, least_greater = 1;
};

// Over every way to deal the pooled values to the two sides.
BruteForce DealAll(const Values& baseline, const Values& candidate) {
  Values pooled = baseline;
  pooled.insert(pooled.end(), candidate.begin(), candidate.end());
  std::vector<double> statistics;
  for (unsigned deal = 0; deal < 1u << pooled.size(); ++deal) {
    if (static_cast<size_t>(std::popcount(deal)) != candidate.size()) continue;
    Values first, second;
    for (size_t i = 0; i < pooled.size(); ++i) ((deal >> i & 1) != 0 ? second : first).push_back(pooled[i]);
    statistics.push_back(Superior(first, second));
  }
  const auto share = [&](auto&& matches) {
    return static_cast<double>(std::count_if(statistics.begin(), statistics.end(), matches)) /
           static_cast<double>(statistics.size());
  };
  const double observed = Superior(baseline, candidate);
  const double lowest = *std::min_element(statistics.begin(), statistics.end());
  const double highest = *std::max_element(statistics.begin(), statistics.end());
  return {share([&](double u) { return u <= observed; }), share([&](double u) { return u >= observed; }),
          share([&](double u) { return u == lowest; }), share([&](double u) { return u == highest; })};
}

Values Draw(size_t size, std::mt19937_64& random, auto&& distribution) {
  Values values(size);
  for (double& value : values) value = distribution(random);
  return values;
}

TEST(RankTestTest, EqualsBruteForceOverAllDealsWithAndWithoutTies) {
  std::mt19937_64 random(1);
  for (const int distinct : {2, 4, 1'000'000}) {
    std::uniform_int_distribution<int> value(1, distinct);
    for (size_t n = 1; n <= 5; ++n) {
      for (size_t m = 1; m <= 6; ++m) {
        const Values baseline = Draw(n, random, value), candidate = Draw(m, random, value);
        const BruteForce expected = DealAll(baseline, candidate);
        const auto less = RankTest(baseline, candidate, Alternative::kLess);
        const auto greater = RankTest(baseline, candidate, Alternative::kGreater);
        const auto both = RankTest(baseline, candidate, Alternative::kTwoSided);
        ASSERT_TRUE(less.ok() && greater.ok() && both.ok());
        EXPECT_TRUE(less->is_exact);
        EXPECT_NEAR(less->p, expected.less, 1e-12);
        EXPECT_NEAR(greater->p, expected.greater, 1e-12);
        EXPECT_NEAR(both->p, std::min(1.0, 2 * std::min(expected.less, expected.greater)), 1e-12);
        EXPECT_NEAR(less->p_min, expected.least_less, 1e-12);
        EXPECT_NEAR(greater->p_min, expected.least_greater, 1e-12);
        EXPECT_NEAR(both->p_min, std::min(1.0, 2 * std::min(expected.least_less, expected.least_greater)), 1e-12);
        EXPECT_NEAR(greater->superior_ratio, Superior(baseline, candidate) / static_cast<double>(n * m), 1e-12);
      }
    }
  }
}

// The example of R's wilcox.test: W = 35, p = 0.1272 (M. Hollander, D. A. Wolfe, 1973, p. 69).
TEST(RankTestTest, AgreesWithAPublishedExample) {
  const Values x = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const Values y = {1.15, 0.88, 0.90, 0.74, 1.21};
  const auto result = RankTest(y, x, Alternative::kGreater);
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->p, 0.1272, 5e-5);
  EXPECT_NEAR(result->superior_ratio * 50, 35, 1e-9);
}

TEST(RankTestTest, IsMirrored) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<int> value(1, 30);
  for (const size_t size : {7u, 40u, 90u}) {
    const Values a = Draw(size, random, value), b = Draw(size + 5, random, value);
    EXPECT_NEAR(RankTest(a, b, Alternative::kLess)->p, RankTest(b, a, Alternative::kGreater)->p, 1e-12) << size;
  }
}

// Dealing at random is the definition; the normal approximation must come close to it in body and tail.
TEST(RankTestTest, ApproximatesManySamplesWithTies) {
  std::mt19937_64 random(3);
  for (const double shift : {0.0, 0.35}) {
    Values pooled;
    std::normal_distribution<double> normal;
    for (int i = 0; i < 120; ++i) pooled.push_back(std::round(2 * (normal(random) + (i < 70 ? 0 : shift))));
    const Values baseline(pooled.begin(), pooled.begin() + 70), candidate(pooled.begin() + 70, pooled.end());
    const auto result = RankTest(baseline, candidate, Alternative::kGreater);
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->is_exact);
    const double observed = Superior(baseline, candidate);
    constexpr int kDeals = 4000;
    int extreme = 0;
    for (int deal = 0; deal < kDeals; ++deal) {
      std::shuffle(pooled.begin(), pooled.end(), random);
      extreme += Superior({pooled.begin(), pooled.begin() + 70}, {pooled.begin() + 70, pooled.end()}) >= observed;
    }
    const double expected = static_cast<double>(extreme) / kDeals;
    EXPECT_NEAR(result->p, expected, 0.002 + 4 * std::sqrt(expected * (1 - expected) / kDeals)) << shift;
  }
}

TEST(RankTestTest, ApproximationContinuesTheExactDistribution) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  const Values a = Draw(50, random, normal);
  Values b = Draw(50, random, normal);
  for (double& value : b) value += 0.3;
  const auto exact = RankTest(a, b, Alternative::kGreater);
  // The same order once more among 200: each value twice, slightly apart, has the same superior ratio.
  const auto twice = [](const Values& values) {
    Values doubled = values;
    for (const double value : values) doubled.push_back(value + 1e-12);
    return doubled;
  };
  const auto approximate = RankTest(twice(a), twice(b), Alternative::kGreater);
  ASSERT_TRUE(exact.ok() && approximate.ok());
  EXPECT_TRUE(exact->is_exact);
  EXPECT_FALSE(approximate->is_exact);
  EXPECT_NEAR(exact->superior_ratio, approximate->superior_ratio, 1e-3);
  // z grows with the square root of the size.
  const auto z = [](const RankTestResult& result, double size) {
    return (result.superior_ratio - 0.5) * std::sqrt(12 * size * size / (2 * size + 1));
  };
  EXPECT_NEAR(exact->p, std::erfc(z(*exact, 50) / std::sqrt(2.0)) / 2, 0.003);
  EXPECT_NEAR(approximate->p, std::erfc(z(*approximate, 100) / std::sqrt(2.0)) / 2, 0.001);
}

// The nominal rate must hold whatever the noise looks like, and not be far below it.
TEST(RankTestTest, FalseAlarmsStayAtTheNominalRate) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> skewed(0, 1);
  std::cauchy_distribution<double> heavy;
  std::uniform_int_distribution<int> tied(1, 12);
  constexpr int kTrials = 2000;
  const auto rate = [&](auto&& distribution, size_t size, Alternative alternative) {
    int alarms = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Values baseline = Draw(size, random, distribution), candidate = Draw(size, random, distribution);
      alarms += RankTest(baseline, candidate, alternative)->p <= 0.05;
    }
    return static_cast<double>(alarms) / kTrials;
  };
  const double four_errors = 4 * std::sqrt(0.05 * 0.95 / kTrials);
  for (const Alternative alternative : {Alternative::kLess, Alternative::kGreater, Alternative::kTwoSided}) {
    for (const double alarms :
         {rate(skewed, 8, alternative), rate(heavy, 12, alternative), rate(tied, 10, alternative)}) {
      EXPECT_LE(alarms, 0.05 + four_errors);
      EXPECT_GE(alarms, 0.025);
    }
  }
}

TEST(RankTestTest, EqualValuesSayNothing) {
  const Values same(8, 3.5);
  for (const Alternative alternative : {Alternative::kLess, Alternative::kGreater, Alternative::kTwoSided}) {
    const auto result = RankTest(same, same, alternative);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->p, 1);
    EXPECT_EQ(result->p_min, 1);
    EXPECT_EQ(result->superior_ratio, 0.5);
  }
  EXPECT_EQ(RankTest(Values(80, 1.0), Values(80, 1.0), Alternative::kGreater)->p, 1);
}

TEST(RankTestTest, RefusesWhatCannotBeRanked) {
  const Values good = {1, 2, 3};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(RankTest({}, good, Alternative::kLess).status().message(), HasSubstr("baseline has no samples"));
  EXPECT_THAT(RankTest(good, {}, Alternative::kLess).status().message(), HasSubstr("candidate has no samples"));
  EXPECT_THAT(RankTest(good, Values{1, nan}, Alternative::kLess).status().message(),
              HasSubstr("sample 1 of candidate"));
  EXPECT_EQ(RankTest(Values{std::numeric_limits<double>::infinity()}, good, Alternative::kLess).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SmallestPTest, AgreesWithPublishedMinima) {
  const std::pair<int, double> published[] = {{3, 0.1}, {4, 0.0286}, {5, 0.0079}, {6, 0.00216}, {9, 4.1e-5}};
  for (const auto& [size, p] : published) {
    EXPECT_NEAR(SmallestP(size, size, Alternative::kTwoSided), p, 0.012 * p) << size;
  }
}

TEST(SmallestPTest, IsReachedByTheTest) {
  for (const size_t n : {2u, 5u, 16u}) {
    for (const size_t m : {3u, 8u, 20u}) {
      Values low(n), high(m);
      for (size_t i = 0; i < n; ++i) low[i] = static_cast<double>(i);
      for (size_t i = 0; i < m; ++i) high[i] = static_cast<double>(1000 + i);
      const auto result = RankTest(low, high, Alternative::kGreater);
      ASSERT_TRUE(result.ok());
      const double smallest = SmallestP(static_cast<int64_t>(n), static_cast<int64_t>(m), Alternative::kGreater);
      EXPECT_NEAR(result->p / smallest, 1, 1e-9);
      EXPECT_NEAR(result->p_min / smallest, 1, 1e-9);
    }
  }
}

TEST(SmallestPTest, EndsAtOneAndAtZero) {
  EXPECT_EQ(SmallestP(0, 5, Alternative::kGreater), 1);
  EXPECT_EQ(SmallestP(1, 1, Alternative::kTwoSided), 1);
  EXPECT_EQ(SmallestP(1'000'000'000, 1'000'000'000, Alternative::kTwoSided), 0);
}

TEST(SampleCountForPTest, IsTheFewestThatReachIt) {
  for (const double p : {0.4, 0.05, 1e-3, 1e-9}) {
    const auto count = SampleCountForP(p, Alternative::kTwoSided);
    ASSERT_TRUE(count.ok());
    EXPECT_LE(SmallestP(*count, *count, Alternative::kTwoSided), p);
    EXPECT_GT(SmallestP(*count - 1, *count - 1, Alternative::kTwoSided), p);
  }
  EXPECT_FALSE(SampleCountForP(0, Alternative::kLess).ok());
}

}  // namespace
}  // namespace stallhound::stats
