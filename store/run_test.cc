#include "store/run.h"

#include <gtest/gtest.h>

#include <set>

namespace stallhound::store {
namespace {

// Every enumerator up to `last` has a text of its own, which leads back to it.
template <typename Enum>
void ExpectTexts(Enum last) {
  std::set<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    Enum back = static_cast<Enum>(i == 0 ? 1 : 0);
    EXPECT_TRUE(FromText(Text(value), back)) << Text(value);
    EXPECT_EQ(back, value);
    EXPECT_TRUE(texts.insert(Text(value)).second) << Text(value);
  }
  Enum untouched = last;
  EXPECT_FALSE(FromText("Pass", untouched));
  EXPECT_EQ(untouched, last);
}

TEST(RunValues, EveryEnumeratorHasItsText) {
  ExpectTexts(RunStatus::kInterrupted);
  ExpectTexts(BenchmarkOutcome::kSkipped);
  ExpectTexts(MetricKind::kRatio);
  ExpectTexts(Better::kHigher);
  ExpectTexts(Confidence::kNone);
  ExpectTexts(VerdictOutcome::kInconclusive);
  ExpectTexts(EventKind::kHostAllocation);
  EXPECT_EQ(Text(EventKind::kHostAllocation), "host-allocation");
  EXPECT_EQ(Text(EventKind::kQuerySpin), "query-spin");
}

TEST(RunValues, SortsEveryListButSamples) {
  RunRecord run;
  run.info.captures = {{"b", "", ""}, {"a", "", ""}};
  run.benchmarks = {{"s", "b"}, {"s", "a"}};
  run.benchmarks[0].event_counts = {{EventKind::kWait}, {EventKind::kKernel}};
  run.benchmarks[0].points.emplace_back().samples = {{1, 5}, {0, 7}};
  SortLists(run);
  EXPECT_EQ(run.info.captures.front().uuid, "a");
  EXPECT_EQ(run.benchmarks[0].name, "a");
  EXPECT_EQ(run.benchmarks[1].event_counts.front().kind, EventKind::kKernel);
  EXPECT_EQ(run.benchmarks[1].points.front().samples.front().value, 5);
}

}  // namespace
}  // namespace stallhound::store
