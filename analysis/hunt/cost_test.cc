// The cost of stalls on programs whose answers are known: steps simulated with fixed host and GPU times.

#include <gtest/gtest.h>

#include <functional>

#include "analysis/hunt/hunt.h"
#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int kSteps = 50;

// Runs the step in `kSteps` ranges and hunts in one of them only, or in all.
HuntReport HuntSteps(const std::function<void(SimulatedProgram&, uint32_t, uint32_t)>& step, int measured_step) {
  SimulatedProgram program;
  const uint32_t a = program.recorded().PythonStack({{"train.py", 10}});
  const uint32_t b = program.recorded().PythonStack({{"train.py", 20}});
  for (int i = 0; i < kSteps; ++i) {
    const int64_t start_ns = program.now_ns();
    step(program, a, b);
    program.recorded().Range(i == measured_step ? "measured" : "step", start_ns, program.now_ns());
  }
  absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {.range = "measured"});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : HuntReport();
}

const Site* SiteAt(const HuntReport& report, int64_t line) {
  for (const Site& site : report.sites) {
    if (site.innermost_user && site.innermost_user->line == line) return &site;
  }
  return nullptr;
}

void Launches(SimulatedProgram& program, int count, int64_t duration_ns, uint32_t stream_id = 7) {
  for (int i = 0; i < count; ++i) program.Launch(stream_id, duration_ns);
}

void GpuBound(SimulatedProgram& program, uint32_t a, uint32_t) {
  Launches(program, 50, 100 * kUs);
  program.Wait(7, a);
  program.HostWork(1000 * kUs);
}

TEST(CostTest, GpuBoundStep) {
  const HuntReport report = HuntSteps(GpuBound, 20);
  const Site* a = SiteAt(report, 10);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->count, 1);
  EXPECT_EQ(a->cost.stall_count, 1);
  EXPECT_EQ(a->cost.idle_ns, 1014 * kUs);
  EXPECT_EQ(a->cost.idle_compute_ns, 1014 * kUs);
  EXPECT_EQ(a->cost.blocked_ns, 4709 * kUs);
  EXPECT_EQ(a->cost.idle_return_ns, 5 * kUs);
  EXPECT_EQ(a->cost.idle_host_ns, 1000 * kUs);
  EXPECT_EQ(a->cost.idle_launch_ns, 9 * kUs);
  EXPECT_EQ(a->cost.no_later_work_count, 0);
}

TEST(CostTest, LastWaitWithoutLaterWorkIsUnknownNotZero) {
  const HuntReport report = HuntSteps(GpuBound, kSteps - 1);
  const Site* a = SiteAt(report, 10);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->cost.stall_count, 1);
  EXPECT_EQ(a->cost.blocked_ns, 4709 * kUs);
  EXPECT_EQ(a->cost.idle_ns, std::nullopt);
  EXPECT_EQ(a->cost.idle_host_ns, std::nullopt);
  EXPECT_EQ(a->cost.no_later_work_count, 1);
}

TEST(CostTest, HostBoundStep) {
  const HuntReport report = HuntSteps(
      [](SimulatedProgram& program, uint32_t a, uint32_t) {
        Launches(program, 50, 20 * kUs);
        program.Wait(7, a);
        program.HostWork(8000 * kUs);
      },
      20);
  EXPECT_EQ(SiteAt(report, 10)->cost.idle_ns, 8014 * kUs);
  EXPECT_EQ(SiteAt(report, 10)->cost.blocked_ns, 709 * kUs);
}

TEST(CostTest, LaunchBoundStep) {
  const HuntReport report = HuntSteps(
      [](SimulatedProgram& program, uint32_t a, uint32_t) {
        Launches(program, 100, 2 * kUs);
        program.Wait(7, a);
        program.HostWork(20 * kUs);
      },
      20);
  EXPECT_EQ(SiteAt(report, 10)->cost.idle_ns, 34 * kUs);
  EXPECT_EQ(SiteAt(report, 10)->cost.blocked_ns, 5 * kUs);
}

