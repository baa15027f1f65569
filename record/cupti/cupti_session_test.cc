#include "record/cupti/cupti_session.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "record/cupti/fake_cupti.h"
#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::LossCounter;
using namespace capture::spool;

constexpr auto kRuntimeDomain = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto kDriverDomain = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr auto kSyncCall = CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
constexpr auto kLaunchCall = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;

int64_t g_now_ns = 0;  // 0: the real clock
int64_t TestNowNs() { return g_now_ns != 0 ? g_now_ns : RawNowNs(); }

std::atomic<uint32_t> g_stacks_taken{0};
bool g_profiler_started = false;

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    g_now_ns = 0;
    g_stacks_taken.store(0);
    char pattern[] = "/tmp/cupti_session_test.XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Start(uint32_t version, Mode mode = Mode::kDefault, bool recording = true) {
    fake_.reset();
    fake_ = std::make_unique<FakeCupti>(version);
    StartWith(mode, recording);
  }
  void StartWith(Mode mode = Mode::kDefault, bool recording = true) {
    WriterOptions options = options_;
    options.directory = folder_.c_str();
    options.mode = mode;
    options.now_ns = TestNowNs;
    options.allocate = allocate_;
    writer_ = std::make_unique<SpoolWriter>();
    ASSERT_TRUE(writer_->Configure(options));
    HostCallHooks hooks;
    hooks.take_stack = [](void*) { return 100 + ++g_stacks_taken; };
    hooks.on_profiler = [](void*, bool is_start) { g_profiler_started = is_start; };
    session_ = std::make_unique<CuptiSession>(*writer_, hooks);
    state_ = session_->Start(fake_->api(), "/x/libcupti.so", recording);
  }
  SpoolRecords Finish() {
    session_->Finish();
    writer_->Close();
    return SpoolRecords(writer_->path());
  }
  uint64_t Loss(LossCounter counter) { return writer_->header().losses[static_cast<int>(counter)].count.load(); }
  void Sync(uint32_t correlation = 1) {
    cudaStreamSynchronize_v3020_params params{reinterpret_cast<cudaStream_t>(42)};
    fake_->Call(kRuntimeDomain, kSyncCall, &params, 0, correlation);
  }
  // A sync that waits for work of 1 ms.
  void BlockingSync(uint32_t correlation) {
    cudaStreamSynchronize_v3020_params params{reinterpret_cast<cudaStream_t>(42)};
    fake_->Enter(kRuntimeDomain, kSyncCall, &params, correlation);
    g_now_ns += 1'000'000;
    fake_->Exit(kRuntimeDomain, kSyncCall, &params, 0, correlation);
  }

  // An asynchronous copy of pageable memory to the device, as the runtime makes it.
  void Copy(uint64_t bytes, uint32_t correlation, int result = 0) {
    const auto stream = reinterpret_cast<cudaStream_t>(42);
    cudaMemcpyAsync_v3020_params params{nullptr, nullptr, bytes, cudaMemcpyHostToDevice, stream};
    cuMemcpyHtoDAsync_v2_params inner{0, nullptr, bytes, stream};
    fake_->Enter(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, &params, correlation);
    fake_->Call(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, &inner, result, correlation);
    fake_->Exit(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, &params, result, correlation);
  }

  std::string folder_;
  WriterOptions options_;
  AllocateFunction allocate_ = nullptr;
  std::unique_ptr<FakeCupti> fake_;
  std::unique_ptr<SpoolWriter> writer_;
  std::unique_ptr<CuptiSession> session_;
  GpuState state_ = GpuState::kNotInitialised;
};

void ExpectOtherRecords(const SpoolRecords& records) {
  const auto copies = records.Of<CopyRecord>(RecordType::kCopy);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0]->bytes, 4096u);
  EXPECT_EQ(copies[0]->direction, 2);
  EXPECT_EQ(copies[0]->target_kind, 1);
  EXPECT_EQ(copies[0]->is_async, 1);
  EXPECT_EQ(records.Of<MemsetRecord>(RecordType::kMemset).size(), 1u);
  EXPECT_EQ(records.Of<OverheadRecord>(RecordType::kOverhead).size(), 1u);
  EXPECT_EQ(records.Of<StreamRecord>(RecordType::kStream).size(), 1u);
  EXPECT_EQ(records.Of<ContextRecord>(RecordType::kContext).size(), 1u);
}

class EveryVersion : public SessionTest, public testing::WithParamInterface<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Cupti, EveryVersion, testing::Values(22, 24, 26, 28, 130001));

