// Which idle time is a stall's: of several devices, threads, copies, collectives and full queues. Times in us.

#include <gtest/gtest.h>

#include "analysis/counts/counts.h"
#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

constexpr WorkSpec OnGpu1(int64_t start_us, int64_t end_us) {
  return {.start_ns = start_us, .end_ns = end_us, .stream_id = 7, .device_id = 1, .context_id = 2};
}

// GPU 0 works until 5009; what GPU 1 had been given runs at `gpu_1`. The thread waits for GPU 0 and feeds both again.
HuntedProgram TwoGpus(const WorkSpec& gpu_1, uint32_t gpu_1_thread = 0) {
  HuntedProgram program;
  program.Thread(1, 4712, "other");
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 5009});
  program.LaunchUs(6, gpu_1, "kernel", gpu_1_thread);
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 5014, .stream_id = 7});
  program.LaunchUs(6014, {.start_ns = 6023, .end_ns = 6123});
  program.LaunchUs(6020, OnGpu1(6029, 6129), "kernel", gpu_1_thread);
  return program;
}

TEST(IdleTest, OtherGpuThatStarvesDuringTheWaitCounts) {
  HuntedProgram program = TwoGpus(OnGpu1(15, 2015));
  const Cost cost = program.HuntUs();
  EXPECT_EQ(cost.blocked_ns, 4997 * kUs);
  EXPECT_EQ(cost.idle_ns, (1014 + 4008) * kUs);
  EXPECT_EQ(cost.idle_compute_ns, cost.idle_ns);
  EXPECT_EQ(cost.idle_blocked_ns, 2994 * kUs);  // GPU 1 from its last kernel to the end of GPU 0's
  EXPECT_EQ(cost.idle_return_ns, 2 * 5 * kUs);
  EXPECT_EQ(cost.idle_host_ns, 2 * 1000 * kUs);
  EXPECT_EQ(cost.idle_launch_ns, 2 * 9 * kUs);
  EXPECT_EQ(program.report().device_idle->total_ns, (1014 + 4014) * kUs);
  EXPECT_EQ(program.report().device_idle->no_wait_ns, 6 * kUs);  // GPU 1 was fed after GPU 0
}

// GPU 1 has work that waits for something else: it does not starve before the awaited work has ended.
TEST(IdleTest, OtherGpuWithPendingWorkDoesNotStarve) {
  EXPECT_EQ(TwoGpus(OnGpu1(5012, 5512)).HuntUs().idle_ns, (1014 + 3 + 511) * kUs);
}

TEST(IdleTest, GpuOfAnotherThreadDoesNotCount) { EXPECT_EQ(TwoGpus(OnGpu1(15, 2015), 1).HuntUs().idle_ns, 1014 * kUs); }

// GPU 1 was fed before the range only; in the whole recording the thread feeds both.
TEST(IdleTest, ThreadFeedsWhatItSubmittedToInTheSameOccurrence) {
  HuntedProgram program;
  program.LaunchUs(0, OnGpu1(9, 19));
  program.LaunchUs(100, {.start_ns = 109, .end_ns = 5109});
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 112, .end_ns = 5114, .stream_id = 7});
  program.LaunchUs(6114, {.start_ns = 6123, .end_ns = 6223});
  program.Range("step", 100 * kUs, 6200 * kUs);
  EXPECT_EQ(program.HuntUs("step").idle_ns, 1014 * kUs);
  EXPECT_EQ(program.HuntUs().idle_ns, (1014 + 6123 - 112) * kUs);
}

