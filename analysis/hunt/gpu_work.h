#pragma once

// What the GPU did around the sync points: when the work that each waited for ended, when each thread's next work
// began, and when every device was busy. Nothing is kept for each kernel but the busy intervals that cannot be merged,
// and collectives.

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/hunt/collectives.h"
#include "analysis/hunt/feeds.h"
#include "analysis/hunt/intervals.h"
#include "analysis/hunt/last_ends.h"
#include "analysis/hunt/wait_sets.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Which work counts as work of a device.
enum class WorkKind : uint8_t {
  kAny,      // whatever runs
  kCompute,  // kernels and graphs alone; collectives from the start of their last rank on, if that is known
};

// One device of one process.
class DeviceWork {
 public:
  // `returns_ns`: returns of the process's sync points, sorted, outlives this.
  DeviceWork(uint32_t process_id, uint32_t device_id, const std::vector<int64_t>& returns_ns)
      : process_id_(process_id), device_id_(device_id), last_any_(returns_ns), last_compute_(returns_ns) {}

  uint32_t process_id() const { return process_id_; }
  uint32_t device_id() const { return device_id_; }
  // From the start of its first work to the end of its last.
  const Interval& extent() const { return extent_; }
  Gaps IdleIn(const Interval& span, WorkKind kind) const;
  // The gaps of WorkKind::kAny.
  void ForEachGap(const Interval& span, absl::FunctionRef<void(const Gap&)> visit) const;
  // End of the last work (kCompute: collectives left out) that had been submitted at a return; null: none had.
  std::optional<int64_t> LastEnd(size_t return_index, WorkKind kind) const {
    return (kind == WorkKind::kAny ? last_any_ : last_compute_).At(return_index);
  }

 private:
  friend class GpuWork;
  // Each comes in a time order of its own. Those before kComputeCount are compute.
  enum Source : size_t {
    kKernels,
    kGraphRuns,
    kTogether,  // collectives from the start of their last rank on
    kComputeCount,
    kCopies = kComputeCount,
    kMemsets,
    kCollectives,  // the whole of them
    kCount
  };

  // Sources of the work.
  using Sources = absl::InlinedVector<const BusyTime*, kCount>;
  Sources SourcesOf(WorkKind kind) const;
  // `launch`: null: not recorded.
  void Add(Source source, int64_t submitted_ns, const Interval& time, const std::optional<Launch>& launch);

  uint32_t process_id_;
  uint32_t device_id_;
  std::array<BusyTime, kCount> busy_;
  LastEnds last_any_;
  LastEnds last_compute_;
  Interval extent_{INT64_MAX, INT64_MIN};
};

// What is found for one sync point.
struct PointWork {
  std::optional<int64_t> awaited_end_ns;  // end of the last work of its wait set
  bool is_awaited_known = true;           // false: it waits for an event, and where that was recorded is not recorded
  std::optional<NextWork> next;           // the thread's first submission after the return
};

struct GpuWorkInputs {
  const Directory& directory;
  const capture::StringTable& strings;
  const std::vector<SyncPoint>& points;         // by start
  const std::vector<StreamWait>& stream_waits;  // that host calls tell of
  const MeasuredSpans* occurrences = nullptr;   // of the measured range; null: none is measured
};

class GpuWork : public capture::CaptureVisitor {
 public:
  // What `inputs` refers to outlives this.
  explicit GpuWork(const GpuWorkInputs& inputs);

  // Two reads, in this order: how syncs and events belong together, then the work.
  static capture::TableSet WantedEvents();
  static capture::TableSet WantedWork();

  absl::Status On(const capture::KernelShapeBatch& batch) override;
  absl::Status On(const capture::SyncBatch& batch) override;
  absl::Status On(const capture::CudaEventBatch& batch) override;
  absl::Status On(const capture::KernelBatch& batch) override;
  absl::Status On(const capture::CopyBatch& batch) override;
  absl::Status On(const capture::MemsetBatch& batch) override;
  absl::Status On(const capture::GraphRunBatch& batch) override;

  // Once, after the reads; by point.
  std::vector<PointWork> Finish();

  // After Finish. Devices are numbered.
  const std::vector<std::unique_ptr<DeviceWork>>& devices() const { return devices_; }
  absl::Span<const uint32_t> DevicesOf(const SyncPoint& point) const { return feeds_.DevicesOf(point); }
  std::optional<int64_t> LastEnd(size_t point, uint32_t device, WorkKind kind) const;
  // Of a queue-full point: end of the last work that its next work's stream had been given at the start; null: nothing.
  std::optional<int64_t> LastEndOfNextStream(size_t point, const NextWork& next) const;
  // Collectives of several ranks; a rank is a number of devices().
  const std::vector<std::vector<RankCollective>>& matched_collectives() const { return matches_; }
  // Devices that ran collectives, matched or not.
  size_t rank_count() const { return collectives_.rank_count(); }

 private:
  using Pair = std::pair<uint32_t, uint64_t>;
  // Process, device, context, stream.
  using StreamId = std::tuple<uint32_t, uint32_t, std::optional<uint32_t>, uint32_t>;
  struct EventRecord {
    int64_t time_ns;
    std::optional<uint32_t> context_id;
    std::optional<uint32_t> stream_id;
  };
  // Of a process's sync points, sorted.
  struct Instants {
    std::vector<int64_t> returns_ns;
    std::vector<int64_t> queue_full_ns;
  };
  struct Stream {
    uint32_t device = 0;
    WaitSets::Lanes lanes;
    std::optional<LastEnds> last_ends;  // at the process's full queues, if any
  };

  template <typename Batch>
  void AddBatch(const Batch& batch, DeviceWork::Source source);
  void PrepareOnce();
  void PreparePoint(size_t index);
  Stream& StreamOf(const StreamId& id);
  std::optional<EventRecord> LatestRecord(Pair event, int64_t time_ns) const;

  GpuWorkInputs inputs_;
  bool is_prepared_ = false;
  absl::flat_hash_map<uint32_t, capture::StringId> collective_names_;  // by kernel shape
  absl::flat_hash_map<Pair, uint64_t> event_of_sync_;                  // process, correlation: event id
  absl::flat_hash_map<Pair, std::vector<EventRecord>> event_records_;  // by process and event id, in time order
  std::vector<std::pair<StreamMoment, uint64_t>> waits_for_event_;     // cudaStreamWaitEvent: event id
  std::map<uint32_t, Instants> instants_;                              // by process; addresses are kept
  WaitSets wait_sets_;
  std::vector<size_t> unknown_waits_;  // points whose event's record is not known
  Feeds feeds_;
  Collectives collectives_;
  std::vector<std::vector<RankCollective>> matches_;
  std::vector<std::unique_ptr<DeviceWork>> devices_;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> device_index_;  // process, device id
  std::vector<Stream> streams_;
  absl::flat_hash_map<StreamId, uint32_t> stream_index_;
  std::pair<StreamId, uint32_t> last_stream_;  // the one found last
};

}  // namespace stallhound::analysis
