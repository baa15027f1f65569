// The operators and ranges that points lie in.

#include "analysis/hunt/enclosing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kOtherThread = 1;
using capture::RangeKind;

class EnclosedProgram : public HuntedProgram {
 public:
  EnclosedProgram() { Thread(kOtherThread, 4712, "other"); }

  void RangeUs(std::string_view name, int64_t start_us, std::optional<int64_t> end_us,
               RangeKind kind = RangeKind::kPushPop, uint32_t thread_id = 0) {
    Range(name, start_us * kUs, end_us ? std::optional(*end_us * kUs) : std::nullopt, kind);
    capture().mutable_range().back().thread_id = thread_id;
  }
  void OperatorUs(std::string_view name, int64_t start_us, int64_t end_us, uint32_t thread_id = 0) {
    Operator({name, start_us * kUs, end_us * kUs, thread_id});
  }
  // A sync of 5 us, on a line of its own unless `line` says otherwise.
  void WaitUs(int64_t start_us, std::optional<int64_t> line = std::nullopt, uint32_t thread_id = 0) {
    const uint32_t stack_id = PythonStack({{"train.py", line.value_or(start_us)}});
    CallUs({.api = "cudaDeviceSynchronize",
            .start_ns = start_us,
            .end_ns = start_us + 5,
            .thread_id = thread_id,
            .stack_id = stack_id});
  }
  // "LINE OPERATOR<OUTER... confidence in RANGE" of every site, by line.
  std::vector<std::string> Sites() {
    HuntUs();
    std::map<int64_t, std::string> texts;
    for (const Site& site : report().sites) {
      const int64_t line = site.innermost_user ? *site.innermost_user->line : 0;
      EXPECT_EQ(site.operator_name.value_or(""), site.operator_stack.empty() ? "" : site.operator_stack.front());
      texts[line] =
          fmt::format("{} {} {} in {}", line,
                      site.operator_stack.empty() ? "-" : fmt::format("{}", fmt::join(site.operator_stack, "<")),
                      ConfidenceName(site.operator_confidence), site.range.value_or("-"));
    }
    std::vector<std::string> result;
    for (auto& [line, text] : texts) result.push_back(std::move(text));
    return result;
  }
};

