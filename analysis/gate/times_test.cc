#include "analysis/gate/times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace stallhound::analysis::gate {
namespace {

using ::testing::HasSubstr;

constexpr double kNoise = 0.003;
constexpr double kClockHz = 1.98e9;

// Rounds of made-up cases, all from one seed.
class Rounds {
 public:
  explicit Rounds(uint64_t seed) : random_(seed) {}

  std::vector<Round> Side(int64_t count, double median_ns, std::optional<double> sm_clock_hz = std::nullopt) {
    std::vector<Round> rounds;
    for (int64_t i = 0; i < count; ++i) rounds.push_back({median_ns * (1 + kNoise * normal_(random_)), sm_clock_hz});
    return rounds;
  }

  CaseRounds Case(int64_t count, double ratio) {
    CaseRounds rounds;
    rounds.benchmark_id = "layer_norm/optimized/float32/1024x256/forward";
    rounds.baseline = Side(count, 50'000);
    rounds.candidate = Side(count, 50'000 * ratio);
    return rounds;
  }

  // Clocks as given; times as if only the cycles counted, times `ratio`.
  CaseRounds AtClocks(int64_t count, Bound bound, double clock_ratio, double ratio) {
    CaseRounds rounds = Case(count, ratio);
    rounds.bound = bound;
    for (Round& round : rounds.baseline) round.sm_clock_hz = kClockHz;
    for (Round& round : rounds.candidate) round.sm_clock_hz = kClockHz * clock_ratio;
    return rounds;
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

TimeVerdict Screen(const CaseRounds& rounds, RoundSource source = RoundSource::kInterleaved) {
  const auto verdict = ScreenTimes(rounds, source, 1);
  EXPECT_TRUE(verdict.ok()) << verdict.status();
  return verdict.value_or(TimeVerdict{});
}

TimeVerdict Confirm(const CaseRounds& rounds, Direction direction = Direction::kSlower) {
  const auto verdicts = ConfirmTimes(std::vector<Confirmation>{{rounds, direction}}, {});
  EXPECT_TRUE(verdicts.ok()) << verdicts.status();
  return verdicts.ok() ? verdicts->front() : TimeVerdict{};
}

TEST(ScreenTimesTest, FindsAChangeAndLeavesItUnconfirmed) {
  Rounds rounds(61);
  const TimeVerdict slower = Screen(rounds.Case(8, 1.02));
  EXPECT_EQ(slower.answer, Answer::kSuspect);
  EXPECT_EQ(slower.reason, Reason::kAwaitsConfirmation);
  EXPECT_EQ(slower.direction(), Direction::kSlower);
  EXPECT_NEAR(*slower.effect_ratio, 0.02, 0.006);
  EXPECT_LT(slower.interval->low, 1.02);
  EXPECT_GT(slower.interval->high, 1.02);
  EXPECT_EQ(slower.baseline_round_count, 8);
  EXPECT_NEAR(*slower.p_min, 1.0 / 12870, 1e-9);
  EXPECT_FALSE(slower.p_adjusted.has_value());
  const TimeVerdict faster = Screen(rounds.Case(8, 0.98));
  EXPECT_EQ(faster.answer, Answer::kSuspect);
  EXPECT_EQ(faster.direction(), Direction::kFaster);
}

TEST(ScreenTimesTest, StoredRunsNeverProveAnything) {
  Rounds rounds(62);
  for (const double ratio : {3.0, 0.3}) {
    const TimeVerdict verdict = Screen(rounds.Case(20, ratio), RoundSource::kStored);
    EXPECT_EQ(verdict.answer, Answer::kSuspect);
    EXPECT_EQ(verdict.reason, Reason::kStoredRunsOnly);
  }
}

TEST(ScreenTimesTest, ChangesWithinTheBudgetPass) {
  CaseRounds rounds;
  for (int i = 0; i < 8; ++i) {
    rounds.baseline.push_back({1000.0 + 0.01 * i});
    rounds.candidate.push_back({1004.0 + 0.01 * i});
  }
  const TimeVerdict within = Screen(rounds);
  EXPECT_EQ(within.answer, Answer::kPass);
  EXPECT_EQ(within.reason, Reason::kNoChangeSeen);
  EXPECT_LT(*within.p, 0.001);
  rounds.budget_ratio = 0.003;
  EXPECT_EQ(Screen(rounds).answer, Answer::kSuspect);
}

TEST(ScreenTimesTest, SaysWhatItCouldHaveSeen) {
  Rounds rounds(63);
  const TimeVerdict quiet = Screen(rounds.Case(8, 1));
  ASSERT_EQ(quiet.answer, Answer::kPass);
  EXPECT_GT(*quiet.smallest_effect_ratio, 0.005);
  EXPECT_LT(*quiet.smallest_effect_ratio, 0.015);
}

// `half_spread_ratio` of the median, evenly, on both sides.
CaseRounds Spread(int64_t count, double half_spread_ratio) {
  CaseRounds rounds;
  for (int64_t i = 0; i < count; ++i) {
    const double place = 2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1;
    rounds.baseline.push_back({1000 * (1 + half_spread_ratio * place)});
    rounds.candidate.push_back({1000 * (1 - half_spread_ratio * place)});
  }
  return rounds;
}

TEST(ScreenTimesTest, NoiseThatHidesTooMuchIsNoPass) {
  const TimeVerdict quiet = Screen(Spread(8, 0.05));
  EXPECT_EQ(quiet.answer, Answer::kPass);
  EXPECT_LT(*quiet.smallest_effect_ratio, kMostUnseenRatio);
  CaseRounds noisy = Spread(8, 0.1);
  const TimeVerdict verdict = Screen(noisy);
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kTooNoisy);
  EXPECT_GT(*verdict.smallest_effect_ratio, 0.005 + kMostUnseenRatio);
  noisy.budget_ratio = *verdict.smallest_effect_ratio;
  EXPECT_EQ(Screen(noisy).answer, Answer::kPass) << "nobody asked for less";
}

TEST(ScreenTimesTest, WhatItCouldHaveSeenIsNoLessThanItsIntervalSays) {
  CaseRounds rounds;
  for (const double time : {1.7, 1.71, 1.72, 15.9, 16.0, 16.0, 16.1, 16.1, 16.2, 16.2}) {
    rounds.baseline.push_back({time * 1000});
    rounds.candidate.push_back({time * 1005});
  }
  const TimeVerdict verdict = Screen(rounds);
  ASSERT_TRUE(verdict.interval.has_value());
  const double half_width = (verdict.interval->high - verdict.interval->low) / 2;
  ASSERT_GT(half_width, 0.1) << "of two modes";
  EXPECT_GE(*verdict.smallest_effect_ratio, half_width);
  EXPECT_EQ(verdict.reason, Reason::kTooNoisy);
}

CaseRounds Constant(double baseline_ns, double candidate_ns) {
  CaseRounds rounds;
  rounds.baseline.assign(16, {baseline_ns});
  rounds.candidate.assign(16, {candidate_ns});
  return rounds;
}

TEST(ScreenTimesTest, AStepOfTheClockIsNoChangeAndHidesOne) {
  for (const auto& rounds : {Constant(4, 4), Constant(4, 5), Constant(5, 4), Constant(99, 99), Constant(99, 100)}) {
    const TimeVerdict verdict = Screen(rounds);
    EXPECT_EQ(verdict.answer, Answer::kInconclusive) << rounds.baseline[0].time_ns;
    EXPECT_EQ(verdict.reason, Reason::kClockTooCoarse);
    EXPECT_GE(*verdict.smallest_effect_ratio, 1 / rounds.baseline[0].time_ns);
    EXPECT_EQ(Confirm(rounds).reason, Reason::kClockTooCoarse);
  }
  EXPECT_EQ(Screen(Constant(4, 6)).answer, Answer::kSuspect) << "more than both roundings";
  EXPECT_EQ(Confirm(Constant(4, 6)).answer, Answer::kRegressed);
  EXPECT_EQ(Screen(Constant(101, 101)).answer, Answer::kPass);
  CaseRounds lenient = Constant(4, 4);
  lenient.budget_ratio = 0.2;
  EXPECT_EQ(Screen(lenient).answer, Answer::kPass) << "nobody asked for less";
  CaseRounds strict = Constant(501, 501);
  strict.budget_ratio = 0;
  EXPECT_EQ(Screen(strict).answer, Answer::kPass) << "no clock is exact";
}

TEST(ScreenTimesTest, ATimeOfZeroIsInconclusiveAndNoError) {
  for (const auto& rounds : {Constant(0, 0), Constant(0, 50'000), Constant(50'000, 0)}) {
    const TimeVerdict verdict = Screen(rounds);
    EXPECT_EQ(verdict.answer, Answer::kInconclusive);
    EXPECT_EQ(verdict.reason, Reason::kClockTooCoarse);
    EXPECT_EQ(verdict.candidate_round_count, 16);
  }
}

TEST(ScreenTimesTest, TooFewRoundsAreNoAnswer) {
  Rounds rounds(64);
  const TimeVerdict seven = Screen(rounds.Case(7, 2));
  EXPECT_EQ(seven.answer, Answer::kInconclusive);
  EXPECT_EQ(seven.reason, Reason::kTooFewRounds);
  EXPECT_EQ(seven.needed_round_count, 8);
  EXPECT_TRUE(seven.interval.has_value());
  const TimeVerdict two = Screen(rounds.Case(2, 2));
  EXPECT_FALSE(two.interval.has_value());
  EXPECT_FALSE(two.smallest_effect_ratio.has_value());
  const TimeVerdict none = Screen(rounds.Case(0, 2));
  EXPECT_EQ(none.reason, Reason::kTooFewRounds);
  EXPECT_FALSE(none.effect_ratio.has_value());
  EXPECT_FALSE(none.p.has_value());
}

TEST(ScreenTimesTest, AnotherEnvironmentIsNoAnswer) {
  Rounds rounds(65);
  CaseRounds changed = rounds.Case(8, 2);
  changed.environment_differs = true;
  EXPECT_EQ(Screen(changed).reason, Reason::kEnvironmentDiffers);
}

TEST(ScreenTimesTest, RefusesTimesThatAreNone) {
  Rounds rounds(66);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, nan}) {
    CaseRounds broken = rounds.Case(8, 1);
    broken.candidate[3].time_ns = bad;
    const auto verdict = ScreenTimes(broken, RoundSource::kInterleaved, 1);
    EXPECT_THAT(verdict.status().message(), HasSubstr("layer_norm"));
    EXPECT_THAT(verdict.status().message(), HasSubstr("sample 3 of candidate"));
  }
  for (const double bad : {0.0, -1.0, nan}) {
    CaseRounds broken = rounds.Case(8, 1);
    broken.baseline[0].sm_clock_hz = bad;
    EXPECT_FALSE(ScreenTimes(broken, RoundSource::kInterleaved, 1).ok());
  }
  CaseRounds broken = rounds.Case(8, 1);
  broken.budget_ratio = -0.1;
  EXPECT_THAT(ScreenTimes(broken, RoundSource::kInterleaved, 1).status().message(), HasSubstr("budget is -0.1"));
}

TEST(ConfirmRoundCountTest, IsEvenAtLeastSixteenAndReachesTheThreshold) {
  EXPECT_EQ(*ConfirmRoundCount(1, 0.05), 16);
  EXPECT_EQ(*ConfirmRoundCount(10'000'000, 0.05), 16);
  // 1 / C(34, 17) = 4.3e-10, 1 / C(36, 18) = 1.1e-10.
  EXPECT_EQ(*ConfirmRoundCount(100'000'000, 0.05), 18);
  EXPECT_FALSE(ConfirmRoundCount(0, 0.05).ok());
  EXPECT_FALSE(ConfirmRoundCount(1, 0).ok());
}

TEST(ConfirmTimesTest, ProvesAChangeOutsideTheBudget) {
  Rounds rounds(67);
  const TimeVerdict slower = Confirm(rounds.Case(16, 1.02));
  EXPECT_EQ(slower.answer, Answer::kRegressed);
  EXPECT_EQ(slower.reason, Reason::kConfirmedSlower);
  EXPECT_GT(slower.interval->low, 1.005);
  EXPECT_LE(*slower.p_adjusted, 0.05);
  const TimeVerdict faster = Confirm(rounds.Case(16, 0.98), Direction::kFaster);
  EXPECT_EQ(faster.answer, Answer::kImproved);
  EXPECT_EQ(faster.reason, Reason::kConfirmedFaster);
}

TEST(ConfirmTimesTest, ConfirmsOnlyTheScreenedDirection) {
  Rounds rounds(68);
  const TimeVerdict verdict = Confirm(rounds.Case(16, 0.98), Direction::kSlower);
  EXPECT_EQ(verdict.answer, Answer::kPass);
  EXPECT_EQ(verdict.reason, Reason::kNotConfirmed);
}

TEST(ConfirmTimesTest, NoiseThatHidesTooMuchClearsNothing) {
  EXPECT_EQ(Confirm(Spread(16, 0.03)).reason, Reason::kNotConfirmed);
  const TimeVerdict verdict = Confirm(Spread(16, 0.4));
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kTooNoisy);
}

TEST(ConfirmTimesTest, AnIntervalThatReachesIntoTheBudgetIsOnlySuspect) {
  CaseRounds rounds;
  for (int i = 0; i < 16; ++i) {
    rounds.baseline.push_back({1000.0 + i % 4});
    rounds.candidate.push_back({(i % 8 == 0 ? 1004.0 : 1006.0) + (i % 5)});
  }
  rounds.budget_ratio = 0.0055;
  const TimeVerdict verdict = Confirm(rounds);
  ASSERT_GT(*verdict.effect_ratio, 0.0055);
  ASSERT_LT(verdict.interval->low, 1.0055);
  EXPECT_LT(*verdict.p_adjusted, 1e-6);
  EXPECT_EQ(verdict.answer, Answer::kSuspect);
  EXPECT_EQ(verdict.reason, Reason::kIntervalOverlapsBudget);
}

TEST(ConfirmTimesTest, FewerThanSixteenRoundsAreNoAnswer) {
  Rounds rounds(69);
  const TimeVerdict verdict = Confirm(rounds.Case(15, 2));
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kTooFewRounds);
  EXPECT_EQ(verdict.needed_round_count, 16);
  EXPECT_EQ(Confirm(rounds.Case(0, 2)).reason, Reason::kTooFewRounds);
}

