// Spools as killed and odd processes leave them, written record by record.

#include <gtest/gtest.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/testing/temp_dir.h"
#include "capture/spool/range_pairs.h"
#include "capture/spool/reader.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

constexpr int64_t kOpenNs = 1'000'000'000;
constexpr uint32_t kLaunchCbid = 211;
constexpr uint32_t kSyncCbid = 131;
constexpr uint32_t kEventCbid = 135;
constexpr uint32_t kDriverLaunchCbid = 307;
constexpr uint32_t kCopyCbid = 41;
constexpr uint32_t kGraphLaunchCbid = 311;

// A layout of our own: every field 8 bytes apart behind the kind.
ActivityLayout MakeLayout() {
  ActivityLayout layout{};
  layout.cupti_version = 130001;
#define FIELD(name, type) \
  at.name = offset;       \
  offset += 8;
#define KIND(name, fields)    \
  {                           \
    auto& at = layout.name;   \
    uint16_t offset = 8;      \
    fields at.bytes = offset; \
  }
  SH_ACTIVITY_LAYOUT(KIND)
#undef KIND
#undef FIELD
  return layout;
}

class RawRecord {
 public:
  RawRecord(uint32_t kind, uint16_t bytes) : bytes_(bytes) { Set(0, kind); }
  template <typename T>
  RawRecord& Set(uint16_t offset, T value) {
    memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

struct Rows : CaptureVisitor {
  using CaptureVisitor::On;
#define SH_KEEP(Type, member)                                               \
  absl::Status On(const Type##Batch& batch) override {                      \
    for (size_t i = 0; i < batch.size; ++i) member.push_back(batch.Get(i)); \
    return absl::OkStatus();                                                \
  }                                                                         \
  std::vector<Type##Row> member;
  SH_KEEP(Kernel, kernels)
  SH_KEEP(HostCall, calls)
  SH_KEEP(Copy, copies)
  SH_KEEP(CudaEvent, events)
  SH_KEEP(KernelShape, shapes)
  SH_KEEP(Loss, losses)
  SH_KEEP(Thread, threads)
  SH_KEEP(Stream, streams)
  SH_KEEP(Process, processes)
#undef SH_KEEP
  const LossRow* Loss(LossCounter counter) const {
    for (const LossRow& loss : losses) {
      if (loss.counter == counter) return &loss;
    }
    return nullptr;
  }
};

class OddSpoolTest : public ::testing::Test {
 protected:
  OddSpoolTest() {
    WriterOptions options;
    options.directory = temp_.path().c_str();
    options.now_ns = [] { return kOpenNs; };
    EXPECT_TRUE(writer_.Configure(options) && writer_.EnsureOpen());
    writer_.header().gpu_state.store(GpuState::kRecording);
    writer_.header().layout = layout_;
    thread_ = writer_.ThreadIndex();
    NameApi(0, kLaunchCbid, "cudaLaunchKernel_v7000");
    NameApi(0, kSyncCbid, "cudaStreamSynchronize_v3020");
    NameApi(0, kEventCbid, "cudaEventRecord_v3020");
    NameApi(1, kDriverLaunchCbid, "cuLaunchKernel");
  }

  void NameApi(uint32_t layer, uint32_t cbid, const char* name) {
    ApiNameRecord record{};
    record.layer = layer;
    record.cbid = cbid;
    record.name = writer_.InternString(name);
    writer_.AddDictionary(record);
  }
  HostCallRecord Call(uint32_t cbid, uint32_t correlation, int64_t start_ns, int64_t end_ns) {
    HostCallRecord call{};
    call.start_ns = kOpenNs + start_ns;
    call.end_ns = kOpenNs + end_ns;
    call.thread_index = thread_;
    call.correlation_id = correlation;
    call.cbid = cbid;
    call.context_id = 1;
    call.stream_id = 7;
    call.event_handle = call.bytes = call.address = kNone64;
    return call;
  }
  void Write(HostCallRecord call) { ASSERT_TRUE(writer_.Append(call, call.end_ns)); }
  void WriteKernel(uint32_t correlation, int64_t start_ns, int64_t end_ns, uint32_t shape) {
    KernelRecord kernel{};
    kernel.start_ns = kOpenNs + start_ns;
    kernel.end_ns = kOpenNs + end_ns;
    kernel.correlation_id = correlation;
    kernel.context_id = 1;
    kernel.stream_id = 7;
    kernel.shape_id = shape;
    ASSERT_TRUE(writer_.Append(kernel, kernel.end_ns));
  }
  uint32_t Shape(const char* name) {
    ShapeRecord shape{};
    shape.name = writer_.InternString(name);
    return writer_.Intern(shape);
  }
  RawRecord RawKernel(uint32_t correlation, int64_t start_ns, int64_t end_ns, uint64_t name_pointer) {
    const auto& at = layout_.kernel;
    return RawRecord(kActivityConcurrentKernel, at.bytes)
        .Set<uint64_t>(at.start, kOpenNs + start_ns)
        .Set<uint64_t>(at.end, end_ns == 0 ? 0 : kOpenNs + end_ns)
        .Set<uint32_t>(at.correlation, correlation)
        .Set<uint32_t>(at.context, 1)
        .Set<uint32_t>(at.stream, 7)
        .Set<uint64_t>(at.name, name_pointer)
        .Set<int32_t>(at.grid_x, 3);
  }
  RawRecord RawCall(uint32_t kind, uint32_t cbid, uint32_t correlation, int64_t start_ns, int64_t end_ns) {
    const auto& at = layout_.api;
    return RawRecord(kind, at.bytes)
        .Set<uint64_t>(at.start, kOpenNs + start_ns)
        .Set<uint64_t>(at.end, kOpenNs + end_ns)
        .Set<uint32_t>(at.correlation, correlation)
        .Set<uint32_t>(at.cbid, cbid)
        .Set<uint32_t>(at.thread, static_cast<uint32_t>(gettid()));
  }
  // A buffer that CUPTI still holds.
  void Lend(const std::vector<RawRecord>& records) {
    size_t capacity = 0;
    uint8_t* buffer = writer_.LendActivity(&capacity);
    ASSERT_NE(buffer, nullptr);
    for (const RawRecord& record : records) {
      ASSERT_LE(record.bytes().size(), capacity);
      memcpy(buffer, record.bytes().data(), record.bytes().size());
      buffer += record.bytes().size();
      capacity -= record.bytes().size();
    }
  }
  Rows Read() {
    Rows rows;
    auto reader = OpenSpools({writer_.path()});
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return rows;
    EXPECT_TRUE((*reader)->Read(AllTables(), rows).ok());
    for (const KernelShapeRow& shape : rows.shapes) names_.emplace_back((*reader)->strings().Get(shape.name));
    return rows;
  }

  testing::TempDir temp_;
  ActivityLayout layout_ = MakeLayout();
  SpoolWriter writer_;
  uint32_t thread_ = 0;
  std::vector<std::string> names_;  // of the shapes last read
};

TEST_F(OddSpoolTest, RecoversWhatAKilledProcessLeftInItsBuffers) {
  PointerNameRecord pointer{};
  pointer.pointer = 0xabc0;
  pointer.name = writer_.InternString("gemm");
  writer_.AddDictionary(pointer);
  Write(Call(kSyncCbid, 9, 900, 950));
  Lend({RawCall(kActivityDriver, kDriverLaunchCbid, 1, 110, 120), RawCall(kActivityRuntime, kLaunchCbid, 1, 100, 130),
        RawKernel(1, 140, 240, 0xabc0), RawKernel(2, 300, 400, 0xabc0), RawKernel(3, 500, 600, 0xdead),
        RawKernel(4, 700, 0, 0xabc0), RawCall(kActivityRuntime, kSyncCbid, 9, 900, 950)});
  const Rows rows = Read();
  ASSERT_EQ(rows.kernels.size(), 3u) << "the fourth had not ended";
  EXPECT_EQ(rows.kernels[0].launch_start_ns, 100);
  EXPECT_EQ(rows.kernels[0].launch_end_ns, 130) << "the runtime call, not the driver call inside it";
  EXPECT_EQ(rows.kernels[0].kernel_shape_id, rows.kernels[1].kernel_shape_id) << "one shape, one id";
  EXPECT_EQ(names_[rows.kernels[0].kernel_shape_id], "gemm");
  EXPECT_EQ(names_[rows.kernels[2].kernel_shape_id], "(unknown kernel)");
  EXPECT_EQ(rows.calls.size(), 2u) << "the launch once, and the sync only as its callback wrote it";
  ASSERT_NE(rows.Loss(LossCounter::kUndeliveredRecovered), nullptr);
  EXPECT_NE(rows.Loss(LossCounter::kKilled), nullptr);
  EXPECT_EQ(rows.Loss(LossCounter::kLaunchWithoutKernel), nullptr) << "unknown after a kill, not lost";
  EXPECT_EQ(rows.processes[0].clean_exit, false);
  EXPECT_EQ(rows.threads[0].last_delivered_ns, 240) << "the end of the last work that the thread launched";
}

TEST_F(OddSpoolTest, ALayoutThatContradictsItselfIsNotUsed) {
  writer_.header().layout.kernel.name = 60000;
  Lend({RawKernel(1, 140, 240, 0xabc0)});
  const Rows rows = Read();
  EXPECT_TRUE(rows.kernels.empty());
  EXPECT_NE(rows.Loss(LossCounter::kUnknownLayout), nullptr);
}

TEST_F(OddSpoolTest, StreamsOfUndeliveredBuffersAreKnown) {
  const auto& at = layout_.stream;
  Lend({RawRecord(kActivityStream, at.bytes).Set<uint32_t>(at.context, 1).Set<uint32_t>(at.stream, 13)});
  const Rows rows = Read();
  ASSERT_EQ(rows.streams.size(), 1u);
  EXPECT_EQ(rows.streams[0].stream_id, 13u);
}

TEST_F(OddSpoolTest, EventsWithoutTimeTakeTheirCallsStart) {
  CudaEventRecord event{};
  event.correlation_id = 5;
  event.event_id = 2;
  event.event_sync_id = kNone64;
  ASSERT_TRUE(writer_.Append(event, kOpenNs));
  CudaEventRecord orphan = event;
  orphan.correlation_id = 77;
  ASSERT_TRUE(writer_.Append(orphan, kOpenNs));
  Write(Call(kEventCbid, 5, 300, 320));
  writer_.Close();
  const Rows rows = Read();
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].time_ns, 300);
  EXPECT_NE(rows.Loss(LossCounter::kKernelWithoutLaunch), nullptr);
}

