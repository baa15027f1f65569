// The parts of a replay: threads that wake each other, event edges, the driver's queue, copies, odd work.

#include "analysis/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/hunt/hunt.h"
#include "analysis/replay/recoverable.h"
#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kUs = 1'000;
constexpr uint32_t kMain = 7;
constexpr uint32_t kOther = 13;

void Launches(SimulatedProgram& program, int count, int64_t duration_us, uint32_t stream_id = kMain) {
  for (int i = 0; i < count; ++i) program.Launch(stream_id, duration_us * kUs);
}

HuntReport HuntAll(SimulatedProgram& program) {
  program.recorded().capture().mutable_process().front().end_ns = program.now_ns();
  absl::StatusOr<HuntReport> report = Hunt(program.recorded().capture(), {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : HuntReport();
}

// The model of the capture, and the points in it.
struct Built {
  ReplayModel model;
  std::vector<SyncPoint> points;
};
Built Build(SimulatedProgram& program, ModelOptions options = {}) {
  capture::MemoryCapture& capture = program.recorded().capture();
  capture.set_batch_rows(100);
  Directory directory(capture, std::nullopt);
  EXPECT_TRUE(capture.Read(Directory::Wanted(), directory).ok());
  SyncPointFinder finder(directory, capture.info().recorded);
  using capture::Table;
  EXPECT_TRUE(capture.Read(capture::Tables({Table::kHostCall, Table::kCopy}), finder).ok());
  ModelBuilder builder(directory, options);
  EXPECT_TRUE(capture.Read(ModelBuilder::WantedCalls() | ModelBuilder::WantedWork(), builder).ok());
  Built built;
  built.points = finder.Finish();
  built.model = builder.Finish(built.points, *directory.MeasuredSpans(), 0);
  return built;
}

TEST(Replay, NothingRemovedGivesTheRecording) {
  SimulatedProgram program;
  program.SetQueueLimit(300);
  for (int i = 0; i < 5; ++i) {
    program.StreamWaitEvent(kMain, 3);
    Launches(program, 400, 100);
    program.RecordEvent(2, kMain);
    program.StreamWaitEvent(kOther, 2);
    Launches(program, 10, 50, kOther);
    program.RecordEvent(3, kOther);
    program.ReadBack(kMain);
    program.HostWork(700 * kUs);
    program.Wait(kOther);
  }
  const Built built = Build(program);
  const ReplayResult result = Replay(built.model, {});
  EXPECT_EQ(result.span_ns, result.recorded_span_ns);
  ASSERT_EQ(result.span_ns.size(), 1u);
  EXPECT_EQ(result.span_ns[0], program.now_ns() - 1000 * kUs);
  EXPECT_EQ(result.end_ns, program.now_ns());
}

TEST(Replay, MediansAreThoseOfTheProgram) {
  SimulatedProgram program;
  for (int i = 0; i < 5; ++i) {
    Launches(program, 50, 100);
    program.Wait(kMain);
    program.Wait(kMain);
  }
  const ReplayModel model = Build(program).model;
  EXPECT_EQ(model.launch_delay_ns, 9 * kUs);
  EXPECT_EQ(model.work_gap_ns, 0);
  EXPECT_EQ(model.return_ns, 5 * kUs);
  EXPECT_EQ(model.wait_call_ns, 5 * kUs);
  EXPECT_EQ(model.launch_call_ns, 6 * kUs);
  EXPECT_EQ(model.queue_limit, 1024);
}

TEST(Replay, BlockedLaunchesShowTheQueueLimit) {
  SimulatedProgram program;
  program.SetQueueLimit(300);
  Launches(program, 1000, 100);
  const ReplayModel model = Build(program).model;
  EXPECT_EQ(model.queue_limit, 300);
  int blocked_count = 0;
  for (const ReplayWork& work : model.works) blocked_count += work.blocked_at != 0;
  EXPECT_GT(blocked_count, 600);
}

// 10 x 1,000 kernels with a wait behind each thousand never fill a queue of 1,024. Without the waits the host runs
// ahead until they do, and its last work begins when the kernel 1,024 before the last one starts: 150 ms of host work
// overlap 20.5 ms of GPU work, not 140.
TEST(Replay, HostRunsAheadNoFurtherThanTheQueue) {
  SimulatedProgram program;
  for (int i = 0; i < 10; ++i) {
    Launches(program, 1000, 20);
    program.Wait(kMain);
  }
  program.HostWork(150'000 * kUs);
  program.Launch(kMain, 20 * kUs);
  EXPECT_EQ(HuntAll(program).sites.at(0).recoverable_ns, 20'625 * kUs);
}

// The main thread waits for the other one without a CUDA call, as for the backward pass.
TEST(Replay, ThreadThatWakesAnotherTakesItAlong) {
  SimulatedProgram program;
  program.recorded().Thread(1, 4712, "autograd");
  for (int i = 0; i < 50; ++i) {
    program.OnThread(0);
    Launches(program, 10, 100);
    program.Wait(kMain);
    program.HostWork(50 * kUs);
    program.OnThread(1);
    Launches(program, 40, 100);
    program.HostWork(50 * kUs);
  }
  const HuntReport report = HuntAll(program);
  // 64 us a step; the last one ends with work that the process does not wait for.
  EXPECT_NEAR(static_cast<double>(report.sites.at(0).recoverable_ns.value_or(-1)) / 50 / kUs, 64.0, 1.0);
}

// Two threads on streams of their own: what one saves does not depend on the other.
TEST(Replay, ThreadsThatRunBesideEachOtherStayApart) {
  SimulatedProgram program;
  RecordedProgram& recorded = program.recorded();
  recorded.Thread(1, 4712, "other");
  for (int64_t at_ns = 1000 * kUs; at_ns < 200'000 * kUs; at_ns += 10 * kUs) {
    const uint64_t id = recorded.Call(
        {.api = "cudaLaunchKernel", .start_ns = at_ns, .end_ns = at_ns + 5 * kUs, .thread_id = 1, .stream_id = kOther});
    recorded.Kernel(
        {.correlation_id = id, .start_ns = at_ns + 9 * kUs, .end_ns = at_ns + 12 * kUs, .stream_id = kOther});
  }
  const int64_t start_ns = program.now_ns();
  for (int i = 0; i < 30; ++i) {
    Launches(program, 50, 100);
    program.Wait(kMain);
    program.HostWork(1000 * kUs);
  }
  ASSERT_LT(program.now_ns(), 200'000 * kUs);
  recorded.Range("loop", start_ns, program.now_ns());
  const absl::StatusOr<HuntReport> report = Hunt(recorded.capture(), {.range = "loop"});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_NEAR(static_cast<double>(report->sites.at(0).recoverable_ns.value_or(-1)) / 30 / kUs, 1014.0, 1.0);
}

// Two streams that take turns through events: 1,500 us of GPU work in line a step, not 1,000.
TEST(Replay, EventEdgesHold) {
  SimulatedProgram program;
  for (int i = 0; i < 50; ++i) {
    program.StreamWaitEvent(kMain, 2);
    Launches(program, 10, 100);
    program.RecordEvent(1, kMain);
    program.StreamWaitEvent(kOther, 1);
    Launches(program, 10, 50, kOther);
    program.RecordEvent(2, kOther);
    program.Wait(kOther);
    program.HostWork(200 * kUs);
  }
  // Return 5, host work 200, the first event call 1, launch and start 9.
  EXPECT_NEAR(static_cast<double>(HuntAll(program).sites.at(0).recoverable_ns.value_or(-1)) / 50 / kUs, 215.0, 1.0);
}

TEST(Replay, ReadBackIsRemovedWithItsBlockedCopyCall) {
  SimulatedProgram program;
  for (int i = 0; i < 50; ++i) {
    Launches(program, 50, 100);
    program.ReadBack(kMain);
    program.HostWork(1000 * kUs);
  }
  const HuntReport report = HuntAll(program);
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].count, 50);
  // Return 5, sync 1, host work 1,000, launch and start 9; the copy stays as work on the GPU.
  EXPECT_NEAR(static_cast<double>(report.sites[0].recoverable_ns.value_or(-1)) / 50 / kUs, 1015.0, 1.0);
}

// Two copies that block one after the other belong to one wait.
TEST(Replay, ReadBackOfTwoCopiesIsRemovedWhole) {
  SimulatedProgram program;
  for (int i = 0; i < 50; ++i) {
    Launches(program, 50, 100);
    program.ReadBack(kMain, 2);
    program.HostWork(1000 * kUs);
  }
  const HuntReport report = HuntAll(program);
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].count, 50);
  // As above, and 14 us: return and launch between the copies. The replay with the wait submits both copies at once, so
  // that it knows 1,015 us only.
  EXPECT_NEAR(static_cast<double>(report.sites[0].recoverable_ns.value_or(-1)) / 50 / kUs, 1015.0, 1.0);
}

// One launch is blocked for 8 ms because the kernels before it cannot start; that is no host work.
TEST(Replay, FullQueueInTheRecordingIsNoHostWork) {
  SimulatedProgram program;
  program.SetQueueLimit(300);
  program.Launch(kMain, 10'000 * kUs);
  Launches(program, 400, 2);
  program.HostWork(20'000 * kUs);
  program.Launch(kMain, 2 * kUs);
  EXPECT_EQ(Replay(Build(program).model, {}).end_ns, program.recorded().capture().info().end_ns);
}

// An allocation that returned while the GPU was busy does not hold the host back in the replay either: without the
// waits the host is done with 10 steps of 330 us and 20 ms of work long before the GPU is with 50 ms.
TEST(Replay, AllocationThatDidNotWaitDoesNotWaitInTheReplay) {
  SimulatedProgram program;
  const uint32_t wait = program.recorded().PythonStack({{"train.py", 10}});
  for (int i = 0; i < 10; ++i) {
    Launches(program, 50, 100);
    const int64_t start_ns = program.now_ns();
    program.recorded().Call({.api = "cudaMalloc", .start_ns = start_ns, .end_ns = start_ns + 30 * kUs});
    program.HostWork(30 * kUs);
    program.Wait(kMain, wait);
  }
  program.HostWork(20'000 * kUs);
  program.Launch(kMain, 100 * kUs);
  const HuntReport report = HuntAll(program);
  ASSERT_EQ(report.sites.at(0).count, 10);
  ASSERT_TRUE(report.sites[0].innermost_user.has_value());
  // 10 x 14 us and the 20 ms, less what launch and start of the first and the last kernel take anyway.
  EXPECT_NEAR(static_cast<double>(report.sites[0].recoverable_ns.value_or(-1)) / kUs, 20'140.0, 10.0);
}

TEST(Replay, AllocationThatDidNotWaitCostsItsCall) {
  SimulatedProgram program;
  for (int i = 0; i < 50; ++i) {
    const int64_t start_ns = program.now_ns();
    program.recorded().Call({.api = "cudaMalloc", .start_ns = start_ns, .end_ns = start_ns + 30 * kUs});
    program.HostWork(30 * kUs);
    Launches(program, 100, 2);
  }
  // The first one makes the context; without it another call would.
  EXPECT_EQ(HuntAll(program).sites.at(0).recoverable_ns, 49 * 30 * kUs);
}

TEST(Replay, WorkOfUnknownLaunchKeepsItsOffset) {
  SimulatedProgram program;
  Launches(program, 10, 100);
  program.Wait(kMain);
  program.HostWork(500 * kUs);
  Launches(program, 1, 100);
  const int64_t start_ns = program.recorded().capture().info().end_ns + 40 * kUs;
  program.recorded().Kernel({.correlation_id = 999, .start_ns = start_ns, .end_ns = start_ns + 10 * kUs});
  const Built built = Build(program);
  EXPECT_EQ(Replay(built.model, {}).end_ns, start_ns + 10 * kUs);
  // 11 kernels in line, then 40 us, then the kernel.
  EXPECT_EQ(Replay(built.model, {1}).end_ns, (1000 + 9 + 1100 + 40 + 10) * kUs);
}

TEST(Replay, WorkThatDoesNotFitIsCutAndSaid) {
  SimulatedProgram program;
  for (int i = 0; i < 50; ++i) {
    Launches(program, 50, 100);
    program.Wait(kMain);
    program.HostWork(1000 * kUs);
  }
  const Built built = Build(program, {.max_work_count = 1000});
  ASSERT_TRUE(built.model.cut_ns.has_value());
  EXPECT_LE(built.model.works.size(), 1000u);
  EXPECT_GT(built.model.works.size(), 800u);
  for (const ReplayMark& mark : built.model.marks) EXPECT_LE(mark.host_ns, *built.model.cut_ns);
  const Recoverable recoverable = EstimateRecoverable(built.model, std::vector<int32_t>(built.points.size(), 0),
                                                      {INT64_MAX}, {.max_site_count = 1});
  const auto steps = static_cast<double>(built.model.works.size()) / 50;
  EXPECT_NEAR(static_cast<double>(recoverable.sites.at(0).recoverable_ns.value_or(-1)) / kUs, 1014 * steps, 1100);
  EXPECT_THAT(ReplayNotes(built.model, recoverable), testing::ElementsAre(testing::HasSubstr("the first 9")));
}

TEST(Replay, TooManyStreamsAreSaid) {
  SimulatedProgram program;
  for (uint32_t i = 0; i < 65'600; ++i) {
    program.recorded().Kernel({.correlation_id = 999, .start_ns = i, .end_ns = i + 1, .stream_id = i});
  }
  const Built built = Build(program);
  EXPECT_TRUE(built.model.works.empty());
  const Recoverable recoverable = EstimateRecoverable(built.model, {}, {});
  EXPECT_EQ(recoverable.all_ns, std::nullopt);
  EXPECT_THAT(ReplayNotes(built.model, recoverable), testing::ElementsAre(testing::HasSubstr("streams")));
}

TEST(Replay, SitesBeyondTheLimitKeepTheirFirstOrder) {
  SimulatedProgram program;
  for (int i = 0; i < 4; ++i) {
    Launches(program, 50, 100);
    program.Wait(kMain);
    program.HostWork(1000 * kUs);
  }
  Launches(program, 1, 100);
  const Built built = Build(program);
  const Recoverable recoverable = EstimateRecoverable(built.model, {0, 1, 0, 1}, {5'000, 7'000}, {.max_site_count = 1});
  EXPECT_TRUE(recoverable.sites.at(0).is_first_order);
  EXPECT_EQ(recoverable.sites.at(0).recoverable_ns, 5'000);
  EXPECT_FALSE(recoverable.sites.at(1).is_first_order);
  EXPECT_EQ(recoverable.sites.at(1).recoverable_ns, 2 * 1014 * kUs);
  EXPECT_THAT(ReplayNotes(built.model, recoverable), testing::ElementsAre(testing::HasSubstr("1 sites")));
}

TEST(Replay, LegacyStreamWaitsForTheOthers) {
  SimulatedProgram program;
  program.recorded().Stream(kMain, capture::StreamFlag::kNull);
  program.recorded().Stream(kOther, capture::StreamFlag::kDefault);
  program.Launch(kOther, 100 * kUs);
  program.Wait(kOther);
  program.Launch(kMain, 100 * kUs);
  const Built built = Build(program);
  // Without the wait the second kernel is launched early, but starts only behind the first one.
  EXPECT_EQ(Replay(built.model, {1}).end_ns, (1000 + 9 + 200) * kUs);
}

}  // namespace
}  // namespace stallhound::analysis