// A weak p that stands alone is kept; among many others without a change it is not.
TEST(ConfirmTimesTest, TheOthersDecideWhatIsSignificant) {
  CaseRounds weak;
  for (int i = 0; i < 16; ++i) {
    weak.baseline.push_back({1000.0 + i});
    weak.candidate.push_back({1003.6 + i});
  }
  weak.budget_ratio = 0;
  CaseRounds same = weak;
  same.candidate = same.baseline;
  std::vector<Confirmation> cases = {{weak, Direction::kSlower}};
  const auto alone = ConfirmTimes(cases, {});
  cases.resize(11, {same, Direction::kSlower});
  const auto among = ConfirmTimes(cases, {});
  ASSERT_TRUE(alone.ok() && among.ok());
  EXPECT_LT(*alone->front().p_adjusted, 0.05);
  EXPECT_NE(alone->front().reason, Reason::kNotConfirmed);
  EXPECT_NEAR(*among->front().p_adjusted, 11 * *alone->front().p, 1e-12);
  EXPECT_EQ(among->front().reason, Reason::kNotConfirmed);
  EXPECT_TRUE(ConfirmTimes({}, {})->empty());
}

TEST(ConfirmTimesTest, TheSameSeedGivesTheSameVerdict) {
  Rounds rounds(70);
  const CaseRounds changed = rounds.Case(16, 1.01);
  const auto first = ConfirmTimes(std::vector<Confirmation>{{changed, Direction::kSlower}}, {.seed = 9});
  const auto second = ConfirmTimes(std::vector<Confirmation>{{changed, Direction::kSlower}}, {.seed = 9});
  EXPECT_EQ(first->front().interval->low, second->front().interval->low);
  EXPECT_EQ(first->front().interval->high, second->front().interval->high);
}