TEST_F(OddSpoolTest, ARuntimeCallAndItsDriverCallAreOneLaunch) {
  HostCallRecord inner = Call(kDriverLaunchCbid, 1, 110, 120);
  inner.layer = 1;
  inner.depth = 1;
  Write(inner);
  Write(Call(kLaunchCbid, 1, 100, 130));
  WriteKernel(1, 140, 200, Shape("k"));
  writer_.Close();
  const Rows rows = Read();
  ASSERT_EQ(rows.kernels.size(), 1u);
  EXPECT_EQ(rows.kernels[0].launch_start_ns, 100);
  EXPECT_EQ(rows.kernels[0].launch_end_ns, 130);
  ASSERT_EQ(rows.calls.size(), 2u);
  EXPECT_FALSE(rows.calls[0].is_nested);
  EXPECT_TRUE(rows.calls[1].is_nested);
  EXPECT_EQ(rows.threads[0].last_delivered_ns, std::nullopt) << "nothing is unknown after a clean exit";
}

// As light mode writes copies: from their calls.
TEST_F(OddSpoolTest, CopiesMayHaveNoTimesOfTheGpu) {
  NameApi(0, kCopyCbid, "cudaMemcpyAsync_v3020");
  Write(Call(kCopyCbid, 1, 100, 130));
  CopyRecord copy{};
  copy.start_ns = kOpenNs + 100;
  copy.end_ns = kOpenNs + 130;
  copy.has_call_times = 1;
  copy.correlation_id = 1;
  copy.bytes = 64;
  ASSERT_TRUE(writer_.Append(copy, copy.end_ns));
  Write(Call(kSyncCbid, 2, 140, 150));
  writer_.Close();
  const Rows rows = Read();
  ASSERT_EQ(rows.copies.size(), 1u);
  EXPECT_EQ(rows.copies[0].start_ns, 100);
  EXPECT_EQ(rows.copies[0].end_ns, std::nullopt);
  EXPECT_EQ(rows.copies[0].launch_end_ns, 130);
  EXPECT_EQ(rows.processes[0].gpu_clock_error_ns, std::nullopt) << "no time of the GPU is known";
}

