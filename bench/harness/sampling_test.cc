#include "bench/harness/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/testing/fake_clock.h"

namespace stallhound::bench {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// Each sample moves the clock by the time it reports; a negative time is an error.
class FakeSampler : public Sampler {
 public:
  FakeSampler(stallhound::testing::FakeClock& clock, std::function<int64_t(int64_t index)> time_ns)
      : clock_(clock), time_ns_(std::move(time_ns)) {}

  absl::StatusOr<Sample> Take() override {
    const int64_t time_ns = time_ns_(taken_++);
    if (time_ns < 0) return absl::InternalError("the device is gone");
    clock_.Advance(time_ns);
    return Sample{.time_ns = time_ns};
  }

  int64_t taken() const { return taken_; }

 private:
  stallhound::testing::FakeClock& clock_;
  std::function<int64_t(int64_t)> time_ns_;
  int64_t taken_ = 0;
};

class TakeSamplesTest : public ::testing::Test {
 protected:
  absl::StatusOr<SampleSet> Take(std::function<int64_t(int64_t)> time_ns) {
    FakeSampler sampler(clock_, std::move(time_ns));
    absl::StatusOr<SampleSet> set = TakeSamples(sampler, clock_, StoppingRule());
    taken_ = sampler.taken();
    return set;
  }

  stallhound::testing::FakeClock clock_;
  int64_t taken_ = 0;
};

TEST_F(TakeSamplesTest, SteadyShortSamplesEndAfterHalfASecond) {
  const auto set = Take([](int64_t) { return kMillisecond; });
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->is_stable);
  EXPECT_EQ(set->samples.size(), 500U);
  EXPECT_EQ(taken_, 503) << "three of them warm up";
}

TEST_F(TakeSamplesTest, SteadyLongSamplesEndAfterTen) {
  const auto set = Take([](int64_t) { return 300 * kMillisecond; });
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->is_stable);
  EXPECT_EQ(set->samples.size(), 10U);
}

TEST_F(TakeSamplesTest, WarmUpIsNotMeasured) {
  const auto set = Take([](int64_t index) { return index < 3 ? 20'000 * kMillisecond : 100 * kMillisecond; });
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->samples.size(), 10U);
  EXPECT_EQ(set->samples.front().time_ns, 100 * kMillisecond);
}

TEST_F(TakeSamplesTest, NoiseTakesMoreSamples) {
  // Uniform over +-5%: the interval's half width is about 0.05 * 1.96 / sqrt(n), below 0.5% from n of about 400 on.
  const auto set = Take([](int64_t index) { return 9'500'000 + (index * 7'919 % 1'000) * 1'000; });
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->is_stable);
  EXPECT_GT(set->samples.size(), 200U);
  EXPECT_LT(set->samples.size(), 800U);
}

TEST_F(TakeSamplesTest, EndlessNoiseEndsAfterFifteenSeconds) {
  const auto set = Take([](int64_t index) { return (index % 2 == 0 ? 10 : 20) * kMillisecond; });
  ASSERT_TRUE(set.ok());
  EXPECT_FALSE(set->is_stable);
  EXPECT_EQ(set->samples.size(), 1000U);
}

TEST_F(TakeSamplesTest, VeryLongSamplesEndWithWhatThereIs) {
  const auto set = Take([](int64_t) { return 6'000 * kMillisecond; });
  ASSERT_TRUE(set.ok());
  EXPECT_FALSE(set->is_stable);
  EXPECT_EQ(set->samples.size(), 3U);
}

TEST_F(TakeSamplesTest, PassesAnErrorOn) {
  EXPECT_EQ(Take([](int64_t index) { return index < 7 ? 1 : -1; }).status().message(), "the device is gone");
  EXPECT_EQ(Take([](int64_t) { return -1; }).status().message(), "the device is gone");
}

TEST(ShortenedRuleTest, KeepsHowManyTimesLongerTheLongestIs) {
  const StoppingRule rule = ShortenedRule({}, 50 * kMillisecond);
  EXPECT_EQ(rule.min_elapsed_ns, 50 * kMillisecond);
  EXPECT_EQ(rule.max_elapsed_ns, 1'500 * kMillisecond);
  EXPECT_EQ(rule.min_count, StoppingRule().min_count);
  EXPECT_EQ(ShortenedRule({}, INT64_MAX / 2).max_elapsed_ns, INT64_MAX);
}

TEST(MedianTest, IsTheMiddle) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({4, 1, 3, 100}), 3.5);
}

TEST(MedianIntervalTest, NeedsSixValues) {
  EXPECT_EQ(MedianIntervalRatio({1, 1, 1, 1, 1}), std::nullopt);
  EXPECT_EQ(MedianIntervalRatio({1, 1, 1, 1, 1, 1}), 0);
  EXPECT_EQ(MedianIntervalRatio({0, 0, 0, 0, 0, 0}), std::nullopt);
}

TEST(MedianIntervalTest, TakesTheFartherEnd) {
  // Of ten values the second and the ninth: 97.9%.
  EXPECT_EQ(MedianIntervalRatio({0, 90, 100, 100, 100, 100, 100, 100, 130, 1000}), 0.3);
  EXPECT_EQ(MedianIntervalRatio({1000, 0, 60, 100, 100, 100, 100, 100, 100, 130}), 0.4);
}

// The exact probability that the median lies between the two order statistics, from the binomial distribution.
TEST(MedianIntervalTest, CoversAtLeast95Percent) {
  for (int64_t count = 6; count <= 300; ++count) {
    // Of the values 1001..1000+count the interval's end says which order statistic it is.
    std::vector<int64_t> values;
    for (int64_t i = 1; i <= count; ++i) values.push_back(1000 + i);
    const double median = 1000 + (static_cast<double>(count) + 1) / 2;
    const std::optional<double> ratio = MedianIntervalRatio(values);
    ASSERT_TRUE(ratio);
    const auto rank = std::llround(median * (1 - *ratio)) - 1000;
    double outside = 0;
    for (int64_t i = 0; i < rank; ++i) {
      const auto n = static_cast<double>(count);
      const auto k = static_cast<double>(i);
      outside += 2 * std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2));
    }
    EXPECT_LE(outside, 0.05) << count << " values, rank " << rank;
  }
}

}  // namespace
}  // namespace stallhound::bench