TEST(CostTest, WaitBehindAWaitIsAPointButNoStall) {
  const HuntReport report = HuntSteps(
      [](SimulatedProgram& program, uint32_t a, uint32_t b) {
        Launches(program, 50, 100 * kUs);
        program.Wait(7, a);
        program.HostWork(1 * kUs);
        program.Wait(7, b);
        program.HostWork(500 * kUs);
      },
      20);
  EXPECT_EQ(SiteAt(report, 10)->cost.idle_ns, 520 * kUs);
  EXPECT_EQ(SiteAt(report, 10)->cost.blocked_ns, 4709 * kUs);
  ASSERT_NE(SiteAt(report, 20), nullptr);
  EXPECT_EQ(SiteAt(report, 20)->count, 1);
  EXPECT_EQ(SiteAt(report, 20)->cost.stall_count, 0);
  EXPECT_EQ(SiteAt(report, 20)->cost.blocked_ns, 0);
  EXPECT_EQ(SiteAt(report, 20)->cost.idle_ns, 0);
  EXPECT_EQ(report.sync_point_count, 2);
}

TEST(CostTest, TwoWaitsWithWorkBetween) {
  const HuntReport report = HuntSteps(
      [](SimulatedProgram& program, uint32_t a, uint32_t b) {
        Launches(program, 25, 100 * kUs);
        program.Wait(7, a);
        program.HostWork(300 * kUs);
        Launches(program, 25, 100 * kUs);
        program.Wait(7, b);
        program.HostWork(20 * kUs);
      },
      20);
  EXPECT_EQ(SiteAt(report, 10)->cost.idle_ns, 314 * kUs);
  EXPECT_EQ(SiteAt(report, 20)->cost.idle_ns, 34 * kUs);
  EXPECT_EQ(SiteAt(report, 10)->cost.blocked_ns, 2359 * kUs);
  EXPECT_EQ(SiteAt(report, 20)->cost.blocked_ns, 2359 * kUs);
  // Most idle first.
  EXPECT_EQ(report.sites.front().innermost_user->line, 10);
}

void BesideStream(SimulatedProgram& program, uint32_t a, int64_t other_ns) {
  program.Launch(13, other_ns);
  Launches(program, 50, 50 * kUs);
  program.Wait(7, a);
  program.HostWork(1000 * kUs);
  Launches(program, 20, 50 * kUs);
}

TEST(CostTest, OtherStreamBusyAllStepMeansNoIdle) {
  const auto step = [](SimulatedProgram& program, uint32_t a, uint32_t) { BesideStream(program, a, 5300 * kUs); };
  const HuntReport steady = HuntSteps(step, 20);
  EXPECT_EQ(SiteAt(steady, 10)->cost.idle_ns, 0);
  EXPECT_EQ(SiteAt(steady, 10)->cost.blocked_ns, 3083 * kUs);
  EXPECT_EQ(SiteAt(HuntSteps(step, 0), 10)->cost.blocked_ns, 2209 * kUs);
}

TEST(CostTest, OtherStreamBusyForPartOfTheStep) {
  const auto step = [](SimulatedProgram& program, uint32_t a, uint32_t) { BesideStream(program, a, 3000 * kUs); };
  const HuntReport steady = HuntSteps(step, 20);
  EXPECT_EQ(SiteAt(steady, 10)->cost.idle_ns, 1014 * kUs);
  EXPECT_EQ(SiteAt(steady, 10)->cost.blocked_ns, 3083 * kUs);
  const HuntReport first = HuntSteps(step, 0);
  EXPECT_EQ(SiteAt(first, 10)->cost.idle_ns, 520 * kUs);
  EXPECT_EQ(SiteAt(first, 10)->cost.blocked_ns, 2209 * kUs);
}

TEST(CostTest, LightModeKnowsNoCost) {
  SimulatedProgram program;
  Launches(program, 50, 100 * kUs);
  program.Wait(7);
  program.recorded().capture().mutable_info().mode = "light";
  program.recorded().capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->sites.size(), 1u);
  EXPECT_EQ(report->sites[0].count, 1);
  EXPECT_EQ(report->sites[0].cost.stall_count, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.blocked_ns, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.idle_ns, std::nullopt);
  EXPECT_FALSE(report->notes.empty());
}

}  // namespace
}  // namespace stallhound::analysis