TEST_F(OddSpoolTest, LightModeSaysWhatGraphsHide) {
  NameApi(0, kGraphLaunchCbid, "cudaGraphLaunch_v10000");
  Write(Call(kGraphLaunchCbid, 1, 100, 130));
  Write(Call(kGraphLaunchCbid, 2, 140, 150));
  writer_.header().mode = Mode::kLight;
  const Rows light = Read();
  ASSERT_NE(light.Loss(LossCounter::kGraphLevelOnly), nullptr);
  EXPECT_EQ(light.Loss(LossCounter::kGraphLevelOnly)->count, 2);
  EXPECT_EQ(light.Loss(LossCounter::kGraphLevelOnly)->start_ns, 100);
  EXPECT_EQ(light.Loss(LossCounter::kGraphLevelOnly)->end_ns, 150);
  writer_.header().mode = Mode::kDefault;
  EXPECT_EQ(Read().Loss(LossCounter::kGraphLevelOnly), nullptr);
}

TEST_F(OddSpoolTest, CountsLaunchesAndWorkWithoutTheirOtherHalf) {
  Write(Call(kLaunchCbid, 1, 100, 130));
  Write(Call(kLaunchCbid, 2, 200, 230));
  WriteKernel(1, 140, 190, Shape("k"));
  WriteKernel(50, 500, 600, Shape("k"));
  writer_.header().launches_seen.store(3);
  writer_.header().kernels_seen.store(2);
  writer_.Close();
  const Rows rows = Read();
  const LossRow* launch = rows.Loss(LossCounter::kLaunchWithoutKernel);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->count, 1);
  EXPECT_EQ(launch->start_ns, 200);
  EXPECT_EQ(launch->end_ns, 230);
  const LossRow* work = rows.Loss(LossCounter::kKernelWithoutLaunch);
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->count, 1);
  EXPECT_EQ(work->start_ns, 500);
  EXPECT_EQ(work->end_ns, 600);
}

