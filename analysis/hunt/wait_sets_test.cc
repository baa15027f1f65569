// What a call waited for, and whether it was that which it was slow for. Times in us.

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

void ExpectStall(const Cost& cost, int64_t blocked_us, int64_t idle_us) {
  EXPECT_EQ(cost.stall_count, 1);
  EXPECT_EQ(cost.blocked_ns, blocked_us * kUs);
  EXPECT_EQ(cost.idle_ns, idle_us * kUs);
}

// A device-to-host copy to pageable memory, in whose call the host blocks; its sync follows at once.
HuntedProgram PageableCopy(int64_t return_delay_us) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  const int64_t return_us = 1012 + return_delay_us;
  const uint64_t copy = program.CallUs({.api = "cudaMemcpyAsync", .start_ns = 12, .end_ns = return_us, .stream_id = 7});
  program.CopyUs({.correlation_id = copy, .start_ns = 1010, .end_ns = 1012});
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = return_us + 2, .end_ns = return_us + 6, .stream_id = 7});
  program.LaunchUs(return_us + 106, {.start_ns = return_us + 115, .end_ns = return_us + 215});
  return program;
}

TEST(WaitSetsTest, TheCallThatBlockedIsJudgedNotTheWait) {
  HuntedProgram program = PageableCopy(90);
  ExpectStall(program.HuntUs(), 1000, 90 + 115);
  const HuntReport& report = program.report();
  EXPECT_EQ(report.sync_point_count, 1);
  ASSERT_EQ(report.sites.front().copies.size(), 1u);
  EXPECT_EQ(report.sites.front().copies[0].count, 1);
  // For compute, the device is idle from the end of the kernel.
  EXPECT_EQ(report.sites.front().cost.idle_compute_ns, (3 + 90 + 115) * kUs);
  EXPECT_EQ(report.return_limits.copy_ns, kStallCopyReturnNs);
  EXPECT_EQ(report.return_limits.copy_median_ns, std::nullopt);
}

TEST(WaitSetsTest, ACallThatReturnsMuchLaterWasSlowForSomethingElse) {
  EXPECT_EQ(PageableCopy(101).HuntUs().stall_count, 0);
}

// A blocking copy names no stream: it waits for that of its copy, not for a non-blocking stream beside it. So does the
// sync of a trace without the streams of its syncs.
TEST(WaitSetsTest, ACallWithoutAStreamWaitsForThatOfItsCopies) {
  for (const bool is_blocking_copy : {true, false}) {
    HuntedProgram program;
    program.Stream(7, capture::StreamFlag::kNull);
    program.Stream(13, capture::StreamFlag::kNonBlocking);
    const uint64_t other = program.CallUs({.api = "cudaLaunchKernel", .start_ns = 0, .end_ns = 6, .stream_id = 13});
    program.KernelUs({.correlation_id = other, .start_ns = 9, .end_ns = 5009, .stream_id = 13});
    program.LaunchUs(6, {.start_ns = 15, .end_ns = 1015});
    const uint64_t copy = program.CallUs({.api = is_blocking_copy ? "cudaMemcpy" : "cudaMemcpyAsync",
                                          .start_ns = 20,
                                          .end_ns = is_blocking_copy ? 1022 : 24});
    program.CopyUs({.correlation_id = copy, .start_ns = 1015, .end_ns = 1017}, {});
    if (!is_blocking_copy) program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 25, .end_ns = 1022});
    program.LaunchUs(1040, {.start_ns = 5100, .end_ns = 5200});
    const Cost cost = program.HuntUs();
    EXPECT_EQ(cost.stall_count, 1);
    EXPECT_EQ(cost.blocked_ns, 997 * kUs);
  }
}

