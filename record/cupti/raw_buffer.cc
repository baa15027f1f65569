#include "record/cupti/raw_buffer.h"

#include <unistd.h>

namespace stallhound::record {

using capture::spool::ActivityLayout;

RawRecord RawKernel(const ActivityLayout& layout, const char* name, uint32_t correlation, uint64_t start_ns,
                    uint64_t end_ns) {
  const auto& at = layout.kernel;
  RawRecord record(at.bytes, capture::spool::kActivityConcurrentKernel);
  record.Set(at.start, start_ns).Set(at.end, end_ns).Set(at.correlation, correlation).Set(at.name, name);
  record.Set<uint32_t>(at.device, 0).Set<uint32_t>(at.context, 1).Set<uint32_t>(at.stream, 7);
  record.Set<int32_t>(at.grid_x, 80).Set<int32_t>(at.grid_y, 1).Set<int32_t>(at.grid_z, 1);
  record.Set<int32_t>(at.block_x, 256).Set<int32_t>(at.block_y, 1).Set<int32_t>(at.block_z, 1);
  return record.Set<uint16_t>(at.registers, 32).Set<int32_t>(at.dynamic_shared, 1024);
}

RawRecord RawCopy(const ActivityLayout& layout, uint32_t correlation, uint64_t start_ns, uint64_t end_ns,
                  uint64_t bytes) {
  const auto& at = layout.memcpy;
  RawRecord record(at.bytes, capture::spool::kActivityMemcpy);
  record.Set(at.start, start_ns).Set(at.end, end_ns).Set(at.correlation, correlation).Set(at.bytes_copied, bytes);
  record.Set<uint8_t>(at.copy_kind, 2).Set<uint8_t>(at.source_kind, 3).Set<uint8_t>(at.target_kind, 1);
  return record.Set<uint8_t>(at.flags, 1).Set<uint32_t>(at.context, 1).Set<uint32_t>(at.stream, 7);
}

RawRecord RawMemset(const ActivityLayout& layout, uint32_t correlation, uint64_t start_ns, uint64_t end_ns) {
  const auto& at = layout.memset;
  RawRecord record(at.bytes, capture::spool::kActivityMemset);
  record.Set(at.start, start_ns).Set(at.end, end_ns).Set(at.correlation, correlation);
  return record.Set<uint64_t>(at.bytes_set, 64).Set<uint16_t>(at.memory_kind, 3);
}

RawRecord RawCall(const ActivityLayout& layout, uint32_t kind, uint32_t cbid, uint32_t correlation,
                  RawInterval interval) {
  const auto& at = layout.api;
  RawRecord record(at.bytes, kind);
  record.Set(at.start, interval.start_ns)
      .Set(at.end, interval.end_ns)
      .Set(at.correlation, correlation)
      .Set(at.cbid, cbid);
  return record.Set<uint32_t>(at.thread, static_cast<uint32_t>(gettid()));
}

RawRecord RawSync(const ActivityLayout& layout, uint32_t type, uint32_t correlation, uint64_t start_ns,
                  uint64_t end_ns) {
  const auto& at = layout.sync;
  RawRecord record(at.bytes, capture::spool::kActivitySynchronization);
  record.Set(at.start, start_ns).Set(at.end, end_ns).Set(at.correlation, correlation).Set(at.type, type);
  return record.Set<uint32_t>(at.context, 1).Set<uint32_t>(at.stream, 7).Set<uint32_t>(at.event, 0xffffffffu);
}

RawRecord RawCudaEvent(const ActivityLayout& layout, uint32_t correlation, uint32_t event) {
  const auto& at = layout.cuda_event;
  RawRecord record(at.bytes, capture::spool::kActivityCudaEvent);
  record.Set(at.correlation, correlation).Set(at.event, event).Set<uint32_t>(at.context, 1);
  return record.Set<uint32_t>(at.stream, 7).Set<uint64_t>(at.event_sync, 1000 + event);
}

RawRecord RawOverhead(const ActivityLayout& layout, uint32_t kind, uint64_t start_ns, uint64_t end_ns) {
  const auto& at = layout.overhead;
  RawRecord record(at.bytes, capture::spool::kActivityOverhead);
  record.Set(at.start, start_ns).Set(at.end, end_ns).Set(at.overhead_kind, kind);
  return record.Set<uint32_t>(at.object_kind, 2).Set<uint32_t>(at.thread, static_cast<uint32_t>(gettid()));
}

RawRecord RawStream(const ActivityLayout& layout, uint32_t context, uint32_t stream) {
  RawRecord record(layout.stream.bytes, capture::spool::kActivityStream);
  return record.Set(layout.stream.context, context)
      .Set(layout.stream.stream, stream)
      .Set<uint32_t>(layout.stream.flag, 2);
}

RawRecord RawContext(const ActivityLayout& layout, uint32_t context, uint32_t device) {
  RawRecord record(layout.context.bytes, capture::spool::kActivityContext);
  return record.Set(layout.context.context, context)
      .Set(layout.context.device, device)
      .Set<uint16_t>(layout.context.null_stream, 7);
}

}  // namespace stallhound::record
