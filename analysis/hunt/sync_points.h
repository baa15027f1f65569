#pragma once

// Sync points by rule: what a call is follows from its API, the memory kinds and the direction, never from whether it
// blocked. So the list is the same in every run of a program.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/report.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// A copy that belongs to a sync point.
struct PointCopy {
  uint64_t correlation_id = 0;
  capture::CopyDirection direction = capture::CopyDirection::kUnknown;
  std::optional<capture::MemoryKind> source_kind;
  std::optional<capture::MemoryKind> target_kind;
  uint64_t bytes = 0;
  std::optional<uint32_t> context_id;
  std::optional<uint32_t> stream_id;
  bool is_known = false;          // its record was found
  std::optional<int64_t> end_ns;  // of the GPU's work, if its record says so
  // Of the call that made it; a call that returns later than its copy ended was blocked by it.
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
};

// What a call waits for.
enum class WaitScope : uint8_t { kStream, kEvent, kContext };

// A stream at a moment of host time; without a stream, a whole context; without a context, the process.
struct StreamMoment {
  uint32_t process_id = 0;
  std::optional<uint32_t> context_id;
  std::optional<uint32_t> stream_id;
  int64_t time_ns = 0;
};

// cudaStreamWaitEvent: from `waiting` on, its stream also waits for what `recorded` had then.
struct StreamWait {
  StreamMoment waiting;
  StreamMoment recorded;
};

// The operator whose backward a point lies in.
struct ForwardCall {
  uint32_t stack_id = 0;
  capture::StringId node{};  // of the autograd node
  bool is_exact = false;     // Forward::confidence
};

struct SyncPoint {
  SiteKind kind = SiteKind::kWait;
  WaitScope scope = WaitScope::kStream;
  capture::ApiClass api_class = capture::ApiClass::kOther;  // of the call that returns at end_ns
  uint32_t process_id = 0;
  uint32_t thread_id = 0;
  std::optional<capture::StringId> api;  // null: a full queue whose call was not recorded
  int64_t start_ns = 0;                  // entry of the first copy taken in, else of the call
  int64_t call_start_ns = 0;             // entry of the call that returns at end_ns
  int64_t end_ns = 0;
  std::optional<uint32_t> stack_id;
  std::optional<uint32_t> context_id;
  std::optional<uint32_t> stream_id;  // that the call names, else that of its sync's record, else that of its copies
  std::optional<uint64_t> correlation_id;
  // Of an event's sync or query: the stream that it was recorded on last, at the entry of that call.
  std::optional<StreamMoment> event;
  // Of a spin that ended with a query that was ready: from the last not-ready query's entry to its return.
  std::optional<int64_t> poll_ns;
  std::vector<PointCopy> copies;
  std::optional<ForwardCall> forward;  // FindForwards
};

// A visitor of one read: host calls and copies; syncs too, if costs are wanted: calls in Kineto's traces name no
// stream, CUPTI's records of them do. Memory: the points, the asynchronous copies, the stream waits and 32 bytes a
// stream sync, not the launches.
class SyncPointFinder : public capture::CaptureVisitor {
 public:
  // `directory` is complete and outlives this. `recorded`: tables of the recording; light has no kernels, so no
  // launches.
  SyncPointFinder(const Directory& directory, const capture::TableSet& recorded);

  // Before the read, if costs are wanted: the times in which a launch found its queue full become points too.
  void AddQueueFull(const std::vector<capture::OverheadRow>& queue_full);

  absl::Status On(const capture::HostCallBatch& batch) override;
  absl::Status On(const capture::CopyBatch& batch) override;
  absl::Status On(const capture::SyncBatch& batch) override;

  // Once, after the read: all points by start.
  std::vector<SyncPoint> Finish();
  // Asynchronous copies of unknown memory kind that no wait takes in: not counted as points.
  int64_t unknown_kind_copy_count() const { return unknown_kind_copy_count_; }
  // Full queues whose thread is unknown: no points.
  int64_t unplaced_queue_full_count() const { return unplaced_queue_full_count_; }
  // cudaStreamWaitEvent calls whose event's record is known, in time order.
  const std::vector<StreamWait>& stream_waits() const { return stream_waits_; }

 private:
  struct SyncStream {
    std::optional<uint32_t> context_id;
    uint32_t stream_id;
  };
  // An asynchronous copy call, until its memory kinds are known.
  struct AsyncCopy {
    SyncPoint point;    // as a pageable-copy
    int64_t wait = -1;  // index of the wait directly behind it
  };
  struct Spin {
    int64_t start_ns = 0;
    int64_t last_start_ns = 0;  // of the last not-ready query
    int64_t end_ns = 0;
    int64_t count = 0;
    uint64_t target = 0;
    SyncPoint point;
  };
  struct ThreadState {
    std::vector<size_t> pending;  // copies since the last call that ends a group
    Spin spin;
    // The last call that lies in no other.
    int64_t outer_end_ns = INT64_MIN;
    capture::ApiClass outer_class = capture::ApiClass::kOther;
  };

  void OnQueueFull(const capture::HostCallRow& call);
  void OnCall(const capture::HostCallRow& call);
  void OnStreamWait(const capture::HostCallRow& call);
  void OnSync(const capture::HostCallRow& call, ThreadState& thread);
  void OnQuery(const capture::HostCallRow& call, ThreadState& thread);
  void EndSpin(ThreadState& thread);
  void ResolveEvent(const capture::HostCallRow& call, SyncPoint& point) const;
  SyncPoint PointOf(const capture::HostCallRow& call, SiteKind kind, WaitScope scope) const;
  bool HaveOneCaller(std::optional<uint32_t> copy_stack, std::optional<uint32_t> wait_stack) const;
  bool BelongsToWait(const AsyncCopy& copy, const SyncPoint& wait) const;
  void Resolve(AsyncCopy& copy);
  void PlaceOnStream(SyncPoint& point) const;

  const Directory& directory_;
  bool has_launches_;
  bool has_copies_;
  absl::flat_hash_map<uint32_t, ThreadState> threads_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, StreamMoment> event_records_;  // process, handle: the latest
  std::vector<StreamWait> stream_waits_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, std::vector<size_t>> queue_full_;  // process, correlation: points
  std::vector<SyncPoint> points_;
  std::vector<AsyncCopy> async_copies_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, PointCopy> copies_;         // by process, correlation
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, SyncStream> sync_streams_;  // the same
  int64_t unknown_kind_copy_count_ = 0;
  int64_t unplaced_queue_full_count_ = 0;
};

}  // namespace stallhound::analysis