TEST_P(EveryVersion, RecordsWhatCuptiDelivers) {
  Start(GetParam());
  ASSERT_EQ(state_, GpuState::kRecording);
  const ActivityLayout& layout = fake_->layout();
  const bool has_selected_calls = GetParam() >= 24;
  const int64_t now = RawNowNs();
  ASSERT_TRUE(fake_->Emit(RawContext(layout, 1, 0)));
  ASSERT_TRUE(fake_->Emit(RawStream(layout, 1, 7)));
  cudaLaunchKernel_v7000_params launch{};
  fake_->Call(kRuntimeDomain, kLaunchCall, &launch, 0, 10);
  EXPECT_EQ(fake_->Emit(RawCall(layout, kActivityRuntime, kLaunchCall, 10, {now + 5, now + 9})), has_selected_calls);
  ASSERT_TRUE(fake_->Emit(RawKernel(layout, "add_one", 10, now + 20, now + 50)));
  ASSERT_TRUE(fake_->Emit(RawKernel(layout, "add_one", 11, now + 60, now + 70)));
  ASSERT_TRUE(fake_->Emit(RawCopy(layout, 12, now + 80, now + 90, 4096)));
  ASSERT_TRUE(fake_->Emit(RawMemset(layout, 13, now + 91, now + 92)));
  EXPECT_FALSE(fake_->Emit(RawSync(layout, 3, 14, now + 1, now + 100)));
  EXPECT_FALSE(fake_->Emit(RawCudaEvent(layout, 15, 3)));
  ASSERT_TRUE(fake_->Emit(RawOverhead(layout, 1 << 16, now, now + 4)));
  session_->Tick();
  const SpoolRecords records = Finish();

  const auto kernels = records.Of<KernelRecord>(RecordType::kKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]->start_ns, now + 20);
  EXPECT_EQ(kernels[0]->end_ns, now + 50);
  EXPECT_EQ(kernels[0]->correlation_id, 10u);
  EXPECT_EQ(kernels[0]->shape_id, kernels[1]->shape_id);
  const auto shapes = records.Of<ShapeRecord>(RecordType::kShape);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(records.Text(shapes[0]->name), "add_one");
  EXPECT_EQ(shapes[0]->grid[0], 80u);
  EXPECT_EQ(shapes[0]->block[0], 256u);
  EXPECT_EQ(shapes[0]->dynamic_shared_bytes, 1024u);
  EXPECT_EQ(records.Of<PointerNameRecord>(RecordType::kPointerName).size(), 1u);
  ExpectOtherRecords(records);
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 1u) << "the launch, from its activity record or from its callbacks";
  EXPECT_EQ(calls[0]->cbid, uint32_t{kLaunchCall});
  EXPECT_EQ(calls[0]->correlation_id, 10u);
  EXPECT_EQ(records.header().launches_seen.load(), 1u);
  EXPECT_EQ(records.header().kernels_seen.load(), 2u);
  EXPECT_EQ(records.header().cupti_version, GetParam());
  EXPECT_STREQ(records.header().cupti_path, "/x/libcupti.so");
  EXPECT_EQ(records.header().layout.kernel.bytes, layout.kernel.bytes);
  for (const LossSlot& slot : records.header().losses) EXPECT_EQ(slot.count.load(), 0u);
}

TEST_P(EveryVersion, FullModeRecordsSyncsAndEventsToo) {
  Start(GetParam(), Mode::kFull);
  const ActivityLayout& layout = fake_->layout();
  const int64_t now = RawNowNs();
  ASSERT_TRUE(fake_->Emit(RawSync(layout, 3, 14, now + 1, now + 100)));
  ASSERT_TRUE(fake_->Emit(RawCudaEvent(layout, 15, 3)));
  session_->Tick();
  const SpoolRecords records = Finish();
  const auto syncs = records.Of<SyncRecord>(RecordType::kSync);
  ASSERT_EQ(syncs.size(), 1u);
  EXPECT_EQ(syncs[0]->type, 3u);
  EXPECT_EQ(syncs[0]->event_id, kNone32);
  const auto events = records.Of<CudaEventRecord>(RecordType::kCudaEvent);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]->event_sync_id, records.header().cupti_version >= 26 ? 1003u : kNone64);
}

TEST_P(EveryVersion, ClockAndBuffersComeBeforeAnyKind) {
  Start(GetParam());
  const std::vector<std::string> log = fake_->log();
  const auto at = [&](const std::string& prefix) {
    return std::find_if(log.begin(), log.end(), [&](const std::string& entry) { return entry.rfind(prefix, 0) == 0; });
  };
  ASSERT_NE(at("enable "), log.end());
  EXPECT_LT(at("subscribe"), at("register-timestamp"));
  EXPECT_LT(at("register-timestamp"), at("enable "));
  EXPECT_LT(at("attribute 9=1"), at("register-callbacks")) << "per-thread buffers";
  EXPECT_LT(at("attribute 5=1"), at("enable ")) << "zeroed buffers";
  EXPECT_EQ(std::count(log.begin(), log.end(), "register-timestamp"), 1);
  EXPECT_NE(at("launch-attributes 0"), log.end());
  EXPECT_EQ(at("all-sync-records 0") != log.end(), GetParam() >= 26);
}

