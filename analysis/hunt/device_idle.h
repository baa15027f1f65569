#pragma once

// How long devices had nothing to do, and what for where no stall was the cause: nobody waited for the GPU, it waited
// for the host.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/report.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

struct DeviceIdleInputs {
  const GpuWork& gpu;                                 // finished
  const std::vector<Span>& spans;                     // measured, by process and start
  const std::vector<std::vector<Interval>>& charged;  // by device: belongs to stalls; in order, without overlaps
  const std::vector<SyncPoint>& points;               // of which those that load code count
  const std::vector<capture::OverheadRow>& loading;   // CUPTI's records of code being loaded
};

// Time: linear in the idle intervals inside the spans.
DeviceIdle MeasureDeviceIdle(const DeviceIdleInputs& inputs);

// "GPU idle 53.5 ms in the measured time: 5.6 ms belong to stalls, 47.9 ms follow no wait (host-bound 40.1 ms, ...)".
std::string DeviceIdleNote(const DeviceIdle& idle);

}  // namespace stallhound::analysis
