#include "cli/bench/declared_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

using store::EventKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

analysis::CaseCounts Counts(std::vector<store::EventCount> events) {
  analysis::CaseCounts counts;
  counts.iteration_count = 14;
  counts.counts_complete = true;
  counts.event_counts = std::move(events);
  return counts;
}

store::EventCount Event(EventKind kind, int64_t min_count, int64_t max_count) {
  store::EventCount event;
  event.kind = kind;
  event.min_count = min_count;
  event.max_count = max_count;
  return event;
}

BenchRow Row(std::map<std::string, double> counters) { return {"layer/a", std::nullopt, 1, std::move(counters)}; }

TEST(DeclaredCountsTest, EveryKindOfWaitCounts) {
  const analysis::CaseCounts counts = Counts({Event(EventKind::kKernel, 3, 3), Event(EventKind::kWait, 2, 2),
                                              Event(EventKind::kPageableCopy, 1, 1), Event(EventKind::kLoader, 9, 9)});
  EXPECT_THAT(DeclaredCountProblems(Row({{"expect_sync_count", 3}, {"expect_kernel_count", 3}, {"bytes", 5}}), counts),
              IsEmpty());
  EXPECT_THAT(DeclaredCountProblems(Row({{"expect_sync_count", 0}, {"expect_kernel_count", 4}}), counts),
              ElementsAre("layer/a declares 4 kernels an iteration, recorded were 3",
                          "layer/a declares 0 host waits an iteration, recorded were 3"));
}

TEST(DeclaredCountsTest, WhatVariesContradictsOnlyWhatItNeverIs) {
  const analysis::CaseCounts counts = Counts({Event(EventKind::kMemset, 1, 3)});
  EXPECT_THAT(DeclaredCountProblems(Row({{"expect_memset_count", 2}}), counts), IsEmpty());
  EXPECT_THAT(DeclaredCountProblems(Row({{"expect_memset_count", 4}}), counts),
              ElementsAre("layer/a declares 4 memsets an iteration, recorded were 1 to 3"));
}

TEST(DeclaredCountsTest, WhatIsUnknownContradictsNothing) {
  const BenchRow row = Row({{"expect_kernel_count", 1}, {"expect_host_to_device_count", 1}});
  EXPECT_THAT(DeclaredCountProblems(row, Counts({})), IsEmpty());
  analysis::CaseCounts lost = Counts({Event(EventKind::kKernel, 0, 0)});
  lost.counts_complete = false;
  EXPECT_THAT(DeclaredCountProblems(row, lost), IsEmpty());
  lost.counts_complete.reset();
  EXPECT_THAT(DeclaredCountProblems(row, lost), IsEmpty());
}

}  // namespace
}  // namespace stallhound::cli
