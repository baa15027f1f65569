#include "analysis/hunt/steps/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kCallNs = 10'000;  // each call of a made-up program

// A program that makes one call after the other.
class Program {
 public:
  void Kernel(const std::string& name) {
    const uint64_t correlation_id = Call("cudaLaunchKernel");
    recorded_.Kernel({.correlation_id = correlation_id,
                      .start_ns = now_ns_,
                      .end_ns = now_ns_ + kCallNs / 2,
                      .process_id = process_id_},
                     name);
  }
  void Kernels(const std::string& name, int count) {
    for (int i = 0; i < count; ++i) Kernel(name);
  }
  void Wait() { Call("cudaStreamSynchronize"); }
  void Load() { Call("cuModuleLoadData"); }
  void Allocate() { Call("cudaMalloc"); }
  void HostWork(int64_t duration_ns) { now_ns_ += duration_ns; }
  void Layers(int count) {
    for (int i = 0; i < count; ++i) {
      for (const char* name : {"norm", "gemm", "softmax", "gemm", "gelu"}) Kernel(name);
    }
  }
  // Forward, backward and update of a small model; 13 calls.
  void TrainStep() {
    for (const char* name : {"embed", "gemm", "relu", "gemm", "loss", "gemm", "gemm", "embed_back"}) Kernel(name);
    Kernels("multi_tensor_apply_kernel", 4);
    Wait();
  }
  void OnProcess(uint32_t process_id) {
    recorded_.Process(process_id, process_id);
    process_id_ = process_id;
  }
  int64_t now_ns() const { return now_ns_; }
  RecordedProgram& recorded() { return recorded_; }

  std::vector<ProcessSteps> Find() {
    absl::StatusOr<std::vector<ProcessSteps>> steps = FindSteps(recorded_.capture());
    EXPECT_TRUE(steps.ok()) << steps.status();
    return steps.ok() ? *std::move(steps) : std::vector<ProcessSteps>();
  }
  ProcessSteps FindOnly() {
    std::vector<ProcessSteps> steps = Find();
    EXPECT_EQ(steps.size(), 1U);
    return steps.empty() ? ProcessSteps() : steps.front();
  }

 private:
  uint64_t Call(const char* api) {
    const int64_t start_ns = now_ns_;
    now_ns_ += kCallNs;
    return recorded_.Call({.api = api, .start_ns = start_ns, .end_ns = now_ns_ - 1, .process_id = process_id_});
  }
  RecordedProgram recorded_;
  int64_t now_ns_ = 1'000'000;
  uint32_t process_id_ = 0;
};

int64_t CountOf(const ProcessSteps& steps, StepRole role) {
  return std::count_if(steps.segments.begin(), steps.segments.end(),
                       [&](const Segment& segment) { return segment.role == role; });
}

TEST(StepsTest, FindsAPlainLoop) {
  Program program;
  for (int i = 0; i < 20; ++i) program.TrainStep();
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.source, StepSource::kSequence);
  EXPECT_EQ(steps.period_ns, 13 * kCallNs);
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 20);
  EXPECT_EQ(steps.segments.front().start_ns, 1'000'000);
  EXPECT_DOUBLE_EQ(steps.explained_ratio, 1);
}

TEST(StepsTest, FindsALoopOfOneKernelAndAWait) {
  Program program;
  for (int i = 0; i < 30; ++i) {
    program.Kernel("kernel");
    program.Wait();
  }
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.period_ns, 2 * kCallNs);
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 30);
}

TEST(StepsTest, TellsWarmUpApart) {
  Program program;
  program.Kernels("fill", 6);
  for (int i = 0; i < 3; ++i) {
    program.Load();
    program.Allocate();
    program.TrainStep();
  }
  for (int i = 0; i < 20; ++i) program.TrainStep();
  const ProcessSteps steps = program.FindOnly();
  // Loading before the first kernel of a step belongs to the step before.
  EXPECT_EQ(CountOf(steps, StepRole::kWarmUp), 2);
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 21);
  EXPECT_EQ(steps.period_ns, 13 * kCallNs);
}