// 100 MB to the host behind a kernel; `has_prefetch`: the other copy engine works too.
Cost BlockingCopy(bool has_prefetch) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 109});
  const uint64_t prefetch = program.CallUs({.api = "cudaMemcpyAsync", .start_ns = 6, .end_ns = 8, .stream_id = 13});
  if (has_prefetch) {
    program.CopyUs({.correlation_id = prefetch, .start_ns = 9, .end_ns = 11'000, .stream_id = 13},
                   {.direction = capture::CopyDirection::kHostToDevice,
                    .source_kind = capture::MemoryKind::kPinned,
                    .target_kind = capture::MemoryKind::kDevice});
  }
  const uint64_t copy = program.CallUs({.api = "cudaMemcpy", .start_ns = 12, .end_ns = 10'114, .stream_id = 7});
  program.CopyUs({.correlation_id = copy, .start_ns = 109, .end_ns = 10'109}, {.bytes = 100'000'000});
  program.LaunchUs(10'134, {.start_ns = 10'143, .end_ns = 10'243});
  return program.HuntUs();
}

TEST(IdleTest, BlockingCopyIsIdleForComputeAlone) {
  const Cost alone = BlockingCopy(false);
  EXPECT_EQ(alone.stall_count, 1);
  EXPECT_EQ(alone.blocked_ns, 10'097 * kUs);
  EXPECT_EQ(alone.idle_ns, 34 * kUs);  // none of it during the copy
  EXPECT_EQ(alone.idle_blocked_ns, 0);
  EXPECT_EQ(alone.idle_compute_ns, 10'034 * kUs);
  const Cost beside = BlockingCopy(true);
  EXPECT_EQ(beside.idle_ns, 0);
  EXPECT_EQ(beside.idle_compute_ns, 10'034 * kUs);
}

// A collective from 1009 to 5009; `last_rank_us`: the other rank comes then.
Cost Collective(std::optional<int64_t> last_rank_us,
                std::string_view name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL") {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  program.LaunchUs(6, {.start_ns = 1009, .end_ns = 5009}, name);
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 5014, .stream_id = 7});
  program.LaunchUs(5114, {.start_ns = 5123, .end_ns = 5223});
  if (last_rank_us) {
    program.Process(1, 1);
    program.Thread(1, 4712, "main", 1);
    program.LaunchUs(*last_rank_us - 9, {.start_ns = *last_rank_us, .end_ns = 5010, .process_id = 1}, name, 1);
  }
  return program.HuntUs();
}

TEST(IdleTest, CollectiveWaitsUntilItsLastRankHasStarted) {
  const Cost one_rank = Collective(std::nullopt);
  EXPECT_EQ(one_rank.blocked_ns, 4997 * kUs);
  EXPECT_EQ(one_rank.idle_ns, 114 * kUs);
  EXPECT_EQ(one_rank.idle_compute_ns, (4000 + 114) * kUs);
  EXPECT_EQ(Collective(3009).idle_compute_ns, (2000 + 114) * kUs);
  EXPECT_EQ(Collective(3009, "_Z20ncclKernel_Broadcast").idle_compute_ns, (2000 + 114) * kUs);
  // The other rank's is another one, as it began when this one was over.
  EXPECT_EQ(Collective(5009).idle_compute_ns, (4000 + 114) * kUs);
  EXPECT_EQ(Collective(3009, "nccl_like_kernel").idle_compute_ns, 114 * kUs);
}

// Two threads wait for one event; the first feeds the GPU again at 1123, the second at 1323.
TEST(IdleTest, TwoThreadsWaitForOneEventIsChargedOnce) {
  HuntedProgram program;
  program.Thread(1, 4712, "other");
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  program.CallUs({.api = "cudaEventRecord", .start_ns = 8, .end_ns = 9, .stream_id = 7, .event = 5});
  const uint32_t stacks[] = {program.PythonStack({{"train.py", 10}}), program.PythonStack({{"train.py", 20}})};
  for (const uint32_t thread : {0u, 1u}) {
    program.CallUs({.api = "cudaEventSynchronize",
                    .start_ns = 12,
                    .end_ns = 1014,
                    .thread_id = thread,
                    .stack_id = stacks[thread],
                    .event = 5});
  }
  program.LaunchUs(1114, {.start_ns = 1123, .end_ns = 1223});
  program.LaunchUs(1314, {.start_ns = 1323, .end_ns = 1423, .stream_id = 13}, "kernel", 1);
  program.HuntUs();
  ASSERT_EQ(program.report().sites.size(), 2u);
  const bool is_first = program.report().sites[0].innermost_user->line == 10;
  const Cost& first = program.report().sites[is_first ? 0 : 1].cost;
  const Cost& second = program.report().sites[is_first ? 1 : 0].cost;
  EXPECT_EQ(first.idle_ns, 114 * kUs);
  EXPECT_EQ(second.idle_ns, 100 * kUs);
  EXPECT_EQ(second.blocked_ns, 997 * kUs);
  EXPECT_EQ(program.report().device_idle->total_ns, 214 * kUs);
  EXPECT_EQ(program.report().device_idle->no_wait_ns, 0);
}

// A launch on stream 7 that finds its queue full from 200 to 1200; the next launch is on `next_stream`.
struct QueueCase {
  WorkSpec busy;  // what runs meanwhile
  uint32_t next_stream = 13;
};
HuntedProgram FullQueue(const QueueCase& queue) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 109, .stream_id = 13});
  program.LaunchUs(6, queue.busy);
  const uint64_t blocked = program.CallUs({.api = "cudaLaunchKernel", .start_ns = 199, .end_ns = 1201, .stream_id = 7});
  program.QueueFull(blocked, 200 * kUs, 1200 * kUs);
  program.KernelUs({.correlation_id = blocked, .start_ns = 2000, .end_ns = 2100});
  program.LaunchUs(1300, {.start_ns = 1309, .end_ns = 1400, .stream_id = queue.next_stream});
  return program;
}

// Stream 7 is held up by something else, and the device runs dry.
TEST(IdleTest, FullQueueIsAStallIfTheDeviceRunsDry) {
  HuntedProgram program = FullQueue({{.start_ns = 15, .end_ns = 115}});
  const Cost cost = program.HuntUs();
  ASSERT_EQ(program.report().sites.size(), 1u);
  EXPECT_EQ(program.report().sites[0].kind, SiteKind::kQueueFull);
  EXPECT_EQ(program.report().sites[0].apis, std::vector<std::string>{"cudaLaunchKernel"});
  EXPECT_EQ(program.report().sync_point_count, 0);
  EXPECT_EQ(cost.blocked_ns, 1000 * kUs);
  EXPECT_EQ(cost.idle_ns, 1109 * kUs);
  EXPECT_EQ(cost.idle_blocked_ns, 1000 * kUs);
  EXPECT_EQ(cost.idle_return_ns, 0);
  EXPECT_EQ(cost.idle_host_ns, 100 * kUs);
  EXPECT_EQ(cost.idle_launch_ns, 9 * kUs);
  ASSERT_TRUE(program.report().back_pressure.has_value());
  EXPECT_EQ(program.report().back_pressure->count, 0);
}

// Stream 7 is busy, but stream 13, which is fed next, starves.
TEST(IdleTest, FullQueueIsAStallIfTheStreamFedNextRunsDry) {
  HuntedProgram program = FullQueue({{.start_ns = 15, .end_ns = 2000}});
  const Cost cost = program.HuntUs();
  EXPECT_EQ(cost.stall_count, 1);
  EXPECT_EQ(cost.blocked_ns, 1000 * kUs);
  EXPECT_EQ(cost.idle_ns, 0);
}

TEST(IdleTest, FullQueueWithBusyDevicesIsBackPressure) {
  HuntedProgram program = FullQueue({{.start_ns = 15, .end_ns = 2000}, 7});
  program.HuntUs();
  EXPECT_TRUE(program.report().sites.empty());
  ASSERT_TRUE(program.report().back_pressure.has_value());
  EXPECT_EQ(program.report().back_pressure->count, 1);
  EXPECT_EQ(program.report().back_pressure->blocked_ns, 1000 * kUs);
  EXPECT_EQ(program.report().back_pressure->unknown_count, 0);
}

// Some traces give all GPU work to one process: nothing is known of what the others' streams still had.
TEST(IdleTest, FullQueueOfAnotherProcessThanTheWorksIsNoStall) {
  HuntedProgram program;
  program.Process(1, 1);
  program.Thread(1, 4712, "main", 1);
  const auto launch = [&](int64_t start_us, int64_t end_us) {
    return program.CallUs({.api = "cudaLaunchKernel",
                           .start_ns = start_us,
                           .end_ns = end_us,
                           .thread_id = 1,
                           .stream_id = 7,
                           .process_id = 1});
  };
  program.KernelUs({.correlation_id = launch(6, 12), .start_ns = 15, .end_ns = 2000});
  const uint64_t blocked = launch(199, 1201);
  program.QueueFull(blocked, 200 * kUs, 1200 * kUs, 1);
  program.KernelUs({.correlation_id = launch(1300, 1306), .start_ns = 1309, .end_ns = 1400, .stream_id = 13});
  program.HuntUs();
  EXPECT_TRUE(program.report().sites.empty());
  EXPECT_EQ(program.report().back_pressure->count, 1);
}

TEST(IdleTest, FullQueueOfAnUnknownThreadIsCountedApart) {
  HuntedProgram program;
  program.QueueFull(4711, 200 * kUs, 1200 * kUs);
  program.HuntUs();
  EXPECT_EQ(program.report().back_pressure->count, 0);
  EXPECT_EQ(program.report().back_pressure->unknown_count, 1);
}

// The autograd thread launches the second half of a step; the main thread waits for both halves, and the range owns
// both.
TEST(IdleTest, RangesOwnTheWorkOfAllThreads) {
  HuntedProgram program;
  program.Thread(1, 4712, "autograd");
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 109});
  program.LaunchUs(20, {.start_ns = 109, .end_ns = 1109}, "kernel", 1);
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 30, .end_ns = 1114, .stream_id = 7});
  program.LaunchUs(1200, {.start_ns = 1209, .end_ns = 1309});
  program.Range("step", 0, 1150 * kUs);
  const Cost cost = program.HuntUs("step");
  EXPECT_EQ(cost.blocked_ns, 1079 * kUs);
  EXPECT_EQ(cost.idle_ns, 100 * kUs);
  const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {.range = "step"});
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->total.kernel_count, 2);
}

