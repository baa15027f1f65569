#include "capture/import/nsys/nsys.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "capture/import/nsys/test_export.h"

namespace stallhound::capture::nsys {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

#define ASSERT_READ(recording, file)                           \
  absl::StatusOr<Recording> recording##_or = (file).Read();    \
  ASSERT_TRUE(recording##_or.ok()) << recording##_or.status(); \
  const Recording& recording = *recording##_or

std::vector<std::string> Apis(const Recording& recording) {
  std::vector<std::string> apis;
  for (const HostCallRow& call : recording.host_call) apis.emplace_back(recording.Text(call.api));
  return apis;
}

TEST(NsysTest, ReadsCallsAndKernelsAndJoinsThem) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel_v7000", 1000, 1050, 1);
  file.Call("cudaStreamSynchronize_v3020", 1100, 1900, 2);
  file.Kernel("void add<float>(float*)", 1200, 1800, 1);
  ASSERT_READ(recording, file);

  EXPECT_THAT(Apis(recording), ElementsAre("cudaLaunchKernel", "cudaStreamSynchronize"));
  EXPECT_EQ(recording.host_call[0].start_ns, 0);
  EXPECT_EQ(recording.host_call[0].api_class, ApiClass::kKernelLaunch);
  EXPECT_EQ(recording.host_call[1].layer, ApiLayer::kRuntime);
  ASSERT_EQ(recording.kernel.size(), 1u);
  const KernelRow& kernel = recording.kernel[0];
  EXPECT_EQ(kernel.start_ns, 200);
  EXPECT_EQ(kernel.end_ns, 800);
  EXPECT_EQ(kernel.launch_start_ns, 0);
  EXPECT_EQ(kernel.launch_end_ns, 50);
  EXPECT_EQ(kernel.launch_thread_id, 0u);
  ASSERT_EQ(recording.kernel_shape.size(), 1u);
  EXPECT_EQ(recording.Text(recording.kernel_shape[0].name), "void add<float>(float*)");
  EXPECT_EQ(recording.kernel_shape[0].grid_y, 2);
  EXPECT_EQ(recording.kernel_shape[0].dynamic_shared_bytes, 1024);
  EXPECT_EQ(recording.info.end_ns, 900);
  EXPECT_EQ(recording.info.format, "nsys");
}

TEST(NsysTest, TakesPidAndTidOutOfGlobalIds) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 1, 2, 1, 3300, 3301);
  file.Run(
      fmt::format("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
                  "INSERT INTO PROCESSES VALUES ({}, 3300, '/home/jane/bin/train')",
                  GlobalPidOf(3300)));
  file.Run(
      fmt::format("CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
                  "INSERT INTO ThreadNames VALUES ({}, 20, {})",
                  file.Name("main"), GlobalTidOf(3300, 3301)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.process.size(), 1u);
  EXPECT_EQ(recording.process[0].pid, 3300);
  EXPECT_EQ(recording.Text(*recording.process[0].name), "train");
  ASSERT_EQ(recording.thread.size(), 1u);
  EXPECT_EQ(recording.thread[0].tid, 3301);
  EXPECT_EQ(recording.Text(*recording.thread[0].name), "main");
}

TEST(NsysTest, ReadsMetadataUnderBothNames) {
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    TestExport file;
    file.CreateTables();
    file.Run(
        fmt::format("CREATE TABLE {0} (name TEXT, value TEXT);"
                    "INSERT INTO {0} VALUES ('EXPORT_SCHEMA_VERSION', '3.1.7'), ('EXPORT_PRODUCT_VERSION', "
                    "'2023.1'), ('EXPORT_HOST', 'secret-host')",
                    table));
    ASSERT_READ(recording, file);
    EXPECT_EQ(recording.info.format_version, "3.1.7");
    EXPECT_EQ(recording.info.producer, "nsys 2023.1");
    EXPECT_THAT(recording.facts.texts, ::testing::Contains(Pair("metadata_table", std::optional<std::string>(table))));
  }
}

