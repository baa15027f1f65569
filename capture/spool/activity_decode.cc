#include "capture/spool/activity_decode.h"

#include <string.h>

namespace stallhound::capture::spool {
namespace {

constexpr uint8_t kFlagAsync = 1;              // CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC
constexpr uint32_t kObjectThread = 2;          // CUPTI_ACTIVITY_OBJECT_THREAD
constexpr uint32_t kDirectionPeerToPeer = 10;  // CUPTI_ACTIVITY_MEMCPY_KIND_PTOP

// The field at `offset`, or `absent` if this version's record has none.
template <typename T>
T Field(const uint8_t* data, uint16_t offset, T absent = T{}) {
  if (offset == kAbsent) return absent;
  T value;
  memcpy(&value, data + offset, sizeof(value));
  return value;
}

int64_t Time(const uint8_t* data, uint16_t offset) { return static_cast<int64_t>(Field<uint64_t>(data, offset)); }

}  // namespace

uint32_t ActivityBytes(const ActivityLayout& layout, uint32_t kind) noexcept {
  switch (kind) {
    case kActivityMemcpy:
      return layout.memcpy.bytes;
    case kActivityMemset:
      return layout.memset.bytes;
    case kActivityDriver:
    case kActivityRuntime:
      return layout.api.bytes;
    case kActivityContext:
      return layout.context.bytes;
    case kActivityConcurrentKernel:
      return layout.kernel.bytes;
    case kActivityOverhead:
      return layout.overhead.bytes;
    case kActivityMemcpy2:
      return layout.memcpy2.bytes;
    case kActivityCudaEvent:
      return layout.cuda_event.bytes;
    case kActivityStream:
      return layout.stream.bytes;
    case kActivitySynchronization:
      return layout.sync.bytes;
    default:
      return 0;
  }
}

bool ActivityCursor::Next(RawActivity& record) noexcept {
  if (is_damaged_ || offset_ + sizeof(uint32_t) > bytes_) return false;
  uint32_t kind;
  ::memcpy(&kind, data_ + offset_, sizeof(kind));
  if (kind == 0) return false;
  const uint32_t bytes = ActivityBytes(layout_, kind);
  if (bytes == 0 || bytes > bytes_ - offset_) {
    is_damaged_ = true;
    return false;
  }
  record = {kind, data_ + offset_, bytes};
  offset_ += bytes;
  return true;
}

DecodedKernel DecodeKernel(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.kernel;
  DecodedKernel kernel{};
  kernel.record.start_ns = Time(data, at.start);
  kernel.record.end_ns = Time(data, at.end);
  kernel.record.correlation_id = Field<uint32_t>(data, at.correlation);
  kernel.record.device_id = Field<uint32_t>(data, at.device);
  kernel.record.context_id = Field<uint32_t>(data, at.context, kNone32);
  kernel.record.stream_id = Field<uint32_t>(data, at.stream);
  kernel.record.graph_id = Field<uint32_t>(data, at.graph);
  kernel.record.graph_node_id = Field<uint64_t>(data, at.graph_node);
  kernel.name_pointer = Field<uint64_t>(data, at.name);
  kernel.shape.grid[0] = Field<uint32_t>(data, at.grid_x);
  kernel.shape.grid[1] = Field<uint32_t>(data, at.grid_y);
  kernel.shape.grid[2] = Field<uint32_t>(data, at.grid_z);
  kernel.shape.block[0] = Field<uint32_t>(data, at.block_x);
  kernel.shape.block[1] = Field<uint32_t>(data, at.block_y);
  kernel.shape.block[2] = Field<uint32_t>(data, at.block_z);
  kernel.shape.registers_per_thread = Field<uint16_t>(data, at.registers);
  kernel.shape.static_shared_bytes = Field<uint32_t>(data, at.static_shared);
  kernel.shape.dynamic_shared_bytes = Field<uint32_t>(data, at.dynamic_shared);
  return kernel;
}

namespace {

template <typename Layout>
CopyRecord DecodeCopyAs(const Layout& at, const uint8_t* data) {
  CopyRecord copy{};
  copy.start_ns = Time(data, at.start);
  copy.end_ns = Time(data, at.end);
  copy.correlation_id = Field<uint32_t>(data, at.correlation);
  copy.device_id = Field<uint32_t>(data, at.device);
  copy.context_id = Field<uint32_t>(data, at.context, kNone32);
  copy.stream_id = Field<uint32_t>(data, at.stream);
  copy.bytes = Field<uint64_t>(data, at.bytes_copied);
  copy.direction = Field<uint8_t>(data, at.copy_kind);
  copy.source_kind = Field<uint8_t>(data, at.source_kind);
  copy.target_kind = Field<uint8_t>(data, at.target_kind);
  copy.is_async = (Field<uint8_t>(data, at.flags) & kFlagAsync) != 0;
  copy.peer_device_id = kNone32;
  copy.graph_id = Field<uint32_t>(data, at.graph);
  copy.graph_node_id = Field<uint64_t>(data, at.graph_node);
  return copy;
}

}  // namespace

CopyRecord DecodeCopy(const ActivityLayout& layout, const RawActivity& raw) noexcept {
  if (raw.kind == kActivityMemcpy) return DecodeCopyAs(layout.memcpy, raw.data);
  CopyRecord copy = DecodeCopyAs(layout.memcpy2, raw.data);
  if (copy.direction == 0) copy.direction = kDirectionPeerToPeer;
  copy.peer_device_id = Field<uint32_t>(raw.data, layout.memcpy2.target_device, kNone32);
  return copy;
}

MemsetRecord DecodeMemset(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.memset;
  MemsetRecord record{};
  record.start_ns = Time(data, at.start);
  record.end_ns = Time(data, at.end);
  record.correlation_id = Field<uint32_t>(data, at.correlation);
  record.device_id = Field<uint32_t>(data, at.device);
  record.context_id = Field<uint32_t>(data, at.context, kNone32);
  record.stream_id = Field<uint32_t>(data, at.stream);
  record.bytes = Field<uint64_t>(data, at.bytes_set);
  record.value = Field<uint32_t>(data, at.value);
  record.memory_kind = Field<uint16_t>(data, at.memory_kind);
  record.graph_id = Field<uint32_t>(data, at.graph);
  record.graph_node_id = Field<uint64_t>(data, at.graph_node);
  return record;
}

DecodedCall DecodeCall(const ActivityLayout& layout, const RawActivity& raw) noexcept {
  const auto& at = layout.api;
  DecodedCall call{};
  call.record.start_ns = Time(raw.data, at.start);
  call.record.end_ns = Time(raw.data, at.end);
  call.record.correlation_id = Field<uint32_t>(raw.data, at.correlation);
  call.record.cbid = Field<uint32_t>(raw.data, at.cbid);
  call.record.layer = raw.kind == kActivityDriver ? 1 : 0;
  call.record.return_value = static_cast<int32_t>(Field<uint32_t>(raw.data, at.return_value));
  call.record.context_id = kNone32;
  call.record.stream_id = kNone32;
  call.record.event_handle = kNone64;
  call.record.bytes = kNone64;
  call.record.address = kNone64;
  call.tid = Field<uint32_t>(raw.data, at.thread);
  return call;
}

SyncRecord DecodeSync(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.sync;
  SyncRecord sync{};
  sync.start_ns = Time(data, at.start);
  sync.end_ns = Time(data, at.end);
  sync.type = Field<uint32_t>(data, at.type);
  sync.correlation_id = Field<uint32_t>(data, at.correlation);
  sync.context_id = Field<uint32_t>(data, at.context, kNone32);
  sync.stream_id = Field<uint32_t>(data, at.stream, kNone32);
  sync.event_id = Field<uint32_t>(data, at.event, kNone32);
  sync.return_value = static_cast<int32_t>(Field<uint32_t>(data, at.return_value));
  sync.event_sync_id = Field<uint64_t>(data, at.event_sync, kNone64);
  return sync;
}

CudaEventRecord DecodeCudaEvent(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.cuda_event;
  CudaEventRecord event{};
  event.correlation_id = Field<uint32_t>(data, at.correlation);
  event.context_id = Field<uint32_t>(data, at.context, kNone32);
  event.stream_id = Field<uint32_t>(data, at.stream, kNone32);
  event.event_id = Field<uint32_t>(data, at.event);
  event.event_sync_id = Field<uint64_t>(data, at.event_sync, kNone64);
  return event;
}

StreamRecord DecodeStream(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.stream;
  StreamRecord stream{};
  stream.context_id = Field<uint32_t>(data, at.context);
  stream.stream_id = Field<uint32_t>(data, at.stream);
  stream.flag = Field<uint32_t>(data, at.flag);
  stream.priority = static_cast<int32_t>(Field<uint32_t>(data, at.priority));
  return stream;
}

ContextRecord DecodeContext(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.context;
  ContextRecord context{};
  context.context_id = Field<uint32_t>(data, at.context);
  context.device_id = Field<uint32_t>(data, at.device);
  context.null_stream_id = Field<uint16_t>(data, at.null_stream);
  return context;
}

OverheadRecord DecodeOverhead(const ActivityLayout& layout, const uint8_t* data) noexcept {
  const auto& at = layout.overhead;
  OverheadRecord overhead{};
  overhead.start_ns = Time(data, at.start);
  overhead.end_ns = Time(data, at.end);
  overhead.kind = Field<uint32_t>(data, at.overhead_kind);
  const bool is_thread = Field<uint32_t>(data, at.object_kind) == kObjectThread;
  overhead.tid = is_thread ? Field<uint32_t>(data, at.thread, kNone32) : kNone32;
  overhead.correlation_id = Field<uint32_t>(data, at.correlation);
  return overhead;
}

}  // namespace stallhound::capture::spool
