#include "capture/spool/generate_spool.h"

#include <algorithm>
#include <string>
#include <vector>

#include "capture/spool/writer.h"
#include "capture/types.h"

namespace stallhound::capture::spool {
namespace {

constexpr int64_t kOpenNs = 1'000'000'000;
constexpr uint32_t kContext = 1;
constexpr uint32_t kStream = 7;
constexpr uint32_t kLaunchCbid = 211;
constexpr uint32_t kCopyCbid = 41;
constexpr uint32_t kSyncCbid = 131;

class Generator {
 public:
  Generator(SpoolWriter& writer, const GeneratedSpool& options)
      : writer_(writer), options_(options), is_light_(options.mode == Mode::kLight) {}

  void Run() {
    WriteDictionary();
    if (!options_.outer_range.empty()) Mark(RangeEvent::kPush, writer_.InternString(options_.outer_range));
    for (int64_t i = 0; i < options_.kernel_count; ++i) {
      if (i % options_.kernels_per_step == 0) Mark(RangeEvent::kPush, range_name_);
      Launch(static_cast<uint32_t>(i % kShapeCount));
      if ((i + 1) % options_.kernels_per_wait == 0) ReadBack(i / options_.kernels_per_wait);
      if ((i + 1) % options_.kernels_per_step == 0) Mark(RangeEvent::kPop, 0);
    }
    if (!options_.outer_range.empty()) Mark(RangeEvent::kPop, 0);
  }

 private:
  static constexpr uint32_t kShapeCount = 32;

  void AddApiName(uint32_t cbid, const char* name) {
    ApiNameRecord record{};
    record.cbid = cbid;
    record.name = writer_.InternString(name);
    writer_.AddDictionary(record);
  }

  void WriteDictionary() {
    AddApiName(kLaunchCbid, "cudaLaunchKernel_v7000");
    AddApiName(kCopyCbid, "cudaMemcpyAsync_v3020");
    AddApiName(kSyncCbid, "cudaStreamSynchronize_v3020");
    ContextRecord context{};
    context.context_id = kContext;
    context.null_stream_id = kStream;
    writer_.AddDictionary(context);
    for (uint32_t i = 0; i < kShapeCount; ++i) {
      ShapeRecord shape{};
      shape.name = writer_.InternString("kernel_" + std::to_string(i));
      std::fill(shape.grid, shape.grid + 3, 1);
      std::fill(shape.block, shape.block + 3, 1);
      shapes_[i] = writer_.Intern(shape);
    }
    writer_.AddKeyValue(kProjectKey, "/srv/project");
    for (int i = 0; i < options_.stack_count; ++i) stacks_.push_back(AddStack(i));
    thread_ = writer_.ThreadIndex();
    range_name_ = writer_.InternString(options_.step_range);
  }

  uint32_t AddStack(int site) {
    // 3.11 location table: one entry of kind 13 (no columns), 8 code units, line delta 0.
    static constexpr uint8_t kTable[] = {0x80 | 13 << 3 | 7, 0};
    PythonCodeRecord code{};
    code.file = writer_.InternString("/srv/project/train.py");
    code.name = writer_.InternString("step_" + std::to_string(site));
    code.first_line = 10 + site;
    code.python_version = 0x030b;
    code.table_bytes = sizeof kTable;
    uint8_t tail[8] = {kTable[0], kTable[1]};
    const PythonFrame frame{writer_.Intern(code, tail, sizeof tail), 0};
    StackRecord stack{};
    stack.python_count = 1;
    return writer_.Intern(stack, &frame, sizeof frame);
  }

  HostCallRecord Call(uint32_t cbid, int64_t duration_ns) {
    HostCallRecord call{};
    call.start_ns = host_ns_;
    call.end_ns = host_ns_ + duration_ns;
    call.thread_index = thread_;
    call.correlation_id = ++correlation_;
    call.cbid = cbid;
    call.context_id = kContext;
    call.stream_id = kStream;
    call.event_handle = call.bytes = call.address = kNone64;
    return call;
  }