TEST(NsysTest, FilesWithoutMetadataAreOfAnUnknownSchema) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaThreadSynchronize", 10, 30, 1);
  ASSERT_READ(recording, file);
  EXPECT_EQ(recording.info.format_version, "unknown");
  EXPECT_FALSE(recording.info.epoch_ns.has_value());
  EXPECT_EQ(recording.host_call[0].api_class, ApiClass::kDeviceSync);
}

TEST(NsysTest, TimesStartAtTheFirstEventAndKeepTheEpoch) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", -500, -400, 1);
  file.Run(
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)");
  ASSERT_READ(recording, file);
  EXPECT_EQ(recording.host_call[0].start_ns, 0);
  EXPECT_EQ(recording.info.epoch_ns, 1700000000000000000 - 500);
}

TEST(NsysTest, NormalizedAndShiftedTimesAreOnTheSameAxis) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 1700000000000000300, 1700000000000000400, 1);
  file.Run(
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true'), "
      "('EXPORT_PARAM_TIME_SHIFT', '100')");
  ASSERT_READ(recording, file);
  EXPECT_EQ(recording.info.epoch_ns, 1700000000000000200);
}

TEST(NsysTest, KeepsOneOfACallStoredUnderTwoNames) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaMalloc", 100, 200, 1);
  file.Call("cudaMalloc_v3020", 110, 190, 1);
  file.Call("cudaMemcpy", 300, 400, 2);
  file.Call("cudaMemcpy_v3020", 310, 390, 2);
  file.Call("cuMemcpyHtoD_v2", 320, 380, 2);
  ASSERT_READ(recording, file);
  EXPECT_THAT(Apis(recording), ElementsAre("cudaMalloc", "cudaMemcpy", "cuMemcpyHtoD"));
  EXPECT_EQ(recording.losses.at("duplicate-call"), 2);
  EXPECT_EQ(recording.host_call[0].start_ns, 0);
  EXPECT_FALSE(recording.host_call[1].is_nested);
  EXPECT_TRUE(recording.host_call[2].is_nested);
  EXPECT_EQ(recording.host_call[2].layer, ApiLayer::kDriver);
}

TEST(NsysTest, TheCallDecidesWhatASynchronisationIs) {
  TestExport file;
  file.CreateTables();
  file.Run(
      "CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', ''),"
      "(2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', '')");
  const struct {
    const char* api;
    int code;
    SyncType type;
  } kCases[] = {{"cudaStreamSynchronize_v3020", 2, SyncType::kStreamSynchronize},
                {"cudaDeviceSynchronize_v3020", 1, SyncType::kContextSynchronize},
                {"cudaEventSynchronize_v3020", 2, SyncType::kEventSynchronize},
                {"cudaStreamWaitEvent_v3020", 2, SyncType::kStreamWaitEvent},
                {"cudaEventQuery_v3020", 1, SyncType::kUnknown}};
  int64_t correlation = 0;
  for (const auto& sync : kCases) {
    ++correlation;
    file.Call(sync.api, correlation * 100, correlation * 100 + 50, correlation);
    file.Run(
        fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ({}, {}, 0, 1, 7, {}, {}, {}, NULL, "
                    "NULL)",
                    correlation * 100, correlation * 100 + 50, correlation, GlobalPidOf(7), sync.code));
  }
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.sync.size(), std::size(kCases));
  for (size_t i = 0; i < std::size(kCases); ++i) EXPECT_EQ(recording.sync[i].type, kCases[i].type) << kCases[i].api;
  EXPECT_EQ(recording.losses.at("contradicting-sync"), 3);
  EXPECT_THAT(recording.facts.maps.at(0).second, ::testing::Contains(Pair("cudaEventQuery", 1)));
}