// Kineto names the stream of a sync in CUPTI's record alone. Work of another stream ends later, and without the wait
// the host is 1 ms further.
TEST(WaitSetsTest, TheRecordOfASyncNamesItsStream) {
  HuntedProgram program;
  for (int64_t us = 0; us < 40'000; us += 10'000) {
    program.LaunchUs(us, {.start_ns = us + 9, .end_ns = us + 1009});
    program.LaunchUs(us + 6, {.start_ns = us + 15, .end_ns = us + 3015, .stream_id = 13});
    capture::SyncRow row;
    row.start_ns = (us + 12) * kUs;
    row.end_ns = (us + 1014) * kUs;
    row.type = capture::SyncType::kStreamSynchronize;
    row.context_id = 1;
    row.stream_id = 7;
    row.correlation_id = program.CallUs({.api = "cudaStreamSynchronize", .start_ns = us + 12, .end_ns = us + 1014});
    program.capture().Add(row);
  }
  program.LaunchUs(40'000, {.start_ns = 40'009, .end_ns = 41'009});
  const Cost cost = program.HuntUs();
  EXPECT_EQ(cost.stall_count, 4);
  EXPECT_EQ(cost.blocked_ns, 4 * 997 * kUs);
  EXPECT_EQ(program.report().sites.front().recoverable_ns, 4 * 1002 * kUs);
}

// On a machine on which every sync returns late, the limit is measured.
TEST(WaitSetsTest, LimitComesFromTheRecordingsOwnCalls) {
  for (const int count : {7, 8}) {
    HuntedProgram program;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t us = 2000 * i;
      program.LaunchUs(us, {.start_ns = us + 9, .end_ns = us + 1009});
      program.CallUs({.api = "cudaStreamSynchronize", .start_ns = us + 12, .end_ns = us + 1159, .stream_id = 7});
    }
    EXPECT_EQ(program.HuntUs().stall_count, count == 8 ? 8 : 0);
    EXPECT_EQ(program.report().return_limits.sync_ns, count == 8 ? 600 * kUs : kStallSyncReturnNs);
  }
}

// Two kernels on stream 7, an event between them, and its sync.
HuntedProgram EventSync(bool has_host_calls) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  const uint64_t record = program.CallUs({.api = "cudaEventRecord",
                                          .start_ns = 8,
                                          .end_ns = 9,
                                          .stream_id = has_host_calls ? std::optional(7u) : std::nullopt,
                                          .event = has_host_calls ? std::optional(uint64_t{5}) : std::nullopt});
  program.LaunchUs(10, {.start_ns = 1009, .end_ns = 3009});
  const uint64_t sync = program.CallUs({.api = "cudaEventSynchronize",
                                        .start_ns = 20,
                                        .end_ns = 1014,
                                        .event = has_host_calls ? std::optional(uint64_t{5}) : std::nullopt});
  if (has_host_calls) return program;
  capture::CudaEventRow event;
  event.time_ns = 8 * kUs;
  event.context_id = 1;
  event.stream_id = 7;
  event.event_id = 99;
  event.correlation_id = record;
  program.capture().Add(event);
  capture::SyncRow row;
  row.start_ns = 20 * kUs;
  row.end_ns = 1014 * kUs;
  row.type = capture::SyncType::kEventSynchronize;
  row.event_id = 99;
  row.correlation_id = sync;
  program.capture().Add(row);
  return program;
}

TEST(WaitSetsTest, EventSyncWaitsForWorkBeforeTheRecord) {
  for (const bool has_host_calls : {true, false}) {
    const Cost cost = EventSync(has_host_calls).HuntUs();
    EXPECT_EQ(cost.stall_count, 1) << has_host_calls;
    EXPECT_EQ(cost.blocked_ns, 989 * kUs) << has_host_calls;
  }
}

TEST(WaitSetsTest, WhatAnEventWithoutARecordCostsIsUnknown) {
  for (const int64_t end_us : {1014, 21}) {
    HuntedProgram program;
    program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
    program.CallUs({.api = "cudaEventSynchronize", .start_ns = 20, .end_ns = end_us, .event = 5});
    program.LaunchUs(2000, {.start_ns = 2009, .end_ns = 2019});
    const Cost cost = program.HuntUs();
    if (end_us == 21) {  // too short to be a stall
      EXPECT_EQ(cost.stall_count, 0);
      EXPECT_EQ(cost.unknown_count, 0);
      EXPECT_TRUE(program.report().costs_complete);
      continue;
    }
    EXPECT_EQ(cost.stall_count, std::nullopt);
    EXPECT_EQ(cost.blocked_ns, std::nullopt);
    EXPECT_EQ(cost.idle_ns, std::nullopt);
    EXPECT_EQ(cost.unknown_count, 1);
    EXPECT_EQ(program.report().sites.at(0).recoverable_ns, std::nullopt);
    EXPECT_FALSE(program.report().costs_complete);
  }
}