TEST(StepsTest, ListsOneOffCostsApart) {
  Program program;
  program.Load();
  for (int i = 0; i < 2; ++i) {
    program.TrainStep();
    program.Allocate();
  }
  for (int i = 0; i < 10; ++i) program.TrainStep();
  const absl::StatusOr<MeasuredSteps> measured = MeasureSteps(program.recorded().capture(), {});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->summary.found_count, 12);
  EXPECT_EQ(measured->summary.warm_up_count, 2);
  EXPECT_EQ(measured->spans.size(), 10U);
  ASSERT_EQ(measured->summary.one_off_costs.size(), 3U);
  EXPECT_EQ(measured->summary.one_off_costs[0].what, "warm-up steps, beyond a steady step");
  EXPECT_EQ(measured->summary.one_off_costs[0].host_ns, 2 * kCallNs);
  EXPECT_EQ(measured->summary.one_off_costs[1].what, "device allocation");
  EXPECT_EQ(measured->summary.one_off_costs[1].count, 2);
  EXPECT_EQ(measured->summary.one_off_costs[2].what, "module loading");
  const std::vector<std::string> sentences = StepsSentences(measured->summary);
  EXPECT_EQ(sentences.front(), "Found 12 steps of 130 us (kernel sequence), 2 of them warm-up; 10 measured.");
}

TEST(StepsTest, LeavesOutAStepWithOtherContent) {
  Program program;
  for (int i = 0; i < 20; ++i) {
    program.TrainStep();
    if (i == 11) program.Kernels("evaluate", 9);
  }
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 19);
  EXPECT_EQ(CountOf(steps, StepRole::kOther), 1);
  EXPECT_EQ(steps.period_ns, 13 * kCallNs);
}

TEST(StepsTest, ToleratesOtherKernelsInAFewSteps) {
  Program program;
  for (int i = 0; i < 20; ++i) {
    program.TrainStep();
    program.Kernel(i < 4 || i == 19 ? "other_gemm" : "last_gemm");
  }
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.period_ns, 14 * kCallNs);
  EXPECT_GE(CountOf(steps, StepRole::kSteady), 19);
}

TEST(StepsTest, TakesTwoKindsOfStepsInTurnAsOne) {
  Program program;
  for (int i = 0; i < 15; ++i) {
    for (const char* name : {"a", "b", "c", "d"}) program.Kernel(name);
    program.Wait();
    for (const char* name : {"e", "f", "g", "h", "i"}) program.Kernel(name);
    program.Wait();
    program.Wait();
  }
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.period_ns, 12 * kCallNs);
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 15);
}

TEST(StepsTest, DoesNotTakeALayerForAStep) {
  for (const int layer_count : {3, 12, 96}) {
    Program program;
    for (int i = 0; i < 8; ++i) {
      program.Kernel("embed");
      program.Layers(layer_count);
      program.Kernel("head");
      program.Wait();
    }
    const ProcessSteps steps = program.FindOnly();
    EXPECT_EQ(steps.period_ns, (3 + 5 * layer_count) * kCallNs) << layer_count;
    EXPECT_EQ(CountOf(steps, StepRole::kSteady), 8) << layer_count;
  }
}

TEST(StepsTest, DoesNotTakeALayerThatWaitsForAStep) {
  Program program;
  for (int i = 0; i < 8; ++i) {
    program.Kernel("embed");
    for (int layer = 0; layer < 12; ++layer) {
      program.Layers(1);
      program.Wait();
    }
    program.Kernel("head");
    program.Wait();
  }
  EXPECT_EQ(program.FindOnly().period_ns, (3 + 6 * 12) * kCallNs);
}

TEST(StepsTest, FindsNoneWithoutRepetition) {
  Program program;
  for (int i = 0; i < 200; ++i) program.Kernel("kernel" + std::to_string(i * i % 199 % (i + 1)));
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_FALSE(steps.reason.empty());
}

