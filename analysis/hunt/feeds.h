#pragma once

// Who submitted what: the devices that a thread feeds, and what it submitted after each sync point.

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/hunt/measured.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

// One piece of GPU work and who submitted it. Devices and streams are numbers of the caller.
struct Submission {
  uint32_t process_id = 0;
  std::optional<uint32_t> thread_id;
  std::optional<int64_t> launch_ns;  // entry of the call; null: not recorded
  int64_t start_ns = 0;
  uint32_t device = 0;
  uint32_t stream = 0;
};

// The first submission of a thread after a sync point's return.
struct NextWork {
  int64_t launch_ns = INT64_MAX;
  int64_t start_ns = INT64_MAX;
  uint32_t stream = 0;
};

// Memory: 80 bytes a point, and 4 bytes for each device of a thread and occurrence.
class Feeds {
 public:
  // `points` outlives this, and so do `occurrences`: those of the measured range; null: no range is measured.
  Feeds(const std::vector<SyncPoint>& points, const MeasuredSpans* occurrences);

  void Add(const Submission& submission);
  // Once, after all work.
  void Close();

  // Devices that the point's thread submitted work to: in the occurrence that the point lies in, else in the capture,
  // else those of work of its process whose thread is not recorded.
  absl::Span<const uint32_t> DevicesOf(const SyncPoint& point) const;
  // Null: the thread submitted nothing later.
  std::optional<NextWork> NextAfter(size_t point) const;

 private:
  using Submitter = uint64_t;  // a thread, or the unknown threads of a process
  struct Returns {
    std::vector<std::pair<int64_t, size_t>> ends;  // return of the point, point
    std::vector<NextWork> next;                    // first submission until the return behind it
    size_t cursor = 0;
  };

  Submitter SubmitterOf(const Submission& submission) const;
  void AddDevice(Submitter submitter, const Submission& submission);
  void AddNext(Submitter submitter, const Submission& submission);
  std::optional<size_t> OccurrenceAt(uint32_t process_id, int64_t time_ns) const;

  const std::vector<SyncPoint>& points_;
  const MeasuredSpans* occurrences_;
  absl::flat_hash_map<std::pair<Submitter, size_t>, std::vector<uint32_t>> devices_;  // by occurrence
  absl::flat_hash_map<Submitter, Returns> returns_;
  std::vector<NextWork> next_;  // by point
};

}  // namespace stallhound::analysis