TEST_F(SessionTest, AtItsSizeLimitARingGoesOnAndASpoolStops) {
  for (const int64_t ring_ns : {int64_t{0}, int64_t{1} << 60}) {
    options_.ring_ns = ring_ns;
    options_.max_bytes = capture::spool::kHeaderBytes + 8 * capture::spool::kUnitBytes;
    Start(130001);
    const bool is_ring = ring_ns != 0;
    for (uint32_t i = 1; i <= 20000; ++i) Sync(i);
    session_->Tick();
    EXPECT_EQ(writer_->is_stopped(), !is_ring);
    EXPECT_EQ(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), is_ring);
    EXPECT_GT(Loss(LossCounter::kSpoolFull), 0u);
    session_.reset();
  }
}

TEST_F(SessionTest, OldCuptiHasHostCallsOnly) {
  fake_ = std::make_unique<FakeCupti>(22);
  CuptiApi api = fake_->api();
  api.get_version = [](uint32_t* version) {
    *version = 18;
    return CUPTI_SUCCESS;
  };
  WriterOptions options;
  options.directory = folder_.c_str();
  writer_ = std::make_unique<SpoolWriter>();
  writer_->Configure(options);
  session_ = std::make_unique<CuptiSession>(*writer_, HostCallHooks());
  EXPECT_EQ(session_->Start(api, "old", true), GpuState::kRecording);
  EXPECT_EQ(Loss(LossCounter::kUnknownLayout), 1u);
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  Sync();
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
}

TEST_F(SessionTest, ModesEnableWhatTheyPromise) {
  Start(130001, Mode::kLight);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}) {
    EXPECT_FALSE(fake_->IsEnabled(kind)) << kind << " makes launches slower";
  }
  EXPECT_TRUE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_OVERHEAD));
  EXPECT_FALSE(fake_->IsCallEnabled(kRuntimeDomain, kLaunchCall));
  EXPECT_FALSE(fake_->IsEnabled(kRuntimeDomain, kLaunchCall));
  EXPECT_TRUE(fake_->IsEnabled(kRuntimeDomain, kSyncCall));
  EXPECT_TRUE(fake_->IsEnabled(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000));
  session_.reset();

  Start(130001, Mode::kDefault);
  EXPECT_TRUE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_KERNEL)) << "it serialises kernels";
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_RUNTIME));
  EXPECT_TRUE(fake_->IsCallEnabled(kRuntimeDomain, kLaunchCall));
  EXPECT_TRUE(fake_->IsCallEnabled(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_FALSE(fake_->IsCallEnabled(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020));
  EXPECT_FALSE(fake_->IsCallEnabled(kRuntimeDomain, kSyncCall)) << "its callbacks record it";
  EXPECT_FALSE(fake_->IsEnabled(kRuntimeDomain, kLaunchCall)) << "no callback on a launch";
  session_.reset();

  Start(130001, Mode::kFull);
  EXPECT_TRUE(fake_->IsCallEnabled(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020));
  EXPECT_TRUE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_DRIVER));
  EXPECT_TRUE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
}

TEST_F(SessionTest, FullModeRecordsNoCallTwice) {
  Start(130001, Mode::kFull);
  const ActivityLayout& layout = fake_->layout();
  const int64_t now = RawNowNs();
  Sync(5);
  EXPECT_TRUE(fake_->Emit(RawCall(layout, kActivityRuntime, kSyncCall, 5, {now, now + 1})));
  EXPECT_TRUE(fake_->Emit(
      RawCall(layout, kActivityRuntime, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 6, {now + 2, now + 3})));
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_NE(calls[0]->stack_id, 0u);
  EXPECT_EQ(calls[1]->stack_id, 0u);
}

TEST_F(SessionTest, HostCallHasEverythingItsCallbackKnows) {
  Start(130001);
  Sync(33);
  void* memory = reinterpret_cast<void*>(0x5000);
  cudaMalloc_v3020_params allocation{&memory, 1 << 20};
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &allocation, 0, 34);
  cudaEventSynchronize_v3020_params event{reinterpret_cast<cudaEvent_t>(0x77)};
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, &event, 719, 35);
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_LE(calls[0]->start_ns, calls[0]->end_ns);
  EXPECT_EQ(calls[0]->correlation_id, 33u);
  EXPECT_EQ(calls[0]->stream_id, 42u);
  EXPECT_EQ(calls[0]->context_id, 1u);
  EXPECT_EQ(calls[0]->stack_id, 101u);
  EXPECT_EQ(calls[0]->bytes, kNone64);
  EXPECT_EQ(calls[0]->depth, 0);
  EXPECT_EQ(calls[1]->bytes, 1u << 20);
  EXPECT_EQ(calls[1]->address, 0x5000u);
  EXPECT_EQ(calls[1]->stream_id, kNone32);
  EXPECT_EQ(calls[2]->event_handle, 0x77u);
  EXPECT_EQ(calls[2]->return_value, 719);
  const auto names = records.Of<ApiNameRecord>(RecordType::kApiName);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(records.Text(names[0]->name), "cudaStreamSynchronize_v3020");
  const auto threads = records.Of<ThreadRecord>(RecordType::kThread);
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0]->thread_index, calls[0]->thread_index);
  EXPECT_EQ(records.header().callback_count.load(), 6u);
}

