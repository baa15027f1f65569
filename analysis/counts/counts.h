#pragma once

// Exact counts of what a recording holds, per range occurrence or per process. Nothing here depends on time spent, so
// two recordings of one program can be compared number by number.

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/report.h"
#include "analysis/hunt/steps/steps.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Counts of one span. Null: the recording does not hold events of that kind, or all of them were lost.
struct EventCounts {
  std::optional<int64_t> kernel_count;  // kernel records, those inside graph launches included
  std::optional<int64_t> graph_launch_count;
  std::optional<std::array<int64_t, kSiteKindCount>> sync_points;  // by SiteKind
  std::optional<std::vector<CopySummary>> copies;                  // by direction and memory kinds
  std::optional<int64_t> memset_count;
  std::optional<uint64_t> memset_bytes;
  // Calls. Device allocations are those that are not stream-ordered (cudaMalloc, cudaFree).
  std::optional<int64_t> device_allocate_count;
  std::optional<int64_t> device_free_count;
  std::optional<int64_t> host_allocate_count;
  std::optional<int64_t> host_free_count;
  std::optional<int64_t> host_register_count;   // register and unregister
  std::optional<int64_t> virtual_memory_count;  // cuMemCreate, cuMemMap, cuMemUnmap, cuMemRelease
  std::optional<int64_t> stream_ordered_count;  // cudaMallocAsync, cudaFreeAsync

  // Copies of one direction; null when copies were not recorded.
  std::optional<int64_t> CopyCount(capture::CopyDirection direction) const;
  std::optional<uint64_t> CopyBytes(capture::CopyDirection direction) const;
  // Sync points of one kind; null when host calls (of pageable copies: copies) were not recorded.
  std::optional<int64_t> SyncPoints(SiteKind kind) const;
};

struct CountsOptions {
  std::optional<std::string> range;    // as HuntOptions::range
  std::optional<StepSelection> steps;  // as HuntOptions::steps
};

// What belongs to the sync points of one site.
struct SiteEvents {
  int64_t copy_count = 0;  // copies that a point takes in or is; their records were found
  uint64_t copy_bytes = 0;
  int64_t allocate_count = 0;  // of device and host memory
};

// One range occurrence, or one process from its start to the last instant known of it.
struct CountsSpan {
  int64_t pid = 0;
  std::optional<int64_t> rank;
  int64_t index = 0;  // of the occurrence in its process, from 0
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  EventCounts counts;
  std::vector<int64_t> site_counts;  // sync points of CountsReport::sites, in that order
  std::vector<SiteEvents> site_events;
};

struct CountsSite {
  SiteKind kind = SiteKind::kWait;
  std::vector<std::string> apis;
  std::optional<Frame> innermost_user;
  std::optional<std::string> native_symbol;
  std::optional<Forward> forward;
  int64_t count = 0;
};

struct CountsReport {
  CaptureSummary capture;
  std::optional<std::string> range;
  std::optional<StepsSummary> steps;
  std::vector<CountsSpan> spans;
  EventCounts total;  // over the spans
  std::vector<CountsSite> sites;
  int64_t unplaced_count = 0;  // GPU records whose launch is unknown: in no range occurrence
  std::vector<LossSummary> losses;
  bool counts_complete = true;
  std::vector<std::string> notes;
};

// Cost, memory and errors as Hunt (analysis/hunt/hunt.h).
absl::StatusOr<CountsReport> Counts(capture::CaptureReader& reader, const CountsOptions& options);

}  // namespace stallhound::analysis
