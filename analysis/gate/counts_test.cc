#include "analysis/gate/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stallhound::analysis::gate {
namespace {

using ::testing::HasSubstr;

// `warm_up`, then `value` until there are 14 iterations.
std::vector<int64_t> Settling(std::vector<int64_t> warm_up, int64_t value) {
  warm_up.resize(14, value);
  return warm_up;
}

RecordedCounts Recorded(std::vector<CountSeries> series) {
  RecordedCounts recorded;
  recorded.iterations.resize(series.front().per_iteration.size());
  recorded.series = std::move(series);
  recorded.recorded_families = {"kernel", "sync", "copy-count"};
  return recorded;
}

WindowCounts Steady(int64_t kernels, int64_t waits) {
  return *CountWindow(Recorded({{"kernel", Settling({}, kernels)}, {"sync:wait", Settling({}, waits)}}));
}

CountVerdict Only(const std::vector<CountVerdict>& verdicts, std::string_view name) {
  for (const CountVerdict& verdict : verdicts) {
    if (verdict.name == name) return verdict;
  }
  ADD_FAILURE() << "no verdict on " << name;
  return {};
}

// The verdict on "kernel" for these ranges per iteration.
CountVerdict JudgeRanges(CountRange baseline, CountRange candidate) {
  WindowCounts before = Steady(1, 0), after = before;
  before.counts = {{"kernel", baseline}};
  after.counts = {{"kernel", candidate}};
  return Only(CompareCounts(before, after, {}), "kernel");
}

TEST(CountWindowTest, StartsBehindTwoEqualIterations) {
  const auto window = CountWindow(Recorded({{"kernel", Settling({9, 7}, 5)}, {"sync:wait", Settling({3}, 1)}}));
  ASSERT_TRUE(window.ok());
  EXPECT_FALSE(window->problem.has_value());
  EXPECT_EQ(window->first_iteration, 4);
  EXPECT_EQ(window->iteration_count, 10);
  ASSERT_EQ(window->counts.size(), 2u);
  EXPECT_EQ(window->counts[0].per_iteration, (CountRange{5, 5}));
  EXPECT_EQ(window->counts[1].per_iteration, (CountRange{1, 1}));
}

TEST(CountWindowTest, AllCountsMustBeEqualAtOnce) {
  // "kernel" settles at 0, "sync:wait" at 2: the pair is 2 and 3.
  const auto window = CountWindow(Recorded({{"kernel", Settling({}, 5)}, {"sync:wait", Settling({3, 2}, 1)}}));
  EXPECT_EQ(window->first_iteration, 4);
}

TEST(CountWindowTest, WarmUpShowsByItsMarksThoughCountsAreEqual) {
  for (int mark = 0; mark < 3; ++mark) {
    RecordedCounts recorded = Recorded({{"kernel", Settling({}, 5)}});
    IterationMarks& marks = recorded.iterations[1];
    (mark == 0 ? marks.has_module_load : mark == 1 ? marks.has_autotuning : marks.has_allocator_growth) = true;
    EXPECT_EQ(CountWindow(recorded)->first_iteration, 4) << mark;
  }
}

TEST(CountWindowTest, NeedsTenIterations) {
  RecordedCounts recorded = Recorded({{"kernel", Settling({9, 8, 7}, 5)}});
  EXPECT_EQ(CountWindow(recorded)->problem, Reason::kWindowTooShort);
  EXPECT_EQ(CountWindow(recorded)->iteration_count, 9);
  for (IterationMarks& marks : recorded.iterations) marks.has_module_load = true;
  EXPECT_EQ(CountWindow(recorded)->problem, Reason::kNoSteadyIterations);
  EXPECT_EQ(CountWindow(RecordedCounts{})->problem, Reason::kNoSteadyIterations);
}

TEST(CountWindowTest, WhatChangesLaterIsUnstable) {
  std::vector<int64_t> logging = Settling({}, 0);
  logging[9] = 1;
  const auto window = CountWindow(Recorded({{"kernel", Settling({}, 5)}, {"sync:wait", logging}}));
  EXPECT_EQ(window->counts[0].per_iteration, (CountRange{5, 5}));
  EXPECT_EQ(window->counts[1].per_iteration, (CountRange{0, 1}));
}

TEST(CountWindowTest, ACountThatNeverRepeatsDoesNotHoldUpTheOthers) {
  std::vector<int64_t> alternating;
  for (int i = 0; i < 14; ++i) alternating.push_back(5 + i % 2);
  const auto window = CountWindow(Recorded({{"kernel", alternating}, {"sync:wait", Settling({4}, 1)}}));
  ASSERT_TRUE(window.ok());
  EXPECT_EQ(window->first_iteration, 3);
  EXPECT_EQ(window->counts[0].per_iteration, (CountRange{5, 6}));
  EXPECT_EQ(window->counts[1].per_iteration, (CountRange{1, 1}));
}

TEST(CountWindowTest, RefusesSeriesThatDoNotFit) {
  RecordedCounts recorded = Recorded({{"kernel", Settling({}, 5)}, {"sync:wait", {1, 2}}});
  EXPECT_THAT(CountWindow(recorded).status().message(), HasSubstr("'sync:wait' has 2 iterations of 14"));
  recorded = Recorded({{"kernel", Settling({-1}, 5)}});
  EXPECT_THAT(CountWindow(recorded).status().message(), HasSubstr("a count of -1"));
  recorded = Recorded({{"kernel", Settling({}, 5)}, {"kernel", Settling({}, 5)}});
  EXPECT_THAT(CountWindow(recorded).status().message(), HasSubstr("twice"));
}

TEST(CompareCountsTest, ARiseByOneIsARegressionAndAFallIsNot) {
  const WindowCounts baseline = Steady(5, 1);
  const auto same = CompareCounts(baseline, Steady(5, 1), {});
  EXPECT_EQ(Only(same, "kernel").answer, Answer::kPass);
  EXPECT_EQ(Only(same, "sync:wait").reason, Reason::kCountsEqual);
  const auto changed = CompareCounts(baseline, Steady(4, 2), {});
  EXPECT_EQ(Only(changed, "sync:wait").answer, Answer::kRegressed);
  EXPECT_EQ(Only(changed, "sync:wait").reason, Reason::kCountRose);
  EXPECT_EQ(Only(changed, "sync:wait").candidate->max, 2);
  EXPECT_EQ(Only(changed, "kernel").answer, Answer::kImproved);
}

TEST(CompareCountsTest, AKindThatIsNewRisesFromZero) {
  WindowCounts candidate = Steady(5, 1);
  candidate.counts.push_back({"copy-count:device-to-host device pageable", {1, 1}});
  const auto verdicts = CompareCounts(Steady(5, 1), candidate, {});
  const CountVerdict verdict = Only(verdicts, "copy-count:device-to-host device pageable");
  EXPECT_EQ(verdict.answer, Answer::kRegressed);
  EXPECT_EQ(verdict.baseline, CountRange{});
}

TEST(CompareCountsTest, WhatWasNotRecordedIsUnknownAndNotZero) {
  WindowCounts baseline = Steady(5, 1);
  WindowCounts candidate = baseline;
  candidate.counts.push_back({"memset", {1, 1}});
  candidate.recorded_families.push_back("memset");
  const CountVerdict verdict = Only(CompareCounts(baseline, candidate, {}), "memset");
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kNotRecorded);
  EXPECT_FALSE(verdict.baseline.has_value());
}