TEST_F(SessionTest, NestedDriverCallSharesItsCallersStack) {
  Start(130001);
  static FakeCupti* fake;
  fake = fake_.get();
  cudaMemcpy_v3020_params params{nullptr, nullptr, 8, cudaMemcpyDeviceToHost};
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, &params, 0, 9, [] {
    cuMemcpyDtoH_v2_params inner{nullptr, 0, 8};
    fake->Call(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, &inner, 0, 9);
  });
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->layer, 1);
  EXPECT_EQ(calls[0]->depth, 1);
  EXPECT_EQ(calls[1]->depth, 0);
  EXPECT_EQ(calls[0]->stack_id, calls[1]->stack_id);
  EXPECT_EQ(g_stacks_taken.load(), 1u);
}

TEST_F(SessionTest, DriverLaunchWithinARuntimeLaunchIsDropped) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  const auto driver = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  const int64_t now = RawNowNs();
  fake_->Emit(RawCall(layout, kActivityDriver, driver, 1, {now + 2, now + 8}));
  fake_->Emit(RawCall(layout, kActivityRuntime, kLaunchCall, 1, {now, now + 10}));
  fake_->Emit(RawCall(layout, kActivityDriver, driver, 2, {now + 20, now + 25}));  // of its own, as Triton launches
  fake_->Emit(RawCall(layout, kActivityRuntime, kLaunchCall, 3, {now + 30, now + 40}));
  fake_->Emit(RawCall(layout, kActivityDriver, driver, 4, {now + 50, now + 55}));
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0]->layer, 0);
  EXPECT_EQ(calls[1]->correlation_id, 2u);
  EXPECT_EQ(calls[3]->correlation_id, 4u);
  EXPECT_EQ(records.header().launches_seen.load(), 4u);
}

TEST_F(SessionTest, LaunchesInsideACaptureAreNotCounted) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, nullptr, 0, 1);
  const int64_t inside = RawNowNs();
  fake_->Emit(RawCall(layout, kActivityRuntime, kLaunchCall, 2, {inside, inside + 1}));
  usleep(100);
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000, nullptr, 0, 3);
  const int64_t outside = RawNowNs();
  fake_->Emit(RawCall(layout, kActivityRuntime, kLaunchCall, 4, {outside, outside + 1}));
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.header().launches_seen.load(), 1u);
}

TEST_F(SessionTest, HostFunctionsAreRecordedUnlessAGraphTakesThem) {
  for (const Mode mode : {Mode::kDefault, Mode::kLight}) {
    Start(130001, mode);
    const auto launch = CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc;
    cuLaunchHostFunc_params params{reinterpret_cast<CUstream>(0x20), nullptr, nullptr};
    fake_->Call(kDriverDomain, launch, &params, 0, 1);
    fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, nullptr, 0, 2);
    fake_->capturing = params.hStream;
    fake_->Call(kDriverDomain, launch, &params, 0, 3);
    cuLaunchHostFunc_params other{reinterpret_cast<CUstream>(0x30), nullptr, nullptr};
    fake_->Call(kDriverDomain, launch, &other, 0, 4);
    const SpoolRecords records = Finish();
    const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0]->correlation_id, 1u);
    EXPECT_NE(calls[0]->stream_id, kNone32);
    EXPECT_EQ(calls[0]->stack_id, 0u) << "it does not stall";
    EXPECT_EQ(calls[1]->correlation_id, 4u);
  }
}

TEST_F(SessionTest, QuerySpinIsThinnedOut) {
  Start(130001);
  cudaEventQuery_v3020_params params{reinterpret_cast<cudaEvent_t>(0x9)};
  g_now_ns = 1'000'000;
  for (uint32_t i = 0; i < 10000; ++i) {
    g_now_ns += 1000;
    fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020, &params, 600, i + 1);
  }
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020, &params, 0, 20000);
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_GT(calls.size(), 400u);
  ASSERT_LT(calls.size(), 700u);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(calls[i]->correlation_id, i + 1);
  EXPECT_EQ(calls.back()->return_value, 0);
  EXPECT_EQ(g_stacks_taken.load(), 1u);
  EXPECT_NE(calls[15]->stack_id, 0u);
}