TEST(ClocksTest, EqualClocksChangeNothing) {
  Rounds rounds(71);
  const TimeVerdict verdict = Confirm(rounds.AtClocks(16, Bound::kMemory, 1.004, 1.02));
  EXPECT_EQ(verdict.answer, Answer::kRegressed);
  EXPECT_NEAR(*verdict.clock_ratio, 1.004, 1e-9);
}

TEST(ClocksTest, OnlyComputeBoundCasesSurviveDifferentClocks) {
  Rounds rounds(72);
  for (const Bound bound : {Bound::kMemory, Bound::kLatency, Bound::kUnknown}) {
    EXPECT_EQ(Screen(rounds.AtClocks(8, bound, 0.99, 1.05)).reason, Reason::kClocks);
    EXPECT_EQ(Screen(rounds.AtClocks(8, bound, 0.99, 1)).answer, Answer::kInconclusive);
    EXPECT_EQ(Confirm(rounds.AtClocks(16, bound, 0.99, 1.05)).reason, Reason::kClocks);
  }
  EXPECT_EQ(Screen(rounds.AtClocks(8, Bound::kCompute, 0.99, 1.05)).reason, Reason::kAwaitsConfirmation);
  EXPECT_EQ(Confirm(rounds.AtClocks(16, Bound::kCompute, 0.99, 1.05)).answer, Answer::kRegressed);
  EXPECT_EQ(Confirm(rounds.AtClocks(16, Bound::kCompute, 0.97, 1.05)).reason, Reason::kClocks);
}