TEST(CompareCountsTest, UnstableCountsAreComparedAsRanges) {
  EXPECT_EQ(JudgeRanges({3, 5}, {3, 5}).answer, Answer::kPass);
  EXPECT_EQ(JudgeRanges({3, 5}, {6, 7}).answer, Answer::kRegressed);
  EXPECT_EQ(JudgeRanges({3, 5}, {1, 2}).answer, Answer::kImproved);
  EXPECT_EQ(JudgeRanges({3, 5}, {4, 9}).reason, Reason::kRangesOverlap);
  EXPECT_EQ(JudgeRanges({3, 5}, {5, 5}).answer, Answer::kPass);
  EXPECT_EQ(JudgeRanges({5, 5}, {4, 5}).answer, Answer::kPass);
  EXPECT_EQ(JudgeRanges({5, 5}, {5, 6}).answer, Answer::kSuspect);
  EXPECT_EQ(JudgeRanges({5, 5}, {4, 6}).reason, Reason::kBecameUnstable);
}

TEST(CompareCountsTest, LostEventsSpoilTheirFamilyOnly) {
  WindowCounts candidate = Steady(6, 2);
  candidate.lost_families = {"kernel"};
  const auto verdicts = CompareCounts(Steady(5, 1), candidate, {});
  EXPECT_EQ(Only(verdicts, "kernel").reason, Reason::kDataLost);
  EXPECT_EQ(Only(verdicts, "sync:wait").answer, Answer::kRegressed);
}