// Stream 7 works; its event 5 holds stream 13 up, which holds 14 up by event 6; the host waits for stream 14's event 6
// or for the stream itself.
Cost AcrossStreams(std::string_view api, bool has_host_calls) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  const auto record = [&](int64_t us, uint32_t stream_id, uint64_t event) {
    program.CallUs(
        {.api = "cudaEventRecord", .start_ns = us, .end_ns = us + 1, .stream_id = stream_id, .event = event});
    if (has_host_calls) return;
    capture::CudaEventRow row;
    row.time_ns = us * kUs;
    row.context_id = 1;
    row.stream_id = stream_id;
    row.event_id = event;
    program.capture().Add(row);
  };
  const auto wait = [&](int64_t us, uint32_t stream_id, uint64_t event) {
    if (has_host_calls) {
      program.CallUs(
          {.api = "cudaStreamWaitEvent", .start_ns = us, .end_ns = us + 1, .stream_id = stream_id, .event = event});
      return;
    }
    capture::SyncRow row;
    row.start_ns = row.end_ns = us * kUs;
    row.type = capture::SyncType::kStreamWaitEvent;
    row.context_id = 1;
    row.stream_id = stream_id;
    row.event_id = event;
    program.capture().Add(row);
  };
  record(8, 7, 5);
  program.LaunchUs(10, {.start_ns = 1009, .end_ns = 5009});  // behind the event: not waited for
  wait(18, 13, 5);
  record(20, 13, 6);
  wait(22, 14, 6);
  record(24, 14, 7);
  program.CallUs({.api = api, .start_ns = 30, .end_ns = 1014, .stream_id = 14, .event = 7});
  return program.HuntUs();
}

TEST(WaitSetsTest, StreamWaitsCarryTheWaitOver) {
  for (const char* api : {"cudaEventSynchronize", "cudaStreamSynchronize"}) {
    for (const bool has_host_calls : {true, false}) {
      const Cost cost = AcrossStreams(api, has_host_calls);
      EXPECT_EQ(cost.stall_count, 1) << api << has_host_calls;
      EXPECT_EQ(cost.blocked_ns, 979 * kUs) << api << has_host_calls;
    }
  }
}

// Kernels on a blocking stream, which ends at 1009, and on a non-blocking one, which ends at 2009.
Cost SyncOf(std::string_view api, std::optional<uint32_t> stream_id, int64_t return_us) {
  HuntedProgram program;
  program.Stream(1, capture::StreamFlag::kNull);
  program.Stream(7, capture::StreamFlag::kDefault);
  program.Stream(13, capture::StreamFlag::kNonBlocking);
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  program.LaunchUs(6, {.start_ns = 15, .end_ns = 2009, .stream_id = 13});
  program.CallUs({.api = api, .start_ns = 12, .end_ns = return_us, .stream_id = stream_id});
  return program.HuntUs();
}

TEST(WaitSetsTest, LegacyStreamWaitsForBlockingStreamsAndDeviceSyncForAll) {
  const Cost null_stream = SyncOf("cudaStreamSynchronize", 1, 1014);
  EXPECT_EQ(null_stream.stall_count, 1);
  EXPECT_EQ(null_stream.blocked_ns, 997 * kUs);
  EXPECT_EQ(SyncOf("cudaStreamSynchronize", 1, 2014).stall_count, 0);
  const Cost device = SyncOf("cudaDeviceSynchronize", std::nullopt, 2014);
  EXPECT_EQ(device.stall_count, 1);
  EXPECT_EQ(device.blocked_ns, 1997 * kUs);
  EXPECT_EQ(SyncOf("cudaDeviceSynchronize", std::nullopt, 1014).stall_count, 0);
}

