#pragma once

// The stalls among sync points, and what each cost.

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/own_time.h"
#include "analysis/hunt/report.h"
#include "analysis/hunt/stall.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

struct StallInputs {
  const std::vector<SyncPoint>& points;
  const std::vector<PointWork>& work;  // by point
  const GpuWork& gpu;
  int64_t tolerance_ns = 0;  // error of the GPU clock
  const OwnTime& own;        // finished
};

struct Stalls {
  std::vector<PointCost> by_point;
  ReturnLimits limits;
  std::vector<std::vector<Interval>> charged;  // idle times of each device that belong to stalls; in order, apart
};

// Each idle nanosecond of a device belongs to one stall, the one whose awaited work ended first. Memory: 16 bytes for
// each stall and device that it starved.
Stalls FindStalls(const StallInputs& inputs);

}  // namespace stallhound::analysis