TEST_F(OddSpoolTest, MeasuresTheGpuClockByCausality) {
  Write(Call(kLaunchCbid, 1, 100, 130));
  WriteKernel(1, 60, 500, Shape("k"));  // starts 40 ns before its launch
  SyncRecord sync{};
  sync.start_ns = kOpenNs + 150;
  sync.end_ns = kOpenNs + 475;  // returns 25 ns before the kernel's end
  sync.type = static_cast<uint32_t>(SyncType::kStreamSynchronize);
  sync.context_id = 1;
  sync.stream_id = 7;
  ASSERT_TRUE(writer_.Append(sync, sync.end_ns));
  writer_.Close();
  const Rows rows = Read();
  EXPECT_EQ(rows.processes[0].gpu_clock_error_ns, 40);
  ASSERT_NE(rows.Loss(LossCounter::kClockViolation), nullptr);
  EXPECT_EQ(rows.Loss(LossCounter::kClockViolation)->count, 1);
}

TEST_F(OddSpoolTest, RecordsWithImpossibleTimesAreCountedNotShown) {
  const uint32_t shape = Shape("k");
  WriteKernel(1, 100, 200, shape);
  WriteKernel(2, 300, 250, shape);                              // ends before it starts
  WriteKernel(3, -kOpenNs, 400, shape);                         // no start
  WriteKernel(4, int64_t{1} << 61, (int64_t{1} << 61), shape);  // centuries later
  writer_.Close();
  const Rows rows = Read();
  ASSERT_EQ(rows.kernels.size(), 1u);
  EXPECT_EQ(rows.kernels[0].start_ns, 100);
  EXPECT_EQ(rows.Loss(LossCounter::kCorruptRecord)->count, 2);
  EXPECT_EQ(rows.Loss(LossCounter::kZeroTime)->count, 1);
}

TEST_F(OddSpoolTest, KernelsOfLostShapesAreKept) {
  WriteKernel(1, 100, 200, 4711);
  writer_.Close();
  const Rows rows = Read();
  ASSERT_EQ(rows.kernels.size(), 1u);
  EXPECT_EQ(names_[rows.kernels[0].kernel_shape_id], "(unknown kernel)");
  EXPECT_NE(rows.Loss(LossCounter::kUnknownString), nullptr);
}

