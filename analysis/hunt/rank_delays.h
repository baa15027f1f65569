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
  const std::vector<PointCost>& costs;
  const std::vector<int32_t>& site_of_point;  // -1: none
  const Directory& directory;
  const MeasuredSpans& spans;
};

// The late rank is compared with the waiting one, each from its last collective to this one: what it lost to a stall,
// and the other did not lose there, is the cause; then, what its device worked longer; the rest is the host. Before the
// first collective only the time of the delay is looked at. A stall lasts from the entry of its call to the start of
// the next work of its thread, if that thread feeds the device; of stalls at one time the one that began first counts.
// O((collectives * ranks + points) log points).
std::vector<RankDelay> FindRankDelays(const RankDelayInputs& inputs);

}  // namespace stallhound::analysis
