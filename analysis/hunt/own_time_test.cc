// What recording took, exactly: callbacks of 2 us each, launches of kOwnLaunchNs, CUPTI's overhead records.

#include "analysis/hunt/own_time.h"

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

static_assert(kOwnLaunchNs == 750, "the answers below");

// A kernel until 109, a wait until 114, host work, a launch at `next_us` whose kernel starts 9 us later.
class OwnTimeTest : public ::testing::Test {
 protected:
  void Record(int64_t next_us) {
    if (has_counters_) {
      capture::EnvironmentRow row;
      row.process_id = 0;
      row.key = program_.capture().Intern("recorder.callback_ns");
      row.value = program_.capture().Intern(callback_ns_);
      program_.capture().Add(row);
    }
    const uint32_t stack = program_.PythonStack({{"train.py", 10}});
    program_.LaunchUs(0, {.start_ns = 9, .end_ns = 109});
    program_.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 114, .stream_id = 7, .stack_id = stack});
    program_.LaunchUs(next_us, {.start_ns = next_us + 9, .end_ns = next_us + 19});
  }
  void Overhead(capture::OverheadKind kind, int64_t start_us, int64_t end_us) {
    capture::OverheadRow row;
    row.thread_id = 0;
    row.start_ns = start_us * kUs;
    row.end_ns = end_us * kUs;
    row.kind = kind;
    program_.capture().Add(row);
  }

  bool has_counters_ = true;
  std::string callback_ns_ = "2000";
  HuntedProgram program_;
};

TEST_F(OwnTimeTest, CallbackAndLaunchAreTakenOffTheIdleTime) {
  Record(200);
  const Cost cost = program_.HuntUs();
  EXPECT_EQ(cost.idle_return_ns, 5 * kUs);
  EXPECT_EQ(cost.idle_host_ns, (86 - 2) * kUs) << "the wait's callback at its return";
  EXPECT_EQ(cost.idle_launch_ns, 9 * kUs - 750);
  EXPECT_EQ(cost.idle_ns, (100 - 2) * kUs - 750);
  EXPECT_EQ(cost.idle_compute_ns, cost.idle_ns);
  EXPECT_EQ(program_.report().recorder->idle_ns, 2 * kUs + 750);
  EXPECT_EQ(program_.report().recorder->own_ns, 2 * 2 * kUs + 2 * 750) << "two callbacks, two launches";
  EXPECT_EQ(program_.report().device_idle->total_ns, 100 * kUs) << "as it was";
}

TEST_F(OwnTimeTest, OtherCallsOfTheThreadInTheIdleTimeCount) {
  Record(200);
  program_.CallUs({.api = "cudaMalloc", .start_ns = 130, .end_ns = 140, .stack_id = 0});
  program_.CallUs({.api = "cudaMalloc", .start_ns = 150, .end_ns = 160, .thread_id = 1, .stack_id = 0});
  program_.CallUs({.api = "cudaMalloc", .start_ns = 300, .end_ns = 310, .stack_id = 0});
  EXPECT_EQ(program_.HuntUs().idle_ns, (100 - 2 - 4) * kUs - 750);
}

TEST_F(OwnTimeTest, CuptisRecordsCountThoseOfTheDriverDoNot) {
  Record(200);
  Overhead(capture::OverheadKind::kBufferFlush, 105, 111);  // from 109 on the device is idle
  Overhead(capture::OverheadKind::kActivityBufferRequest, 150, 154);
  Overhead(capture::OverheadKind::kModuleLoading, 160, 190);
  const Cost cost = program_.HuntUs();
  EXPECT_EQ(cost.idle_return_ns, (5 - 2) * kUs);
  EXPECT_EQ(cost.idle_host_ns, (86 - 2 - 4) * kUs);
  EXPECT_EQ(program_.report().recorder->idle_ns, (2 + 2 + 4) * kUs + 750);
}

TEST_F(OwnTimeTest, NoPartBecomesNegative) {
  Record(115);  // 1 us of host work, which the callback is longer than
  const Cost cost = program_.HuntUs();
  EXPECT_EQ(cost.idle_host_ns, 0);
  EXPECT_EQ(cost.idle_return_ns, 5 * kUs);
  EXPECT_EQ(cost.idle_ns, (5 + 0 + 9) * kUs - 750);
  EXPECT_EQ(program_.report().recorder->idle_ns, kUs + 750);
}

TEST_F(OwnTimeTest, AMeanThatTheFirstCallbacksMadeLargeIsBounded) {
  callback_ns_ = "70967";
  Record(200);
  EXPECT_EQ(program_.HuntUs().idle_host_ns, (86 - 5) * kUs);
}

TEST_F(OwnTimeTest, OnlyMeasuredTimeIsSummed) {
  Record(200);
  program_.Range("step", 150 * kUs, 300 * kUs);
  program_.HuntUs("step");
  EXPECT_EQ(program_.report().recorder->own_ns, 750) << "the second launch";
  EXPECT_EQ(program_.report().recorder->idle_ns, 0) << "the stall lies before";
}

TEST_F(OwnTimeTest, LightModeTakesNothingForLaunchesAndKnowsNoIdle) {
  Record(200);
  program_.capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
  program_.HuntUs();
  ASSERT_TRUE(program_.report().recorder.has_value());
  EXPECT_EQ(program_.report().recorder->own_ns, 2 * 2 * kUs) << "two callbacks";
  EXPECT_EQ(program_.report().recorder->idle_ns, std::nullopt);
}

TEST_F(OwnTimeTest, WithoutTheRecordersCountersItIsUnknown) {
  has_counters_ = false;
  Record(200);
  EXPECT_EQ(program_.HuntUs().idle_ns, 100 * kUs);
  EXPECT_FALSE(program_.report().recorder.has_value());
}

}  // namespace
}  // namespace stallhound::analysis