TEST_F(SessionTest, HolderIsNamed) {
  fake_ = std::make_unique<FakeCupti>(130001);
  fake_->holder = "Nsight Systems";
  StartWith();
  EXPECT_EQ(state_, GpuState::kOtherHolder);
  EXPECT_FALSE(session_->is_active());
  EXPECT_EQ(Loss(LossCounter::kHolderPresent), 1u);
  EXPECT_STREQ(writer_->header().holder, "Nsight Systems");
  EXPECT_EQ(writer_->header().gpu_state.load(), GpuState::kOtherHolder);
  session_->Tick();
  session_->Finish();
  EXPECT_EQ(fake_->flush_count(), 0) << "CUPTI is somebody else's";
}

TEST_F(SessionTest, HolderOfAnOldCuptiIsNoticed) {
  fake_ = std::make_unique<FakeCupti>(24);
  fake_->holder = "x";
  StartWith();
  EXPECT_EQ(state_, GpuState::kOtherHolder);
  EXPECT_STREQ(writer_->header().holder, "");
}

TEST_F(SessionTest, RefusedClockEndsInFailed) {
  fake_ = std::make_unique<FakeCupti>(130001);
  fake_->failing_result = CUPTI_ERROR_UNKNOWN;
  StartWith();
  EXPECT_EQ(state_, GpuState::kFailed);
  EXPECT_EQ(writer_->header().cupti_error.load(), uint32_t{CUPTI_ERROR_UNKNOWN});
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_MEMCPY));
}

TEST_F(SessionTest, DroppedRecordsAndZeroTimesAreCounted) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  fake_->Emit(RawKernel(layout, "k", 1, 0, 0));
  fake_->Emit(RawKernel(layout, "k", 2, 100, 200));
  fake_->dropped = 17;
  session_->Tick();
  EXPECT_EQ(Loss(LossCounter::kDroppedRecords), 17u);
  EXPECT_EQ(Loss(LossCounter::kZeroTime), 1u);
  const LossSlot& slot = writer_->header().losses[static_cast<int>(LossCounter::kDroppedRecords)];
  EXPECT_LT(slot.first_ns.load(), slot.last_ns.load()) << "an interval, not an instant";
  fake_->Emit(RawKernel(layout, "k", 3, 300, 0));
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.Of<KernelRecord>(RecordType::kKernel).size(), 1u);
  EXPECT_EQ(records.header().kernels_seen.load(), 3u);
}

TEST_F(SessionTest, BufferThatContradictsTheLayoutEndsActivityOnly) {
  fake_ = std::make_unique<FakeCupti>(130001);
  StartWith();
  // A CUPTI whose kernels are 8 bytes longer than the table says.
  RawRecord longer(fake_->layout().kernel.bytes + 8, kActivityConcurrentKernel);
  fake_->Emit(longer);
  fake_->Emit(RawKernel(fake_->layout(), "k", 2, 100, 200));
  session_->Tick();
  EXPECT_EQ(Loss(LossCounter::kSanityFailed), 1u);
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_EQ(writer_->header().layout.cupti_version, 0u) << "the reader must not decode with it either";
  Sync();
  const SpoolRecords records = Finish();
  EXPECT_TRUE(records.Of<KernelRecord>(RecordType::kKernel).empty());
  EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
}

TEST_F(SessionTest, FinalizedCuptiIsNoticedAtOnce) {
  Start(130001);
  Sync();
  session_->Tick();
  fake_->is_finalized = true;
  session_->Tick();
  EXPECT_EQ(Loss(LossCounter::kGpuSideLost), 1u);
  EXPECT_EQ(writer_->header().gpu_state.load(), GpuState::kLost);
  const int flushes = fake_->flush_count();
  session_->Tick();
  session_->Finish();
  EXPECT_EQ(fake_->flush_count(), flushes) << "no call into a CUPTI that is gone";
}

TEST_F(SessionTest, FatalErrorOfCuptiIsNoticed) {
  Start(130001);
  fake_->State(CUPTI_CBID_STATE_FATAL_ERROR);
  session_->Tick();
  EXPECT_EQ(writer_->header().gpu_state.load(), GpuState::kLost);
}

