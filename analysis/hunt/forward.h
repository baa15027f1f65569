#pragma once

// The operator whose backward a point lies in. PyTorch gives each autograd node the sequence number that the operator
// which made it bore (torch/csrc/autograd/function.h; torch.autograd.profiler.emit_nvtx describes the pairing): several
// operators of a thread in a row may bear one number, and the last of them made the node.

#include <absl/status/status.h>

#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Sets SyncPoint::forward of the points that lie in a range of an autograd node and have no user frame of their own.
// Reads the ranges twice if operators were recorded and there is such a point; memory: 24 bytes an operator with the
// number of one. Errors: those of the reader.
absl::Status FindForwards(capture::CaptureReader& reader, const Directory& directory, std::vector<SyncPoint>& points);

}  // namespace stallhound::analysis
