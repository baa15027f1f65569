// The cost of stalls in programs whose answers are known: steps simulated with fixed host and GPU times.

#include <gtest/gtest.h>

#include "analysis/hunt/hunt.h"
#include "analysis/testing/simulated_steps.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kUs = 1'000;

struct SiteAnswer {
  int64_t line;
  int64_t stall_count;
  std::optional<int64_t> idle_us;
  int64_t blocked_us;
};

struct CostCase {
  const char* name;
  SimulatedSteps steps;
  std::vector<SiteAnswer> sites;
  int64_t no_wait_us;  // idle of the measured step that belongs to no stall
};

// Kernels of stream 13 run beside the step's.
std::vector<Operation> BesideStream(int64_t other_us) {
  return {Kernels(1, other_us, 13), Kernels(50, 50), WaitAt(10), HostWork(1000), Kernels(20, 50)};
}

const std::vector<Operation> kGpuBound = {Kernels(50, 100), WaitAt(10), HostWork(1000)};

std::vector<CostCase> Cases() {
  return {
      {"GPU-bound, small tail", {kGpuBound}, {{10, 1, 1014, 4709}}, 0},
      {"data loading after the wait", {{Kernels(50, 20), WaitAt(10), HostWork(8000)}}, {{10, 1, 8014, 709}}, 0},
      // 99 gaps of 4 us between the launches follow no wait.
      {"launch-bound", {{Kernels(100, 2), WaitAt(10), HostWork(20)}}, {{10, 1, 34, 5}}, 396},
      {"a wait behind a wait is a point but no stall",
       {{Kernels(50, 100), WaitAt(10), HostWork(1), WaitAt(20), HostWork(500)}},
       {{10, 1, 520, 4709}, {20, 0, 0, 0}},
       0},
      {"two waits with work between",
       {{Kernels(25, 100), WaitAt(10), HostWork(300), Kernels(25, 100), WaitAt(20), HostWork(20)}},
       {{10, 1, 314, 2359}, {20, 1, 34, 2359}},
       0},
      {"the other stream is busy all step", {BesideStream(5300)}, {{10, 1, 0, 3083}}, 0},
      {"the other stream is busy all step, first step", {BesideStream(5300), 50, 0}, {{10, 1, 0, 2209}}, 0},
      {"the other stream is busy for a part", {BesideStream(3000)}, {{10, 1, 1014, 3083}}, 0},
      {"the other stream is busy for a part, first step", {BesideStream(3000), 50, 0}, {{10, 1, 520, 2209}}, 0},
      {"nothing follows the last wait", {kGpuBound, 50, 49}, {{10, 1, std::nullopt, 4709}}, 0},
  };
}

HuntReport HuntMeasured(const SimulatedSteps& steps) {
  SimulatedProgram program;
  RunSteps(steps, program);
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

TEST(CostTest, EveryCaseHasItsExactAnswer) {
  for (const CostCase& cost_case : Cases()) {
    SCOPED_TRACE(cost_case.name);
    const HuntReport report = HuntMeasured(cost_case.steps);
    EXPECT_EQ(report.sync_point_count, static_cast<int64_t>(cost_case.sites.size()));
    for (const SiteAnswer& answer : cost_case.sites) {
      const Site* site = SiteAt(report, answer.line);
      ASSERT_NE(site, nullptr) << answer.line;
      EXPECT_EQ(site->count, 1);
      EXPECT_EQ(site->cost.stall_count, answer.stall_count);
      EXPECT_EQ(site->cost.blocked_ns, answer.blocked_us * kUs);
      EXPECT_EQ(site->cost.idle_ns, answer.idle_us ? std::optional(*answer.idle_us * kUs) : std::nullopt);
      EXPECT_EQ(site->cost.idle_compute_ns, site->cost.idle_ns);
      EXPECT_EQ(site->cost.no_later_work_count, answer.idle_us ? 0 : 1);
    }
    ASSERT_TRUE(report.device_idle.has_value());
    EXPECT_EQ(report.device_idle->no_wait_ns, cost_case.no_wait_us * kUs);
    EXPECT_EQ(report.device_idle->launch_ns, cost_case.no_wait_us * kUs);
  }
}

TEST(CostTest, IdleIsSplitAtTheReturnAndTheNextLaunch) {
  const Cost cost = SiteAt(HuntMeasured({kGpuBound}), 10)->cost;
  EXPECT_EQ(cost.idle_blocked_ns, 0);
  EXPECT_EQ(cost.idle_return_ns, 5 * kUs);
  EXPECT_EQ(cost.idle_host_ns, 1000 * kUs);
  EXPECT_EQ(cost.idle_launch_ns, 9 * kUs);
}

TEST(CostTest, SitesComeByIdleTime) {
  const HuntReport report =
      HuntMeasured({{Kernels(25, 100), WaitAt(20), HostWork(20), Kernels(25, 100), WaitAt(10), HostWork(300)}});
  EXPECT_EQ(report.sites.front().innermost_user->line, 10);
}

// A faster GPU: fewer calls block, but the sync points are the same.
TEST(CostTest, CountsOfSyncPointsDoNotDependOnTheSpeed) {
  const auto at_speed = [](int64_t kernel_us) {
    return HuntMeasured({{Kernels(10, kernel_us), WaitAt(10), HostWork(50), Kernels(2, 1), HostWork(20), WaitAt(20)}});
  };
  const HuntReport slow = at_speed(100);
  const HuntReport fast = at_speed(1);
  EXPECT_EQ(slow.sync_point_count, 2);
  EXPECT_EQ(fast.sync_point_count, 2);
  EXPECT_EQ(slow.totals[0].cost.stall_count, 1);
  EXPECT_EQ(fast.totals[0].cost.stall_count, 0);
}

TEST(CostTest, WholeRecordingIsMeasuredFromFirstToLastWork) {
  SimulatedProgram program;
  RunSteps({kGpuBound}, program);
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->device_idle->total_ns, 49 * 1014 * kUs);
  EXPECT_EQ(report->device_idle->no_wait_ns, 0);
  EXPECT_EQ(report->sites.front().cost.idle_ns, 49 * 1014 * kUs);
}

TEST(CostTest, LightModeKnowsNoCost) {
  SimulatedProgram program;
  RunSteps({kGpuBound, 1, 0}, program);
  program.recorded().capture().mutable_info().mode = "light";
  program.recorded().capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
  const absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->sites.size(), 1u);
  EXPECT_EQ(report->sites[0].count, 1);
  EXPECT_EQ(report->sites[0].cost.stall_count, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.blocked_ns, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.idle_ns, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.no_later_work_count, std::nullopt);
  EXPECT_EQ(report->sites[0].cost.unknown_count, std::nullopt);
  EXPECT_EQ(report->totals[0].cost.unknown_count, std::nullopt);
  EXPECT_FALSE(report->device_idle.has_value());
  EXPECT_FALSE(report->costs_complete);
  EXPECT_TRUE(report->counts_complete);
  EXPECT_FALSE(report->back_pressure.has_value());
  EXPECT_FALSE(report->notes.empty());
}

}  // namespace
}  // namespace stallhound::analysis