TEST_F(SessionTest, TakenOverBuffersAreNoticedWithinASecond) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  g_now_ns = 1'000'000'000;
  const auto step = [&](uint32_t i) {
    g_now_ns += 100'000'000;
    BlockingSync(i);
    fake_->Emit(RawKernel(layout, "k", i, g_now_ns - 900'000, g_now_ns));
    session_->Tick();
  };
  for (uint32_t i = 1; i <= 30; ++i) step(i);
  EXPECT_EQ(Loss(LossCounter::kGpuSideLost), 0u);
  const int64_t taken_ns = g_now_ns;
  fake_->is_taken_over = true;
  for (uint32_t i = 31; session_->is_active() && i < 60; ++i) step(i);
  EXPECT_EQ(Loss(LossCounter::kGpuSideLost), 1u);
  EXPECT_LE(g_now_ns - taken_ns, 1'000'000'000);
  const LossSlot& slot = writer_->header().losses[static_cast<int>(LossCounter::kGpuSideLost)];
  EXPECT_LE(slot.first_ns.load(), taken_ns + 100'000'000);
}

// An idle GPU leaves no records, however often the program asks it.
TEST_F(SessionTest, SyncsThatDoNotBlockAreNoSignOfATakeover) {
  Start(130001);
  g_now_ns = 1'000'000'000;
  for (uint32_t i = 1; i <= 30; ++i) {
    g_now_ns += 100'000'000;
    Sync(i);
    session_->Tick();
  }
  EXPECT_TRUE(session_->is_active());
}

// Light asks for no records of GPU work, so that it misses none.
TEST_F(SessionTest, InLightModeBuffersTellNothing) {
  Start(130001, Mode::kLight);
  g_now_ns = 1'000'000'000;
  for (uint32_t i = 1; i <= 60; ++i) {
    g_now_ns += 100'000'000;
    BlockingSync(2 * i);
    Copy(8, 2 * i + 1);
    session_->Tick();
  }
  EXPECT_TRUE(session_->is_active());
  EXPECT_EQ(Loss(LossCounter::kGpuSideLost), 0u);
}

TEST_F(SessionTest, InLightModeCallsTellOfCopies) {
  Start(130001, Mode::kLight);
  Copy(64, 9);
  Copy(64, 13, 719);
  Copy(0, 14);
  const SpoolRecords records = Finish();
  const auto copies = records.Of<CopyRecord>(RecordType::kCopy);
  ASSERT_EQ(copies.size(), 1u) << "none that failed or is empty";
  const CopyRecord& copy = *copies[0];
  EXPECT_EQ(copy.correlation_id, 9u);
  EXPECT_EQ(copy.has_call_times, 1u);
  EXPECT_LE(copy.start_ns, copy.end_ns);
  EXPECT_EQ(copy.bytes, 64u);
  EXPECT_EQ(copy.direction, static_cast<uint8_t>(capture::CopyDirection::kHostToDevice));
  EXPECT_EQ(copy.source_kind, static_cast<uint8_t>(capture::MemoryKind::kPageable));
  EXPECT_EQ(copy.target_kind, static_cast<uint8_t>(capture::MemoryKind::kDevice));
  EXPECT_EQ(copy.is_async, 1);
  EXPECT_EQ(copy.device_id, 3u);
  EXPECT_EQ(copy.context_id, 1u);
  EXPECT_EQ(copy.stream_id, 42u);
  EXPECT_EQ(Loss(LossCounter::kMissingField), 0u);
}

TEST_F(SessionTest, InLightModeCopiesThatAGraphCapturesAreNone) {
  Start(130001, Mode::kLight);
  cudaStreamSynchronize_v3020_params none{};
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, &none, 0, 1);
  fake_->capturing = reinterpret_cast<CUstream>(42);
  Copy(64, 2);
  fake_->capturing = reinterpret_cast<CUstream>(43);
  Copy(64, 3);
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000, &none, 0, 4);
  const SpoolRecords records = Finish();
  const auto copies = records.Of<CopyRecord>(RecordType::kCopy);
  ASSERT_EQ(copies.size(), 1u) << "its stream was not the captured one";
  EXPECT_EQ(copies[0]->correlation_id, 3u);
}

TEST_F(SessionTest, InLightModeABatchIsItsCopies) {
  Start(130001, Mode::kLight);
  CUdeviceptr targets[] = {1, 2, 3};
  CUdeviceptr sources[] = {4, 5, 6};
  size_t sizes[] = {10, 0, 30};
  cuMemcpyBatchAsync_v2_params params{targets, sources, sizes, 3, nullptr, nullptr, 0, reinterpret_cast<CUstream>(42)};
  fake_->Call(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2, &params, 0, 9);
  const SpoolRecords records = Finish();
  const auto copies = records.Of<CopyRecord>(RecordType::kCopy);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0]->bytes, 10u);
  EXPECT_EQ(copies[1]->bytes, 30u);
  EXPECT_EQ(copies[1]->stream_id, 42u);
  EXPECT_EQ(copies[1]->direction, static_cast<uint8_t>(capture::CopyDirection::kHostToHost));
}