TEST(StepsTest, FindsNoneInOneStep) {
  Program program;
  program.Kernel("embed");
  program.Layers(12);
  for (int i = 0; i < 12; ++i) {
    for (const char* name : {"gemm", "gemm_back", "softmax_back", "norm_back"}) program.Kernel(name);
  }
  program.Kernels("multi_tensor_apply_kernel", 4);
  program.Wait();
  EXPECT_EQ(program.FindOnly().source, StepSource::kNone);
}

TEST(StepsTest, FindsTheStepsOfEachProcess) {
  Program program;
  for (int i = 0; i < 10; ++i) program.TrainStep();
  program.OnProcess(1);
  for (int i = 0; i < 7; ++i) {
    program.TrainStep();
    program.Kernel("reduce");
  }
  const std::vector<ProcessSteps> steps = program.Find();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].period_ns, 13 * kCallNs);
  EXPECT_EQ(CountOf(steps[0], StepRole::kSteady), 10);
  EXPECT_EQ(steps[1].period_ns, 14 * kCallNs);
  EXPECT_EQ(CountOf(steps[1], StepRole::kSteady), 7);
}

TEST(StepsTest, PrefersARangeWithNumbers) {
  Program program;
  for (int i = 0; i < 6; ++i) {
    const int64_t start_ns = program.now_ns();
    program.TrainStep();
    program.HostWork(1'000);
    program.recorded().Range("Step " + std::to_string(i), start_ns, program.now_ns());
    program.recorded().Range("Optimizer.step", program.now_ns() - 6 * kCallNs, program.now_ns());
  }
  const ProcessSteps steps = program.FindOnly();
  EXPECT_EQ(steps.source, StepSource::kNvtx);
  EXPECT_EQ(steps.range, "Step #");
  EXPECT_EQ(CountOf(steps, StepRole::kSteady), 6);
  EXPECT_EQ(steps.period_ns, 13 * kCallNs + 1'000);
}

TEST(StepsTest, DoesNotTakeARangeInsideTheStep) {
  Program program;
  for (int i = 0; i < 6; ++i) {
    program.TrainStep();
    program.recorded().Range("cub::DeviceReduce::Sum", program.now_ns() - 3 * kCallNs, program.now_ns() - kCallNs);
  }
  EXPECT_EQ(program.FindOnly().source, StepSource::kSequence);
}

TEST(StepsTest, MeasuresTheStepsThatAreAskedFor) {
  Program program;
  for (int i = 0; i < 20; ++i) program.TrainStep();
  capture::MemoryCapture& capture = program.recorded().capture();
  const absl::StatusOr<MeasuredSteps> numbered = MeasureSteps(capture, {.numbers = std::pair(6, 10)});
  ASSERT_TRUE(numbered.ok()) << numbered.status();
  ASSERT_EQ(numbered->spans.size(), 5U);
  EXPECT_EQ(numbered->spans.front().start_ns, 1'000'000 + 5 * 13 * kCallNs);
  const absl::StatusOr<MeasuredSteps> skipped = MeasureSteps(capture, {.skip_count = 4});
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  EXPECT_EQ(skipped->spans.size(), 16U);
  const absl::StatusOr<MeasuredSteps> beyond = MeasureSteps(capture, {.numbers = std::pair(30, 40)});
  EXPECT_EQ(beyond.status().message(), "measuring steps 30-40: the recording has 20 steps");
}

TEST(StepsTest, SaysWhyNothingIsMeasuredPerStep) {
  Program program;
  program.Kernel("once");
  const absl::StatusOr<MeasuredSteps> measured = MeasureSteps(program.recorded().capture(), {});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_TRUE(measured->spans.empty());
  EXPECT_EQ(StepsSentences(measured->summary).front(),
            "No steady state found: no submission repeats regularly with equal work between. The whole recording is "
            "measured.");
  EXPECT_TRUE(absl::IsNotFound(MeasureSteps(program.recorded().capture(), {.skip_count = 1}).status()));
}

}  // namespace
}  // namespace stallhound::analysis
