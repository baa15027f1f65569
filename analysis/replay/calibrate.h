#pragma once

// What a recording says of its machine: usual delays, how far the host can be ahead, which thread woke which.

#include "analysis/replay/model.h"

namespace stallhound::analysis {

// Fills the medians and queue_limit of `model`, flags launches that a full queue blocked, and appends kHandOver marks,
// not sorted in. One pass, after works and marks are complete and sorted. Memory: marks, and at most 64 Ki samples of
// each median.
void Calibrate(ReplayModel& model);

}  // namespace stallhound::analysis