TEST(ClocksTest, AComputeBoundCaseMustAlsoRegressInCycles) {
  Rounds rounds(73);
  // 1.5% slower, at a clock 1.5% lower: the same cycles.
  EXPECT_EQ(Screen(rounds.AtClocks(8, Bound::kCompute, 1 / 1.015, 1.015)).reason, Reason::kClocks);
  EXPECT_EQ(Confirm(rounds.AtClocks(16, Bound::kCompute, 1 / 1.015, 1.015)).reason, Reason::kClocks);
  // A higher clock hides 1.5% more cycles.
  EXPECT_EQ(Screen(rounds.AtClocks(8, Bound::kCompute, 1.015, 1)).reason, Reason::kClocks);
}

TEST(ClocksTest, AClockOnSomeRoundsOnlyIsNoAnswer) {
  Rounds rounds(74);
  CaseRounds one_sided = rounds.AtClocks(8, Bound::kCompute, 1, 1);
  for (Round& round : one_sided.candidate) round.sm_clock_hz = std::nullopt;
  EXPECT_EQ(Screen(one_sided).reason, Reason::kClockNotRecorded);
  EXPECT_FALSE(Screen(one_sided).clock_ratio.has_value());
  CaseRounds one_missing = rounds.AtClocks(8, Bound::kCompute, 1, 1);
  one_missing.baseline[2].sm_clock_hz = std::nullopt;
  EXPECT_EQ(Screen(one_missing).reason, Reason::kClockNotRecorded);
}

