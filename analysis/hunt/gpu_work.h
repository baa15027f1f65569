#pragma once

// What the GPU did around the sync points: when the work that each waited for ended, when each thread's next work
// began, and when every device was busy. One read, nothing kept for each kernel but the busy intervals that cannot be
// merged.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// A union of intervals that are added in order of their starts.
class BusyTime {
 public:
  void Add(int64_t start_ns, int64_t end_ns);
  // Joins another union in.
  void Merge(const BusyTime& other);
  // The gaps inside `span`, in order.
  std::vector<Interval> GapsIn(const Interval& span) const;
  const std::vector<Interval>& intervals() const { return busy_; }

 private:
  std::vector<Interval> busy_;
};

// What is found for one sync point.
struct PointWork {
  std::optional<int64_t> awaited_end_ns;      // end of the last work of its wait set
  std::optional<int64_t> next_launch_ns;      // the thread's first submission after the return: entry of the call,
  std::optional<int64_t> next_work_start_ns;  // and start of its work
};

class GpuWork : public capture::CaptureVisitor {
 public:
  // `points` by start; both outlive this.
  GpuWork(const Directory& directory, const std::vector<SyncPoint>& points);

  // Two reads, in this order: how syncs and events belong together, then the work.
  static capture::TableSet WantedEvents();
  static capture::TableSet WantedWork();

  absl::Status On(const capture::SyncBatch& batch) override;
  absl::Status On(const capture::CudaEventBatch& batch) override;
  absl::Status On(const capture::KernelBatch& batch) override;
  absl::Status On(const capture::CopyBatch& batch) override;
  absl::Status On(const capture::MemsetBatch& batch) override;
  absl::Status On(const capture::GraphRunBatch& batch) override;

  // After the read.
  std::vector<PointWork> Finish();
  // Gaps of the devices that a thread submitted work to: times when at least one of them had nothing to do. `compute`:
  // kernels alone count as work.
  std::vector<Interval> IdleIn(uint32_t thread_id, const Interval& span, bool compute) const;

 private:
  struct Work {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t process_id;
    uint32_t device_id;
    std::optional<uint32_t> context_id;
    uint32_t stream_id;
    std::optional<int64_t> launch_ns;
    std::optional<uint32_t> thread_id;
  };
  // The sync points that wait for one stream, or for a whole context, by the time up to which they take launches in.
  struct Waiters {
    std::vector<std::pair<int64_t, size_t>> limits;  // limit, point
    std::vector<int64_t> last_end_ns;                // work launched after the limit before, up to this one
    size_t cursor = 0;
  };
  struct Returns {
    std::vector<std::pair<int64_t, size_t>> ends;  // return of the point, point
    std::vector<PointWork> next;
    size_t cursor = 0;
  };
  struct EventRecord {
    int64_t time_ns;
    std::optional<uint32_t> stream_id;
  };
  using StreamKey = std::pair<uint64_t, uint32_t>;  // process and context; stream

  static constexpr uint32_t kAllStreams = 0xffffffffu;
  static uint64_t ContextKey(uint32_t process_id, uint32_t context_id) {
    return uint64_t{process_id} << 32 | context_id;
  }

  template <typename Batch>
  void AddBatch(const Batch& batch, capture::Table table);
  void Add(const Work& work);
  void PrepareOnce();
  std::optional<EventRecord> LatestRecord(const SyncPoint& point) const;
  void AddWaiter(size_t index, const SyncPoint& point);
  void AddToWaiters(Waiters& waiters, int64_t launch_ns, int64_t end_ns);
  void AddToReturns(Returns& returns, int64_t launch_ns, int64_t start_ns);

  const Directory& directory_;
  const std::vector<SyncPoint>& points_;
  bool is_prepared_ = false;
  std::map<StreamKey, Waiters> waiters_;
  absl::flat_hash_map<uint32_t, Returns> returns_;                              // by thread
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint64_t> event_of_sync_;  // process, correlation: event id
  // By process and event id, in time order.
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, std::vector<EventRecord>> event_records_;
  // By process and device, one union for each table, as each comes in time order.
  std::map<uint64_t, std::map<capture::Table, BusyTime>> busy_;
  std::map<uint64_t, BusyTime> any_;
  std::map<uint64_t, BusyTime> compute_;
  absl::flat_hash_map<uint32_t, std::set<uint64_t>> devices_of_thread_;
};

}  // namespace stallhound::analysis