// A driver call inside the runtime call is no second stall.
TEST(IdleTest, WaitInsideAWaitIsOne) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 1014, .stream_id = 7});
  program.CallUs({.api = "cuStreamSynchronize", .start_ns = 13, .end_ns = 1013, .stream_id = 7, .is_nested = true});
  program.LaunchUs(1114, {.start_ns = 1123, .end_ns = 1223});
  const Cost cost = program.HuntUs();
  EXPECT_EQ(program.report().sync_point_count, 1);
  EXPECT_EQ(cost.stall_count, 1);
  EXPECT_EQ(cost.blocked_ns, 997 * kUs);
  EXPECT_EQ(cost.idle_ns, 114 * kUs);
}

// Two processes, three steps each with 1, 2 and 3 syncs; the second process has them interleaved with the first's.
void AddNumberedSteps(HuntedProgram& program) {
  program.Process(1, 1);
  for (int64_t step = 1; step <= 3; ++step) {
    for (uint32_t process = 0; process < 2; ++process) {
      const int64_t start_us = 1000 * step + 400 * process;
      program.Range("step", start_us * kUs, (start_us + 300) * kUs, capture::RangeKind::kPushPop, process);
      for (int64_t i = 0; i < step; ++i) {
        program.CallUs({.api = "cudaDeviceSynchronize",
                        .start_ns = start_us + 50 * i,
                        .end_ns = start_us + 50 * i + 5,
                        .process_id = process});
      }
    }
  }
}