TEST(NsysTest, WithoutACallTheIdsDecide) {
  TestExport file;
  file.CreateTables();
  file.Run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1, 2, 0, 1, 7, 91, {0}, 2, 4294967295, "
                  "NULL), (3, 4, 0, 1, 4294967295, 92, {0}, 4, 4294967295, NULL), (5, 6, 0, 1, 4294967295, 93, "
                  "{0}, 1, 18, 3), (7, 8, 0, 1, 7, 94, {0}, 2, 18, 3), (9, 10, 0, 1, NULL, 95, {0}, 2, NULL, NULL)",
                  GlobalPidOf(7)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.sync.size(), 5u);
  EXPECT_EQ(recording.sync[0].type, SyncType::kStreamSynchronize);
  EXPECT_EQ(recording.sync[0].stream_id, 7u);
  EXPECT_FALSE(recording.sync[0].event_id.has_value());
  EXPECT_EQ(recording.sync[1].type, SyncType::kContextSynchronize);
  EXPECT_FALSE(recording.sync[1].stream_id.has_value());
  EXPECT_EQ(recording.sync[2].type, SyncType::kEventSynchronize);
  EXPECT_EQ(recording.sync[2].event_id, 18u);
  EXPECT_EQ(recording.sync[3].type, SyncType::kStreamWaitEvent);
  EXPECT_EQ(recording.sync[4].type, SyncType::kUnknown);
}

TEST(NsysTest, CorrelationIdsArePerProcess) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 100, 110, 5, 70, 71);
  file.Call("cudaLaunchKernel", 200, 210, 5, 80, 81);
  file.Kernel("first", 150, 160, 5, 70);
  file.Kernel("second", 250, 260, 5, 80);
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.kernel.size(), 2u);
  EXPECT_EQ(recording.kernel[0].launch_start_ns, 0);
  EXPECT_EQ(recording.kernel[1].launch_start_ns, 100);
  EXPECT_NE(recording.kernel[0].process_id, recording.kernel[1].process_id);
}

TEST(NsysTest, SortsRowsThatAreOutOfOrder) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaStreamSynchronize", 400, 500, 3);
  file.Call("cudaLaunchKernel", 100, 110, 1);
  file.Call("cuLaunchKernel", 200, 205, 2);
  file.Call("cudaLaunchKernel", 200, 210, 2);
  file.Kernel("b", 250, 260, 2);
  file.Kernel("a", 150, 160, 1);
  ASSERT_READ(recording, file);
  EXPECT_THAT(Apis(recording),
              ElementsAre("cudaLaunchKernel", "cudaLaunchKernel", "cuLaunchKernel", "cudaStreamSynchronize"));
  EXPECT_TRUE(recording.host_call[2].is_nested);
  ASSERT_EQ(recording.kernel.size(), 2u);
  EXPECT_EQ(recording.kernel[0].launch_start_ns, 0);
  EXPECT_EQ(recording.kernel[1].launch_start_ns, 100);
  EXPECT_EQ(recording.Text(recording.kernel_shape[recording.kernel[0].kernel_shape_id].name), "a");
}

