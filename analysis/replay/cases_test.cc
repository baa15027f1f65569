// What removing a wait recovers, on programs whose answers are known: 50 steps simulated with fixed host and GPU times.
// Answers are means a step, rounded to 1 us: the first step starts cold and the last one ends without a successor.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "analysis/hunt/hunt.h"
#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int kSteps = 50;
constexpr uint32_t kMain = 7;
constexpr uint32_t kOther = 13;

using Step = std::function<void(SimulatedProgram&, uint32_t, uint32_t)>;

// The range "step" around each step; the waits A at line 10 and B at line 20.
HuntReport HuntSteps(const Step& step, std::optional<std::string> range = "step") {
  SimulatedProgram program;
  const uint32_t a = program.recorded().PythonStack({{"train.py", 10}});
  const uint32_t b = program.recorded().PythonStack({{"train.py", 20}});
  for (int i = 0; i < kSteps; ++i) {
    const int64_t start_ns = program.now_ns();
    step(program, a, b);
    program.recorded().Range("step", start_ns, program.now_ns());
  }
  program.recorded().capture().mutable_process().front().end_ns = program.now_ns();
  absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {.range = std::move(range)});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : HuntReport();
}

void Launches(SimulatedProgram& program, int count, int64_t duration_us, uint32_t stream_id = kMain) {
  for (int i = 0; i < count; ++i) program.Launch(stream_id, duration_us * kUs);
}

int64_t PerStepUs(std::optional<int64_t> total_ns) {
  EXPECT_TRUE(total_ns.has_value());
  return std::llround(static_cast<double>(total_ns.value_or(-1)) / kSteps / kUs);
}

int64_t GainUs(const HuntReport& report, int64_t line) {
  for (const Site& site : report.sites) {
    if (!site.innermost_user || site.innermost_user->line != line) continue;
    EXPECT_FALSE(site.recoverable_is_first_order);
    return PerStepUs(site.recoverable_ns);
  }
  ADD_FAILURE() << "no site at line " << line;
  return -1;
}

void GpuBound(SimulatedProgram& program, uint32_t a, uint32_t) {
  Launches(program, 50, 100);
  program.Wait(kMain, a);
  program.HostWork(1000 * kUs);
}

TEST(RecoverableCases, GpuBoundStep) {
  const HuntReport report = HuntSteps(GpuBound);
  EXPECT_EQ(GainUs(report, 10), 1014);
  EXPECT_EQ(PerStepUs(report.recoverable_all_ns), 1014);
  EXPECT_TRUE(report.groups.empty());
  ASSERT_EQ(report.notes.size(), 1u) << "nothing of the replay";
  EXPECT_EQ(report.notes.front().substr(0, 8), "GPU idle");
}

TEST(RecoverableCases, WholeProcessIsTheSameAsAllItsSteps) {
  EXPECT_EQ(GainUs(HuntSteps(GpuBound, std::nullopt), 10), 1014);
}

TEST(RecoverableCases, HostBoundStep) {
  const HuntReport report = HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t) {
    Launches(program, 50, 20);
    program.Wait(kMain, a);
    program.HostWork(8000 * kUs);
  });
  EXPECT_EQ(GainUs(report, 10), 714);
}

TEST(RecoverableCases, LaunchBoundStep) {
  const HuntReport report = HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t) {
    Launches(program, 100, 2);
    program.Wait(kMain, a);
    program.HostWork(20 * kUs);
  });
  EXPECT_EQ(GainUs(report, 10), 10);
}

TEST(RecoverableCases, WaitThatTheNextWaitAbsorbsSavesInItsGroupOnly) {
  const HuntReport report = HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t b) {
    Launches(program, 50, 100);
    program.Wait(kMain, a);
    program.HostWork(1 * kUs);
    program.Wait(kMain, b);
    program.HostWork(500 * kUs);
  });
  EXPECT_EQ(GainUs(report, 10), 6);
  EXPECT_EQ(GainUs(report, 20), 5);
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].sites, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(PerStepUs(report.groups[0].recoverable_ns), 520);
  EXPECT_EQ(PerStepUs(report.recoverable_all_ns), 520);
}

TEST(RecoverableCases, TwoWaitsWithWorkBetween) {
  const HuntReport report = HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t b) {
    Launches(program, 25, 100);
    program.Wait(kMain, a);
    program.HostWork(300 * kUs);
    Launches(program, 25, 100);
    program.Wait(kMain, b);
    program.HostWork(20 * kUs);
  });
  EXPECT_EQ(GainUs(report, 10), 314);
  EXPECT_EQ(GainUs(report, 20), 34);
  EXPECT_EQ(report.sites[0].innermost_user->line, 10);
  EXPECT_TRUE(report.groups.empty());
}

void BesideStream(SimulatedProgram& program, uint32_t a, int64_t other_us) {
  program.Launch(kOther, other_us * kUs);
  Launches(program, 50, 50);
  program.Wait(kMain, a);
  program.HostWork(1000 * kUs);
  Launches(program, 20, 50);
}

TEST(RecoverableCases, OtherStreamBusyAllStep) {
  const HuntReport report =
      HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t) { BesideStream(program, a, 5300); });
  EXPECT_EQ(GainUs(report, 10), 0);
}

TEST(RecoverableCases, OtherStreamBusyForPartOfTheStep) {
  const HuntReport report =
      HuntSteps([](SimulatedProgram& program, uint32_t a, uint32_t) { BesideStream(program, a, 3000); });
  EXPECT_EQ(GainUs(report, 10), 1014);
}

TEST(RecoverableCases, ThreeWaitsInARowAreOneGroup) {
  SimulatedProgram program;
  std::vector<uint32_t> stacks;
  for (const int64_t line : {10, 20, 30}) stacks.push_back(program.recorded().PythonStack({{"train.py", line}}));
  for (int i = 0; i < kSteps; ++i) {
    Launches(program, 50, 100);
    for (const uint32_t stack : stacks) program.Wait(kMain, stack);
    program.HostWork(500 * kUs);
  }
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->groups.size(), 1u);
  EXPECT_EQ(report->groups[0].sites.size(), 3u);
  EXPECT_EQ(report->groups[0].recoverable_ns, report->recoverable_all_ns);
}

TEST(RecoverableCases, WaitWithoutLaterWorkIsUnknown) {
  SimulatedProgram program;
  Launches(program, 50, 100);
  program.Wait(kMain, program.recorded().PythonStack({{"train.py", 10}}));
  program.HostWork(1000 * kUs);
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->sites.size(), 1u);
  EXPECT_EQ(report->sites[0].recoverable_ns, std::nullopt);
  EXPECT_EQ(report->recoverable_all_ns, std::nullopt);
}

TEST(RecoverableCases, LightModeKnowsNothing) {
  SimulatedProgram program;
  GpuBound(program, 0, 0);
  GpuBound(program, 0, 0);
  program.recorded().capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->sites.size(), 1u);
  EXPECT_EQ(report->sites[0].recoverable_ns, std::nullopt);
  EXPECT_EQ(report->recoverable_all_ns, std::nullopt);
}

}  // namespace
}  // namespace stallhound::analysis