TEST(CompareCountsTest, WithoutAWindowNothingIsKnown) {
  WindowCounts broken;
  broken.problem = Reason::kWindowTooShort;
  const CountVerdict verdict = Only(CompareCounts(Steady(5, 1), broken, {}), "kernel");
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kWindowTooShort);
  EXPECT_EQ(Only(CompareCounts(broken, broken, {}), "counts").answer, Answer::kInconclusive);
}

TEST(CompareCountsTest, AnotherEnvironmentOnlyInforms) {
  const std::vector<KeyDifference> environment = CompareKeys({{"driver", "580.1"}}, {{"driver", "590.2"}});
  const CountVerdict verdict = Only(CompareCounts(Steady(5, 1), Steady(6, 1), environment), "kernel");
  EXPECT_EQ(verdict.answer, Answer::kInconclusive);
  EXPECT_EQ(verdict.reason, Reason::kEnvironmentDiffers);
  EXPECT_EQ(verdict.candidate, (CountRange{6, 6}));
}

TEST(CompareKeysTest, NamesWhatDiffers) {
  const ComparabilityKey key = {{"gpu", "H200"}, {"mig", "none"}, {"cudnn", "9.1"}};
  EXPECT_TRUE(CompareKeys(key, key).empty());
  ComparabilityKey other = key;
  other["cudnn"] = "9.2";
  const auto differences = CompareKeys(key, other);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].name, "cudnn");
  EXPECT_EQ(differences[0].baseline, "9.1");
  EXPECT_EQ(differences[0].candidate, "9.2");
}

TEST(CompareKeysTest, UnknownEqualsNothing) {
  const ComparabilityKey known = {{"driver", "580"}}, unknown = {{"driver", std::nullopt}};
  EXPECT_EQ(CompareKeys(known, unknown).size(), 1u);
  EXPECT_EQ(CompareKeys(unknown, unknown).size(), 1u);
  EXPECT_EQ(CompareKeys(known, {}).size(), 1u);
  EXPECT_EQ(CompareKeys({}, known).size(), 1u);
}

TEST(OverallTest, TheWorstCounts) {
  const auto overall = [](std::vector<Answer> answers) { return Overall(answers); };
  EXPECT_EQ(overall({}), Answer::kPass);
  EXPECT_EQ(overall({Answer::kImproved, Answer::kPass}), Answer::kImproved);
  EXPECT_EQ(overall({Answer::kImproved, Answer::kSuspect}), Answer::kSuspect);
  EXPECT_EQ(overall({Answer::kSuspect, Answer::kInconclusive}), Answer::kInconclusive);
  EXPECT_EQ(overall({Answer::kInconclusive, Answer::kRegressed, Answer::kPass}), Answer::kRegressed);
}

TEST(NamesTest, AreKebabCaseAndDistinct) {
  std::set<std::string_view> names;
  const int count = static_cast<int>(Reason::kEnvironmentDiffers) + 1;
  for (int i = 0; i < count; ++i) {
    const std::string_view name = ReasonName(static_cast<Reason>(i));
    EXPECT_THAT(std::string(name), ::testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
    names.insert(name);
  }
  EXPECT_EQ(static_cast<int>(names.size()), count);
  EXPECT_EQ(AnswerName(Answer::kInconclusive), "inconclusive");
  EXPECT_EQ(AnswerName(Answer::kPass), "pass");
}

}  // namespace
}  // namespace stallhound::analysis::gate
