#include "capture/import/kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "capture/import/kineto/trace_generator.h"
#include "capture/import/test_import.h"

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Event(std::string_view category, std::string_view name, std::string_view times, std::string_view args = "",
                  std::string_view place = "\"pid\":9,\"tid\":9") {
  std::string text = "{\"ph\":\"X\",\"cat\":\"";
  ((text += category) += "\",\"name\":\"") += name;
  (((text += "\",") += place) += ",") += times;
  return ((text += ",\"args\":{") += args) += "}}";
}

std::string Call(std::string_view name, std::string_view times, int correlation) {
  return Event("cuda_runtime", name, times, "\"correlation\":" + std::to_string(correlation));
}

std::string Kernel(std::string_view name, std::string_view times, int correlation) {
  return Event("kernel", name, times,
               "\"device\":0,\"context\":1,\"stream\":7,\"correlation\":" + std::to_string(correlation),
               "\"pid\":0,\"tid\":7");
}

std::string Trace(const std::vector<std::string>& events, std::string_view before = "", std::string_view after = "") {
  std::string text = "{\"schemaVersion\": 1, ";
  (text += before) += "\"traceEvents\": [";
  for (size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "\n" : ",\n") + events[i];
  return ((text += "]") += after) += "}";
}

Imported Read(const std::string& text, const ImportOptions& options = {}) {
  absl::StatusOr<Imported> imported = ImportOne("trace.json", text, options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported.ok() ? *std::move(imported) : Imported();
}

std::string Error(const std::string& text) {
  const absl::StatusOr<Imported> imported = ImportOne("trace.json", text);
  return imported.ok() ? "imported" : std::string(imported.status().message());
}

std::vector<int64_t> Starts(const Imported& imported) {
  std::vector<int64_t> starts;
  for (const KernelRow& row : imported.rows.kernel) starts.push_back(row.start_ns);
  return starts;
}

std::string Sync(std::string_view kind, std::string_view times, std::string_view correlation) {
  std::string args = "\"cuda_sync_kind\":\"";
  ((args += kind) += "\",\"stream\":7,\"correlation\":") += correlation;
  return Event("cuda_sync", kind, times, args, "\"pid\":0,\"tid\":7");
}

// Waits
// ----------------------------------------------------------------------------------------------------------------

TEST(KinetoWaitTest, ARecordWithoutItsCallIsALoss) {
  const std::string call = Call("cudaStreamSynchronize", "\"ts\":20,\"dur\":8", 2);
  const std::string record = Sync("Stream Sync", "\"ts\":21,\"dur\":6", "2");
  EXPECT_EQ(Read(Trace({call, record})).Loss("sync-without-call"), 0);
  for (const char* kind : {"Stream Sync", "Event Sync", "Context Sync"}) {
    const std::string orphan = Sync(kind, "\"ts\":41,\"dur\":6", "3");
    EXPECT_EQ(Read(Trace({call, record, orphan})).Loss("sync-without-call"), 1) << kind;
  }
  // The GPU waits, not the host; and what names no call may have one.
  EXPECT_EQ(Read(Trace({call, Sync("Stream Wait Event", "\"ts\":41,\"dur\":6", "3"),
                        Sync("Stream Sync", "\"ts\":41,\"dur\":6", "-1")}))
                .Loss("sync-without-call"),
            0);
}

// Time
// -----------------------------------------------------------------------------------------------------------------

TEST(KinetoTimeTest, GenerationsLieOnOneAxis) {
  const Imported integers = Read(Trace(
      {Kernel("a", "\"ts\":1712345678000000,\"dur\":5", 1), Kernel("b", "\"ts\":1712345678000010,\"dur\":4", 2)}));
  const Imported floats = Read(Trace({Kernel("a", "\"ts\":1712345678000000.0,\"dur\":5.0", 1),
                                      Kernel("b", "\"ts\":1712345678000010.0,\"dur\":4.0", 2)}));
  const Imported relative = Read(Trace(
      {Kernel("a", "\"ts\":5678000000.000,\"dur\":5.000", 1), Kernel("b", "\"ts\":5678000010.000,\"dur\":4.000", 2)},
      "", ", \"baseTimeNanoseconds\": 1712340000000000000"));
  for (const Imported* imported : {&integers, &floats, &relative}) {
    EXPECT_EQ(imported->capture->info().epoch_ns, 1'712'345'678'000'000'000);
    EXPECT_THAT(Starts(*imported), ElementsAre(0, 10'000));
    EXPECT_EQ(imported->rows.kernel[0].end_ns, 5'000);
    EXPECT_EQ(imported->capture->info().end_ns, 14'000);
    EXPECT_THAT(*imported->counts.kernel_start_ns, ElementsAre(1'712'345'678'000'000'000, 1'712'345'678'000'010'000));
  }
}

TEST(KinetoTimeTest, NanosecondsAreExactInRelativeTimes) {
  const Imported imported = Read(Trace({Kernel("a", "\"ts\":4458676522690.655,\"dur\":0.001", 1),
                                        Kernel("b", "\"ts\":4458676522690.657,\"dur\":1.999", 2)}));
  EXPECT_THAT(Starts(imported), ElementsAre(0, 2));
  EXPECT_EQ(imported.counts.kernel_time_us, 2.0);
  EXPECT_EQ(imported.capture->info().epoch_ns, std::nullopt);
}

TEST(KinetoTimeTest, EventsAtZeroDoNotMoveTheOrigin) {
  const Imported imported =
      Read(Trace({Kernel("zero", "\"ts\":0,\"dur\":0", 1), Kernel("early", "\"ts\":0,\"dur\":3", 2),
                  Kernel("good", "\"ts\":1712345678000000,\"dur\":5", 3),
                  Kernel("next", "\"ts\":1712345678000020,\"dur\":5", 4)}));
  EXPECT_THAT(Starts(imported), ElementsAre(0, 20'000));
  EXPECT_EQ(imported.counts.kernels, 4);
  EXPECT_EQ(imported.counts.kernels_timed, 2);
  EXPECT_EQ(imported.counts.kernel_time_us, 10.0);
  EXPECT_EQ(imported.Loss("zero-time"), 2);
}

TEST(KinetoTimeTest, UnusableDurationsAreCounted) {
  const Imported imported =
      Read(Trace({Kernel("negative", "\"ts\":100,\"dur\":-1712345678000000", 1), Kernel("none", "\"ts\":100", 2),
                  Kernel("bare", "\"ts\":NaN,\"dur\":1", 3), Kernel("good", "\"ts\":100,\"dur\":5", 4),
                  Call("cudaStreamSynchronize", "\"ts\":90", 5)}));
  EXPECT_EQ(imported.counts.kernels, 4);
  EXPECT_EQ(imported.counts.kernels_timed, 1);
  EXPECT_EQ(imported.counts.runtime_calls, 1);
  EXPECT_EQ(imported.counts.host_waits->at("cudaStreamSynchronize"), 1);
  EXPECT_EQ(imported.Loss("negative-duration"), 1);
  EXPECT_EQ(imported.Loss("missing-field"), 2);
  EXPECT_EQ(imported.Loss("zero-time"), 3);
}

TEST(KinetoTimeTest, RowsComeInOrderOfTime) {
  const Imported imported = Read(Trace({Kernel("c", "\"ts\":300,\"dur\":5", 3), Kernel("a", "\"ts\":100,\"dur\":5", 1),
                                        Kernel("b", "\"ts\":200,\"dur\":5", 2)}));
  EXPECT_THAT(Starts(imported), ElementsAre(0, 100'000, 200'000));
}

// GPU work
// -------------------------------------------------------------------------------------------------------------

TEST(KinetoGpuTest, LaunchesOfAllNamesJoin) {
  const Imported imported = Read(
      Trace({Call("cudaLaunchKernel", "\"ts\":100,\"dur\":3", 1), Kernel("a", "\"ts\":105,\"dur\":2", 1),
             Call("cudaLaunchKernelExC", "\"ts\":110,\"dur\":3", 2), Kernel("b", "\"ts\":115,\"dur\":2", 2),
             Event("cuda_driver", "cuLaunchKernelEx", "\"ts\":120,\"dur\":3", "\"correlation\":3"),
             Kernel("b", "\"ts\":125,\"dur\":2", 3), Call("cudaLaunchCooperativeKernel", "\"ts\":130,\"dur\":3", 4),
             Kernel("c", "\"ts\":135,\"dur\":2", 4)}));
  EXPECT_EQ(imported.counts.kernels_with_launch, 4);
  EXPECT_EQ(imported.counts.driver_calls, 1);
  EXPECT_EQ(imported.rows.kernel[0].launch_start_ns, 0);
  EXPECT_EQ(imported.rows.kernel[0].launch_end_ns, 3'000);
  EXPECT_EQ(imported.rows.kernel[3].launch_thread_id, imported.rows.thread[0].thread_id);
  EXPECT_EQ(imported.rows.kernel_shape.size(), 3u);
  EXPECT_EQ(imported.Loss("kernel-without-launch"), 0);
}

TEST(KinetoGpuTest, KernelsOfAGraphShareItsLaunch) {
  const auto node = [](std::string_view times, std::string_view args) {
    return Event("kernel", "k", times, args, "\"pid\":0,\"tid\":7");
  };
  const Imported imported =
      Read(Trace({Call("cudaGraphLaunch", "\"ts\":100,\"dur\":9", 50),
                  node("\"ts\":110,\"dur\":2",
                       "\"device\":0,\"stream\":7,\"correlation\":50,\"graph id\":3,\"graph node id\":12884901888"),
                  node("\"ts\":113,\"dur\":2",
                       "\"device\":0,\"stream\":7,\"correlation\":50,\"graph id\":3,\"graph node id\":12884901889"),
                  node("\"ts\":120,\"dur\":2", "\"device\":0,\"stream\":7,\"correlation\":18446744073709551615")}));
  EXPECT_EQ(imported.counts.kernels_from_graph, 2);
  EXPECT_EQ(imported.counts.graph_launches, 1);
  EXPECT_EQ(imported.counts.kernels_without_launch, 1);
  EXPECT_EQ(imported.rows.kernel[1].graph_node_id, 12'884'901'889u);
  EXPECT_EQ(imported.rows.kernel[2].correlation_id, UINT64_MAX);
  EXPECT_EQ(imported.Loss("kernel-without-launch"), 1);
}

TEST(KinetoGpuTest, GraphKernelsWithoutNodeIdsAreKnownByTheirLaunch) {
  const Imported imported =
      Read(Trace({Kernel("a", "\"ts\":110,\"dur\":2", 50), Kernel("b", "\"ts\":113,\"dur\":2", 50),
                  Call("cudaGraphLaunch", "\"ts\":100,\"dur\":9", 50)}));
  EXPECT_EQ(imported.counts.kernels_from_graph, 2);
}

TEST(KinetoGpuTest, LaunchesWithoutKernelsAreCountedIfThereAreKernels) {
  const std::string launch = Call("cudaLaunchKernel", "\"ts\":100,\"dur\":3", 1);
  EXPECT_EQ(Read(Trace({launch, Kernel("a", "\"ts\":105,\"dur\":2", 2)})).Loss("launch-without-kernel"), 1);
  EXPECT_EQ(Read(Trace({launch})).Loss("launch-without-kernel"), 0);
}

TEST(KinetoGpuTest, ShapesAreSharedAndStreamsListed) {
  const auto kernel = [](std::string_view times, int grid, int stream) {
    return Event("kernel", "k", times,
                 "\"device\":1,\"context\":2,\"stream\":" + std::to_string(stream) +
                     ",\"registers per thread\":32,\"shared memory\":1024,\"grid\":[" + std::to_string(grid) +
                     ",2,1],\"block\":[128,1,1],\"blocks per SM\":1.5");
  };
  const Imported imported = Read(Trace(
      {kernel("\"ts\":1,\"dur\":1", 4, 7), kernel("\"ts\":2,\"dur\":1", 4, 8), kernel("\"ts\":3,\"dur\":1", 5, 7)}));
  ASSERT_EQ(imported.rows.kernel_shape.size(), 2u);
  EXPECT_EQ(imported.rows.kernel_shape[0].grid_x, 4);
  EXPECT_EQ(imported.rows.kernel_shape[0].block_x, 128);
  EXPECT_EQ(imported.rows.kernel_shape[0].registers_per_thread, 32);
  EXPECT_EQ(imported.rows.kernel_shape[0].dynamic_shared_bytes, 1024);
  EXPECT_EQ(imported.rows.stream.size(), 2u);
  EXPECT_EQ(imported.counts.streams, 2);
  EXPECT_EQ(imported.rows.kernel[0].device_id, 1u);
}

TEST(KinetoGpuTest, CopiesHaveKindsFromTheirNames) {
  const Imported imported =
      Read(Trace({Call("cudaMemcpyAsync", "\"ts\":100,\"dur\":30", 1), Call("cudaMemcpy", "\"ts\":140,\"dur\":30", 2),
                  Event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", "\"ts\":120,\"dur\":2",
                        "\"device\":0,\"stream\":7,\"correlation\":1,\"bytes\":8"),
                  Event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "\"ts\":150,\"dur\":2",
                        "\"device\":0,\"stream\":7,\"correlation\":2,\"bytes\":4"),
                  Event("gpu_memset", "Memset (Device)", "\"ts\":160,\"dur\":2",
                        "\"device\":0,\"stream\":7,\"correlation\":3,\"bytes\":16")}));
  ASSERT_EQ(imported.rows.copy.size(), 2u);
  EXPECT_EQ(imported.rows.copy[0].target_kind, MemoryKind::kPageable);
  EXPECT_EQ(imported.rows.copy[0].bytes, 8u);
  EXPECT_EQ(imported.rows.copy[0].is_async, true);
  EXPECT_EQ(imported.rows.copy[1].source_kind, MemoryKind::kPinned);
  EXPECT_EQ(imported.rows.copy[1].is_async, false);
  EXPECT_EQ(imported.counts.memcpy->at("DtoH"), 1);
  EXPECT_EQ(imported.rows.memset[0].memory_kind, MemoryKind::kDevice);
}

// Host side
// ------------------------------------------------------------------------------------------------------------

TEST(KinetoHostTest, SyncRecordsRepeatTheirCalls) {
  const Imported imported =
      Read(Trace({Call("cudaStreamSynchronize", "\"ts\":100.5,\"dur\":50.25", 7),
                  Event("cuda_sync", "Stream Sync", "\"ts\":100.75,\"dur\":49.5",
                        "\"cuda_sync_kind\":\"Stream Sync\",\"stream\":7,\"correlation\":7,\"device\":0,\"context\":1",
                        "\"pid\":0,\"tid\":1000007"),
                  Event("cuda_sync", "Stream Wait Event", "\"ts\":200.0,\"dur\":0",
                        "\"cuda_sync_kind\":\"Stream Wait "
                        "Event\",\"stream\":20,\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":-1,\"wait_on_"
                        "cuda_event_id\":4,\"correlation\":-1")}));
  EXPECT_EQ(imported.counts.host_waits->at("cudaStreamSynchronize"), 1);
  EXPECT_EQ(imported.counts.host_wait_us, 50.25);
  EXPECT_EQ(imported.counts.device_side_waits, 1);
  ASSERT_EQ(imported.rows.sync.size(), 2u);
  EXPECT_EQ(imported.rows.sync[0].type, SyncType::kStreamSynchronize);
  EXPECT_EQ(imported.rows.sync[0].stream_id, 7u);
  EXPECT_EQ(imported.rows.sync[1].correlation_id, std::nullopt);
  EXPECT_TRUE(imported.rows.cuda_event.empty());
}

TEST(KinetoHostTest, AwaitedEventsAreFoundByTheirRecord) {
  const Imported imported = Read(
      Trace({Call("cudaEventRecord", "\"ts\":100,\"dur\":2", 3), Call("cudaStreamWaitEvent", "\"ts\":110,\"dur\":2", 4),
             Event("cuda_sync", "Stream Wait Event", "\"ts\":111,\"dur\":0",
                   "\"stream\":20,\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":3,\"wait_on_cuda_event_"
                   "id\":4,\"correlation\":4")}));
  ASSERT_EQ(imported.rows.cuda_event.size(), 1u);
  EXPECT_EQ(imported.rows.cuda_event[0].time_ns, 0);
  EXPECT_EQ(imported.rows.cuda_event[0].event_id, 4u);
  EXPECT_EQ(imported.rows.cuda_event[0].stream_id, 7u);
  EXPECT_EQ(imported.counts.device_side_waits, 1);
}

TEST(KinetoHostTest, EventRecordsLieAtTheirCalls) {
  const Imported imported =
      Read(Trace({Call("cudaEventRecord", "\"ts\":100,\"dur\":2", 3),
                  Event("cuda_event", "cudaEvent", "\"ts\":150,\"dur\":1",
                        "\"event_id\":4,\"stream\":7,\"correlation\":3", "\"pid\":0,\"tid\":7")}));
  ASSERT_EQ(imported.rows.cuda_event.size(), 1u);
  EXPECT_EQ(imported.rows.cuda_event[0].time_ns, 0);
}

TEST(KinetoHostTest, DriverCallsInsideRuntimeCallsAreNested) {
  const Imported imported =
      Read(Trace({Call("cudaDeviceSynchronize", "\"ts\":100,\"dur\":30", 1),
                  Event("cuda_driver", "cuCtxSynchronize", "\"ts\":105,\"dur\":20", "\"correlation\":2"),
                  Call("cudaMalloc", "\"ts\":140,\"dur\":3", 3)}));
  ASSERT_EQ(imported.rows.host_call.size(), 3u);
  EXPECT_FALSE(imported.rows.host_call[0].is_nested);
  EXPECT_TRUE(imported.rows.host_call[1].is_nested);
  EXPECT_FALSE(imported.rows.host_call[2].is_nested);
  EXPECT_EQ(imported.rows.host_call[1].layer, ApiLayer::kDriver);
  EXPECT_EQ(imported.rows.host_call[2].api_class, ApiClass::kDeviceAllocate);
}

TEST(KinetoHostTest, RangesOfAllKinds) {
  const Imported imported = Read(Trace(
      {Event("cpu_op", "aten::item", "\"ts\":1,\"dur\":5"),
       Event("user_annotation", "ProfilerStep#3", "\"ts\":0,\"dur\":9"),
       Event("user_annotation", "loss", "\"ts\":2,\"dur\":1"),
       Event("gpu_user_annotation", "ProfilerStep#3", "\"ts\":3,\"dur\":1", "", "\"pid\":0,\"tid\":7"),
       Event("python_function", "train.py(4): f", "\"ts\":4,\"dur\":1"),
       R"({"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":9,"ts":5,"args":{"Bytes":-512,"Addr":1}})",
       R"({"ph":"C","cat":"hardware_counters","name":"sm__cycles","pid":"GPU 0 Counters","tid":0,"ts":6,"args":{"":123.6}})",
       R"({"ph":"s","id":1,"cat":"ac2g","name":"ac2g","pid":9,"tid":9,"ts":6})",
       Event("Trace", "PyTorch Profiler (0)", "\"ts\":0,\"dur\":100", "", "\"pid\":\"Spans\",\"tid\":\"x\"")}));
  std::vector<std::tuple<RangeKind, std::string, std::optional<int64_t>>> ranges;
  for (const RangeRow& row : imported.rows.range) ranges.emplace_back(row.kind, imported.Text(row.name), row.payload);
  EXPECT_THAT(ranges, ElementsAre(std::tuple(RangeKind::kStep, "ProfilerStep#3", std::nullopt),
                                  std::tuple(RangeKind::kOperator, "aten::item", std::nullopt),
                                  std::tuple(RangeKind::kAnnotation, "loss", std::nullopt),
                                  std::tuple(RangeKind::kAnnotation, "ProfilerStep#3", std::nullopt),
                                  std::tuple(RangeKind::kPythonFunction, "train.py(4): f", std::nullopt),
                                  std::tuple(RangeKind::kMark, "[memory]", -512),
                                  std::tuple(RangeKind::kMark, "sm__cycles", 124)));
  EXPECT_EQ(imported.counts.steps, 1);
  EXPECT_EQ(imported.counts.item_ops->at("aten::item"), 1);
  EXPECT_EQ(imported.rows.process.size(), 1u);
}

TEST(KinetoHostTest, OldCategoriesAndTextIds) {
  const Imported imported = Read(
      "[" +
      Event("Runtime", "cudaLaunchKernel", "\"ts\":1606910596297023,\"dur\":3", "\"correlation\":1",
            "\"pid\":\"9\",\"tid\":\"9\"") +
      "," +
      Event("Kernel", "k", "\"ts\":1606910596297030,\"dur\":3", "\"device\":0,\"correlation\":1",
            "\"pid\":0,\"tid\":\"stream 7\"") +
      "," +
      Event("Operator", "ProfilerStep#1", "\"ts\":1606910596297000,\"dur\":90", "", "\"pid\":\"9\",\"tid\":\"9\"") +
      "]");
  EXPECT_EQ(imported.counts.kernels_with_launch, 1);
  EXPECT_EQ(imported.rows.kernel[0].stream_id, 7u);
  EXPECT_EQ(imported.counts.cpu_ops, 1);
  EXPECT_EQ(imported.counts.steps, 1);
  EXPECT_EQ(imported.Loss("missing-field"), 1);
}

TEST(KinetoHostTest, OverheadsAreNoGpuWork) {
  const Imported imported =
      Read(Trace({Event("overhead", "Command Buffer Full", "\"ts\":10,\"dur\":900", "", "\"pid\":-1,\"tid\":0"),
                  Call("cudaFree", "\"ts\":10,\"dur\":9", 1)}));
  ASSERT_EQ(imported.rows.overhead.size(), 1u);
  EXPECT_EQ(imported.rows.overhead[0].kind, OverheadKind::kCommandBufferFull);
  EXPECT_FALSE(imported.capture->info().recorded.test(static_cast<size_t>(Table::kKernel)));
  EXPECT_TRUE(imported.HasNote("no GPU activity"));
}

// Stacks
// ---------------------------------------------------------------------------------------------------------------

std::vector<std::string> StackOf(const Imported& imported, const HostCallRow& call) {
  std::vector<std::string> frames;
  for (const StackFrameRow& row : imported.rows.stack_frame) {
    if (row.stack_id != call.stack_id) continue;
    const FrameRow& frame = imported.rows.frame[row.frame_id];
    std::string text =
        frame.file ? imported.Text(*frame.file) + ":" + std::to_string(frame.line.value_or(0)) + " " : "";
    frames.push_back(text + imported.Text(*frame.function));
  }
  return frames;
}

TEST(KinetoStackTest, PythonFunctionsEncloseCalls) {
  const Imported imported = Read(Trace(
      {Event("python_function", "train.py(10): <module>", "\"ts\":0,\"dur\":100"),
       Event("python_function", "train.py(42): log_loss", "\"ts\":10,\"dur\":50"),
       Event("python_function", "<built-in method item of Tensor object at 0x7f12>", "\"ts\":11,\"dur\":40"),
       Event("cpu_op", "aten::item", "\"ts\":12,\"dur\":38"), Call("cudaStreamSynchronize", "\"ts\":20,\"dur\":10", 1),
       Call("cudaDeviceSynchronize", "\"ts\":70,\"dur\":10", 2),
       Event("cuda_runtime", "cudaStreamSynchronize", "\"ts\":30,\"dur\":10", "\"correlation\":3",
             "\"pid\":9,\"tid\":10")}));
  ASSERT_EQ(imported.rows.host_call.size(), 3u);
  EXPECT_THAT(StackOf(imported, imported.rows.host_call[0]),
              ElementsAre("<built-in method item of Tensor object>", "train.py:42 log_loss", "train.py:10 <module>",
                          "aten::item"));
  EXPECT_EQ(imported.rows.host_call[1].stack_id, std::nullopt);
  EXPECT_THAT(StackOf(imported, imported.rows.host_call[2]), ElementsAre("train.py:10 <module>"));
  EXPECT_TRUE(imported.HasNote("definitions"));
}

TEST(KinetoStackTest, CallStacksOfOperators) {
  const Imported imported = Read(
      Trace({Event("Operator", "aten::copy_", "\"ts\":0,\"dur\":50",
                   "\"Call stack\":\"/home/ann/env/lib/python3.7/site-packages/torch/x.py(6): to;train.py(54): step\""),
             Call("cudaStreamSynchronize", "\"ts\":20,\"dur\":10", 1)}));
  EXPECT_THAT(StackOf(imported, imported.rows.host_call[0]),
              ElementsAre("torch/x.py:6 to", "train.py:54 step", "aten::copy_"));
  EXPECT_FALSE(imported.rows.frame[0].is_user);
  EXPECT_TRUE(imported.rows.frame[1].is_user);
  EXPECT_EQ(imported.rows.range[0].payload, std::nullopt);
}

TEST(KinetoStackTest, EqualStartsOfRoundedTimes) {
  const Imported imported = Read(Trace({Event("python_function", "a.py(1): inner", "\"ts\":10,\"dur\":5"),
                                        Event("python_function", "a.py(2): outer", "\"ts\":10,\"dur\":9"),
                                        Call("cudaStreamSynchronize", "\"ts\":10,\"dur\":4", 1)}));
  EXPECT_THAT(StackOf(imported, imported.rows.host_call[0]), ElementsAre("a.py:1 inner", "a.py:2 outer"));
}

// What no parser accepts
// -------------------------------------------------------------------------------------------------

TEST(KinetoLenientTest, BackslashesControlCharactersAndBareTokens) {
  const Imported imported = Read(Trace(
      {Call("cudaLaunchKernel", "\"ts\":100,\"dur\":4", 1), Kernel("k0", "\"ts\":110,\"dur\":5", 1),
       Event("python_function", "torch\\cuda\\__init__.py(219): _lazy_init", "\"ts\":90,\"dur\":1"),
       Event("python_function", "config.py(0): \x01", "\"ts\":91,\"dur\":1"),
       Event("python_function", "bad \xff byte", "\"ts\":92,\"dur\":1"),
       Event("cpu_op", "C:\\logs\\", "\"ts\":93,\"dur\":1"), Event("cpu_op", "say \"hi\" twice", "\"ts\":94,\"dur\":1"),
       Event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", "\"ts\":120,\"dur\":0",
             "\"device\":0,\"stream\":7,\"correlation\":2,\"bytes\":4,\"memory bandwidth (GB/s)\": N/A"),
       Event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", "\"ts\":121,\"dur\":0",
             "\"device\":0,\"stream\":7,\"correlation\":3,\"bytes\":inf")},
      "", ", \"traceName\": \".\\log\\trace.json\""));
  std::vector<std::string> names;
  for (const RangeRow& row : imported.rows.range) names.push_back(imported.Text(row.name));
  EXPECT_THAT(names, ElementsAre("torch\\cuda\\__init__.py(219): _lazy_init", "config.py(0): ?",
                                 "bad \xef\xbf\xbd byte", "C:\\logs\\", "say \"hi\" twice"));
  EXPECT_EQ(imported.counts.kernels_with_launch, 1);
  EXPECT_EQ(imported.counts.memcpy->at("DtoH"), 2);
  EXPECT_EQ(imported.counts.losses.count("forgiven-json"), 1u);
  EXPECT_EQ(imported.counts.loss_details.at("forgiven-json"), "N/A");
}

TEST(KinetoLenientTest, ManyBrokenEventsAmongGoodOnes) {
  std::vector<std::string> events;
  for (int i = 0; i < 3000; ++i) {
    events.push_back(Event("cpu_op",
                           i % 7 == 0    ? "a\x02"
                           : i % 11 == 0 ? "b\\"
                                         : "c",
                           "\"ts\":" + std::to_string(i) + ",\"dur\":1"));
  }
  EXPECT_EQ(Read(Trace(events)).counts.cpu_ops, 3000);
}

TEST(KinetoLenientTest, KeysInAnyOrder) {
  const Imported imported = Read(Trace(
      {R"({"args":{"correlation":1,"stream":7,"device":0},"dur":5,"ts":110,"tid":7,"pid":0,"name":"k","cat":"kernel","ph":"X"})"}));
  EXPECT_EQ(imported.counts.kernels, 1);
  EXPECT_EQ(imported.rows.kernel[0].stream_id, 7u);
}

TEST(KinetoLenientTest, LargeNamesAndNullArguments) {
  const std::string name(5000, 'n');
  const Imported imported =
      Read(Trace({Kernel(name, "\"ts\":1,\"dur\":1", 1),
                  R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":null})",
                  R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":2,"dur":1})", "17", "null"}));
  EXPECT_EQ(imported.Text(imported.rows.kernel_shape[0].name), name);
  EXPECT_EQ(imported.counts.cpu_ops, 2);
}

// Documents
// ------------------------------------------------------------------------------------------------------------

TEST(KinetoDocumentTest, TruncatedFilesNeedPartial) {
  const std::string text = Trace({Kernel("a", "\"ts\":1,\"dur\":1", 1), Kernel("cut", "\"ts\":2,\"dur\":1", 2)});
  const std::string cut = text.substr(0, text.find("cut") + 2);
  EXPECT_THAT(Error(cut), HasSubstr("truncated"));
  EXPECT_THAT(Error(cut), HasSubstr("`stallhound import --partial` keeps what came before"));
  const Imported partial = Read(cut, {.partial = true});
  EXPECT_EQ(partial.counts.kernels, 1);
  EXPECT_EQ(partial.Loss("truncated-file"), 1);
  const std::string packed = Gzip(text);
  const Imported packed_partial = Read(packed.substr(0, packed.size() - 12), {.partial = true});
  EXPECT_EQ(packed_partial.Loss("truncated-file"), 1);
}

TEST(KinetoDocumentTest, DataBehindTheDocumentIsSaid) {
  const std::string text = Trace({Kernel("a", "\"ts\":1,\"dur\":1", 1)});
  EXPECT_EQ(Read(text + "\n").Loss("forgiven-json"), 0);
  for (const std::string& tail : {text, std::string("garbage [[[")}) {
    const Imported imported = Read(text + tail);
    EXPECT_EQ(imported.counts.kernels, 1);
    EXPECT_EQ(imported.Loss("forgiven-json"), 1);
    EXPECT_TRUE(imported.HasNote("goes on for " + std::to_string(tail.size()) + " bytes"));
  }
}

TEST(KinetoDocumentTest, KeysAfterTheEvents) {
  const Imported imported = Read(Trace(
      {Kernel("a", "\"ts\":1,\"dur\":1", 1), Call("cudaFree", "\"ts\":0,\"dur\":1", 2)}, "",
      R"(, "distributedInfo": {"rank": 5}, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], "cuda_driver_version": 13000)"));
  EXPECT_EQ(imported.rows.process[0].rank, 5);
  ASSERT_EQ(imported.rows.device.size(), 1u);
  EXPECT_EQ(imported.Text(*imported.rows.device[0].name), "NVIDIA H200");
  EXPECT_EQ(imported.rows.environment.size(), 1u);
}

TEST(KinetoDocumentTest, NoGpuIsSaid) {
  EXPECT_TRUE(Read(Trace({Event("cpu_op", "a", "\"ts\":1,\"dur\":1")}, "\"deviceProperties\": [], "))
                  .HasNote("no GPU activity"));
  const Imported metadata =
      Read(Trace({R"({"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}})"}));
  EXPECT_TRUE(metadata.HasNote("no events"));
  EXPECT_EQ(metadata.counts.kernels, 0);
  EXPECT_TRUE(Read(Trace({Event("cuda_profiler_range", "long", "\"ts\":1,\"dur\":1"),
                          Call("cudaFree", "\"ts\":0,\"dur\":1", 2)}))
                  .HasNote("no kernel"));
}

TEST(KinetoDocumentTest, HipIsSaid) {
  const Imported imported =
      Read(Trace({Event("cuda_runtime", "hipDeviceSynchronize", "\"ts\":1,\"dur\":1", "\"correlation\":1")}));
  EXPECT_TRUE(imported.HasNote("HIP"));
  EXPECT_EQ(imported.rows.host_call[0].api_class, ApiClass::kDeviceSync);
  EXPECT_EQ(imported.counts.host_waits->at("hipDeviceSynchronize"), 1);
}

TEST(KinetoDocumentTest, OtherChromeTracesAreRefusedByTheirCategories) {
  EXPECT_THAT(
      Error("[" + Event("cuda", "k", "\"ts\":1,\"dur\":1") + "," + Event("nvtx", "r", "\"ts\":1,\"dur\":1") + "]"),
      HasSubstr("cuda (1), nvtx (1)"));
  EXPECT_THAT(Error(R"({"traceEvents": [{"ph":"b","cat":"m","name":"r","ts":1,"id":1},{"name":"x"}]})"),
              HasSubstr("nothing in it is GPU"));
}

TEST(KinetoDocumentTest, PrivateDataStaysOut) {
  const Imported imported =
      Read(Trace({Kernel("k", "\"ts\":1,\"dur\":1", 1),
                  Event("user_annotation", "epoch on gpu-node-17.example", "\"ts\":1,\"dur\":1"),
                  Event("user_annotation", "save /home/annabel/ckpt", "\"ts\":2,\"dur\":1"),
                  Event("unknown_gpu-node-17.example", "x", "\"ts\":2,\"dur\":1"),
                  R"({"ph":"M","name":"process_name","pid":9,"tid":0,"args":{"name":"python on secret-host"}})"},
                 "\"env\": {\"AWS_KEY\": \"hunter2hunter2\"}, ",
                 R"(, "hostname": "gpu-node-17.example", "username": "annabel", "job": "train-77-annabel")"));
  const StringTable& strings = imported.capture->strings();
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::string text(strings.Get(static_cast<StringId>(i)));
    for (const char* secret : {"gpu-node-17", "annabel", "hunter2", "secret-host"})
      EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(imported.capture->info().producer, Not(HasSubstr("gpu-node")));
}

TEST(KinetoDocumentTest, UuidFollowsFromTheContent) {
  const std::string text = Trace({Kernel("a", "\"ts\":1,\"dur\":1", 1)});
  const std::string other = Trace({Kernel("a", "\"ts\":1,\"dur\":2", 1)});
  EXPECT_EQ(Read(text).capture->info().uuid, Read(text).capture->info().uuid);
  EXPECT_NE(Read(text).capture->info().uuid, Read(other).capture->info().uuid);
  EXPECT_EQ(Read(text).capture->info().uuid, Read(Gzip(text)).capture->info().uuid);
}

TEST(KinetoDocumentTest, GeneratedTracesAreCountedAndReadAgain) {
  for (const bool compact : {false, true}) {
    std::string text;
    const GeneratedCounts wanted =
        GenerateTrace({.step_count = 3, .compact = compact}, [&text](std::string_view piece) { text += piece; });
    absl::StatusOr<Imported> imported = ImportOne("generated.json", text);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->counts.kernels, wanted.kernels);
    EXPECT_EQ(imported->counts.kernels_with_launch, wanted.kernels);
    EXPECT_EQ(imported->counts.cpu_ops, wanted.cpu_ops);
    EXPECT_EQ(imported->counts.runtime_calls, wanted.runtime_calls);
    EXPECT_EQ(imported->counts.host_waits->at("cudaStreamSynchronize"), wanted.waits);
    EXPECT_TRUE(imported->counts.losses.empty());
    CollectedRows again;
    ASSERT_TRUE(imported->capture->Read(Tables({Table::kKernel, Table::kHostCall}), again).ok());
    EXPECT_EQ(again.kernel.size(), imported->rows.kernel.size());
    EXPECT_EQ(again.host_call.back().stack_id, imported->rows.host_call.back().stack_id);
    EXPECT_TRUE(again.range.empty());
  }
}

}  // namespace
}  // namespace stallhound::capture