  void Launch(uint32_t shape) {
    if (is_light_) {
      host_ns_ += 5'000;
      return;
    }
    HostCallRecord call = Call(kLaunchCbid, 3'000);
    writer_.Append(call, call.end_ns);
    KernelRecord kernel{};
    kernel.start_ns = std::max(gpu_ns_, host_ns_ + 2'500);
    kernel.end_ns = gpu_ns_ = kernel.start_ns + 4'000;
    kernel.correlation_id = correlation_;
    kernel.context_id = kContext;
    kernel.stream_id = kStream;
    kernel.shape_id = shapes_[shape];
    writer_.Append(kernel, kernel.end_ns);
    host_ns_ += 5'000;
  }

  void ReadBack(int64_t index) {
    const uint32_t stack = stacks_[static_cast<size_t>(index) % stacks_.size()];
    HostCallRecord call = Call(kCopyCbid, 3'000);
    call.stack_id = stack;
    call.bytes = 4;
    writer_.Append(call, call.end_ns);
    CopyRecord copy{};
    copy.start_ns = std::max(gpu_ns_, host_ns_ + 2'500);
    copy.end_ns = gpu_ns_ = copy.start_ns + 1'500;
    if (is_light_) {
      copy.has_call_times = 1;
      copy.start_ns = call.start_ns;
      copy.end_ns = call.end_ns;
    }
    copy.correlation_id = correlation_;
    copy.context_id = kContext;
    copy.stream_id = kStream;
    copy.bytes = 4;
    copy.direction = static_cast<uint8_t>(CopyDirection::kDeviceToHost);
    copy.source_kind = static_cast<uint8_t>(MemoryKind::kDevice);
    copy.target_kind = static_cast<uint8_t>(MemoryKind::kPinned);
    copy.is_async = 1;
    copy.peer_device_id = kNone32;
    writer_.Append(copy, copy.end_ns);
    host_ns_ += 4'000;
    HostCallRecord sync = Call(kSyncCbid, std::max<int64_t>(gpu_ns_ + 5'000 - host_ns_, 1'000));
    sync.stack_id = stack;
    writer_.Append(sync, sync.end_ns);
    SyncRecord record{};
    record.start_ns = sync.start_ns;
    record.end_ns = sync.end_ns;
    record.type = static_cast<uint32_t>(SyncType::kStreamSynchronize);
    record.correlation_id = correlation_;
    record.context_id = kContext;
    record.stream_id = kStream;
    record.event_id = kNone32;
    record.event_sync_id = kNone64;
    writer_.Append(record, record.end_ns);
    host_ns_ = sync.end_ns;
  }

  void Mark(RangeEvent event, uint32_t name) {
    RangeRecord range{};
    range.time_ns = host_ns_;
    range.thread_index = thread_;
    range.event = event;
    range.name = name;
    range.payload = kNonePayload;
    writer_.Append(range, host_ns_);
  }

  SpoolWriter& writer_;
  const GeneratedSpool& options_;
  const bool is_light_;
  uint32_t shapes_[kShapeCount] = {};
  std::vector<uint32_t> stacks_;
  uint32_t thread_ = 0;
  uint32_t range_name_ = 0;
  uint32_t correlation_ = 0;
  int64_t host_ns_ = kOpenNs + 1'000'000;
  int64_t gpu_ns_ = 0;
};

}  // namespace

std::string GenerateSpool(const std::string& directory, const GeneratedSpool& options) {
  SpoolWriter writer;
  WriterOptions writer_options;
  writer_options.directory = directory.c_str();
  writer_options.max_bytes = uint64_t{64} << 30;
  writer_options.recorder_version = "generated";
  writer_options.mode = options.mode;
  writer_options.now_ns = [] { return kOpenNs; };
  if (!writer.Configure(writer_options) || !writer.EnsureOpen()) return "";
  writer.header().gpu_state.store(GpuState::kRecording);
  Generator(writer, options).Run();
  const std::string path = writer.path();
  if (options.is_closed) writer.Close();
  return path;
}

}  // namespace stallhound::capture::spool
