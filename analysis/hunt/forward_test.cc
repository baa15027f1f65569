// Waits of a backward and the forward lines that their operators were called in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/counts/counts.h"
#include "analysis/hunt/budget.h"
#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kAutograd = 1;
constexpr uint32_t kOtherThread = 2;

// Operators 41 (train.py:10) and 42 (train.py:27, in a library function), then the backward of both on another thread,
// with a wait in each.
class BackwardProgram : public HuntedProgram {
 public:
  BackwardProgram() {
    Thread(kAutograd, 4712, "pt_autograd_0");
    Thread(kOtherThread, 4713, "other");
    native_ = NativeStack({"at::native::nonzero_cuda"});
    relu_line_ = PythonStack({{"train.py", 10}});
    mask_line_ = PythonStack({{"site-packages/torch/nn/functional.py", 500}, {"train.py", 27}, {"main.py", 3}});
    Forward("aten::relu", 100, 41, relu_line_);
    Forward("aten::to", 120, 42, relu_line_);  // makes no node, so the next one bears its number too
    Forward("aten::index", 140, 42, mask_line_);
  }
  void Forward(std::string_view name, int64_t start_us, int64_t sequence, uint32_t stack_id, uint32_t thread_id = 0) {
    Operator({name, start_us * kUs, (start_us + 10) * kUs, thread_id, sequence, stack_id});
  }
  // A node with an operator inside, and a wait in that.
  void Backward(std::string_view node, int64_t start_us, std::optional<int64_t> sequence,
                uint32_t thread_id = kAutograd) {
    Operator({"autograd::engine::evaluate_function", start_us * kUs, (start_us + 90) * kUs, thread_id});
    Operator({node, (start_us + 1) * kUs, (start_us + 89) * kUs, thread_id, sequence});
    Operator({"aten::index_put_", (start_us + 2) * kUs, (start_us + 88) * kUs, thread_id});
    CallUs({.api = "cudaStreamSynchronize",
            .start_ns = start_us + 10,
            .end_ns = start_us + 20,
            .thread_id = thread_id,
            .stream_id = 7,
            .stack_id = native_});
  }
  // "backward of FILE:LINE NODE confidence xCOUNT", else the native symbol.
  std::vector<std::string> Sites() {
    HuntUs();
    std::vector<std::string> texts;
    for (const Site& site : report().sites) {
      std::string text = site.native_symbol.value_or("");
      if (site.forward) {
        text = ForwardKey(*site.forward) + " " + site.forward->node + " " + ConfidenceName(site.forward->confidence);
      }
      texts.push_back(text + " x" + std::to_string(site.count));
    }
    return texts;
  }

 protected:
  uint32_t native_ = 0;
  uint32_t relu_line_ = 0;
  uint32_t mask_line_ = 0;
};

TEST(Forward, TheLastOperatorOfTheNumberMadeTheNode) {
  BackwardProgram program;
  program.Backward("IndexBackward0", 300, 42);
  program.Backward("ReluBackward0", 400, 41);
  EXPECT_THAT(program.Sites(), ElementsAre("backward of train.py:27 IndexBackward0 exact x1",
                                           "backward of train.py:10 ReluBackward0 exact x1"));
  const Forward& forward = *program.report().sites[0].forward;
  ASSERT_EQ(forward.stack.size(), 3u);
  EXPECT_EQ(forward.stack[0].file, "site-packages/torch/nn/functional.py");
  EXPECT_EQ(program.report().sites[0].native_symbol, "at::native::nonzero_cuda");
}

TEST(Forward, BackwardsOfOneLineAreOneSite) {
  BackwardProgram program;
  program.Forward("aten::index", 160, 43, 2);
  program.Backward("IndexBackward0", 300, 42);
  program.Backward("IndexBackward0", 400, 43);
  EXPECT_THAT(program.Sites(), ElementsAre("backward of train.py:27 IndexBackward0 exact x2"));
}

TEST(Forward, ANumberOfTwoThreadsIsInferred) {
  BackwardProgram program;
  program.Forward("aten::index", 200, 42, 1, kOtherThread);
  program.Forward("aten::index", 350, 42, 2);  // after the backward: of the next step
  program.Backward("IndexBackward0", 300, 42);
  EXPECT_THAT(program.Sites(), ElementsAre("backward of train.py:10 IndexBackward0 inferred x1"));
}

TEST(Forward, OutsideOfNodesAndWithoutANumberTheSymbolRemains) {
  BackwardProgram program;
  program.Backward("IndexBackward0", 300, std::nullopt);
  program.Backward("IndexBackward0", 400, 99);
  program.CallUs(
      {.api = "cudaStreamSynchronize", .start_ns = 600, .end_ns = 610, .thread_id = kAutograd, .stack_id = 0});
  EXPECT_THAT(program.Sites(), ElementsAre("at::native::nonzero_cuda x3"));
}

TEST(Forward, ALineOfItsOwnComesFirst) {
  BackwardProgram program;
  program.Backward("MyFunctionBackward", 300, 42);
  program.capture().mutable_host_call().back().stack_id = 1;
  program.HuntUs();
  ASSERT_EQ(program.report().sites.size(), 1u);
  EXPECT_FALSE(program.report().sites[0].forward.has_value());
  EXPECT_EQ(program.report().sites[0].innermost_user->line, 10);
}

TEST(Forward, ANodeThatRanBeforeIsNotWhatMadeIt) {
  BackwardProgram program;
  program.Operator({"IndexBackward0", 200 * kUs, 210 * kUs, 0, 42, 1});  // in the calling thread, as CPU nodes run
  program.Backward("IndexBackward0", 300, 42);
  EXPECT_THAT(program.Sites(), ElementsAre("backward of train.py:27 IndexBackward0 exact x1"));
}

TEST(Forward, CountsAndBudgetsNameTheSameSite) {
  BackwardProgram program;
  program.Backward("IndexBackward0", 300, 42);
  program.HuntUs();
  const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {});
  ASSERT_TRUE(counts.ok());
  ASSERT_EQ(counts->sites.size(), 1u);
  ASSERT_TRUE(counts->sites[0].forward.has_value());
  EXPECT_EQ(ForwardKey(*counts->sites[0].forward), "backward of train.py:27");
  Budget budget;
  budget.limits = {{.quantity = BudgetQuantity::kWaits, .limit = 0}};
  const std::vector<MeasuredRange> ranges = {{std::nullopt, &program.report(), &*counts}};
  const absl::CivilDay today(2026, 11, 30);
  EXPECT_EQ(JudgeBudget(budget, ranges, today).outcome, BudgetOutcome::kExceeded);
  budget.allowances = {{.by = AllowanceBy::kSite, .what = "train.py:27", .reason = "known", .expires = today}};
  EXPECT_EQ(JudgeBudget(budget, ranges, today).outcome, BudgetOutcome::kFine);
}

TEST(Forward, RangesAreReadAgainOnlyForABackward) {
  BackwardProgram program;
  program.CallUs({.api = "cudaDeviceSynchronize", .start_ns = 10, .end_ns = 20});
  program.HuntUs();
  const int without = program.capture().ReadCount(capture::Table::kRange);
  program.Backward("IndexBackward0", 300, 42);
  program.HuntUs();
  EXPECT_EQ(program.capture().ReadCount(capture::Table::kRange), 2 * without + 1);
}

}  // namespace
}  // namespace stallhound::analysis
