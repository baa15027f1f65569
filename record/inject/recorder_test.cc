#include "record/inject/recorder.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "record/cupti/fake_cupti.h"
#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::LossCounter;
using namespace capture::spool;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/recorder_test.XXXXXX";
    folder_ = mkdtemp(pattern);
    strcpy(options_.spool_directory, folder_.c_str());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Start() {
    fake_ = std::make_unique<FakeCupti>(130001);
    recorder_ = std::make_unique<Recorder>(options_);
    recorder_->Start();
  }
  void StartCupti() { recorder_->StartCupti(fake_->api(), "fake"); }
  void Sync() {
    cudaStreamSynchronize_v3020_params params{};
    fake_->Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, &params, 0,
                ++calls_);
  }
  SpoolRecords Finish() {
    recorder_->Finish();
    return SpoolRecords(recorder_->writer().path());
  }
  // Waits for the recorder's thread, a second at most.
  bool Eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i) usleep(1000);
    return holds();
  }

  std::string folder_;
  RecorderOptions options_;
  std::unique_ptr<FakeCupti> fake_;
  std::unique_ptr<Recorder> recorder_;
  uint32_t calls_ = 0;
};

TEST_F(RecorderTest, NothingToRecordLeavesNothing) {
  Start();
  StartCupti();
  recorder_->Finish();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(RecorderTest, OneCallGivesACompleteSpool) {
  Start();
  StartCupti();
  Sync();
  const SpoolRecords records = Finish();
  EXPECT_NE(records.header().close_ns.load(), 0);
  EXPECT_STRNE(records.header().recorder_version, "");
  EXPECT_EQ(records.header().gpu_state.load(), GpuState::kRecording);
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_NE(calls[0]->stack_id, 0u) << "a native stack, as there is no Python";
  EXPECT_EQ(records.Of<StackRecord>(RecordType::kStack).size(), 1u);
  EXPECT_GE(records.Of<ModuleRecord>(RecordType::kModule).size(), 2u);
  EXPECT_EQ(records.Of<ClockRecord>(RecordType::kClock).size(), 2u) << "both ends";
  std::map<std::string, std::string> described;
  for (const auto* pair : records.Of<KeyValueRecord>(RecordType::kKeyValue)) {
    described[records.Text(pair->key)] = records.Text(pair->value);
  }
  EXPECT_EQ(described["process.name"], "recorder_test");
  EXPECT_EQ(described["path.project"], std::filesystem::current_path());
  EXPECT_EQ(described.count("process.argv"), 0u) << "only if asked";
  EXPECT_EQ(described.count("host.arch"), 1u);
}

TEST_F(RecorderTest, ArgvIfAsked) {
  options_.records_argv = true;
  Start();
  StartCupti();
  Sync();
  const SpoolRecords records = Finish();
  std::string argv;
  for (const auto* pair : records.Of<KeyValueRecord>(RecordType::kKeyValue)) {
    if (records.Text(pair->key) == "process.argv") argv = records.Text(pair->value);
  }
  EXPECT_NE(argv.find("recorder_test"), std::string::npos);
}

TEST_F(RecorderTest, ThreadFlushesAndTranscribes) {
  Start();
  StartCupti();
  const int64_t now = RawNowNs();
  ASSERT_TRUE(fake_->Emit(RawKernel(fake_->layout(), "k", 1, now, now + 1)));
  EXPECT_TRUE(Eventually([&] { return recorder_->writer().header().kernels_seen.load() == 1; }));
  recorder_->Finish();
}

TEST_F(RecorderTest, YieldingTouchesNothing) {
  options_.yields_to_profiler = true;
  Start();
  recorder_->StartCupti();
  recorder_->nvtx().Push({.text = "range"});
  recorder_->nvtx().Pop(0);
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.header().gpu_state.load(), GpuState::kYielded);
  EXPECT_TRUE(fake_->log().empty());
  EXPECT_EQ(records.Of<RangeRecord>(RecordType::kRange).size(), 2u);
}

TEST_F(RecorderTest, NoCuptiIsSaid) {
  Start();
  recorder_->StartCupti();
  recorder_->nvtx().Mark({.text = "mark"});
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.header().gpu_state.load(), GpuState::kNoCupti);
  EXPECT_EQ(records.header().losses[static_cast<int>(LossCounter::kCuptiMissing)].count.load(), 1u);
}

