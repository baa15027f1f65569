#pragma once

// What a recording of a benchmark program says of each case: exact counts per iteration, kernels and sync sites over
// the steady window. The program marks a case by an NVTX range named by its id, and in it every iteration by one named
// "iteration" (bench/README.md).

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/hunt/report.h"
#include "capture/reader.h"
#include "store/run.h"

namespace stallhound::analysis {

inline constexpr char kIterationRange[] = "iteration";
// Of the values below; rises when the same recording would give others.
inline constexpr int64_t kCasesVersion = 1;

struct CaseCounts {
  std::string id;
  int64_t recorded_iteration_count = 0;
  // Iterations of the counted window (analysis/gate/counts.h). Null: no host calls and no GPU work were recorded. With
  // a `problem` 0 or too few; all lists are then empty, as with null.
  std::optional<int64_t> iteration_count;
  std::optional<bool> counts_complete;  // false: records were lost inside the window. Null: nothing was counted
  std::string problem;                  // why a recording with a GPU side gives no counts; else empty
  std::vector<store::KernelAggregate> kernels;
  std::vector<store::EventCount> event_counts;
  std::vector<store::SyncSite> sync_sites;
};

struct CasesReport {
  CaptureSummary capture;
  std::vector<DeviceSummary> devices;
  std::vector<EnvironmentEntry> environment;
  std::vector<CaseCounts> cases;  // by id, as asked for; one that the recording lacks has no iterations
};

// GPU work and calls belong to the iteration in which their host call began. Two reads for all cases together, and one
// hunt (analysis/hunt) for each case with sync points. Memory: 16 bytes a kernel, and what the finder of sync points
// needs. Errors: those of the reader.
absl::StatusOr<CasesReport> CountCases(capture::CaptureReader& reader, std::span<const std::string> ids);

}  // namespace stallhound::analysis
