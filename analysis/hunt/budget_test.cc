#include "analysis/hunt/budget.h"

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

const absl::CivilDay kToday(2026, 11, 30);

// Two steps of 1 ms: "loop.py:10" waits twice in each with a copy of 4 bytes, "pool.py:5" allocates once in the second.
class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() {
    Site item;
    item.kind = SiteKind::kWait;
    item.apis = {"cudaStreamSynchronize"};
    item.count = 4;
    item.innermost_user = Frame{.function = "step", .file = "train/loop.py", .line = 10, .is_user = true};
    item.stack = {Frame{.function = "at::_ops::item::call(at::Tensor const&)"}, *item.innermost_user};
    item.copies = {{capture::CopyDirection::kDeviceToHost, std::nullopt, std::nullopt, 4, 16}};
    item.recoverable_ns = 30'000;
    Site pool;
    pool.kind = SiteKind::kAllocator;
    pool.apis = {"cudaMalloc"};
    pool.count = 1;
    pool.innermost_user = Frame{.function = "grow", .file = "pool.py", .line = 5, .is_user = true};
    pool.stack = {*pool.innermost_user};
    pool.recoverable_ns = 10'000;
    hunt_.sites = {item, pool};
    hunt_.recoverable_all_ns = 50'000;
    hunt_.device_idle.emplace();
    for (const Site& site : hunt_.sites) {
      counts_.sites.push_back(
          {site.kind, site.apis, site.innermost_user, site.native_symbol, site.forward, site.count});
    }
    counts_.spans = {Step(0), Step(1)};
  }

  static CountsSpan Step(int64_t index) {
    CountsSpan span;
    span.index = index;
    span.start_ns = index * 2'000'000;
    span.end_ns = span.start_ns + 1'000'000;
    span.counts.sync_points.emplace();
    span.counts.sync_points->fill(0);
    (*span.counts.sync_points)[static_cast<size_t>(SiteKind::kWait)] = 2;
    (*span.counts.sync_points)[static_cast<size_t>(SiteKind::kAllocator)] = index;
    span.counts.copies = {{capture::CopyDirection::kDeviceToHost, std::nullopt, std::nullopt, 2, 8},
                          {capture::CopyDirection::kHostToDevice, std::nullopt, std::nullopt, 1, 100}};
    span.counts.device_allocate_count = index;
    span.counts.host_allocate_count = 0;
    span.site_counts = {2, index};
    span.site_events = {{2, 8, 0}, {0, 0, index}};
    return span;
  }

  BudgetVerdict Judge(const Budget& budget) { return JudgeBudget(budget, {{std::nullopt, &hunt_, &counts_}}, kToday); }
  BudgetFinding JudgeOne(BudgetQuantity quantity, double limit, std::vector<Allowance> allowances = {}) {
    const BudgetVerdict verdict = Judge({{{quantity, limit, std::nullopt}}, std::move(allowances)});
    EXPECT_EQ(verdict.findings.size(), 1u);
    EXPECT_EQ(verdict.outcome, verdict.findings[0].outcome);
    return verdict.findings[0];
  }
  static Allowance Allow(AllowanceBy by, const std::string& what, absl::CivilDay expires = kToday) {
    return {by, what, "known", expires};
  }

  HuntReport hunt_;
  CountsReport counts_;
};

TEST_F(BudgetTest, WhatIsFoundMayEqualTheLimit) {
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 2).outcome, BudgetOutcome::kFine);
  const BudgetFinding over = JudgeOne(BudgetQuantity::kWaits, 1);
  EXPECT_EQ(over.outcome, BudgetOutcome::kExceeded);
  EXPECT_EQ(over.found, 2);
  EXPECT_EQ(over.exceeded_count, 2);
  EXPECT_EQ(over.occurrence_count, 2);
  ASSERT_EQ(over.sites.size(), 1u);
  EXPECT_EQ(over.sites[0].innermost_user->line, 10);
}

TEST_F(BudgetTest, EveryQuantityIsTheLargestOfAnOccurrence) {
  const std::pair<BudgetQuantity, double> expected[] = {
      {BudgetQuantity::kWaits, 2},       {BudgetQuantity::kPageableCopies, 0}, {BudgetQuantity::kAllocatorCalls, 1},
      {BudgetQuantity::kLoaderCalls, 0}, {BudgetQuantity::kSyncPoints, 3},     {BudgetQuantity::kCopies, 3},
      {BudgetQuantity::kBytes, 108},     {BudgetQuantity::kAllocations, 1},
  };
  for (const auto& [quantity, found] : expected) {
    EXPECT_EQ(JudgeOne(quantity, 200).found, found) << BudgetQuantityName(quantity);
  }
  EXPECT_EQ(JudgeOne(BudgetQuantity::kAllocatorCalls, 0).exceeded_count, 1);
  EXPECT_DOUBLE_EQ(*JudgeOne(BudgetQuantity::kRecoverableRatio, 1).found, 0.025);
}