TEST_F(RecorderTest, RangeOpensTheWindowForCallsAndItself) {
  options_.window.range = "step";
  Start();
  StartCupti();
  Sync();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  recorder_->nvtx().Push({.text = "before"});
  recorder_->nvtx().Push({.text = "step"});
  Sync();
  recorder_->nvtx().Pop(0);
  Sync();
  recorder_->nvtx().Pop(0);
  const SpoolRecords records = Finish();
  const auto calls = records.Of<HostCallRecord>(RecordType::kHostCall);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->correlation_id, 2u);
  const auto ranges = records.Of<RangeRecord>(RecordType::kRange);
  ASSERT_EQ(ranges.size(), 2u) << "the step's own push and pop";
  EXPECT_EQ(records.Text(ranges[0]->name), "step");
  EXPECT_EQ(ranges[1]->event, RangeEvent::kPop);
  EXPECT_EQ(records.Of<WindowRecord>(RecordType::kWindow).size(), 2u);
}

TEST_F(RecorderTest, LightRecordsRanges) {
  options_.mode = Mode::kLight;
  options_.window.range = "step";
  Start();
  StartCupti();
  Sync();
  recorder_->nvtx().Push({.text = "step"});
  Sync();
  recorder_->nvtx().Pop(0);
  const SpoolRecords records = Finish();
  EXPECT_EQ(records.Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
  EXPECT_EQ(records.Of<RangeRecord>(RecordType::kRange).size(), 2u);
}

TEST_F(RecorderTest, RangesAreLeftOutOutsideOfWindows) {
  options_.window.needs_start = true;
  Start();
  StartCupti();
  recorder_->nvtx().End(recorder_->nvtx().Start({.text = "outside"}));
  recorder_->Finish();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// Without the flush the thread would do it within 100 ms, so a slow test could not tell: a hundred in a row can.
TEST_F(RecorderTest, FlushDoesNotWaitForTheNextTick) {
  Start();
  StartCupti();
  Sync();
  const int64_t start_ns = RawNowNs();
  for (uint64_t i = 1; i <= 100; ++i) {
    const int64_t now_ns = RawNowNs();
    ASSERT_TRUE(fake_->Emit(RawKernel(fake_->layout(), "k", static_cast<uint32_t>(i), now_ns, now_ns + 1)));
    ASSERT_TRUE(recorder_->Flush(1'000'000'000));
    EXPECT_EQ(recorder_->writer().header().kernels_seen.load(), i);
    EXPECT_GE(recorder_->writer().header().heartbeat_ns.load(), now_ns);
  }
  EXPECT_LT(RawNowNs() - start_ns, 5'000'000'000);
  recorder_->Finish();
  EXPECT_FALSE(recorder_->Flush(1'000'000'000)) << "the thread has ended";
}

TEST_F(RecorderTest, ProfilerCallsCountOnlyIfAsked) {
  const auto profiler = [&](CUpti_CallbackId cbid) { fake_->Call(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, nullptr, 0, 900); };
  Start();
  StartCupti();
  profiler(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  Sync();
  EXPECT_EQ(Finish().Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
  recorder_.reset();
  fake_.reset();

  options_.window.needs_start = true;
  Start();
  StartCupti();
  Sync();
  profiler(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
  Sync();
  profiler(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  Sync();
  EXPECT_EQ(Finish().Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
}

TEST_F(RecorderTest, DelayIsKeptByTheThread) {
  options_.window.delay_ns = 30'000'000;
  Start();
  StartCupti();
  Sync();
  EXPECT_TRUE(Eventually([&] { return recorder_->windows().is_on(); }));
  Sync();
  EXPECT_EQ(Finish().Of<HostCallRecord>(RecordType::kHostCall).size(), 1u);
}

// A process that forks and forks again, with recorded calls and ranges going on.
TEST_F(RecorderTest, ForkStorm) {
  Start();
  StartCupti();
  Sync();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      recorder_->nvtx().Push({.text = "busy"});
      Sync();
      recorder_->nvtx().Pop(0);
    }
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      recorder_->ForgetAfterFork();
      recorder_->nvtx().Push({.text = "child"});
      recorder_->nvtx().Pop(0);
      if (i % 3 == 0 && fork() == 0) {
        recorder_->ForgetAfterFork();
        recorder_->nvtx().Mark({.text = "grandchild"});
      }
      recorder_->Finish();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  busy.join();
  recorder_->Finish();
  const std::string own = recorder_->writer().path();
  int children = 0;
  // Grandchildren may still be writing.
  ASSERT_TRUE(Eventually([&] { return std::distance(std::filesystem::directory_iterator(folder_), {}) == 41; }));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path() == own) continue;
    const SpoolRecords records(entry.path());
    EXPECT_TRUE(records.Of<HostCallRecord>(RecordType::kHostCall).empty());
    EXPECT_EQ(records.header().losses[static_cast<int>(LossCounter::kForkedChild)].count.load(), 1u);
    EXPECT_EQ(records.header().gpu_state.load(), GpuState::kNotInitialised);
    ++children;
  }
  EXPECT_EQ(children, 40);
}

}  // namespace
}  // namespace stallhound::record