TEST(RangeOccurrenceTest, ANumberChoosesTheOccurrenceOfEveryProcess) {
  for (int64_t number = 1; number <= 3; ++number) {
    HuntedProgram program;
    AddNumberedSteps(program);
    const std::string range = "step#" + std::to_string(number);
    program.HuntUs(range);
    EXPECT_EQ(program.report().occurrence_count, 2);
    EXPECT_EQ(program.report().sync_point_count, 2 * number);
    EXPECT_TRUE(program.report().ranges.at(0).is_measured);
    const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {.range = range});
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ(counts->spans.size(), 2u);
    EXPECT_EQ(counts->total.SyncPoints(SiteKind::kWait), 2 * number);
  }
}

// An outer occurrence owns what lies before and behind the inner ones.
TEST(RangeOccurrenceTest, ANestedOccurrenceDoesNotEndTheOneAroundIt) {
  HuntedProgram program;
  program.Process(1, 1);
  for (const uint32_t process : {0u, 1u}) {
    const std::vector<std::pair<int64_t, int64_t>> occurrences =
        process == 0 ? std::vector<std::pair<int64_t, int64_t>>{{0, 1000}, {200, 500}, {300, 400}, {600, 700}}
                     : std::vector<std::pair<int64_t, int64_t>>{{100, 150}, {800, 850}};
    for (const auto& [start_us, end_us] : occurrences) {
      program.Range("step", start_us * kUs, end_us * kUs, capture::RangeKind::kPushPop, process);
    }
    for (int64_t us = 20; us < 1200; us += 100) {
      program.CallUs({.api = "cudaDeviceSynchronize", .start_ns = us, .end_ns = us + 5, .process_id = process});
    }
  }
  const absl::StatusOr<CountsReport> counts = Counts(program.capture(), {.range = "step"});
  ASSERT_TRUE(counts.ok()) << counts.status();
  std::vector<int64_t> waits;
  for (const CountsSpan& span : counts->spans) waits.push_back(span.counts.SyncPoints(SiteKind::kWait).value_or(-1));
  EXPECT_EQ(waits, (std::vector<int64_t>{6, 2, 1, 1, 1, 1}));
  program.HuntUs("step");
  EXPECT_EQ(program.report().sync_point_count, 12);
}

TEST(RangeOccurrenceTest, ARangeOfThatNameGoesFirst) {
  HuntedProgram program;
  AddNumberedSteps(program);
  program.Range("step#2", 3000 * kUs, 3060 * kUs);
  program.HuntUs("step#2");
  EXPECT_EQ(program.report().occurrence_count, 1);
  EXPECT_EQ(program.report().sync_point_count, 2);
}

TEST(RangeOccurrenceTest, SaysWhatDoesNotOccur) {
  HuntedProgram program;
  AddNumberedSteps(program);
  const absl::Status beyond = Hunt(program.capture(), {.range = "step#4"}).status();
  EXPECT_EQ(beyond.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(beyond.message().find("6 in all"), absl::string_view::npos) << beyond;
  for (const char* range : {"step#0", "step#", "step#x", "other#1"}) {
    EXPECT_EQ(Hunt(program.capture(), {.range = range}).status().code(), absl::StatusCode::kNotFound) << range;
  }
}

}  // namespace
}  // namespace stallhound::analysis