TEST_F(BudgetTest, AllowedSitesDoNotCount) {
  for (const auto& [by, what] : {std::pair(AllowanceBy::kSite, "loop.py:10"),
                                 {AllowanceBy::kFunction, "step"},
                                 {AllowanceBy::kOperator, "aten::item"},
                                 {AllowanceBy::kOperator, "item"}}) {
    const Allowance allowance = Allow(by, what);
    EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 0, {allowance}).outcome, BudgetOutcome::kFine) << what;
    EXPECT_EQ(JudgeOne(BudgetQuantity::kCopies, 9, {allowance}).found, 1) << what;
    EXPECT_EQ(JudgeOne(BudgetQuantity::kBytes, 999, {allowance}).found, 100) << what;
    EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 0.004, {allowance}).found, 0.005) << what;
  }
  EXPECT_EQ(JudgeOne(BudgetQuantity::kAllocations, 0, {Allow(AllowanceBy::kSite, "pool.py:5")}).found, 0);
}

TEST_F(BudgetTest, NearlyFittingSitesCount) {
  for (const auto& [by, what] : {std::pair(AllowanceBy::kSite, "op.py:10"),
                                 {AllowanceBy::kSite, "loop.py:1"},
                                 {AllowanceBy::kFunction, "ste"},
                                 {AllowanceBy::kOperator, "aten::ite"},
                                 {AllowanceBy::kOperator, "aten::item_"}}) {
    EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 0, {Allow(by, what)}).outcome, BudgetOutcome::kExceeded) << what;
  }
}

TEST_F(BudgetTest, RangesOfOperatorsAllowWhereTheStackNamesNone) {
  Site& item = hunt_.sites.front();
  item.stack = {*item.innermost_user};
  item.operator_stack = {"aten::_local_scalar_dense", "aten::item"};
  item.operator_name = item.operator_stack.front();
  item.operator_count = 1;
  const auto outcome = [&](const char* what) {
    return JudgeOne(BudgetQuantity::kWaits, 0, {Allow(AllowanceBy::kOperator, what)}).outcome;
  };
  for (const char* what : {"aten::item", "item", "aten::_local_scalar_dense"}) {
    item.operator_confidence = Confidence::kExact;
    EXPECT_EQ(outcome(what), BudgetOutcome::kFine) << what;
    item.operator_confidence = Confidence::kInferred;
    EXPECT_EQ(outcome(what), BudgetOutcome::kExceeded) << "a point may lie in no operator";
  }
  item.operator_confidence = Confidence::kExact;
  for (const char* what : {"aten::ite", "aten::", "my::item"}) {
    EXPECT_EQ(outcome(what), BudgetOutcome::kExceeded) << what;
  }
  item.operator_count = 2;
  EXPECT_EQ(outcome("aten::item"), BudgetOutcome::kExceeded) << "the other operator would be allowed, too";
}

TEST_F(BudgetTest, AnExpiredAllowanceIsSaidAndAllowsNothing) {
  const Budget budget{{{BudgetQuantity::kWaits, 0, std::nullopt}},
                      {Allow(AllowanceBy::kSite, "loop.py:10", kToday - 1), Allow(AllowanceBy::kFunction, "nowhere")}};
  const BudgetVerdict verdict = Judge(budget);
  EXPECT_EQ(verdict.outcome, BudgetOutcome::kExceeded);
  ASSERT_EQ(verdict.notes.size(), 2u);
  EXPECT_NE(verdict.notes[0].find("loop.py:10 expired on 2026-11-29"), std::string::npos);
  EXPECT_NE(verdict.notes[1].find("nowhere fits no site"), std::string::npos);
}

TEST_F(BudgetTest, LossMakesWhatSeemsFineInconclusive) {
  hunt_.counts_complete = counts_.counts_complete = false;
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 2).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 1).outcome, BudgetOutcome::kExceeded) << "there may only be more";
  EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 1).outcome, BudgetOutcome::kInconclusive);
}