TEST(NsysTest, ReadsMemoryKindsByTheFilesOwnEnum) {
  TestExport file;
  file.CreateTables();
  file.CreateMemoryKinds();
  file.Call("cudaMemcpyAsync_v3020", 100, 150, 1);
  file.Call("cudaMemcpy_v3020", 200, 250, 2);
  file.Run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (120, 140, 0, 1, 7, 1, {0}, 8, 2, 2, 0, 0, 0, "
                  "NULL), (220, 240, 0, 1, 7, 2, {0}, 16, 1, 1, 5, 0, 0, NULL), (300, 310, 0, 1, 7, 9, {0}, 4096, "
                  "11, 7, 7, 0, 0, NULL)",
                  GlobalPidOf(7)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.copy.size(), 3u);
  EXPECT_EQ(recording.copy[0].direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(recording.copy[0].source_kind, MemoryKind::kDevice);
  EXPECT_EQ(recording.copy[0].target_kind, MemoryKind::kPageable);
  EXPECT_EQ(recording.copy[0].is_async, true);
  EXPECT_EQ(recording.copy[1].source_kind, MemoryKind::kPinned);
  EXPECT_EQ(recording.copy[1].target_kind, MemoryKind::kDeviceStatic);
  EXPECT_EQ(recording.copy[1].is_async, false);
  // A migration of unified memory: no call asked for it.
  EXPECT_EQ(recording.copy[2].direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(recording.copy[2].source_kind, MemoryKind::kManaged);
  EXPECT_FALSE(recording.copy[2].is_async.has_value());
  EXPECT_FALSE(recording.losses.contains("kernel-without-launch"));
}

TEST(NsysTest, WithoutAnEnumMemoryKindsAreUnknown) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaMemcpyAsync", 100, 150, 1);
  file.Run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (120, 140, 0, 1, 7, 1, {}, 8, 2, 2, 0, 0, 0, NULL)",
                  GlobalPidOf(7)));
  ASSERT_READ(recording, file);
  EXPECT_FALSE(recording.copy[0].source_kind.has_value());
  EXPECT_FALSE(recording.copy[0].target_kind.has_value());
  EXPECT_TRUE(recording.Notes("pageable"));
}

TEST(NsysTest, DevicesAreThoseOfTheProcess) {
  TestExport file;
  file.CreateTables();
  file.Run(
      "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, "
      "cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
      "INSERT INTO TARGET_INFO_GPU VALUES (1, 3, 'GPU B', 2000, 40, 1, 7, 5), (1, 2, 'GPU A', 1000, 80, 0, 9, 0);"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 70), (2, 0, 80)");
  file.Call("cudaLaunchKernel", 100, 110, 1, 70, 71);
  file.Call("cudaLaunchKernel", 200, 210, 1, 80, 81);
  file.Call("cudaLaunchKernel", 300, 310, 1, 90, 91);
  file.Kernel("on B", 150, 160, 1, 70, 0);
  file.Kernel("on A", 250, 260, 1, 80, 0);
  file.Kernel("not mapped: by the number of CUDA", 350, 360, 1, 90, 1);
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.kernel.size(), 3u);
  EXPECT_EQ(recording.kernel[0].device_id, 3u);
  EXPECT_EQ(recording.kernel[1].device_id, 2u);
  EXPECT_EQ(recording.kernel[2].device_id, 3u);
  ASSERT_EQ(recording.device.size(), 2u);
  EXPECT_EQ(recording.device[0].device_id, 2u);
  EXPECT_EQ(recording.Text(*recording.device[0].name), "GPU A");
  EXPECT_EQ(recording.device[0].sm_count, 80);
  EXPECT_EQ(recording.device[1].compute_minor, 5);
}

TEST(NsysTest, ReadsStreamsAndTheNullStream) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 100, 110, 1);
  file.Kernel("k", 150, 160, 1);
  file.Run(
      "CREATE TABLE ENUM_CUPTI_STREAM_TYPE (id INTEGER, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUPTI_STREAM_TYPE VALUES (2, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING', '');"
      "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER, "
      "contextId INTEGER, priority INTEGER, flag INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (13, 0, 1, 7, 1, 4294967291, 2), (14, 0, 1, 999, 1, 0, 1);"
      "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER, contextId INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 7, 1)");
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.stream.size(), 2u);
  EXPECT_EQ(recording.stream[0].stream_id, 7u);
  EXPECT_EQ(recording.stream[0].flag, StreamFlag::kNull);
  EXPECT_EQ(recording.stream[0].device_id, 0u);
  EXPECT_EQ(recording.stream[1].stream_id, 13u);
  EXPECT_EQ(recording.stream[1].flag, StreamFlag::kNonBlocking);
  EXPECT_EQ(recording.stream[1].priority, -5);
}

