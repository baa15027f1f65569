#pragma once

// A recording reduced to what a replay needs: per GPU work one row of 32 bytes with its submission, per wait, event and
// hand-over between threads one mark. Times are ns since the capture's start. Source: design, "Cost" (host threads in
// order, FIFO streams, event edges).

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

inline constexpr uint16_t kNoThread = 0xffff;
inline constexpr uint32_t kNoTarget = 0xffffffff;

// GPU work and its submission.
struct ReplayWork {
  int64_t host_ns = 0;  // entry of the submitting call; without a known launch, that of the work before on the stream
  int64_t start_ns = 0;
  uint64_t duration_ns : 48 = 0;
  uint64_t stream : 16 = 0;     // index in ReplayModel::streams
  uint32_t call_ns = 0;         // host time in the submitting call, at most 4.29 s; 0: unknown, or part of a wait
  uint16_t thread = kNoThread;  // index in ReplayModel::threads; kNoThread: launch unknown
  uint16_t blocked_at = 0;  // submissions in the driver's queue when it blocked the call by being full; 0: it did not
};
static_assert(sizeof(ReplayWork) == 32);

// In the order in which marks of one instant apply; those up to kEnter apply before work submitted at that instant.
enum class MarkKind : uint8_t {
  kHandOver,    // `thread` goes on because the thread `target` did something
  kBoundary,    // the span `target` starts (`point` 0) or ends (1)
  kEnter,       // `thread` begins a wait that takes copies in; they are submitted at once
  kStreamWait,  // the streams of set `target` wait for `event`
  kRecord,      // `event` stands for the work submitted to the streams of set `target`
  kWait,        // `thread` waits until `end_ns` for set `target` or `event`
};

struct ReplayMark {
  int64_t host_ns = 0;
  int64_t end_ns = 0;
  uint32_t target = kNoTarget;
  uint32_t event = kNoTarget;
  int32_t point = -1;  // kEnter, kWait: index of the sync point; -1: it can't be removed
  uint16_t thread = kNoThread;
  MarkKind kind = MarkKind::kWait;
  bool only_if_blocked = false;  // kWait: the call need not wait; it does if it did in the recording
};

struct ReplayModel {
  struct Stream {
    uint32_t process_id = 0;
    uint32_t context_id = 0;  // 0: unknown
    uint32_t stream_id = 0;
    uint32_t waits_for_set = kNoTarget;  // legacy stream rules: streams whose work must end first
  };
  struct Thread {
    uint32_t process_id = 0;
    uint32_t group = 0;  // threads of one group wake each other
  };
  // A measured span, as one group of threads sees it.
  struct Span {
    uint32_t group = 0;
    uint32_t unit = 0;  // spans of one unit are the same span, for several groups
  };

  std::vector<ReplayWork> works;  // by host_ns, then start_ns
  std::vector<ReplayMark> marks;  // by host_ns, then kind
  std::vector<Thread> threads;
  std::vector<Stream> streams;
  std::vector<std::vector<uint32_t>> stream_sets;  // indices of streams
  uint32_t event_count = 0;
  std::vector<Span> spans;
  uint32_t group_count = 0;
  bool is_too_wide = false;       // more than 65,535 threads or streams: nothing else is filled
  std::optional<int64_t> cut_ns;  // later work was left out: too much to hold
  int64_t tolerance_ns = 0;       // error of the GPU clock

  // Medians of the recording; 0 where nothing showed them.
  int64_t launch_delay_ns = 0;  // from the entry of a launch to the start of its work on an idle stream
  int64_t work_gap_ns = 0;      // between two works of a stream that were both queued
  int64_t return_ns = 0;        // from the end of awaited work to the return of the wait
  int64_t wait_call_ns = 0;     // a wait with nothing to wait for
  int64_t launch_call_ns = 0;
  int64_t queue_limit = 0;  // submissions to one stream that the host can be ahead by
};

struct ModelOptions {
  // More work is not kept: the model then ends at an earlier instant, ReplayModel::cut_ns.
  size_t max_work_count = 6'000'000;
};

// A visitor for three reads, in this order: calls, events, work. Memory: 32 bytes a work, 32 to 64 an event call.
class ModelBuilder : public capture::CaptureVisitor {
 public:
  // `directory` is complete and outlives this.
  explicit ModelBuilder(const Directory& directory, ModelOptions options = {})
      : directory_(directory), options_(options) {}

