#pragma once

// Which rank keeps the others waiting in collectives, and with what.

#include <optional>
#include <vector>

#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/report.h"
#include "analysis/hunt/stall.h"

namespace stallhound::analysis {

struct RankDelayInputs {
  const GpuWork& gpu;
  const std::vector<SyncPoint>& points;  // by start
  const std::vector<PointWork>& work;    // by point
  const std::vector<std::optional<Stall>>& stalls;
  const std::vector<int32_t>& site_of_point;  // -1: none
  const Directory& directory;
  const MeasuredSpans& spans;
};

// A nanosecond in which a rank waits belongs to the stall of the late rank that lasts then: from the entry of the call
// to the start of the next work of its thread, if that thread feeds the late device; else to that device's work; else
// to the host. Of stalls at one time the one that began first counts. O((collectives * ranks + points) log points).
std::vector<RankDelay> FindRankDelays(const RankDelayInputs& inputs);

}  // namespace stallhound::analysis