TEST(NsysTest, GraphsTracedAsAWholeAreNoIdle) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaGraphLaunch_v10000", 100, 110, 1);
  file.Run(
      "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
      "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Graph');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
      "INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER)");
  file.Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (150, 900, 0, 1, 7, 1, {}, 44, 45)",
                       GlobalPidOf(7)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.graph_run.size(), 1u);
  EXPECT_EQ(recording.graph_run[0].end_ns, 800);
  EXPECT_EQ(recording.graph_run[0].graph_id, 44u);
  EXPECT_EQ(recording.graph_run[0].launch_start_ns, 0);
  EXPECT_EQ(recording.losses.at("graph-level-only"), 1);
  EXPECT_TRUE(recording.Notes("graphs were traced as a whole"));
}

TEST(NsysTest, KernelsOfOneGraphLaunchShareItsCorrelation) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaGraphLaunch", 100, 110, 50);
  for (int node = 0; node < 3; ++node) {
    file.Kernel("node", 150 + 10 * node, 155 + 10 * node, 50);
    file.Run(fmt::format("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = {} WHERE start = {}", 12884901888 + node,
                         150 + 10 * node));
  }
  // A correlation id of 2^64 - 1, which SQLite cannot store as an integer.
  file.Kernel("orphan", 300, 310, 0);
  file.Run("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 18446744073709551615 WHERE start = 300");
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.kernel.size(), 4u);
  EXPECT_EQ(recording.kernel[2].graph_node_id, 12884901890u);
  EXPECT_EQ(recording.kernel[2].launch_start_ns, 0);
  EXPECT_FALSE(recording.kernel[3].correlation_id.has_value());
  EXPECT_FALSE(recording.kernel[3].launch_start_ns.has_value());
  EXPECT_EQ(recording.losses.at("kernel-without-launch"), 1);
  EXPECT_FALSE(recording.losses.contains("graph-level-only"));
}

TEST(NsysTest, CommandBufferFullIsAnOverheadByItsName) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 100, 900, 1);
  file.Run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER, end INTEGER, eventClass INTEGER, globalTid "
      "INTEGER, correlationId INTEGER, nameId INTEGER, overheadType INTEGER);"
      "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, returnValue "
      "INTEGER)");
  file.Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (150, 850, 103, {}, 1, {}, 8)",
                       GlobalTidOf(7, 9), file.Name("Command Buffer Full")));
  file.Run(fmt::format("INSERT INTO PROFILER_OVERHEAD VALUES (120, 140, {0}, {1}, 0), (10, 20, {0}, {1}, 0)",
                       GlobalTidOf(7, 30), file.Name("CUPTI: Instrumentation")));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.overhead.size(), 2u) << "what ended before the recording began is no part of it";
  EXPECT_EQ(recording.overhead[0].kind, OverheadKind::kInstrumentation);
  EXPECT_EQ(recording.overhead[1].kind, OverheadKind::kCommandBufferFull);
  EXPECT_EQ(recording.overhead[1].start_ns, 50);
  EXPECT_TRUE(recording.sync.empty());
}