  // The tables of each read.
  static capture::TableSet WantedCalls() { return capture::Tables({capture::Table::kHostCall}); }
  static capture::TableSet WantedEvents() {
    return capture::Tables({capture::Table::kSync, capture::Table::kCudaEvent});
  }
  static capture::TableSet WantedWork() {
    using capture::Table;
    return capture::Tables({Table::kKernel, Table::kCopy, Table::kMemset, Table::kGraphRun});
  }

  absl::Status On(const capture::HostCallBatch& batch) override;
  absl::Status On(const capture::SyncBatch& batch) override;
  absl::Status On(const capture::CudaEventBatch& batch) override;
  absl::Status On(const capture::KernelBatch& batch) override;
  absl::Status On(const capture::CopyBatch& batch) override;
  absl::Status On(const capture::MemsetBatch& batch) override;
  absl::Status On(const capture::GraphRunBatch& batch) override;

  // Once, after the reads. `points` by start, `spans` as Directory::MeasuredSpans gives them. Cost: n log n.
  ReplayModel Finish(const std::vector<SyncPoint>& points, const std::vector<Span>& spans, int64_t tolerance_ns);

 private:
  // A call on an event before streams and threads are numbered.
  struct EventCall {
    MarkKind kind;
    int64_t time_ns;
    uint32_t process_id;
    uint32_t context_id;
    std::optional<uint32_t> stream_id;
    uint32_t event;
  };
  struct EventKey {
    uint32_t process_id;
    bool is_handle;  // of host calls; otherwise CUPTI's id
    uint64_t id;
    friend bool operator==(const EventKey&, const EventKey&) = default;
    template <typename H>
    friend H AbslHashValue(H hash, const EventKey& key) {
      return H::combine(std::move(hash), key.process_id, key.is_handle, key.id);
    }
  };

  template <typename Batch>
  absl::Status AddBatch(const Batch& batch);
  void Shorten();
  uint32_t EventIndex(const EventKey& key);
  uint16_t ThreadIndex(uint32_t process_id, uint32_t thread_id);
  uint16_t StreamIndex(uint32_t process_id, uint32_t context_id, uint32_t stream_id);
  // The streams that a wait for `stream_id` covers, all of the context without it; `is_wait` false: that stream alone.
  uint32_t StreamSet(const EventCall& call, bool is_wait);
  void LinkLegacyStreams();
  void AddPoint(const SyncPoint& point, int32_t index);
  void AddEventCalls();
  void AddSpan(const Span& span, uint32_t unit);
  void AddSpans(const std::vector<Span>& spans);
  void PlaceBesidePoints(const std::vector<SyncPoint>& points);
  void PlaceUnknownLaunches();
  void KeepContextCreation();

  const Directory& directory_;
  ModelOptions options_;
  ReplayModel model_;
  bool is_too_wide_ = false;
  bool has_unknown_launches_ = false;
  std::vector<EventCall> event_calls_;
  std::vector<bool> is_awaited_;   // by event
  std::vector<bool> is_recorded_;  // by event
  absl::flat_hash_map<EventKey, uint32_t> events_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint32_t> event_of_sync_;  // process, correlation: event
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint16_t> threads_;        // process, thread
  absl::flat_hash_map<std::pair<uint64_t, uint32_t>, uint16_t> streams_;        // process and context; stream
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint32_t> sets_;           // process and context; stream and rule
};

// Calls on_mark and on_work for all marks and works in the order of host time.
template <typename OnMark, typename OnWork>
void ForEachInOrder(const ReplayModel& model, OnMark&& on_mark, OnWork&& on_work) {
  size_t next = 0;
  const size_t mark_count = model.marks.size();
  for (size_t i = 0; i < model.works.size(); ++i) {
    const int64_t host_ns = model.works[i].host_ns;
    while (next < mark_count && model.marks[next].host_ns <= host_ns) {
      const ReplayMark& mark = model.marks[next];
      if (mark.host_ns == host_ns && mark.kind > MarkKind::kEnter) break;
      on_mark(mark);
      ++next;
    }
    on_work(i);
  }
  for (; next < mark_count; ++next) on_mark(model.marks[next]);
}

}  // namespace stallhound::analysis
