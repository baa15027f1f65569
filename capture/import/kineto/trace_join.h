#pragma once

// From the rows of a trace to those of a capture: one axis of time, launches joined by correlation, public names.

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/import/kineto/python_stacks.h"
#include "capture/import/kineto/top_level.h"
#include "capture/import/kineto/trace_rows.h"
#include "capture/reader.h"

namespace stallhound::capture {

// Where the trace's times lie.
struct TimeAxis {
  bool since_epoch = false;
  int64_t origin_ns = 0;  // trace time of the capture's time zero
  int64_t end_ns = 0;     // capture time of the last instant
  std::optional<int64_t> epoch_ns;

  // True for times of the other scale: an event at 0 in a trace of epoch times must not become its beginning.
  bool IsOutlier(int64_t start_ns) const { return (start_ns >= kEpochScaleNs) != since_epoch; }
};

TimeAxis MakeTimeAxis(const TimeSpan& times, std::optional<int64_t> base_ns);

// Everything a capture is read from. Built once, by JoinTrace; read by TraceEmitter.
struct JoinedTrace {
  TraceRows rows;
  TopLevel top_level;
  TimeAxis axis;
  StackTables stacks;
  StringTable strings;
  std::vector<StringId> public_ids;  // by id in rows.names
  uint32_t gpu_process_id = 0;

  StringId Public(StringId id) const { return public_ids[static_cast<size_t>(id)]; }
};

// Completes `trace`, whose rows and top level are filled. Cost: passes over ranges and GPU rows.
absl::Status JoinTrace(JoinedTrace* trace);

// Finds launches by correlation; consecutive look-ups of near ids are cheap.
class LaunchFinder {
 public:
  // `launches` is sorted by correlation and outlives the finder.
  explicit LaunchFinder(std::vector<LaunchCall>* launches) : launches_(*launches) {}
  // The first call of that correlation that submits work (not cudaEventRecord, unless `records`); null if none.
  LaunchCall* Find(uint64_t correlation_id, bool records);

 private:
  std::vector<LaunchCall>& launches_;
  size_t hint_ = 0;
};

// Gives the rows of a joined trace to `target` as a capture's.
class TraceEmitter : public CaptureVisitor {
 public:
  TraceEmitter(JoinedTrace* trace, CaptureVisitor* target)
      : trace_(*trace), target_(*target), finder_(&trace->rows.launches) {}

  absl::Status On(const RangeBatch& batch) override;
  absl::Status On(const HostCallBatch& batch) override;
  absl::Status On(const KernelBatch& batch) override;
  absl::Status On(const CopyBatch& batch) override;
  absl::Status On(const MemsetBatch& batch) override;
  absl::Status On(const SyncBatch& batch) override;
  absl::Status On(const CudaEventBatch& batch) override;
  absl::Status On(const OverheadBatch& batch) override;

 private:
  template <typename Batch, typename Fix>
  absl::Status Give(const Batch& batch, Fix&& fix);
  template <typename Row>
  void JoinLaunch(Row& row);

  // Per thread: the call within which the next ones may lie.
  struct OuterCall {
    int64_t start_ns = 0;
    int64_t end_ns = -1;
  };

  JoinedTrace& trace_;
  CaptureVisitor& target_;
  LaunchFinder finder_;
  size_t next_stack_ = 0;
  std::vector<OuterCall> outer_;
};

}  // namespace stallhound::capture