TEST(AbbaOrderTest, MeetsADriftAlikeOnBothSides) {
  const std::vector<Side> order = AbbaOrder(16);
  ASSERT_EQ(order.size(), 32u);
  int64_t baseline_places = 0, candidate_places = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    (order[i] == Side::kBaseline ? baseline_places : candidate_places) += static_cast<int64_t>(i);
  }
  EXPECT_EQ(baseline_places, candidate_places);
  const std::vector<Side> odd = AbbaOrder(3);
  EXPECT_EQ(std::count(odd.begin(), odd.end(), Side::kBaseline), 3);
}

// The whole gate on suites of 40 cases: nothing changed, or one case by 2%.
TEST(GateTest, RaisesNoFalseAlarmAndFindsTwoPercent) {
  Rounds rounds(75);
  constexpr int kSuites = 12, kCases = 40;
  int false_alarms = 0, found = 0;
  for (int suite = 0; suite < kSuites; ++suite) {
    const auto ratio_of = [&](int i) { return i == suite ? 1.02 : 1.0; };
    std::vector<Confirmation> screened;
    std::vector<int> cases;
    for (int i = 0; i < kCases; ++i) {
      const TimeVerdict verdict = Screen(rounds.Case(kScreenRoundCount, ratio_of(i)));
      if (verdict.answer != Answer::kSuspect) continue;
      screened.push_back({rounds.Case(16, ratio_of(i)), verdict.direction()});
      cases.push_back(i);
    }
    const auto verdicts = ConfirmTimes(screened, {});
    ASSERT_TRUE(verdicts.ok());
    for (size_t i = 0; i < cases.size(); ++i) {
      const bool is_alarm = (*verdicts)[i].answer == Answer::kRegressed;
      (cases[i] == suite ? found : false_alarms) += is_alarm;
    }
  }
  EXPECT_EQ(false_alarms, 0);
  EXPECT_EQ(found, kSuites);
}

}  // namespace
}  // namespace stallhound::analysis::gate
