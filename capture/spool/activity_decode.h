#pragma once

// Reads CUPTI's raw activity records by the offsets of a layout (activity_layout.h) and fills the spool's compact
// records. The recorder uses it while it runs, the reader for what a killed process left in its buffers. std only;
// nothing is allocated; hostile bytes give wrong numbers at worst.

#include <cstddef>
#include <cstdint>

#include "capture/spool/activity_layout.h"
#include "capture/spool/format.h"

namespace stallhound::capture::spool {

struct RawActivity {
  uint32_t kind = 0;  // ActivityKind
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;
};

// Walks the records of one buffer. Ends at the end of the data, at zero bytes (never written) and at what it does not
// know.
class ActivityCursor {
 public:
  ActivityCursor(const ActivityLayout& layout, const uint8_t* data, size_t bytes) noexcept
      : layout_(layout), data_(data), bytes_(bytes) {}

  // False: no more records.
  bool Next(RawActivity& record) noexcept;
  // Bytes walked so far.
  size_t offset() const { return offset_; }
  // The walk ended at a record of unknown kind, or one that the data cuts off.
  bool is_damaged() const { return is_damaged_; }

 private:
  const ActivityLayout& layout_;
  const uint8_t* data_;
  size_t bytes_;
  size_t offset_ = 0;
  bool is_damaged_ = false;
};

// Bytes of a record of that kind; 0: not a kind we read.
uint32_t ActivityBytes(const ActivityLayout& layout, uint32_t kind) noexcept;

// One per kind; `data` is RawActivity::data of that kind. Headers, and ids of names and threads, are left to the
// caller. A record of work that had not ended has end_ns 0.
struct DecodedKernel {
  KernelRecord record;  // shape_id 0
  ShapeRecord shape;    // name 0
  uint64_t name_pointer;
};
struct DecodedCall {
  HostCallRecord record;  // thread_index 0
  uint32_t tid;
};
DecodedKernel DecodeKernel(const ActivityLayout& layout, const uint8_t* data) noexcept;
CopyRecord DecodeCopy(const ActivityLayout& layout, const RawActivity& raw) noexcept;  // memcpy and memcpy2
MemsetRecord DecodeMemset(const ActivityLayout& layout, const uint8_t* data) noexcept;
DecodedCall DecodeCall(const ActivityLayout& layout, const RawActivity& raw) noexcept;  // runtime and driver
SyncRecord DecodeSync(const ActivityLayout& layout, const uint8_t* data) noexcept;
CudaEventRecord DecodeCudaEvent(const ActivityLayout& layout, const uint8_t* data) noexcept;
StreamRecord DecodeStream(const ActivityLayout& layout, const uint8_t* data) noexcept;
ContextRecord DecodeContext(const ActivityLayout& layout, const uint8_t* data) noexcept;
OverheadRecord DecodeOverhead(const ActivityLayout& layout, const uint8_t* data) noexcept;

}  // namespace stallhound::capture::spool