TEST(NsysTest, ReadsRangesWithDomainsAndOperators) {
  TestExport file;
  file.CreateTables();
  file.Run(
      "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
      "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
      "domainId INTEGER, uint64Value INTEGER, int64Value INTEGER)");
  const int64_t tid = GlobalTidOf(7, 9);
  file.Run(
      fmt::format("INSERT INTO NVTX_EVENTS VALUES (-900, NULL, 75, NULL, NULL, NULL, 'NCCL', {0}, NULL, NULL, 1, "
                  "NULL, NULL), (100, 300, 59, NULL, 2, NULL, NULL, {0}, NULL, {1}, 0, NULL, NULL), (110, 120, 59, "
                  "NULL, NULL, NULL, 'aten::add, seq = 4, op_id = 990', {0}, NULL, NULL, 0, NULL, NULL), (130, "
                  "NULL, 60, 5, NULL, NULL, 'ncclAllReduce', {0}, NULL, NULL, 1, 77, NULL), (140, NULL, 34, NULL, "
                  "NULL, NULL, 'mark', {0}, NULL, NULL, 0, NULL, NULL), (150, NULL, 33, NULL, 2, NULL, 'io', {0}, "
                  "NULL, NULL, 0, NULL, NULL)",
                  tid, file.Name("step")));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.range.size(), 4u);
  EXPECT_EQ(recording.range[0].start_ns, 0) << "the creation of a domain is no event";
  EXPECT_EQ(recording.Text(recording.range[0].name), "step");
  EXPECT_EQ(recording.Text(*recording.range[0].category), "io");
  EXPECT_FALSE(recording.range[0].domain.has_value());
  EXPECT_EQ(recording.Text(recording.range[1].name), "aten::add");
  EXPECT_EQ(recording.range[1].kind, RangeKind::kOperator);
  EXPECT_EQ(recording.Text(*recording.range[2].domain), "NCCL");
  EXPECT_EQ(recording.range[2].kind, RangeKind::kStartEnd);
  EXPECT_FALSE(recording.range[2].end_ns.has_value());
  EXPECT_EQ(recording.range[2].payload, 77);
  EXPECT_EQ(recording.range[3].kind, RangeKind::kMark);
  EXPECT_EQ(recording.range[3].end_ns, recording.range[3].start_ns);
  EXPECT_EQ(recording.losses.at("open-range"), 1);
}

// One call, whose chain 3 has no frames yet.
void CreateCallWithChain(TestExport& file) {
  file.CreateTables();
  file.Call("cudaStreamSynchronize", 100, 200, 1);
  file.Run(
      "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = 3;"
      "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP "
      "INTEGER, stackDepth INTEGER)");
}

TEST(NsysTest, ReadsCallChainsAsNativeFrames) {
  TestExport file;
  CreateCallWithChain(file);
  const int user = file.Name("train_step()");
  const int module = file.Name("/home/jane/app/train");
  const int libcuda = file.Name("/usr/lib/libcuda.so.1");
  file.Run(fmt::format("INSERT INTO CUDA_CALLCHAINS VALUES (3, {0}, {1}, 0, 1, 1), (3, {2}, {3}, 1, 2, 0)", user,
                       module, file.Name("0x7f00"), libcuda));
  ASSERT_READ(recording, file);
  EXPECT_EQ(recording.host_call[0].stack_id, 3u);
  ASSERT_EQ(recording.stack_frame.size(), 2u);
  EXPECT_EQ(recording.stack_frame[0].depth, 0u);
  const FrameRow& inner = recording.frame[recording.stack_frame[0].frame_id];
  const FrameRow& outer = recording.frame[recording.stack_frame[1].frame_id];
  EXPECT_FALSE(inner.function.has_value());
  EXPECT_FALSE(inner.is_user);
  EXPECT_EQ(recording.Text(*outer.function), "train_step()");
  EXPECT_EQ(recording.Text(*outer.module), "~/app/train");
  EXPECT_TRUE(outer.is_user);
}

TEST(NsysTest, FramesOfLibrariesAreNotTheUsersWhereverTheyLie) {
  TestExport file;
  CreateCallWithChain(file);
  const char* const frames[][2] = {{"cudaStreamSynchronize", "/home/jane/app/train"},
                                   {"c10::cuda::CUDAStream::synchronize() const", "/opt/libtorch/lib/libc10_cuda.so"},
                                   {"at::_ops::item::call(at::Tensor const&)", "/opt/libtorch/lib/libtorch_cpu.so"},
                                   {"ncclGroupEnd", "/home/jane/nccl/libnccl.so.2"},
                                   {"cudnnCreate", "/srv/cudnn/libcudnn_graph.so.9"},
                                   {"float at::Tensor::item<float>() const", "/home/jane/app/train"},
                                   {"train_step(at::Tensor)", "/home/jane/app/train"}};
  for (size_t i = 0; i < std::size(frames); ++i) {
    const int symbol = file.Name(frames[i][0]);
    file.Run(
        fmt::format("INSERT INTO CUDA_CALLCHAINS VALUES (3, {}, {}, 0, 1, {})", symbol, file.Name(frames[i][1]), i));
  }
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.stack_frame.size(), std::size(frames));
  for (const StackFrameRow& row : recording.stack_frame) {
    const bool is_callers = row.depth + 1 == std::size(frames);
    EXPECT_EQ(recording.frame[row.frame_id].is_user, is_callers) << frames[row.depth][0];
  }
}