TEST_F(BudgetTest, LossOfCostsConcernsCostsAlone) {
  hunt_.costs_complete = false;
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 2).outcome, BudgetOutcome::kFine);
  const BudgetFinding ratio = JudgeOne(BudgetQuantity::kRecoverableRatio, 0);
  EXPECT_EQ(ratio.outcome, BudgetOutcome::kInconclusive);
  EXPECT_NE(ratio.reason, "");
}

TEST_F(BudgetTest, GraphsRecordedAsAWholeMayHideCopies) {
  counts_.losses.push_back({"graph-level-only", "", capture::LossSeverity::kLoss, 7});
  EXPECT_EQ(JudgeOne(BudgetQuantity::kCopies, 100).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kBytes, 1e9).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 5).outcome, BudgetOutcome::kFine) << "a graph holds none";
}

TEST_F(BudgetTest, TheUnknownIsNeverFine) {
  hunt_.recoverable_all_ns.reset();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 1).outcome, BudgetOutcome::kInconclusive);
  counts_.losses.push_back({"missing-field", "", capture::LossSeverity::kNote, 1});
  counts_.losses.back().detail = "dur, bytes";
  EXPECT_EQ(JudgeOne(BudgetQuantity::kBytes, 1e9).outcome, BudgetOutcome::kInconclusive);
  counts_.losses.clear();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kBytes, 1e9).outcome, BudgetOutcome::kFine);
  counts_.spans[1].counts.copies.reset();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kCopies, 100).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kPageableCopies, 5).outcome, BudgetOutcome::kInconclusive);
  counts_.spans[0].counts.host_allocate_count.reset();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kAllocations, 100).outcome, BudgetOutcome::kInconclusive);
  counts_.unplaced_count = 1;
  EXPECT_EQ(JudgeOne(BudgetQuantity::kBytes, 1e9).outcome, BudgetOutcome::kInconclusive);
  hunt_.unknown_kind_copy_count = 1;
  EXPECT_EQ(JudgeOne(BudgetQuantity::kPageableCopies, 5).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kSyncPoints, 5).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 5).outcome, BudgetOutcome::kFine);
  counts_.spans.clear();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kWaits, 5).outcome, BudgetOutcome::kInconclusive);
}

TEST_F(BudgetTest, WithoutTheGpuSideNothingIsRecoverableForSure) {
  hunt_.device_idle.reset();
  hunt_.recoverable_all_ns.reset();
  hunt_.sites.clear();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 0).outcome, BudgetOutcome::kInconclusive);
  hunt_.device_idle.emplace();
  EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 0).outcome, BudgetOutcome::kFine);
}

