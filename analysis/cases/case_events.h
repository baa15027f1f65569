#pragma once

// The events of every iteration of every case, gathered in one read.

#include <absl/container/flat_hash_map.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/counts.h"
#include "analysis/hunt/directory.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"
#include "store/run.h"

namespace stallhound::analysis {

// A count of its own: copies are told apart by their memory kinds too.
struct EventKey {
  store::EventKind kind = store::EventKind::kKernel;
  std::optional<capture::MemoryKind> source_kind;
  std::optional<capture::MemoryKind> target_kind;
  auto operator<=>(const EventKey&) const = default;
};

struct EventSeries {
  std::vector<int64_t> counts;  // by iteration
  std::vector<int64_t> bytes;   // of copies and memsets
};

// Kernels of one normalised name and shape.
struct KernelKey {
  std::string name;
  std::optional<std::string> grid;
  std::optional<std::string> block;
  std::optional<int64_t> register_count;
  std::optional<int64_t> shared_memory_bytes;
  auto operator<=>(const KernelKey&) const = default;
};

struct KernelCall {
  int64_t iteration = 0;
  int64_t duration_ns = 0;
};

struct CaseEvents {
  std::vector<Span> iterations;  // by process and start
  std::vector<gate::IterationMarks> marks;
  std::map<EventKey, EventSeries> events;             // what never happened is left out
  std::map<size_t, std::vector<KernelCall>> kernels;  // by index in CaseDirectory::kernels()
  bool has_unplaced = false;                          // GPU work without a launch, or copies of unknown direction
};

// The small tables, with where the cases and their iterations lie and which kernels there are.
class CaseDirectory : public Directory {
 public:
  CaseDirectory(const capture::CaptureReader& reader, std::span<const std::string> ids);

  static capture::TableSet Wanted();
  using Directory::On;
  absl::Status On(const capture::RangeBatch& batch) override;
  absl::Status On(const capture::KernelShapeBatch& batch) override;

  // After the read; by id.
  std::vector<CaseEvents> EmptyCases() const;
  const std::vector<KernelKey>& kernels() const { return kernels_; }
  std::optional<size_t> KernelIndex(uint32_t shape_id) const;

 private:
  struct CaseSpan {
    Span span;
    size_t id = 0;
  };

  const capture::CaptureReader& reader_;
  std::map<std::string, size_t, std::less<>> ids_;
  std::vector<CaseSpan> cases_;
  std::vector<Span> iterations_;
  std::vector<KernelKey> kernels_;
  std::map<KernelKey, size_t> kernel_indices_;
  absl::flat_hash_map<uint32_t, size_t> shapes_;
};

// The visitor of one read of WantedTables(); the finder of sync points sees the same. All arguments outlive it.
class CaseCounter : public capture::CaptureVisitor {
 public:
  CaseCounter(const CaseDirectory& directory, const capture::StringTable& strings, SyncPointFinder& finder,
              std::vector<CaseEvents>& cases);

  static capture::TableSet WantedTables();
  absl::Status On(const capture::HostCallBatch& batch) override;
  absl::Status On(const capture::KernelBatch& batch) override;
  absl::Status On(const capture::CopyBatch& batch) override;
  absl::Status On(const capture::MemsetBatch& batch) override;
  absl::Status On(const capture::OverheadBatch& batch) override;
  // After the read: the points that the finder found.
  void AddPoints(const std::vector<SyncPoint>& points);

 private:
  // An iteration of a case.
  struct Place {
    CaseEvents* events = nullptr;
    size_t iteration = 0;
    size_t span = 0;  // index in spans_
  };
  struct Growth {
    int64_t device_count = 0;  // allocations less frees
    int64_t host_count = 0;
  };

  std::optional<Place> At(uint32_t process_id, int64_t time_ns) const;
  template <typename Batch>
  std::optional<Place> AtLaunch(const Batch& batch, size_t i);
  void Count(const Place& place, const EventKey& key, uint64_t bytes);
  void CountCall(const Place& place, capture::ApiClass api_class);
  void Mark(const Place& place, const capture::HostCallBatch& batch, size_t i);

  const CaseDirectory& directory_;
  const capture::StringTable& strings_;
  SyncPointFinder& finder_;
  std::vector<CaseEvents>& cases_;
  std::vector<Span> spans_;                        // iterations of all cases, by process and start
  std::optional<MeasuredSpans> measured_;          // of spans_
  std::vector<std::pair<size_t, size_t>> owners_;  // case and iteration of each span
  std::vector<Growth> growth_;                     // by span
};

}  // namespace stallhound::analysis
