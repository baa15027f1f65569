// What a device waits for where nobody waits for it: exact answers, by the call that submits the next work.

#include "analysis/hunt/device_idle.h"

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

class DeviceIdleTest : public ::testing::Test {
 protected:
  DeviceIdle IdleUs(std::optional<std::string> range = std::nullopt) {
    program_.HuntUs(std::move(range));
    DeviceIdle idle = program_.report().device_idle.value_or(DeviceIdle());
    EXPECT_EQ(idle.no_wait_ns, idle.host_ns + idle.launch_ns + idle.loader_ns + idle.queued_ns + idle.unknown_ns);
    for (int64_t* part : {&idle.total_ns, &idle.no_wait_ns, &idle.host_ns, &idle.launch_ns, &idle.loader_ns,
                          &idle.queued_ns, &idle.unknown_ns}) {
      EXPECT_EQ(*part % kUs, 0);
      *part /= kUs;
    }
    return idle;
  }
  void Loading(capture::OverheadKind kind, int64_t start_us, int64_t end_us) {
    capture::OverheadRow row;
    row.start_ns = start_us * kUs;
    row.end_ns = end_us * kUs;
    row.kind = kind;
    program_.capture().Add(row);
  }

  HuntedProgram program_;
};

TEST_F(DeviceIdleTest, HostWorkEndsWhereTheNextLaunchBegins) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 20});
  program_.LaunchUs(100, {.start_ns = 109, .end_ns = 120});
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.total_ns, 89);
  EXPECT_EQ(idle.host_ns, 80);
  EXPECT_EQ(idle.launch_ns, 9);
  EXPECT_EQ(idle.no_wait_ns, 89);
}

TEST_F(DeviceIdleTest, KernelsShorterThanTheirLaunchesAreLaunchBound) {
  for (int64_t i = 0; i < 11; ++i) program_.LaunchUs(6 * i, {.start_ns = 6 * i + 9, .end_ns = 6 * i + 11});
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.launch_ns, 10 * 4);
  EXPECT_EQ(idle.no_wait_ns, 10 * 4);
}

// As between the kernels of a graph, or where a dependency ends.
TEST_F(DeviceIdleTest, WorkSubmittedBeforeTheGapIsQueued) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 50});
  program_.LaunchUs(6, {.start_ns = 52, .end_ns = 60});
  program_.LaunchUs(44, {.start_ns = 63, .end_ns = 70});  // its call ended with the kernel before: queued
  program_.LaunchUs(65, {.start_ns = 74, .end_ns = 80});  // its call had not ended when the gap began
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.queued_ns, 2 + 3);
  EXPECT_EQ(idle.launch_ns, 4);
  EXPECT_EQ(idle.no_wait_ns, 9);
}

TEST_F(DeviceIdleTest, LoadingCodeIsNeitherHostWorkNorLaunching) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 20});
  program_.CallUs({.api = "cuModuleLoadData", .start_ns = 30, .end_ns = 60, .thread_id = 1, .stack_id = 0});
  Loading(capture::OverheadKind::kLazyFunctionLoading, 101, 105);  // in the launch
  Loading(capture::OverheadKind::kModuleLoading, 50, 70);          // a part of both
  Loading(capture::OverheadKind::kBufferFlush, 80, 90);
  program_.LaunchUs(100, {.start_ns = 109, .end_ns = 120});
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.loader_ns, 40 + 4);
  EXPECT_EQ(idle.host_ns, 80 - 40);
  EXPECT_EQ(idle.launch_ns, 9 - 4);
}

TEST_F(DeviceIdleTest, AnotherProcessLoadsForItself) {
  program_.Process(1, 1);
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 20});
  program_.CallUs({.api = "cuModuleLoadData", .start_ns = 30, .end_ns = 60, .stack_id = 0, .process_id = 1});
  program_.LaunchUs(100, {.start_ns = 109, .end_ns = 120});
  EXPECT_EQ(IdleUs().loader_ns, 0);
}

TEST_F(DeviceIdleTest, WithoutALaunchTheCauseIsUnknown) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 20});
  program_.KernelUs({.start_ns = 50, .end_ns = 60});
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.unknown_ns, 30);
  EXPECT_EQ(idle.no_wait_ns, 30);
}

TEST_F(DeviceIdleTest, AStallsIdleIsNotSplit) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 109});
  program_.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 114, .stream_id = 7, .stack_id = 0});
  program_.LaunchUs(200, {.start_ns = 209, .end_ns = 219});
  program_.LaunchUs(300, {.start_ns = 309, .end_ns = 319});
  const DeviceIdle idle = IdleUs();
  EXPECT_EQ(idle.total_ns, 100 + 90);
  EXPECT_EQ(idle.host_ns, 81);
  EXPECT_EQ(idle.launch_ns, 9);
}

TEST_F(DeviceIdleTest, OnlyTheMeasuredRangeCounts) {
  program_.LaunchUs(0, {.start_ns = 9, .end_ns = 20});
  program_.LaunchUs(100, {.start_ns = 109, .end_ns = 120});
  program_.Range("step", 60 * kUs, 105 * kUs);
  const DeviceIdle idle = IdleUs("step");
  EXPECT_EQ(idle.host_ns, 40);
  EXPECT_EQ(idle.launch_ns, 5) << "the launch goes on behind the range";
}

TEST(DeviceIdleNoteTest, NamesTheLargestFirstAndLeavesOutWhatIsNot) {
  DeviceIdle idle{
      .total_ns = 5'000'000, .no_wait_ns = 3'500'000, .host_ns = 500'000, .launch_ns = 3'000'000, .queued_ns = 40'000};
  EXPECT_EQ(
      DeviceIdleNote(idle),
      "GPU idle 5.0 ms in the measured time: 1.5 ms belong to stalls, 3.5 ms follow no wait (launch-bound 3.0 ms, "
      "host-bound 0.5 ms)");
  EXPECT_EQ(DeviceIdleNote({.total_ns = 1'000'000}),
            "GPU idle 1.0 ms in the measured time: 1.0 ms belong to stalls, 0.0 ms follow no wait");
}

}  // namespace
}  // namespace stallhound::analysis
