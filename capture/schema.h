#pragma once

// The tables of a capture, each written down once. From these lists come the row structs, the column batches
// (capture/reader.h), the SQLite schema and the writer and reader of the capture file (capture/file/).
//
// Conventions: REQUIRED columns are always known; OPTIONAL ones are std::nullopt / NULL when unknown, never 0 or -1.
// Times are ns since the capture's start (CaptureInfo::epoch_ns says when that was). `process_id` and `thread_id` are
// rows of the tables process and thread, not operating-system ids. StringId is an interned string. Enumerations are
// those of capture/types.h and are stored as their text in SQLite views, as integers in tables.
// Event tables are ordered by start_ns (time_ns); dimension tables by id.

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/api/api_class.h"
#include "capture/counters.h"
#include "capture/types.h"

namespace stallhound::capture {

// clang-format off

// Dimensions ---------------------------------------------------------------------------------------------------------
#define SH_PROCESS_COLUMNS(REQUIRED, OPTIONAL)                                              \
  REQUIRED(uint32_t, process_id) REQUIRED(int64_t, pid) OPTIONAL(int64_t, parent_pid)        \
  OPTIONAL(int64_t, rank) OPTIONAL(StringId, name) OPTIONAL(int64_t, start_ns)                \
  OPTIONAL(int64_t, end_ns)              /* last instant known of the process */             \
  OPTIONAL(bool, clean_exit)             /* false: killed, or the recording was cut */        \
  OPTIONAL(int64_t, gpu_clock_error_ns)  /* largest violation of causality seen */            \
  OPTIONAL(int64_t, self_ns)             /* host time in the recorder's callbacks of CUDA calls, estimated */

#define SH_THREAD_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(uint32_t, thread_id) REQUIRED(uint32_t, process_id) REQUIRED(int64_t, tid)         \
  OPTIONAL(StringId, name) OPTIONAL(int64_t, last_delivered_ns) /* after a kill: later is unknown */

#define SH_ENVIRONMENT_COLUMNS(REQUIRED, OPTIONAL) /* fingerprint and allow-listed switches */ \
  OPTIONAL(uint32_t, process_id) REQUIRED(StringId, key) REQUIRED(StringId, value)

#define SH_DEVICE_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(uint32_t, device_id) OPTIONAL(uint32_t, process_id) OPTIONAL(StringId, name)       \
  OPTIONAL(int64_t, sm_count) OPTIONAL(int64_t, memory_bytes) OPTIONAL(int64_t, compute_major) OPTIONAL(int64_t, compute_minor)

#define SH_STREAM_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(uint32_t, process_id) REQUIRED(uint32_t, context_id) REQUIRED(uint32_t, stream_id) \
  OPTIONAL(uint32_t, device_id) OPTIONAL(StreamFlag, flag) OPTIONAL(int64_t, priority)

#define SH_KERNEL_SHAPE_COLUMNS(REQUIRED, OPTIONAL)                                         \
  REQUIRED(uint32_t, kernel_shape_id) REQUIRED(StringId, name) /* as recorded: mangled or demangled */ \
  OPTIONAL(int64_t, grid_x) OPTIONAL(int64_t, grid_y) OPTIONAL(int64_t, grid_z)               \
  OPTIONAL(int64_t, block_x) OPTIONAL(int64_t, block_y) OPTIONAL(int64_t, block_z)            \
  OPTIONAL(int64_t, registers_per_thread) OPTIONAL(int64_t, static_shared_bytes) OPTIONAL(int64_t, dynamic_shared_bytes)

#define SH_FRAME_COLUMNS(REQUIRED, OPTIONAL) /* one place in code; stacks share frames */     \
  REQUIRED(uint32_t, frame_id) REQUIRED(FrameKind, kind) OPTIONAL(StringId, function)         \
  OPTIONAL(StringId, file) OPTIONAL(int64_t, line) OPTIONAL(StringId, module) OPTIONAL(int64_t, module_offset) \
  REQUIRED(bool, is_user) /* neither standard library nor site-packages nor a system library */

#define SH_STACK_FRAME_COLUMNS(REQUIRED, OPTIONAL) /* depth 0 is innermost; Python frames first, then native */ \
  REQUIRED(uint32_t, stack_id) REQUIRED(uint32_t, depth) REQUIRED(uint32_t, frame_id)

// Events -------------------------------------------------------------------------------------------------------------
#define SH_HOST_CALL_COLUMNS(REQUIRED, OPTIONAL) /* runtime and driver API calls */          \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  REQUIRED(uint32_t, thread_id)                                                              \
  REQUIRED(StringId, api)              /* without version suffix: cudaMemcpyAsync */          \
  REQUIRED(ApiClass, api_class) REQUIRED(ApiLayer, layer)                                     \
  REQUIRED(bool, is_nested)            /* inside another recorded call of the same thread */  \
  OPTIONAL(uint64_t, correlation_id) OPTIONAL(int64_t, return_value) OPTIONAL(uint32_t, stack_id) \
  OPTIONAL(uint32_t, context_id) OPTIONAL(uint32_t, stream_id) OPTIONAL(uint64_t, event_handle) \
  OPTIONAL(uint64_t, bytes)            /* allocation or copy size, from the parameters */     \
  OPTIONAL(uint64_t, address)          /* allocated or freed */

#define SH_KERNEL_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  REQUIRED(uint32_t, device_id) OPTIONAL(uint32_t, context_id) REQUIRED(uint32_t, stream_id)  \
  REQUIRED(uint32_t, kernel_shape_id) OPTIONAL(uint64_t, correlation_id)                      \
  OPTIONAL(uint64_t, graph_id) OPTIONAL(uint64_t, graph_node_id)                              \
  OPTIONAL(int64_t, launch_start_ns) OPTIONAL(int64_t, launch_end_ns) OPTIONAL(uint32_t, launch_thread_id)

#define SH_COPY_COLUMNS(REQUIRED, OPTIONAL) /* end_ns NULL: the GPU's times were not recorded (light mode), start_ns */ \
  REQUIRED(int64_t, start_ns) OPTIONAL(int64_t, end_ns) /* is when the call began */            \
  REQUIRED(uint32_t, process_id)                                                              \
  REQUIRED(uint32_t, device_id) OPTIONAL(uint32_t, context_id) REQUIRED(uint32_t, stream_id)  \
  REQUIRED(CopyDirection, direction) OPTIONAL(MemoryKind, source_kind) OPTIONAL(MemoryKind, target_kind) \
  REQUIRED(uint64_t, bytes) OPTIONAL(bool, is_async) OPTIONAL(uint32_t, peer_device_id)        \
  OPTIONAL(uint64_t, correlation_id) OPTIONAL(uint64_t, graph_id) OPTIONAL(uint64_t, graph_node_id) \
  OPTIONAL(int64_t, launch_start_ns) OPTIONAL(int64_t, launch_end_ns) OPTIONAL(uint32_t, launch_thread_id)

#define SH_MEMSET_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  REQUIRED(uint32_t, device_id) OPTIONAL(uint32_t, context_id) REQUIRED(uint32_t, stream_id)  \
  REQUIRED(uint64_t, bytes) OPTIONAL(int64_t, value) OPTIONAL(MemoryKind, memory_kind)         \
  OPTIONAL(uint64_t, correlation_id) OPTIONAL(uint64_t, graph_id) OPTIONAL(uint64_t, graph_node_id) \
  OPTIONAL(int64_t, launch_start_ns) OPTIONAL(int64_t, launch_end_ns) OPTIONAL(uint32_t, launch_thread_id)

#define SH_SYNC_COLUMNS(REQUIRED, OPTIONAL) /* CUPTI's synchronisation records */            \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  REQUIRED(SyncType, type) OPTIONAL(uint32_t, context_id) OPTIONAL(uint32_t, stream_id)        \
  OPTIONAL(uint64_t, event_id) OPTIONAL(uint64_t, event_sync_id) OPTIONAL(uint64_t, correlation_id) OPTIONAL(int64_t, return_value)

#define SH_CUDA_EVENT_COLUMNS(REQUIRED, OPTIONAL) /* cudaEventRecord; time is the host call's start */ \
  REQUIRED(int64_t, time_ns) REQUIRED(uint32_t, process_id) OPTIONAL(uint32_t, context_id)      \
  OPTIONAL(uint32_t, stream_id) REQUIRED(uint64_t, event_id) OPTIONAL(uint64_t, event_sync_id) OPTIONAL(uint64_t, correlation_id)

#define SH_RANGE_COLUMNS(REQUIRED, OPTIONAL) /* NVTX ranges and marks, profiler steps, operators */ \
  REQUIRED(int64_t, start_ns) OPTIONAL(int64_t, end_ns) /* NULL: still open at the end */       \
  REQUIRED(uint32_t, process_id) REQUIRED(uint32_t, thread_id) REQUIRED(RangeKind, kind)        \
  OPTIONAL(StringId, domain) REQUIRED(StringId, name) OPTIONAL(StringId, category) OPTIONAL(int64_t, payload) \
  OPTIONAL(int64_t, sequence)          /* operators: autograd's number, per forward thread; a backward node has that of */ \
                                       /* the operator that made it */                        \
  OPTIONAL(uint32_t, stack_id)         /* operators that have a sequence number */

#define SH_OVERHEAD_COLUMNS(REQUIRED, OPTIONAL)                                             \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  OPTIONAL(uint32_t, thread_id) REQUIRED(OverheadKind, kind) OPTIONAL(uint64_t, correlation_id)

#define SH_GRAPH_COLUMNS(REQUIRED, OPTIONAL) /* executable graphs and the kernel nodes they were made with */ \
  REQUIRED(uint32_t, process_id) REQUIRED(uint64_t, graph_id) OPTIONAL(int64_t, kernel_node_count)

// One execution of a graph that was recorded as a whole: GPU work without kernel records inside.
#define SH_GRAPH_RUN_COLUMNS(REQUIRED, OPTIONAL)                                            \
  REQUIRED(int64_t, start_ns) REQUIRED(int64_t, end_ns) REQUIRED(uint32_t, process_id)        \
  REQUIRED(uint32_t, device_id) OPTIONAL(uint32_t, context_id) REQUIRED(uint32_t, stream_id)  \
  OPTIONAL(uint64_t, graph_id) OPTIONAL(uint64_t, correlation_id)                             \
  OPTIONAL(int64_t, launch_start_ns) OPTIONAL(int64_t, launch_end_ns) OPTIONAL(uint32_t, launch_thread_id)

// Results without a timeline: one number of a benchmark, or of a profiled kernel. In the producer's order.
#define SH_BENCHMARK_POINT_COLUMNS(REQUIRED, OPTIONAL)                                      \
  REQUIRED(StringId, benchmark)        /* run name, without the suffix of an aggregate */     \
  REQUIRED(StringId, metric)           /* "real_time", "nv/cold/time/gpu/mean", a counter's name */ \
  OPTIONAL(double, value)              /* NULL: the producer wrote NaN, an infinity or no number */ \
  OPTIONAL(StringId, unit)             /* times are in "ns" whatever the producer's unit */   \
  OPTIONAL(StringId, aggregate)        /* "mean", "median", "BigO", ...; NULL: one repetition */ \
  OPTIONAL(int64_t, repetition) OPTIONAL(int64_t, iteration_count) OPTIONAL(uint32_t, device_id) \
  OPTIONAL(StringId, error)            /* the benchmark failed or was skipped: why */

#define SH_KERNEL_METRIC_COLUMNS(REQUIRED, OPTIONAL)                                        \
  REQUIRED(uint32_t, kernel_shape_id) REQUIRED(int64_t, launch_index) /* of the launch in the profile, from 0 */ \
  REQUIRED(StringId, metric) OPTIONAL(StringId, section) OPTIONAL(StringId, unit)              \
  OPTIONAL(double, value) OPTIONAL(StringId, text) /* of a metric that is no number */         \
  OPTIONAL(uint32_t, device_id)

// A span in which nothing was recorded, or less than the mode promises (windows, GPU side lost).
#define SH_WINDOW_COLUMNS(REQUIRED, OPTIONAL)                                               \
  REQUIRED(int64_t, start_ns) OPTIONAL(int64_t, end_ns) REQUIRED(uint32_t, process_id) REQUIRED(StringId, reason)

#define SH_LOSS_COLUMNS(REQUIRED, OPTIONAL) /* typed loss counters: capture/counters.h */     \
  REQUIRED(LossCounter, counter) REQUIRED(int64_t, count) OPTIONAL(uint32_t, process_id)        \
  OPTIONAL(int64_t, start_ns) OPTIONAL(int64_t, end_ns) OPTIONAL(StringId, detail)

// (Type, table): SQL table names; dimensions before events.
#define SH_CAPTURE_TABLES(TABLE)                                                            \
  TABLE(Process, process, SH_PROCESS_COLUMNS) TABLE(Thread, thread, SH_THREAD_COLUMNS)         \
  TABLE(Environment, environment, SH_ENVIRONMENT_COLUMNS) TABLE(Device, device, SH_DEVICE_COLUMNS) \
  TABLE(Stream, stream, SH_STREAM_COLUMNS) TABLE(KernelShape, kernel_shape, SH_KERNEL_SHAPE_COLUMNS) \
  TABLE(Frame, frame, SH_FRAME_COLUMNS) TABLE(StackFrame, stack_frame, SH_STACK_FRAME_COLUMNS)  \
  TABLE(Graph, graph, SH_GRAPH_COLUMNS) TABLE(Loss, loss, SH_LOSS_COLUMNS)                     \
  TABLE(Window, window, SH_WINDOW_COLUMNS) TABLE(Range, range, SH_RANGE_COLUMNS)               \
  TABLE(HostCall, host_call, SH_HOST_CALL_COLUMNS) TABLE(Kernel, kernel, SH_KERNEL_COLUMNS)    \
  TABLE(Copy, copy, SH_COPY_COLUMNS) TABLE(Memset, memset, SH_MEMSET_COLUMNS)                  \
  TABLE(Sync, sync, SH_SYNC_COLUMNS) TABLE(CudaEvent, cuda_event, SH_CUDA_EVENT_COLUMNS)       \
  TABLE(Overhead, overhead, SH_OVERHEAD_COLUMNS) TABLE(GraphRun, graph_run, SH_GRAPH_RUN_COLUMNS) \
  TABLE(BenchmarkPoint, benchmark_point, SH_BENCHMARK_POINT_COLUMNS)                          \
  TABLE(KernelMetric, kernel_metric, SH_KERNEL_METRIC_COLUMNS)
// clang-format on

// XRow: one row. XBatch: the same columns as vectors of one length.
#define SH_ROW_REQUIRED(type, name) type name{};
#define SH_ROW_OPTIONAL(type, name) std::optional<type> name;
#define SH_BATCH_REQUIRED(type, name) std::vector<type> name;
#define SH_BATCH_OPTIONAL(type, name) std::vector<std::optional<type>> name;
#define SH_APPEND(type, name) name.push_back(row.name);
#define SH_CLEAR(type, name) name.clear();
#define SH_GET(type, name) row.name = name[i];
#define SH_VISIT(type, name) visit(#name, name);
#define SH_VISIT_ROW(type, name) visit(#name, self.name);

#define SH_DEFINE_TABLE(Type, table, COLUMNS)               \
  struct Type##Row {                                        \
    static constexpr char kTable[] = #table;                \
    COLUMNS(SH_ROW_REQUIRED, SH_ROW_OPTIONAL)               \
    /* Calls visit(column name, value) in column order. */  \
    template <typename Self, typename Visit>                \
    static void ForEachColumn(Self& self, Visit&& visit) {  \
      COLUMNS(SH_VISIT_ROW, SH_VISIT_ROW)                   \
    }                                                       \
  };                                                        \
  struct Type##Batch {                                      \
    using Row = Type##Row;                                  \
    size_t size = 0;                                        \
    COLUMNS(SH_BATCH_REQUIRED, SH_BATCH_OPTIONAL)           \
    void Append(const Type##Row& row) {                     \
      ++size;                                               \
      COLUMNS(SH_APPEND, SH_APPEND)                         \
    }                                                       \
    Type##Row Get(size_t i) const {                         \
      Type##Row row;                                        \
      COLUMNS(SH_GET, SH_GET)                               \
      return row;                                           \
    }                                                       \
    void Clear() {                                          \
      size = 0;                                             \
      COLUMNS(SH_CLEAR, SH_CLEAR)                           \
    }                                                       \
    /* Calls visit(column name, vector) in column order. */ \
    template <typename Visit>                               \
    void ForEachColumn(Visit&& visit) const {               \
      COLUMNS(SH_VISIT, SH_VISIT)                           \
    }                                                       \
  };
SH_CAPTURE_TABLES(SH_DEFINE_TABLE)

enum class Table : uint32_t {
#define SH_TABLE_ENUMERATOR(Type, table, COLUMNS) k##Type,
  SH_CAPTURE_TABLES(SH_TABLE_ENUMERATOR)
#undef SH_TABLE_ENUMERATOR
      kCount,
};

}  // namespace stallhound::capture