TEST_F(SessionTest, InLightModeACopyWithoutAKnownDriverCallIsUnknown) {
  Start(130001, Mode::kLight);
  static FakeCupti* fake;
  fake = fake_.get();
  cudaMemcpy_v3020_params params{nullptr, nullptr, 8, cudaMemcpyDefault};
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, &params, 0, 9);
  cuMemcpy3DBatchAsync_v2_params batch{};
  fake_->Call(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2, &batch, 0, 10);
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, &params, 0, 11, [] {
    cuMemcpy3DBatchAsync_v2_params inner{};
    fake->Call(kDriverDomain, CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2, &inner, 0, 11);
  });
  const SpoolRecords records = Finish();
  const auto copies = records.Of<CopyRecord>(RecordType::kCopy);
  ASSERT_EQ(copies.size(), 3u);
  for (const CopyRecord* copy : copies) {
    EXPECT_EQ(copy->direction, static_cast<uint8_t>(capture::CopyDirection::kUnknown));
    EXPECT_EQ(copy->source_kind, static_cast<uint8_t>(capture::MemoryKind::kUnknown));
    EXPECT_EQ(copy->stream_id, 7u) << "the default stream";
  }
  EXPECT_EQ(copies[0]->bytes, 8u);
  EXPECT_EQ(Loss(LossCounter::kMissingField), 1u) << "the batch's bytes";
}

TEST_F(SessionTest, OutsideOfLightCopiesAreCuptis) {
  for (const Mode mode : {Mode::kDefault, Mode::kFull}) {
    Start(130001, mode);
    Copy(64, 9);
    EXPECT_TRUE(Finish().Of<CopyRecord>(RecordType::kCopy).empty());
    session_.reset();
  }
}

TEST_F(SessionTest, EventCallsAreRecordedWithTheirHandles) {
  for (const Mode mode : {Mode::kLight, Mode::kDefault}) {
    Start(130001, mode);
    cudaEventRecord_v3020_params record{reinterpret_cast<cudaEvent_t>(77), reinterpret_cast<cudaStream_t>(42)};
    fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, &record, 0, 1);
    cudaStreamWaitEvent_v3020_params wait{reinterpret_cast<cudaStream_t>(43), reinterpret_cast<cudaEvent_t>(77), 0};
    fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020, &wait, 0, 2);
    const SpoolRecords records = Finish();
    const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
    ASSERT_EQ(calls.size(), mode == Mode::kLight ? 0u : 2u);
    for (const HostCallRecord* call : calls) {
      EXPECT_EQ(call->event_handle, 77u);
      EXPECT_NE(call->stream_id, capture::spool::kNone32);
    }
    session_.reset();
  }
}

TEST_F(SessionTest, BuffersThatOnlyGrowAreNoTakeover) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  fake_->Emit(RawKernel(layout, "k", 1, 100, 200));
  session_->Tick();
  fake_->is_holding = true;
  g_now_ns = RawNowNs();
  // A GPU-bound loop: the flush returns nothing, because the buffer holds work in flight, but kernels land in it.
  for (uint32_t i = 0; i < 40; ++i) {
    g_now_ns += 100'000'000;
    BlockingSync(i);
    BlockingSync(i + 100);
    fake_->Emit(RawKernel(layout, "k", i, g_now_ns - 900'000, g_now_ns));
    session_->Tick();
  }
  EXPECT_TRUE(session_->is_active());
  fake_->is_holding = false;
}

TEST_F(SessionTest, WindowSwitchesEverythingOffAndOn) {
  Start(130001, Mode::kDefault, false);
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  Sync(1);
  EXPECT_STREQ(writer_->path(), "") << "nothing recorded, no file";
  session_->SetRecording(true);
  EXPECT_TRUE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_TRUE(fake_->IsCallEnabled(kRuntimeDomain, kLaunchCall));
  Sync(2);
  cudaStreamSynchronize_v3020_params params{};
  fake_->Enter(kRuntimeDomain, kSyncCall, &params, 3);
  session_->SetRecording(false);
  fake_->Exit(kRuntimeDomain, kSyncCall, &params, 0, 3);
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_FALSE(fake_->IsCallEnabled(kRuntimeDomain, kLaunchCall));
  Sync(4);
  session_->SetRecording(true);
  Sync(5);
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->correlation_id, 2u);
  EXPECT_EQ(calls[1]->correlation_id, 5u);
  EXPECT_EQ(calls[1]->depth, 0) << "the call that was cut by the window is forgotten";
}

TEST_F(SessionTest, ProfilerCallsReachTheWindow) {
  Start(130001, Mode::kLight, false);
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, nullptr, 0, 1);
  EXPECT_TRUE(g_profiler_started);
  fake_->Call(kRuntimeDomain, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, nullptr, 0, 2);
  EXPECT_FALSE(g_profiler_started);
}

