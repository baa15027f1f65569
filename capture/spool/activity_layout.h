#pragma once

// Where the fields of CUPTI activity records lie, by version of CUPTI. The recorder picks a table
// (record/cupti/layout/) by cuptiGetVersion and stores it in the spool, so that the reader decodes raw buffers without
// CUPTI's headers. std only.

#include <cstdint>

namespace stallhound::capture::spool {

inline constexpr uint16_t kAbsent = 0xffff;  // this version's record has no such field

// Activity kinds we read; CUpti_ActivityKind values.
enum ActivityKind : uint32_t {
  kActivityMemcpy = 1,
  kActivityMemset = 2,
  kActivityDriver = 4,
  kActivityRuntime = 5,
  kActivityContext = 9,
  kActivityConcurrentKernel = 10,
  kActivityOverhead = 17,
  kActivityMemcpy2 = 22,
  kActivityCudaEvent = 36,
  kActivityStream = 37,
  kActivitySynchronization = 38,
};

// Byte offsets into a record; the width of each field is fixed by its name's type in parentheses and is checked against
// each version's header. `bytes` is the size of the record, to step to the next one.
#define SH_ACTIVITY_LAYOUT(KIND)                                                                                     \
  KIND(kernel, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(device, u32) FIELD(context, u32)      \
                   FIELD(stream, u32) FIELD(name, ptr) FIELD(grid_x, i32) FIELD(grid_y, i32) FIELD(grid_z, i32)      \
                       FIELD(block_x, i32) FIELD(block_y, i32) FIELD(block_z, i32) FIELD(registers, u16) FIELD(      \
                           static_shared, i32) FIELD(dynamic_shared, i32) FIELD(graph_node, u64) FIELD(graph, u32))  \
  KIND(memcpy, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(device, u32) FIELD(context, u32)      \
                   FIELD(stream, u32) FIELD(bytes_copied, u64) FIELD(copy_kind, u8) FIELD(source_kind, u8)           \
                       FIELD(target_kind, u8) FIELD(flags, u8) FIELD(graph_node, u64) FIELD(graph, u32))             \
  KIND(memcpy2, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(device, u32) FIELD(context, u32)     \
                    FIELD(stream, u32) FIELD(bytes_copied, u64) FIELD(copy_kind, u8) FIELD(source_kind, u8)          \
                        FIELD(target_kind, u8) FIELD(flags, u8) FIELD(target_device, u32) FIELD(graph_node, u64)     \
                            FIELD(graph, u32))                                                                       \
  KIND(memset, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(device, u32) FIELD(context, u32)      \
                   FIELD(stream, u32) FIELD(bytes_set, u64) FIELD(value, u32) FIELD(memory_kind, u16)                \
                       FIELD(graph_node, u64) FIELD(graph, u32))                                                     \
  KIND(api, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(cbid, u32) FIELD(thread, u32)            \
                FIELD(return_value, u32))                                                                            \
  KIND(sync, FIELD(start, u64) FIELD(end, u64) FIELD(correlation, u32) FIELD(context, u32) FIELD(stream, u32)        \
                 FIELD(event, u32) FIELD(type, u32) FIELD(event_sync, u64) FIELD(return_value, u32))                 \
  KIND(cuda_event, FIELD(correlation, u32) FIELD(context, u32) FIELD(stream, u32) FIELD(event, u32)                  \
                       FIELD(event_sync, u64) FIELD(device_time, u64))                                               \
  KIND(stream, FIELD(context, u32) FIELD(stream, u32) FIELD(priority, u32) FIELD(flag, u32) FIELD(correlation, u32)) \
  KIND(context, FIELD(context, u32) FIELD(device, u32) FIELD(null_stream, u16))                                      \
  KIND(overhead, FIELD(start, u64) FIELD(end, u64) FIELD(overhead_kind, u32) FIELD(object_kind, u32)                 \
                     FIELD(thread, u32) FIELD(correlation, u32))

struct ActivityLayout {
  uint32_t cupti_version;  // lowest version of CUPTI that has this layout; 0: no layout
  uint32_t reserved;
#define FIELD(name, type) uint16_t name;
#define KIND(name, fields) \
  struct {                 \
    uint16_t bytes;        \
    fields                 \
  } name;
  SH_ACTIVITY_LAYOUT(KIND)
#undef KIND
#undef FIELD
};

}  // namespace stallhound::capture::spool
