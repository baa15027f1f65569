#pragma once

// What is kept of a trace between parsing and reading: rows in the trace's own time and with its own names, what is
// needed to join them, and what was odd. Rows lie in external sorters; the rest grows with distinct names, threads and
// shapes, and by 24 bytes per launch.

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/import/kineto/names.h"
#include "capture/reader.h"
#include "capture/sort/row_sorter.h"

namespace stallhound::capture {

// A call that submits work: what kernels, copies and memsets are joined with by correlation.
struct LaunchCall {
  uint64_t correlation_id = 0;
  int64_t start_ns = 0;
  uint32_t duration_ns = 0;  // calls of more than 4.29 s are cut to that
  uint32_t thread_id : 24 = 0;
  uint32_t api_class : 7 = 0;
  uint32_t has_work : 1 = 0;  // a kernel, copy or memset was joined with it
};
static_assert(sizeof(LaunchCall) == 24);

// "Stream Wait Event" and "Event Sync" records name the cudaEventRecord that they wait for.
struct AwaitedRecord {
  uint64_t event_id = 0;
  uint64_t correlation_id = 0;
  std::optional<uint32_t> stream_id;
  bool operator<(const AwaitedRecord& other) const {
    return std::pair(event_id, correlation_id) < std::pair(other.event_id, other.correlation_id);
  }
};

// A call that can stall the host, by which its stack is found. In the order of the events; once sorted by time, in the
// order in which such calls are read from host_calls.
struct StackCall {
  int64_t start_ns = 0;
  uint32_t thread_id = 0;
  std::optional<uint32_t> stack_id;
};
// True for the calls that have a StackCall.
inline bool TakesStack(ApiClass api_class) { return MaySyncHost(api_class) || api_class == ApiClass::kCopyAsync; }

// Times of one table, before it is known on which axis the trace's times lie.
struct TimeSpan {
  // Times above kEpochScaleNs are since the epoch, below relative to baseTimeNanoseconds or to nothing known.
  int64_t epoch_count = 0;
  int64_t relative_count = 0;
  std::optional<int64_t> epoch_min_ns, relative_min_ns;
  std::optional<int64_t> epoch_max_ns, relative_max_ns;
  void Add(int64_t start_ns, int64_t end_ns);
};
// 1973 in nanoseconds since the epoch; relative times are at most some months.
inline constexpr int64_t kEpochScaleNs = 100'000'000'000'000'000;

// Events that have no usable time and thus no row.
struct UntimedCounts {
  int64_t kernels = 0, memsets = 0, cpu_ops = 0, steps = 0, runtime_calls = 0, driver_calls = 0;
  std::map<CopyDirection, int64_t> copies;
  std::map<std::string, int64_t> host_waits;
};

struct Losses {
  struct Loss {
    int64_t count = 0;
    std::string detail;  // of the first
  };
  std::map<LossCounter, Loss> counts;
  void Add(LossCounter counter, int64_t count = 1, std::string_view detail = {});
};

inline constexpr size_t kMaxThreadNames = 4096;

struct TraceRows {
  KinetoNames names;
  // Sorters hold so many bytes; together with the windows of the parser they bound the memory of an import.
  RowSorter<RangeBatch> ranges{32 << 20};  // kOperator: payload is the id of the call stack's text until it is read
  RowSorter<HostCallBatch> host_calls{24 << 20};
  RowSorter<KernelBatch> kernels{24 << 20};
  RowSorter<CopyBatch> copies{8 << 20};
  RowSorter<MemsetBatch> memsets{4 << 20};
  RowSorter<SyncBatch> syncs{8 << 20};
  RowSorter<CudaEventBatch> gpu_events{4 << 20};   // at the time the GPU reached them
  RowSorter<CudaEventBatch> cuda_events{4 << 20};  // at the time of their calls; filled when the trace is joined
  RowSorter<OverheadBatch> overheads{1 << 20};

  std::vector<ProcessRow> processes;
  std::vector<ThreadRow> threads;
  std::vector<bool> is_gpu_thread;                               // by thread: a stream that GPU annotations lie on
  std::map<std::pair<int64_t, int64_t>, StringId> thread_names;  // by pid and tid as written; at most kMaxThreadNames
  std::vector<KernelShapeRow> shapes;
  std::vector<StreamRow> streams;
  std::set<uint32_t> device_ids;
  std::optional<uint32_t> gpu_process_id;  // the first process that called the CUDA API

  std::vector<LaunchCall> launches;
  std::set<AwaitedRecord> awaited;
  bool has_stacks = false;  // Python functions or call stacks of operators
  std::vector<StackCall> stack_calls;

  TimeSpan times;
  UntimedCounts untimed;
  Losses losses;
  uint64_t tail_bytes = 0;  // of the file, behind the end of the document
  int64_t event_count = 0;
  int64_t known_count = 0;  // events of a category that is read
  int64_t without_phase_count = 0;
  int64_t unread_phase_count = 0;                     // flows, asynchronous events
  int64_t operator_step_count = 0;                    // profiler steps that are operators (2021)
  int64_t profiler_range_count = 0;                   // cuda_profiler_range: GPU work as hardware counters only
  std::map<std::string, int64_t> unknown_categories;  // at most 32
  bool is_hip = false;
  bool fractional_times = false;
};

}  // namespace stallhound::capture
