#include "capture/join/join_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/testing/memory_capture.h"

namespace stallhound::capture {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;

void AddProcess(MemoryCapture& capture, uint32_t process_id, int64_t pid) {
  ProcessRow process;
  process.process_id = process_id;
  process.pid = pid;
  capture.Add(process);
}
void AddThread(MemoryCapture& capture, uint32_t thread_id, uint32_t process_id, int64_t tid) {
  ThreadRow thread;
  thread.thread_id = thread_id;
  thread.process_id = process_id;
  thread.tid = tid;
  capture.Add(thread);
}
void AddRange(MemoryCapture& capture, std::string_view name, int64_t start_ns, std::optional<int64_t> end_ns,
              uint32_t thread_id = 0, uint32_t process_id = 0) {
  RangeRow range;
  range.name = capture.Intern(name);
  range.start_ns = start_ns;
  range.end_ns = end_ns;
  range.thread_id = thread_id;
  range.process_id = process_id;
  capture.Add(range);
}

// Ours: process 71, thread 71, steps at 1 to 2, 3 to 4 ... us.
std::unique_ptr<MemoryCapture> Host() {
  auto host = std::make_unique<MemoryCapture>();
  CaptureInfo& info = host->mutable_info();
  info.uuid = "host";
  info.format = "spool";
  info.mode = "default";
  info.epoch_ns = kEpochNs;
  info.end_ns = 10'000;
  info.recorded = Tables({Table::kProcess, Table::kThread, Table::kEnvironment, Table::kRange, Table::kLoss});
  AddProcess(*host, 0, 71);
  AddThread(*host, 0, 0, 71);
  for (int64_t start_ns = 1'000; start_ns < 9'000; start_ns += 2'000) {
    AddRange(*host, "step", start_ns, start_ns + 1'000);
  }
  AddRange(*host, "open", 4'000, std::nullopt);
  EnvironmentRow row;
  row.process_id = 0;
  row.key = host->Intern("driver");
  row.value = host->Intern("580");
  host->Add(row);
  return host;
}

// The profiler's: the same process as number 5, from 2.5 to 6.5 us of the host's time; thread 4 is the host's, 8 is
// new.
std::unique_ptr<MemoryCapture> Trace(int64_t pid = 71, int64_t begin_ns = 2'500) {
  auto trace = std::make_unique<MemoryCapture>();
  CaptureInfo& info = trace->mutable_info();
  info.format = "kineto";
  info.epoch_ns = kEpochNs + begin_ns;
  info.end_ns = 4'000;
  trace->Intern("a text of its own, so that ids differ");
  AddProcess(*trace, 5, pid);
  AddThread(*trace, 4, 5, 71);
  AddThread(*trace, 8, 5, 99);
  AddRange(*trace, "aten::item", 100, 900, 4, 5);
  HostCallRow call;
  call.start_ns = 600;
  call.end_ns = 700;
  call.process_id = 5;
  call.thread_id = 8;
  call.api = trace->Intern("cudaStreamSynchronize");
  call.stack_id = 3;
  trace->Add(call);
  KernelRow kernel;
  kernel.start_ns = 610;
  kernel.end_ns = 650;
  kernel.process_id = 5;
  kernel.launch_start_ns = 590;
  kernel.launch_end_ns = 600;
  kernel.launch_thread_id = 4;
  trace->Add(kernel);
  KernelShapeRow shape;
  shape.name = trace->Intern("gemm");
  trace->Add(shape);
  return trace;
}

void AddDevice(MemoryCapture& capture, uint32_t device_id, std::string_view name) {
  DeviceRow device;
  device.device_id = device_id;
  device.name = capture.Intern(name);
  capture.Add(device);
}

struct Rows : CaptureVisitor {
  absl::Status On(const ProcessBatch& batch) override { return Keep(batch, processes); }
  absl::Status On(const ThreadBatch& batch) override { return Keep(batch, threads); }
  absl::Status On(const EnvironmentBatch& batch) override { return Keep(batch, environment); }
  absl::Status On(const DeviceBatch& batch) override { return Keep(batch, devices); }
  absl::Status On(const KernelShapeBatch& batch) override { return Keep(batch, shapes); }
  absl::Status On(const RangeBatch& batch) override { return Keep(batch, ranges); }
  absl::Status On(const HostCallBatch& batch) override { return Keep(batch, calls); }
  absl::Status On(const KernelBatch& batch) override { return Keep(batch, kernels); }
  template <typename Batch, typename Row>
  absl::Status Keep(const Batch& batch, std::vector<Row>& rows) {
    for (size_t i = 0; i < batch.size; ++i) rows.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  std::vector<ProcessRow> processes;
  std::vector<ThreadRow> threads;
  std::vector<EnvironmentRow> environment;
  std::vector<DeviceRow> devices;
  std::vector<KernelShapeRow> shapes;
  std::vector<RangeRow> ranges;
  std::vector<HostCallRow> calls;
  std::vector<KernelRow> kernels;
};

TEST(JoinTrace, OneProcessOneAxisOneSetOfTexts) {
  const auto joined = JoinTrace(Host(), Trace());
  ASSERT_TRUE(joined.ok()) << joined.status();
  Rows rows;
  ASSERT_TRUE((*joined)->Read(AllTables(), rows).ok());
  const StringTable& strings = (*joined)->strings();
  ASSERT_EQ(rows.processes.size(), 1u);
  ASSERT_EQ(rows.threads.size(), 2u);
  EXPECT_EQ(rows.threads[1].tid, 99);
  EXPECT_EQ(rows.threads[1].process_id, 0u);
  ASSERT_EQ(rows.calls.size(), 1u);
  EXPECT_EQ(rows.calls[0].start_ns, 3'100);
  EXPECT_EQ(rows.calls[0].end_ns, 3'200);
  EXPECT_EQ(rows.calls[0].process_id, 0u);
  EXPECT_EQ(rows.calls[0].thread_id, rows.threads[1].thread_id);
  EXPECT_EQ(rows.calls[0].stack_id, 3u);
  EXPECT_EQ(strings.Get(rows.calls[0].api), "cudaStreamSynchronize");
  ASSERT_EQ(rows.kernels.size(), 1u);
  EXPECT_EQ(rows.kernels[0].start_ns, 3'110);
  EXPECT_EQ(rows.kernels[0].launch_start_ns, 3'090);
  EXPECT_EQ(rows.kernels[0].launch_thread_id, 0u);
  EXPECT_EQ(strings.Get(rows.shapes.at(0).name), "gemm");
  ASSERT_EQ(rows.environment.size(), 1u);
  EXPECT_EQ(strings.Get(rows.environment[0].value), "580");
}

TEST(JoinTrace, ThreadsThatHadOneTidAreOne) {
  auto host = Host();
  AddThread(*host, 1, 0, 71);
  AddRange(*host, "later", 5'000, 5'500, 1);
  const auto joined = JoinTrace(std::move(host), Trace());
  ASSERT_TRUE(joined.ok()) << joined.status();
  Rows rows;
  ASSERT_TRUE((*joined)->Read(AllTables(), rows).ok());
  ASSERT_EQ(rows.threads.size(), 2u);
  for (const RangeRow& range : rows.ranges) EXPECT_EQ(range.thread_id, 0u) << (*joined)->strings().Get(range.name);
  ASSERT_EQ(rows.calls.size(), 1u);
  EXPECT_EQ(rows.calls[0].thread_id, rows.threads[1].thread_id);
}

TEST(JoinTrace, RangesOutsideOfTheTraceAreLeftOutAndCounted) {
  const auto joined = JoinTrace(Host(), Trace());
  ASSERT_TRUE(joined.ok());
  Rows rows;
  ASSERT_TRUE((*joined)->Read(Tables({Table::kRange}), rows).ok());
  std::vector<std::pair<std::string, int64_t>> seen;
  for (const RangeRow& range : rows.ranges) seen.emplace_back((*joined)->strings().Get(range.name), range.start_ns);
  EXPECT_THAT(seen, ElementsAre(std::pair("aten::item", 2'600), std::pair("step", 3'000), std::pair("step", 5'000)));
  EXPECT_THAT((*joined)->info().notes, Contains(HasSubstr("3 NVTX ranges")));
}

TEST(JoinTrace, DevicesAreTheTracesIfItHasAny) {
  for (const bool has_trace_devices : {true, false}) {
    auto host = Host();
    auto trace = Trace();
    AddDevice(*host, 0, "Tesla T4");
    AddDevice(*host, 1, "Tesla T4");
    if (has_trace_devices) AddDevice(*trace, 0, "NVIDIA A100");
    const auto joined = JoinTrace(std::move(host), std::move(trace));
    ASSERT_TRUE(joined.ok());
    Rows rows;
    ASSERT_TRUE((*joined)->Read(Tables({Table::kDevice}), rows).ok());
    std::vector<std::string> names;
    for (const DeviceRow& device : rows.devices) names.emplace_back((*joined)->strings().Get(device.name.value()));
    const std::vector<std::string> expected =
        has_trace_devices ? std::vector<std::string>{"NVIDIA A100"} : std::vector<std::string>{"Tesla T4", "Tesla T4"};
    EXPECT_EQ(names, expected);
  }
}

TEST(JoinTrace, InfoSaysWhatIsKnownAndWhere) {
  const auto joined = JoinTrace(Host(), Trace());
  ASSERT_TRUE(joined.ok());
  const CaptureInfo& info = (*joined)->info();
  EXPECT_EQ(info.uuid, "host");
  EXPECT_EQ(info.format, "spool+kineto");
  EXPECT_EQ(info.mode, "") << "what it says of calls is not ours";
  EXPECT_EQ(info.end_ns, 10'000);
  EXPECT_TRUE(info.recorded.test(static_cast<size_t>(Table::kKernel)));
  EXPECT_THAT(info.notes, Contains(HasSubstr("outside of that time they are unknown")));
}

TEST(JoinTrace, WhatDoesNotBelongTogetherIsRefused) {
  EXPECT_THAT(std::string(JoinTrace(Host(), Trace(72)).status().message()),
              HasSubstr("the trace is of process 72, the recording of 71"));
  EXPECT_THAT(std::string(JoinTrace(Host(), Trace(71, 20'000)).status().message()), HasSubstr("do not overlap"));
  auto clockless = Trace();
  clockless->mutable_info().epoch_ns.reset();
  EXPECT_THAT(std::string(JoinTrace(Host(), std::move(clockless)).status().message()),
              HasSubstr("the kineto one has no wall clock"));
  auto whole = Host();
  whole->mutable_info().recorded.set(static_cast<size_t>(Table::kHostCall));
  EXPECT_THAT(std::string(JoinTrace(std::move(whole), Trace()).status().message()), HasSubstr("--yield-to-profiler"));
}

}  // namespace
}  // namespace stallhound::capture