TEST(Enclosing, TheInnermostOperatorAndRange) {
  EnclosedProgram program;
  program.RangeUs("step", 0, 1'000);
  program.RangeUs("loss", 100, 500);
  program.OperatorUs("aten::index", 110, 200);
  program.OperatorUs("aten::nonzero", 120, 160);
  program.WaitUs(130);
  program.WaitUs(170);
  program.WaitUs(300);
  program.WaitUs(600);
  program.WaitUs(2'000);
  EXPECT_THAT(program.Sites(),
              ElementsAre("130 aten::nonzero<aten::index exact in loss", "170 aten::index exact in loss",
                          "300 - none in loss", "600 - none in step", "2000 - none in -"));
}

TEST(Enclosing, TheMeasuredRangeIsARangeToo) {
  EnclosedProgram program;
  program.RangeUs("step", 0, 1'000);
  program.WaitUs(100);
  program.HuntUs("step");
  ASSERT_EQ(program.report().sites.size(), 1u);
  EXPECT_EQ(program.report().sites[0].range, "step");
}

TEST(Enclosing, ARangeIsOfItsThreadAlone) {
  EnclosedProgram program;
  program.RangeUs("step", 0, 1'000);
  program.OperatorUs("aten::item", 50, 900);
  program.RangeUs("worker", 0, 1'000, RangeKind::kPushPop, kOtherThread);
  program.WaitUs(100, 1);
  program.WaitUs(100, 2, kOtherThread);
  EXPECT_THAT(program.Sites(), ElementsAre("1 aten::item exact in step", "2 - none in worker"));
}

TEST(Enclosing, TextsOfOperatorsCountAsOperators) {
  EnclosedProgram program;
  program.RangeUs("step", 0, 1'000);
  program.RangeUs("aten::index, seq = 12, op_id = 7, sizes = [[2], [2]]", 10, 500);
  program.RangeUs("aten::nonzero", 20, 400);                    // as the benchmarks mark them
  program.RangeUs("aten::add", 30, 300, RangeKind::kStartEnd);  // no operator is marked so
  program.WaitUs(100);
  EXPECT_THAT(program.Sites(), ElementsAre("100 aten::nonzero<aten::index exact in aten::add"));
}

TEST(Enclosing, RangesOfTheImportersCount) {
  EnclosedProgram program;
  program.RangeUs("ProfilerStep#7", 0, 1'000, RangeKind::kStep);
  program.OperatorUs("aten::item", 50, 200);
  program.RangeUs("forward (model.py:3)", 10, 900, RangeKind::kPythonFunction);
  program.RangeUs("mark", 100, 100, RangeKind::kMark);
  program.WaitUs(100);
  program.RangeUs("Optimizer.step#SGD.step", 300, 400, RangeKind::kAnnotation);
  program.WaitUs(350);
  EXPECT_THAT(program.Sites(),
              ElementsAre("100 aten::item exact in ProfilerStep", "350 - none in Optimizer.step#SGD.step"));
}

TEST(Enclosing, RangesOfOneStartNestByTheirEnds) {
  EnclosedProgram program;
  program.RangeUs("inner", 0, 100);
  program.RangeUs("outer", 0, 200);
  program.RangeUs("middle", 0, 150);
  program.RangeUs("twin", 0, 100);
  for (const int64_t start_us : {50, 120, 170}) program.WaitUs(start_us);
  EXPECT_THAT(program.Sites(), ElementsAre("50 - none in twin", "120 - none in middle", "170 - none in outer"));
}

TEST(Enclosing, OverlappingRangesTheLaterOneIsInside) {
  EnclosedProgram program;
  program.RangeUs("first", 0, 200, RangeKind::kStartEnd);
  program.RangeUs("second", 100, 400, RangeKind::kStartEnd);
  program.RangeUs("killed", 500, std::nullopt);
  for (const int64_t start_us : {50, 150, 300, 450, 600}) program.WaitUs(start_us);
  EXPECT_THAT(program.Sites(), ElementsAre("50 - none in first", "150 - none in second", "300 - none in second",
                                           "450 - none in -", "600 - none in killed"));
}

TEST(Enclosing, ARangeEndsBeforeACallAtItsEnd) {
  EnclosedProgram program;
  program.RangeUs("before", 0, 100);
  program.RangeUs("from", 200, 300);
  program.WaitUs(100);
  program.WaitUs(200);
  EXPECT_THAT(program.Sites(), ElementsAre("100 - none in -", "200 - none in from"));
}

TEST(Enclosing, OfAWaitWithItsCopyTheSyncCounts) {
  EnclosedProgram program;
  const uint32_t stack_id = program.PythonStack({{"train.py", 1}});
  program.OperatorUs("aten::copy_", 10, 30);
  const uint64_t copy =
      program.CallUs({.api = "cudaMemcpyAsync", .start_ns = 12, .end_ns = 20, .stream_id = 7, .stack_id = stack_id});
  program.CopyUs({.correlation_id = copy, .start_ns = 13, .end_ns = 14});
  program.OperatorUs("aten::item", 40, 60);
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 45, .end_ns = 50, .stream_id = 7, .stack_id = stack_id});
  ASSERT_THAT(program.Sites(), ElementsAre("1 aten::item exact in -"));
  EXPECT_EQ(program.report().sites[0].count, 1);
}

TEST(Enclosing, OfSeveralTheMostFrequent) {
  EnclosedProgram program;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t start_us = i * 100;
    program.RangeUs(i < 6 ? "train" : "test", start_us, start_us + 90);
    program.OperatorUs(i < 3 ? "aten::mean" : i < 6 ? "aten::max" : "aten::sum", start_us, start_us + 90);
    program.OperatorUs(i == 2 || i == 9 ? "aten::nonzero" : "aten::item", start_us + 1, start_us + 80);
    program.WaitUs(start_us + 10, 7);
  }
  EXPECT_THAT(program.Sites(), ElementsAre("7 aten::item<aten::max exact in train"));
  EXPECT_EQ(program.report().sites[0].operator_count, 2);
  EXPECT_EQ(program.report().sites[0].range_count, 2);
}

TEST(Enclosing, APointOutsideOfOperatorsLeavesTheRestInferred) {
  EnclosedProgram program;
  program.OperatorUs("aten::item", 0, 50);
  program.WaitUs(10, 7);
  program.WaitUs(100, 7);
  EXPECT_THAT(program.Sites(), ElementsAre("7 aten::item inferred in -"));
  EXPECT_EQ(program.report().sites[0].operator_count, 1);
}

TEST(Enclosing, WhereMorePointsLieInNoneTheSiteHasNone) {
  EnclosedProgram program;
  program.OperatorUs("aten::item", 0, 50);
  program.RangeUs("step", 0, 50);
  for (const int64_t start_us : {10, 100, 200}) program.WaitUs(start_us, 7);
  EXPECT_THAT(program.Sites(), ElementsAre("7 - none in -"));
  EXPECT_EQ(program.report().sites[0].operator_count, 1);
  EXPECT_EQ(program.report().sites[0].range_count, 1);
}

TEST(Enclosing, SymbolsTellWhereNoRangeDoes) {
  EnclosedProgram program;
  const uint32_t stack_id = program.NativeStack(
      {"at::native::nonzero_cuda", "at::_ops::nonzero::call(at::Tensor const&)", "at::_ops::index_Tensor::call"});
  program.CallUs({.api = "cudaDeviceSynchronize", .start_ns = 10, .end_ns = 20, .stack_id = stack_id});
  EXPECT_THAT(program.Sites(), ElementsAre("0 aten::nonzero<aten::index inferred in -"));
  program.OperatorUs("aten::argwhere", 5, 30);
  EXPECT_THAT(program.Sites(), ElementsAre("0 aten::argwhere exact in -"));
}

TEST(Enclosing, HostileNames) {
  EnclosedProgram program;
  const std::string is_long(100'000, 'x');
  program.RangeUs("", 0, 10'000);
  program.OperatorUs("", 0, 10'000);
  program.WaitUs(10);
  program.RangeUs(", seq = 1", 100, 200);
  program.RangeUs("#7", 100, 200);
  program.WaitUs(110);
  program.RangeUs(is_long, 300, 400);
  program.OperatorUs(is_long, 300, 400);
  program.WaitUs(310);
  program.RangeUs("a, b, seq = x", 500, 600);
  program.OperatorUs("torch::CppNode<a, b>", 500, 600);
  program.WaitUs(510);
  EXPECT_THAT(program.Sites(),
              ElementsAre("10 - none in -", "110 - none in #7", "310 " + is_long + " exact in " + is_long,
                          "510 torch::CppNode<a, b> exact in a, b, seq = x"));
}

TEST(Enclosing, ADeepNestIsCut) {
  EnclosedProgram program;
  for (int64_t i = 0; i < 100; ++i) program.OperatorUs("aten::op" + std::to_string(i), i, 1'000 - i);
  program.WaitUs(200);
  program.HuntUs();
  ASSERT_EQ(program.report().sites.size(), 1u);
  ASSERT_EQ(program.report().sites[0].operator_stack.size(), kMostNestedOperators);
  EXPECT_EQ(program.report().sites[0].operator_stack.front(), "aten::op99");
}

TEST(Enclosing, BatchesCutNothing) {
  EnclosedProgram program;
  program.capture().set_batch_rows(1);
  program.RangeUs("step", 0, 1'000);
  program.OperatorUs("aten::index", 110, 200);
  program.OperatorUs("aten::nonzero", 120, 160);
  program.WaitUs(130);
  EXPECT_THAT(program.Sites(), ElementsAre("130 aten::nonzero<aten::index exact in step"));
}

TEST(Enclosing, WithoutRangesNothingIsReadAgain) {
  EnclosedProgram program;
  program.WaitUs(10);
  EXPECT_THAT(program.Sites(), ElementsAre("10 - none in -"));
  const int without = program.capture().ReadCount(capture::Table::kRange);
  program.RangeUs("mark", 5, 5, RangeKind::kMark);
  program.HuntUs();
  EXPECT_EQ(program.capture().ReadCount(capture::Table::kRange), 2 * without);
  program.RangeUs("step", 0, 50);
  program.HuntUs();
  EXPECT_EQ(program.capture().ReadCount(capture::Table::kRange), 3 * without + 1);
}

}  // namespace
}  // namespace stallhound::analysis