TEST_F(SessionTest, EightThreadsAtFirstUse) {
  Start(130001);
  const ActivityLayout& layout = fake_->layout();
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() < 8) {
      }
      for (uint32_t i = 0; i < 500; ++i) {
        Sync(t * 1000 + i);
        const int64_t now = RawNowNs();
        fake_->Emit(RawKernel(layout, "k", t * 1000 + i, now, now + 1));
      }
    });
  }
  for (int i = 0; i < 5; ++i) session_->Tick();
  for (std::thread& thread : threads) thread.join();
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 4000u);
  EXPECT_EQ(records.Of<KernelRecord>(RecordType::kKernel).size(), 4000u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(SessionTest, FullDiskSwitchesRecordingOff) {
  static int allocations;
  allocations = 1;
  allocate_ = [](int fd, int64_t offset, int64_t bytes) {
    return allocations-- > 0 ? posix_fallocate(fd, offset, bytes) : ENOSPC;
  };
  Start(130001);
  for (uint32_t i = 0; i < 5000; ++i) Sync(i);
  EXPECT_TRUE(writer_->is_stopped());
  session_->Tick();
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  EXPECT_GT(Loss(LossCounter::kDiskFull), 0u);
  session_->SetRecording(true);
  EXPECT_FALSE(fake_->IsEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST_F(SessionTest, ForkedChildIsSilent) {
  Start(130001);
  Sync(1);
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      session_->ForgetAfterFork();
      writer_->ForgetAfterFork();
      Sync(2);  // as if the child's copy of CUPTI still called
      session_->Tick();
      session_->Finish();
      uint8_t* buffer = nullptr;
      size_t bytes = 0;
      size_t max_records = 0;
      session_->OnBufferRequested(&buffer, &bytes, &max_records);
      _exit(buffer == nullptr && fake_->flush_count() == 0 && writer_->path()[0] == '\0' ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  Sync(3);
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 2u);
}

// What CUPTI had not delivered lies in the file, as raw records of the stored layout.
TEST_F(SessionTest, KilledProcessLeavesItsUndeliveredBuffers) {
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      Start(130001);
      const int64_t now = RawNowNs();
      for (uint32_t i = 1; i <= 100; ++i) fake_->Emit(RawKernel(fake_->layout(), "k", i, now + i, now + i + 1));
      session_->Tick();
      for (uint32_t i = 101; i <= 150; ++i) fake_->Emit(RawKernel(fake_->layout(), "k", i, now + i, now + i + 1));
      Sync(1);
      if (write(pipe_ends[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char ready;
    ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    const std::string path = std::filesystem::directory_iterator(folder_)->path();
    const SpoolRecords records(path);
    EXPECT_EQ(records.Of<KernelRecord>(RecordType::kKernel).size(), 100u);
    EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
    EXPECT_EQ(records.header().close_ns.load(), 0);
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    int undelivered = 0;
    for (uint64_t unit = 0; unit < records.header().units_used.load(); ++unit) {
      const char* at = bytes.data() + kHeaderBytes + unit * kUnitBytes;
      const auto* chunk = reinterpret_cast<const ChunkHeader*>(at);
      if (chunk->magic != kChunkMagic || chunk->kind != ChunkKind::kActivity) continue;
      if (chunk->state.load() != ActivityState::kLent) continue;
      ActivityCursor cursor(records.header().layout, reinterpret_cast<const uint8_t*>(chunk + 1),
                            chunk->unit_count * kUnitBytes - sizeof(*chunk));
      RawActivity raw;
      while (cursor.Next(raw)) ++undelivered;
      EXPECT_FALSE(cursor.is_damaged());
    }
    EXPECT_EQ(undelivered, 50);
    std::filesystem::remove(path);
  }
}

TEST_F(SessionTest, GraphNodesAreCounted) {
  Start(130001);
  CUpti_GraphData graph{};
  graph.graph = reinterpret_cast<CUgraph>(0x10);
  for (auto type : {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_KERNEL}) {
    graph.nodeType = type;
    fake_->Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph);
  }
  fake_->Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph);
  CUpti_GraphData nested{};
  nested.graph = reinterpret_cast<CUgraph>(0x20);
  nested.nodeType = CU_GRAPH_NODE_TYPE_GRAPH;
  fake_->Resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, nested);
  fake_->Resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, nested);
  const SpoolRecords records = Finish();
  const auto graphs = records.Of<GraphRecord>(RecordType::kGraph);
  ASSERT_EQ(graphs.size(), 1u) << "a graph within a graph stays unknown";
  EXPECT_EQ(graphs[0]->graph_id, 77u);
  EXPECT_EQ(graphs[0]->kernel_node_count, 2u);
}

}  // namespace
}  // namespace stallhound::record
