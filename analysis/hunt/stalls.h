#pragma once

// The stalls among sync points, and what each cost.

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

struct Stall {
  int64_t blocked_ns = 0;
  // Null: no GPU work of the thread followed.
  std::optional<int64_t> idle_ns;
  std::optional<int64_t> idle_compute_ns;
  int64_t idle_return_ns = 0;
  int64_t idle_host_ns = 0;
  int64_t idle_launch_ns = 0;
};

// By point; null: the point did not block. `tolerance_ns`: error of the GPU clock. Each idle nanosecond of a process
// belongs to one stall, the one whose awaited work ended first.
std::vector<std::optional<Stall>> FindStalls(const std::vector<SyncPoint>& points, const std::vector<PointWork>& work,
                                             const GpuWork& gpu, int64_t tolerance_ns);

}  // namespace stallhound::analysis