TEST_F(OddSpoolTest, AStumpInTheFolderDoesNotHideTheOthers) {
  Write(Call(kSyncCbid, 1, 100, 130));
  writer_.Close();
  temp_.Write("stallhound-1-dead.spool", "SHSPOOL1");
  auto reader = OpenSpools({temp_.path()});
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_FALSE((*reader)->info().notes.empty());
  EXPECT_NE((*reader)->info().notes.back().find("stallhound-1-dead.spool"), std::string::npos);
  Rows rows;
  ASSERT_TRUE((*reader)->Read(Tables({Table::kLoss}), rows).ok());
  ASSERT_NE(rows.Loss(LossCounter::kCorruptChunk), nullptr) << "a verdict without that process is inconclusive";
  EXPECT_EQ(rows.Loss(LossCounter::kCorruptChunk)->count, 1);
  const auto uuid = SpoolsUuid({temp_.path()});
  ASSERT_TRUE(uuid.ok()) << uuid.status();
  EXPECT_EQ(*uuid, (*reader)->info().uuid);
  EXPECT_FALSE(OpenSpools({temp_.path(), temp_.File("stallhound-1-dead.spool")}).ok()) << "named";
}

TEST_F(OddSpoolTest, OneRecordingGivenTwiceIsRefused) {
  Write(Call(kSyncCbid, 1, 100, 130));
  writer_.Close();
  const std::string copy = temp_.File("copy.spool");
  std::filesystem::copy_file(writer_.path(), copy);
  for (const auto& paths : {std::vector<std::string>{writer_.path(), writer_.path()},
                            std::vector<std::string>{writer_.path(), copy}, std::vector<std::string>{temp_.path()}}) {
    const absl::Status status = OpenSpools(paths).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(writer_.path()), std::string::npos) << status;
    EXPECT_NE(status.message().find(paths.back()), std::string::npos) << status;
  }
}

TEST_F(OddSpoolTest, AFifoIsNoSpoolAndIsNotWaitedFor) {
  const std::string fifo = temp_.File("fifo.spool");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(IsSpool(fifo));
  const absl::Status status = OpenSpools({fifo}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("not a regular file"), std::string::npos) << status;
}

RangeRecord Range(int64_t time_ns, RangeEvent event, uint32_t thread = 1, uint32_t domain = 0, uint64_t id = 0) {
  RangeRecord record{};
  record.time_ns = time_ns;
  record.event = event;
  record.thread_index = thread;
  record.domain_id = domain;
  record.range_id = id;
  return record;
}

TEST(RangePairsTest, PushAndPopNestPerThreadAndDomain) {
  const std::vector<RangeRecord> records = {
      Range(1, RangeEvent::kPush),       Range(2, RangeEvent::kPush), Range(3, RangeEvent::kPush, 2),
      Range(4, RangeEvent::kPush, 1, 5), Range(5, RangeEvent::kPop),  Range(6, RangeEvent::kPop, 1, 5),
      Range(7, RangeEvent::kPop),        Range(8, RangeEvent::kPop),  Range(9, RangeEvent::kMark),
  };
  const PairedRanges paired = PairRanges(records);
  ASSERT_EQ(paired.ranges.size(), 5u);
  EXPECT_EQ(paired.ranges[0].end_ns, 7);
  EXPECT_EQ(paired.ranges[1].end_ns, 5);
  EXPECT_EQ(paired.ranges[2].end_ns, std::nullopt) << "thread 2 never popped";
  EXPECT_EQ(paired.ranges[3].end_ns, 6);
  EXPECT_EQ(paired.ranges[4].kind, RangeKind::kMark);
  EXPECT_EQ(paired.ranges[4].end_ns, 9);
  EXPECT_EQ(paired.open_count, 1);
  EXPECT_EQ(paired.unbalanced_count, 1);
}

TEST(RangePairsTest, StartAndEndMatchById) {
  const std::vector<RangeRecord> records = {
      Range(4, RangeEvent::kEnd, 2, 0, 11),   Range(1, RangeEvent::kStart, 1, 0, 11),
      Range(2, RangeEvent::kStart, 1, 0, 12), Range(3, RangeEvent::kEnd, 1, 0, 99),
      Range(5, RangeEvent::kEnd, 1, 0, 11),
  };
  const PairedRanges paired = PairRanges(records);
  ASSERT_EQ(paired.ranges.size(), 2u);
  EXPECT_EQ(paired.ranges[0].end_ns, 4) << "another thread may end it";
  EXPECT_EQ(paired.ranges[1].end_ns, std::nullopt);
  EXPECT_EQ(paired.unbalanced_count, 2) << "an id never started, and one ended twice";
  EXPECT_EQ(paired.open_count, 1);
}

}  // namespace
}  // namespace stallhound::capture::spool