TEST_F(BudgetTest, WhatAPartRecoversLiesBetweenItsLargestAndAll) {
  hunt_.sites.push_back(hunt_.sites[1]);
  hunt_.sites[2].innermost_user->line = 6;
  hunt_.groups = {{{1, 2}, 14'000}, {{0, 1}, 40'000}};
  const std::vector<Allowance> allowances = {Allow(AllowanceBy::kSite, "loop.py:10")};
  const auto judge = [&](double limit) { return JudgeOne(BudgetQuantity::kRecoverableRatio, limit, allowances); };
  EXPECT_EQ(judge(0.006).outcome, BudgetOutcome::kExceeded);
  EXPECT_EQ(judge(0.006).found, 0.007);
  EXPECT_EQ(judge(0.007).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(judge(0.007).found, std::nullopt);
  EXPECT_EQ(judge(0.024).outcome, BudgetOutcome::kInconclusive);
  EXPECT_EQ(judge(0.025).outcome, BudgetOutcome::kFine);
  EXPECT_EQ(JudgeOne(BudgetQuantity::kRecoverableRatio, 0.024).outcome, BudgetOutcome::kExceeded) << "all are left";
}

TEST_F(BudgetTest, EachRangeIsJudgedByItself) {
  HuntReport quiet = hunt_;
  quiet.sites.clear();
  CountsReport none = counts_;
  none.sites.clear();
  for (CountsSpan& span : none.spans) {
    span.counts.sync_points->fill(0);
    span.site_counts.clear();
    span.site_events.clear();
  }
  const Budget budget{{{BudgetQuantity::kWaits, 0, "quiet"}, {BudgetQuantity::kWaits, 0, std::nullopt}}, {}};
  const BudgetVerdict verdict =
      JudgeBudget(budget, {{std::nullopt, &hunt_, &counts_}, {"quiet", &quiet, &none}}, kToday);
  ASSERT_EQ(verdict.findings.size(), 2u);
  EXPECT_EQ(verdict.findings[0].outcome, BudgetOutcome::kFine);
  EXPECT_EQ(verdict.findings[1].outcome, BudgetOutcome::kExceeded);
  EXPECT_EQ(verdict.outcome, BudgetOutcome::kExceeded);
  EXPECT_EQ(JudgeBudget(budget, {{"quiet", &quiet, &none}}, kToday).outcome, BudgetOutcome::kInconclusive);
}

// A step reads back 4 bytes at one line, allocates at another and copies once without a wait.
TEST(BudgetOfRecordingTest, CopiesAndAllocationsOfAllowedSitesDoNotCount) {
  HuntedProgram program;
  const uint32_t item = program.PythonStack({{"loop.py", 10}});
  const uint32_t grow = program.PythonStack({{"pool.py", 5}});
  const uint64_t read =
      program.CallUs({.api = "cudaMemcpyAsync", .start_ns = 10, .end_ns = 20, .stream_id = 7, .stack_id = item});
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 21, .end_ns = 40, .stream_id = 7, .stack_id = item});
  program.CopyUs({.correlation_id = read, .start_ns = 12, .end_ns = 30});
  program.CallUs({.api = "cudaMalloc", .start_ns = 50, .end_ns = 60, .stack_id = grow});
  const uint64_t pinned = program.CallUs({.api = "cudaMemcpyAsync", .start_ns = 70, .end_ns = 75, .stream_id = 7});
  program.CopyUs({.correlation_id = pinned, .start_ns = 76, .end_ns = 80},
                 {.target_kind = capture::MemoryKind::kPinned, .bytes = 64});
  program.Range("step", 0, 100 * kUs);
  program.HuntUs("step");
  const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {.range = "step"});
  ASSERT_TRUE(counts.ok()) << counts.status();
  const auto found = [&](BudgetQuantity quantity, const std::string& site) {
    const Budget budget{{{quantity, 0, "step"}}, {{AllowanceBy::kSite, site, "known", kToday}}};
    return JudgeBudget(budget, {{"step", &program.report(), &*counts}}, kToday).findings[0].found;
  };
  EXPECT_EQ(found(BudgetQuantity::kCopies, "no.py:1"), 2);
  EXPECT_EQ(found(BudgetQuantity::kCopies, "loop.py:10"), 1);
  EXPECT_EQ(found(BudgetQuantity::kBytes, "no.py:1"), 68);
  EXPECT_EQ(found(BudgetQuantity::kBytes, "loop.py:10"), 64);
  EXPECT_EQ(found(BudgetQuantity::kAllocations, "no.py:1"), 1);
  EXPECT_EQ(found(BudgetQuantity::kAllocations, "pool.py:5"), 0);
  EXPECT_EQ(found(BudgetQuantity::kWaits, "no.py:1"), 1);
  EXPECT_EQ(found(BudgetQuantity::kWaits, "loop.py:10"), 0);
}

// Two programs of 1 ms, 8 ms apart.
TEST(BudgetOfRecordingTest, TimeInWhichNoProgramRanIsNotMeasured) {
  HuntedProgram program;
  program.Process(1, 1);
  program.Thread(1, 4712, "second", 1);
  for (const uint32_t process : {0u, 1u}) {
    const int64_t start_us = 9000 * process;
    const WorkSpec work{.start_ns = start_us + 20, .end_ns = start_us + 220, .process_id = process};
    program.LaunchUs(start_us + 10, work, "first", process);
    program.CallUs({.api = "cudaStreamSynchronize",
                    .start_ns = start_us + 20,
                    .end_ns = start_us + 225,
                    .thread_id = process,
                    .stream_id = 7,
                    .process_id = process});
    WorkSpec next = work;
    next.start_ns = start_us + 920;
    next.end_ns = start_us + 990;
    program.LaunchUs(start_us + 900, next, "next", process);
    program.capture().mutable_process()[process].start_ns = start_us * kUs;
    program.capture().mutable_process()[process].end_ns = (start_us + 1000) * kUs;
  }
  program.HuntUs();
  const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {});
  ASSERT_TRUE(counts.ok()) << counts.status();
  ASSERT_GT(program.report().recoverable_all_ns.value_or(0), 0);
  const Budget budget{{{BudgetQuantity::kRecoverableRatio, 1, std::nullopt}}, {}};
  const BudgetVerdict verdict = JudgeBudget(budget, {{std::nullopt, &program.report(), &*counts}}, kToday);
  EXPECT_DOUBLE_EQ(verdict.findings[0].found.value_or(0),
                   static_cast<double>(*program.report().recoverable_all_ns) / (2000 * kUs));
}

}  // namespace
}  // namespace stallhound::analysis
