// What counts as a sync point, and of which kind: by API, memory kinds and direction.

#include <gtest/gtest.h>

#include <functional>

#include "analysis/hunt/hunt.h"
#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {
namespace {

using capture::CopyDirection;
using capture::MemoryKind;

HuntReport HuntIn(RecordedProgram& program, const HuntOptions& options = {}) {
  absl::StatusOr<HuntReport> report = Hunt(program.capture(), options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : HuntReport();
}

int64_t CountOf(const HuntReport& report, SiteKind kind) { return report.totals[static_cast<size_t>(kind)].count; }

// The kind that one call of this API alone gives; null: no sync point.
std::optional<SiteKind> KindOfCall(std::string_view api) {
  RecordedProgram program;
  program.Call({.api = api, .start_ns = 1'000, .end_ns = 2'000, .stream_id = 7});
  const HuntReport report = HuntIn(program);
  EXPECT_LE(report.sync_point_count, 1);
  if (report.sites.empty()) return std::nullopt;
  return report.sites[0].kind;
}

TEST(SyncPointsTest, KindByApi) {
  for (const char* api :
       {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaThreadSynchronize",
        "cudaStreamSynchronize_ptsz", "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cudaMemcpy",
        "cudaMemcpy2D", "cudaMemcpyToSymbol", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2_ptds"}) {
    EXPECT_EQ(KindOfCall(api), SiteKind::kWait) << api;
  }
  for (const char* api : {"cudaMalloc", "cudaFree", "cudaMallocManaged", "cudaHostAlloc", "cudaFreeHost",
                          "cudaHostRegister", "cudaHostUnregister", "cuMemCreate", "cuMemMap", "cuMemUnmap",
                          "cuMemRelease", "cuMemAlloc_v2", "cuMemFree_v2"}) {
    EXPECT_EQ(KindOfCall(api), SiteKind::kAllocator) << api;
  }
  for (const char* api : {"cuModuleLoadData", "cuModuleUnload", "cuLibraryLoadData", "cuLibraryUnload"}) {
    EXPECT_EQ(KindOfCall(api), SiteKind::kLoader) << api;
  }
  for (const char* api : {"cudaStreamWaitEvent", "cudaEventQuery", "cudaStreamQuery", "cudaMallocAsync",
                          "cudaFreeAsync", "cudaMemset", "cudaMemsetAsync", "cudaEventDestroy", "cudaEventRecord",
                          "cudaGraphInstantiate", "cudaGraphLaunch", "cudaLaunchKernel", "cudaGetDevice"}) {
    EXPECT_EQ(KindOfCall(api), std::nullopt) << api;
  }
}

TEST(SyncPointsTest, CountsDoNotDependOnTimeOrResult) {
  RecordedProgram program;
  program.Call({.api = "cudaStreamSynchronize", .start_ns = 1, .end_ns = 2, .stream_id = 7});
  program.Call({.api = "cudaStreamSynchronize", .start_ns = 10, .end_ns = 9'000'000, .stream_id = 7});
  program.Call({.api = "cudaStreamSynchronize",
                .start_ns = 9'000'001,
                .end_ns = 9'000'002,
                .stream_id = 7,
                .return_value = 900});
  EXPECT_EQ(HuntIn(program).sync_point_count, 3);
}

TEST(SyncPointsTest, DriverCallInsideRuntimeCallIsTheSamePoint) {
  RecordedProgram program;
  program.Call({.api = "cudaStreamSynchronize", .start_ns = 100, .end_ns = 900, .stream_id = 7});
  program.Call({.api = "cuStreamSynchronize", .start_ns = 150, .end_ns = 850, .stream_id = 7, .is_nested = true});
  program.Call({.api = "cuStreamSynchronize", .start_ns = 1'000, .end_ns = 1'500, .stream_id = 7});
  const HuntReport report = HuntIn(program);
  EXPECT_EQ(CountOf(report, SiteKind::kWait), 2);
  EXPECT_EQ(report.totals[0].call_ns, 1'300);
}

// A launch is no sync point, so the module load inside it is a point of its own.
TEST(SyncPointsTest, ModuleLoadInsideALaunchCounts) {
  RecordedProgram program;
  program.Call({.api = "cudaLaunchKernel", .start_ns = 100, .end_ns = 9'000, .stream_id = 7});
  program.Call({.api = "cuModuleLoadData", .start_ns = 200, .end_ns = 8'000, .is_nested = true});
  EXPECT_EQ(CountOf(HuntIn(program), SiteKind::kLoader), 1);
}

// An asynchronous copy at 100, and a sync of `sync_stream` at 400; `between` adds what lies between.
HuntReport CopyThenSync(const CopySpec& copy, uint32_t sync_stream,
                        const std::function<void(RecordedProgram&)>& between,
                        std::string_view sync_api = "cudaStreamSynchronize", bool is_recorded = true) {
  RecordedProgram program;
  const uint64_t id = program.Call({.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7});
  if (is_recorded) program.Copy({.correlation_id = id, .start_ns = 150, .end_ns = 180}, copy);
  between(program);
  program.Call({.api = sync_api, .start_ns = 400, .end_ns = 600, .stream_id = sync_stream});
  return HuntIn(program);
}

constexpr auto kNothing = [](RecordedProgram&) {};
const CopySpec kPageable{.bytes = 64};
const CopySpec kPageableByCall{.bytes = 64, .has_gpu_times = false};
const CopySpec kPinned{.target_kind = MemoryKind::kPinned};

TEST(SyncPointsTest, WaitTakesInThePageableCopyBeforeIt) {
  const HuntReport report = CopyThenSync(kPageable, 7, kNothing);
  ASSERT_EQ(report.sites.size(), 1u);
  const Site& site = report.sites[0];
  EXPECT_EQ(site.kind, SiteKind::kWait);
  EXPECT_EQ(site.count, 1);
  EXPECT_EQ(site.apis, std::vector<std::string>{"cudaStreamSynchronize"});
  EXPECT_EQ(site.call_ns, 500);  // from the copy's entry to the sync's return
  ASSERT_EQ(site.copies.size(), 1u);
  EXPECT_EQ(site.copies[0].count, 1);
  EXPECT_EQ(site.copies[0].bytes, 64u);
  EXPECT_EQ(site.copies[0].direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(site.copies[0].target_kind, MemoryKind::kPageable);
}

// A pageable copy on stream 7 from 100 on, and the sync of an event that was recorded on `stream_id` at `record_ns`.
HuntReport CopyThenEventSync(uint32_t stream_id, int64_t record_ns) {
  RecordedProgram program;
  program.Call(
      {.api = "cudaEventRecord", .start_ns = record_ns, .end_ns = record_ns + 10, .stream_id = stream_id, .event = 5});
  const uint64_t id = program.Call({.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7});
  program.Copy({.correlation_id = id, .start_ns = 150, .end_ns = 180}, kPageable);
  program.Call({.api = "cudaEventSynchronize", .start_ns = 400, .end_ns = 600, .event = 5});
  return HuntIn(program);
}

TEST(SyncPointsTest, DeviceSyncAndEventSyncTakeCopiesIn) {
  EXPECT_EQ(CopyThenSync(kPageable, 7, kNothing, "cudaDeviceSynchronize").sync_point_count, 1);
  EXPECT_EQ(CopyThenEventSync(7, 250).sync_point_count, 1);
}

TEST(SyncPointsTest, WithoutRecordsOfCopiesAnAsynchronousCallMayBePageable) {
  for (const bool has_copies : {true, false}) {
    RecordedProgram program;
    program.Call({.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7});
    program.Call({.api = "cudaMemcpy", .start_ns = 300, .end_ns = 400});
    program.capture().mutable_info().recorded.set(static_cast<size_t>(capture::Table::kCopy), has_copies);
    const HuntReport report = HuntIn(program);
    EXPECT_EQ(report.sync_point_count, 1);
    EXPECT_EQ(report.unknown_kind_copy_count, has_copies ? 0 : 1);
  }
}

TEST(SyncPointsTest, AnEventOfAnotherStreamOrOfBeforeTakesNothingIn) {
  for (const auto& [stream_id, record_ns] : {std::pair(13u, 250), std::pair(13u, 50), std::pair(7u, 50)}) {
    const HuntReport report = CopyThenEventSync(stream_id, record_ns);
    EXPECT_EQ(CountOf(report, SiteKind::kWait), 1) << stream_id << " " << record_ns;
    EXPECT_EQ(CountOf(report, SiteKind::kPageableCopy), 1) << stream_id << " " << record_ns;
  }
}

TEST(SyncPointsTest, SyncOfTheLegacyStreamCoversBlockingStreams) {
  for (const bool is_blocking : {true, false}) {
    const auto streams = [is_blocking](RecordedProgram& program) {
      program.Stream(1, capture::StreamFlag::kNull);
      program.Stream(7, is_blocking ? capture::StreamFlag::kDefault : capture::StreamFlag::kNonBlocking);
    };
    const HuntReport report = CopyThenSync(kPageable, 1, streams);
    EXPECT_EQ(CountOf(report, SiteKind::kPageableCopy), is_blocking ? 0 : 1);
    EXPECT_EQ(CountOf(report, SiteKind::kWait), 1);
  }
}

TEST(SyncPointsTest, OtherStreamLaunchMemsetAndAllocationPart) {
  EXPECT_EQ(CountOf(CopyThenSync(kPageable, 13, kNothing), SiteKind::kPageableCopy), 1);
  for (const char* api : {"cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch", "cudaMemsetAsync", "cudaMallocAsync",
                          "cudaMalloc", "cudaHostAlloc"}) {
    const HuntReport report = CopyThenSync(kPageable, 7, [api](RecordedProgram& program) {
      program.Call({.api = api, .start_ns = 250, .end_ns = 260, .stream_id = 7});
    });
    EXPECT_EQ(CountOf(report, SiteKind::kPageableCopy), 1) << api;
    EXPECT_EQ(CountOf(report, SiteKind::kWait), 1) << api;
  }
}

TEST(SyncPointsTest, HarmlessCallsAndOtherThreadsDoNotPart) {
  for (const char* api : {"cudaEventRecord", "cudaEventQuery", "cudaStreamWaitEvent", "cudaGetDevice"}) {
    const HuntReport report = CopyThenSync(kPageable, 7, [api](RecordedProgram& program) {
      program.Call({.api = api, .start_ns = 250, .end_ns = 260, .stream_id = 7, .event = 3});
    });
    EXPECT_EQ(report.sync_point_count, 1) << api;
  }
  const HuntReport report = CopyThenSync(kPageable, 7, [](RecordedProgram& program) {
    program.Call({.api = "cudaLaunchKernel", .start_ns = 250, .end_ns = 260, .thread_id = 1, .stream_id = 7});
  });
  EXPECT_EQ(report.sync_point_count, 1);
}

TEST(SyncPointsTest, PinnedCopyIsNoPoint) {
  const HuntReport report = CopyThenSync(kPinned, 7, kNothing);
  EXPECT_EQ(report.sync_point_count, 1);
  EXPECT_TRUE(report.sites[0].copies.empty());
  EXPECT_EQ(report.sites[0].call_ns, 200);
  EXPECT_EQ(report.unknown_kind_copy_count, 0);
}

TEST(SyncPointsTest, DeviceToDeviceCopyIsNoPointEvenWithUnknownKinds) {
  const CopySpec copy{
      .direction = CopyDirection::kDeviceToDevice, .source_kind = std::nullopt, .target_kind = std::nullopt};
  const HuntReport report = CopyThenSync(copy, 13, kNothing);
  EXPECT_EQ(report.sync_point_count, 1);
  EXPECT_EQ(report.unknown_kind_copy_count, 0);
}

TEST(SyncPointsTest, UnknownMemoryKindIsCountedApart) {
  const CopySpec copy{.source_kind = MemoryKind::kDevice, .target_kind = std::nullopt};
  const HuntReport alone = CopyThenSync(copy, 13, kNothing);
  EXPECT_EQ(alone.sync_point_count, 1);
  EXPECT_EQ(alone.unknown_kind_copy_count, 1);
  const HuntReport taken_in = CopyThenSync(copy, 7, kNothing);
  EXPECT_EQ(taken_in.sync_point_count, 1);
  EXPECT_EQ(taken_in.unknown_kind_copy_count, 0);
  EXPECT_EQ(taken_in.sites[0].unknown_kind_copy_count, 1);
}

TEST(SyncPointsTest, SeveralCopiesOneWait) {
  RecordedProgram program;
  for (int64_t i = 0; i < 3; ++i) {
    const uint64_t id =
        program.Call({.api = "cudaMemcpyAsync", .start_ns = 100 * i, .end_ns = 100 * i + 50, .stream_id = 7});
    program.Copy({.correlation_id = id, .start_ns = 100 * i + 10, .end_ns = 100 * i + 20}, kPageable);
  }
  program.Call({.api = "cudaStreamSynchronize", .start_ns = 400, .end_ns = 600, .stream_id = 7});
  const HuntReport report = HuntIn(program);
  EXPECT_EQ(report.sync_point_count, 1);
  EXPECT_EQ(report.sites[0].copies[0].count, 3);
  EXPECT_EQ(report.sites[0].copies[0].bytes, 192u);
  EXPECT_EQ(report.sites[0].call_ns, 600);
}

TEST(SyncPointsTest, WithoutHostCallsTheCountIsUnknown) {
  RecordedProgram program;
  program.Range("step", 100, 200);
  program.capture().mutable_info().recorded = capture::Tables({capture::Table::kProcess, capture::Table::kRange});
  const HuntReport report = HuntIn(program);
  EXPECT_FALSE(report.sync_point_count.has_value());
  EXPECT_TRUE(report.totals.empty());
  EXPECT_FALSE(report.counts_complete);
}

TEST(SyncPointsTest, BenchmarkResultsAreNotHunted) {
  RecordedProgram program;
  program.capture().mutable_info().recorded =
      capture::Tables({capture::Table::kDevice, capture::Table::kBenchmarkPoint});
  const absl::Status status = Hunt(program.capture(), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("benchmark results only"), absl::string_view::npos) << status;
}

// Copies of a loop, and a wait behind it: the copies are points of their own, in either mode.
TEST(SyncPointsTest, WaitTakesInCopiesOfItsOwnPythonInstruction) {
  for (const std::string mode : {"light", "default"}) {
    for (const int64_t sync_line : {10, 11}) {
      RecordedProgram program;
      program.capture().mutable_info().mode = mode;
      program.capture().mutable_info().recorded.set(static_cast<size_t>(capture::Table::kKernel), mode == "default");
      const uint32_t copy_stack = program.PythonStack({{"train.py", 10}, {"main.py", 1}});
      const uint32_t sync_stack =
          sync_line == 10 ? copy_stack : program.PythonStack({{"train.py", 11}, {"main.py", 1}});
      const uint64_t id = program.Call(
          {.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7, .stack_id = copy_stack});
      program.Copy({.correlation_id = id, .start_ns = 150, .end_ns = 180}, kPageableByCall);
      program.Call(
          {.api = "cudaStreamSynchronize", .start_ns = 400, .end_ns = 600, .stream_id = 7, .stack_id = sync_stack});
      EXPECT_EQ(CountOf(HuntIn(program), SiteKind::kPageableCopy), sync_line == 10 ? 0 : 1) << mode;
    }
  }
}

TEST(SyncPointsTest, NativeCodeCopiesAndWaitsInTwoFunctions) {
  RecordedProgram program;
  const uint32_t copy_stack = program.NativeStack({"cudaMemcpyAsync", "xla::Enqueue", "main"});
  const uint32_t sync_stack = program.NativeStack({"cudaStreamSynchronize", "xla::Block", "main"});
  const uint64_t id =
      program.Call({.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7, .stack_id = copy_stack});
  program.Copy({.correlation_id = id, .start_ns = 150, .end_ns = 180}, kPageable);
  program.Call(
      {.api = "cudaStreamSynchronize", .start_ns = 400, .end_ns = 600, .stream_id = 7, .stack_id = sync_stack});
  EXPECT_EQ(CountOf(HuntIn(program), SiteKind::kPageableCopy), 0);
}

TEST(SyncPointsTest, LightModeUsesTheNativeCallerWithoutPython) {
  for (const bool is_same_caller : {true, false}) {
    RecordedProgram program;
    program.capture().mutable_info().mode = "light";
    program.capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
    const uint32_t copy_stack = program.NativeStack({"cudaMemcpyAsync", "at::native::copy_", "main"});
    const uint32_t sync_stack = program.NativeStack(
        {"cudaStreamSynchronize", is_same_caller ? "at::native::copy_" : "at::native::item", "main"});
    const uint64_t id = program.Call(
        {.api = "cudaMemcpyAsync", .start_ns = 100, .end_ns = 200, .stream_id = 7, .stack_id = copy_stack});
    program.Copy({.correlation_id = id, .start_ns = 150, .end_ns = 180}, kPageableByCall);
    program.Call(
        {.api = "cudaStreamSynchronize", .start_ns = 400, .end_ns = 600, .stream_id = 7, .stack_id = sync_stack});
    EXPECT_EQ(CountOf(HuntIn(program), SiteKind::kPageableCopy), is_same_caller ? 0 : 1);
  }
}

TEST(SyncPointsTest, SmallBatchesGiveTheSameAnswer) {
  RecordedProgram program;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t start_ns = 1'000 * i;
    const uint64_t id =
        program.Call({.api = "cudaMemcpyAsync", .start_ns = start_ns, .end_ns = start_ns + 50, .stream_id = 7});
    program.Copy({.correlation_id = id, .start_ns = start_ns + 10, .end_ns = start_ns + 20}, kPageable);
    program.Call({.api = "cudaStreamSynchronize", .start_ns = start_ns + 60, .end_ns = start_ns + 90, .stream_id = 7});
  }
  program.capture().set_batch_rows(1);
  const HuntReport report = HuntIn(program);
  EXPECT_EQ(report.sync_point_count, 10);
  EXPECT_EQ(report.sites[0].copies[0].count, 10);
}

TEST(SyncPointsTest, EmptyRecording) {
  capture::MemoryCapture empty;
  const absl::StatusOr<HuntReport> report = Hunt(empty, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->sites.empty());
  EXPECT_EQ(report->totals.size(), static_cast<size_t>(kSiteKindCount));
}

}  // namespace
}  // namespace stallhound::analysis