TEST(NsysTest, EventsTakeTheTimeOfTheirCall) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaEventRecord", 100, 105, 1);
  file.Call("cudaEventRecord", 200, 205, 2);
  file.Run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, globalPid INTEGER, eventId INTEGER)");
  file.Run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 2, {0}, 12), (0, 1, 7, 1, {0}, 11), "
                  "(0, 1, 7, 99, {0}, 13)",
                  GlobalPidOf(7)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.cuda_event.size(), 2u);
  EXPECT_EQ(recording.cuda_event[0].event_id, 11u);
  EXPECT_EQ(recording.cuda_event[1].time_ns, 100);
}

TEST(NsysTest, AbsentTablesAreEmptyUnlessACallAskedForThem) {
  TestExport file;
  file.CreateTables();
  file.Run("DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION");
  file.Call("cudaLaunchKernel", 100, 110, 1);
  file.Call("cudaStreamSynchronize", 120, 180, 2);
  file.Kernel("k", 130, 170, 1);
  ASSERT_READ(recording, file);
  EXPECT_TRUE(recording.IsRecorded(Table::kCopy)) << "no call copied";
  EXPECT_FALSE(recording.IsRecorded(Table::kSync)) << "a call synchronised";
  EXPECT_TRUE(recording.Notes("no synchronisation records"));
  EXPECT_FALSE(recording.IsRecorded(Table::kRange));
}

TEST(NsysTest, ReadsReducedTablesAndNamesWhatIsMissing) {
  TestExport file;
  file.Run(
      "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'k'), (2, "
      "'cudaLaunchKernel');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
      "correlationId INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150, 190, 0, 7, 1, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER, globalTid "
      "INTEGER, nameId INTEGER)");
  file.Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 1, {}, 2)", GlobalTidOf(7, 9)));
  ASSERT_READ(recording, file);
  ASSERT_EQ(recording.kernel.size(), 1u);
  EXPECT_EQ(recording.kernel[0].launch_start_ns, 0) << "one process: work without globalPid is its";
  EXPECT_FALSE(recording.kernel[0].context_id.has_value());
  EXPECT_FALSE(recording.kernel_shape[0].grid_x.has_value());
  EXPECT_EQ(recording.Text(recording.kernel_shape[0].name), "k");
  EXPECT_GT(recording.losses.at("missing-column"), 0);
}

TEST(NsysTest, SaysWhenThereIsNoCuda) {
  TestExport file;
  file.Run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT); INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU');"
      "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, "
      "text TEXT, globalPid INTEGER);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 0, 3, 3, 'No CUDA events collected. Does the process use CUDA?', 0),"
      "(0, 0, 3, 2, 'see /home/jane/x.log for more', 0), (0, 0, 3, 1, 'Profiling has started.', 0)");
  ASSERT_READ(recording, file);
  EXPECT_TRUE(recording.Notes("no CUDA events"));
  EXPECT_FALSE(recording.IsRecorded(Table::kKernel));
  EXPECT_EQ(recording.losses.at("foreign-diagnostic"), 2);
  for (const std::string& text : recording.strings) EXPECT_THAT(text, ::testing::Not(HasSubstr("jane")));
  EXPECT_EQ(recording.device.size(), 1u);
}