// The launches of two kernels are not recorded; the second starts while the host waits for it.
TEST(WaitSetsTest, WorkOfUnknownLaunchBelongsToTheWaitInWhichItEnds) {
  HuntedProgram program;
  program.KernelUs({.start_ns = 9, .end_ns = 1009});
  program.KernelUs({.start_ns = 1009, .end_ns = 2009});
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 2014, .stream_id = 7});
  program.KernelUs({.start_ns = 2114, .end_ns = 2214});
  const Cost cost = program.HuntUs();
  ExpectStall(cost, 1997, 105);
  EXPECT_EQ(cost.idle_return_ns, 5 * kUs);
  EXPECT_EQ(cost.idle_host_ns, 100 * kUs);
  EXPECT_EQ(cost.idle_launch_ns, 0);
}

// No launch call is recorded, but the kernels of one graph launch tell of it.
TEST(WaitSetsTest, LaunchKnownFromTheKernelsAlone) {
  HuntedProgram program;
  const auto graph_kernel = [&](int64_t launch_us, int64_t start_us, int64_t end_us) {
    program.KernelUs({.start_ns = start_us, .end_ns = end_us});
    capture::KernelRow& row = program.capture().mutable_kernel().back();
    row.graph_id = 3;
    row.launch_start_ns = launch_us * kUs;
    row.launch_end_ns = (launch_us + 6) * kUs;
    row.launch_thread_id = 0;
  };
  graph_kernel(0, 9, 1009);
  graph_kernel(0, 1010, 2009);
  program.CallUs({.api = "cudaStreamSynchronize", .start_ns = 12, .end_ns = 2014, .stream_id = 7});
  graph_kernel(2114, 2123, 2200);
  graph_kernel(2114, 2201, 2300);
  const Cost cost = program.HuntUs();
  ExpectStall(cost, 1997, 114);
  EXPECT_EQ(cost.idle_launch_ns, 9 * kUs);
  EXPECT_EQ(program.report().device_idle->no_wait_ns, 2 * kUs);  // between the kernels of the graphs
}

// Queries every 50 us until the event is ready; `is_given_up`: nobody asks again.
HuntedProgram Spin(bool is_given_up) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 1009});
  program.CallUs({.api = "cudaEventRecord", .start_ns = 8, .end_ns = 9, .stream_id = 7, .event = 5});
  program.LaunchUs(10, {.start_ns = 1009, .end_ns = 1030});
  for (int64_t us = 20; us < 1020; us += 50) {
    program.CallUs(
        {.api = "cudaEventQuery", .start_ns = us, .end_ns = us + 2, .event = 5, .return_value = us < 1009 ? 600 : 0});
  }
  if (!is_given_up) program.CallUs({.api = "cudaEventQuery", .start_ns = 1020, .end_ns = 1022, .event = 5});
  program.LaunchUs(1122, {.start_ns = 1131, .end_ns = 1231});
  return program;
}

TEST(WaitSetsTest, SpinEndsWithTheQueryThatWasReady) {
  HuntedProgram program = Spin(false);
  const Cost cost = program.HuntUs();
  EXPECT_EQ(program.report().sync_point_count, 0);
  ASSERT_EQ(program.report().sites.size(), 1u);
  EXPECT_EQ(program.report().sites[0].kind, SiteKind::kQuerySpin);
  EXPECT_EQ(program.report().sites[0].call_ns, 1002 * kUs);
  ExpectStall(cost, 989, 101);  // the second kernel runs until 1030
  EXPECT_EQ(cost.idle_return_ns, 0);
  EXPECT_EQ(cost.idle_host_ns, 92 * kUs);
  EXPECT_EQ(cost.idle_launch_ns, 9 * kUs);
}

TEST(WaitSetsTest, SpinThatGaveUpIsNoStall) {
  HuntedProgram program = Spin(true);
  program.HuntUs();
  EXPECT_TRUE(program.report().sites.empty());
  EXPECT_EQ(program.report().totals[static_cast<size_t>(SiteKind::kQuerySpin)].count, 0);
}

}  // namespace
}  // namespace stallhound::analysis