TEST(NsysTest, NeverReadsTheEnvironment) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 100, 110, 1);
  file.Run(
      "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, "
      "value TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'Host', 'HOSTNAME', 1, 'topsecret');"
      "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT); INSERT INTO META_DATA_CAPTURE VALUES "
      "('PROCESS_0:ENVIRONMENT', 'TOKEN=topsecret')");
  ASSERT_READ(recording, file);
  for (const std::string& text : recording.strings) EXPECT_THAT(text, ::testing::Not(HasSubstr("topsecret")));
  EXPECT_TRUE(recording.environment.empty());
}

TEST(NsysTest, CountsRowsThatCannotBeUsed) {
  TestExport file;
  file.CreateTables();
  file.Call("cudaLaunchKernel", 100, 110, 1);
  file.Kernel("no times", 0, 0, 1);
  file.Kernel("backwards", 300, 200, 1);
  file.Kernel("far away", INT64_MAX, INT64_MAX, 1);
  file.Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('soon', 110, 0, {}, 2, 1, 0, NULL)",
                       GlobalTidOf(7, 9)));
  ASSERT_READ(recording, file);
  EXPECT_EQ(recording.losses.at("zero-time"), 2);
  EXPECT_EQ(recording.losses.at("negative-duration"), 1);
  EXPECT_EQ(recording.losses.at("bad-value"), 1);
  ASSERT_EQ(recording.kernel.size(), 1u);
  EXPECT_EQ(recording.kernel[0].start_ns, recording.kernel[0].end_ns);
}

TEST(NsysTest, RefusesOtherDatabasesByName) {
  TestExport nvprof;
  nvprof.Run(
      "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, start INTEGER)");
  EXPECT_EQ(nvprof.Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(nvprof.Read().status().ToString(), HasSubstr("nvprof"));

  TestExport other;
  other.Run("CREATE TABLE music (title TEXT)");
  EXPECT_THAT(other.Read().status().ToString(), HasSubstr("only music"));

  TestExport future;
  future.Run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE META_DATA_EXPORT (\"key\" TEXT, value TEXT);"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '4.0.0');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, device INTEGER, name INTEGER)");
  EXPECT_EQ(future.Read().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(future.Read().status().ToString(),
              ::testing::AllOf(HasSubstr("schema 4.0.0"), HasSubstr("deviceId, streamId"), HasSubstr("it has start")));
}

TEST(NsysTest, ViewsAreNotRead) {
  TestExport file;
  file.CreateTables();
  file.Run(
      "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS "
      "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end, 0 AS deviceId, 7 AS streamId, 1 AS "
      "shortName FROM n");
  ASSERT_READ(recording, file);
  EXPECT_TRUE(recording.kernel.empty());
}

TEST(NsysTest, TruncatedFilesAreRefusedOrReadInPart) {
  TestExport file;
  file.CreateTables();
  for (int i = 0; i < 40; ++i) file.Kernel(std::string(400, 'k'), 100 + i, 101 + i, i);
  const auto bytes = std::filesystem::file_size(file.path());
  std::filesystem::resize_file(file.path(), bytes - 4096 * 2);
  const absl::Status status = file.Read().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.ToString(), HasSubstr("truncated"));

  const absl::StatusOr<Recording> partial = file.Read({.partial = true});
  ASSERT_TRUE(partial.ok()) << partial.status();
  EXPECT_EQ(partial->losses.count("truncated-file"), 1u);
  EXPECT_GT(partial->kernel.size(), 0u);
}

TEST(NsysTest, TheSameContentHasTheSameUuid) {
  std::string uuids[3];
  for (int i = 0; i < 3; ++i) {
    TestExport file;
    file.CreateTables();
    file.Call("cudaLaunchKernel", 100, i == 2 ? 111 : 110, 1);
    ASSERT_READ(recording, file);
    uuids[i] = recording.info.uuid;
  }
  EXPECT_EQ(uuids[0], uuids[1]);
  EXPECT_NE(uuids[0], uuids[2]);
  EXPECT_EQ(uuids[0].size(), 36u);
}

}  // namespace
}  // namespace stallhound::capture::nsys
