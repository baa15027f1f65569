#pragma once

// Our own recording of a process that left CUPTI to another profiler, and that profiler's trace of the same process, as
// one recording.

#include <absl/status/statusor.h>

#include <memory>

#include "capture/reader.h"

namespace stallhound::capture {

// Calls, GPU work, stacks and their tables are the trace's; processes, environment, and NVTX ranges are those of `host`
// too, as far as they lie wholly inside the time that the trace covers: outside of it nothing is known of the GPU. Ids
// and texts are made anew, times are put on the host's axis by the wall clocks of both.
//
// Memory: the ranges, within the bounds of RowSorter, and the texts of both. Errors: InvalidArgument (a side has no
// wall clock, no process is in both, they do not overlap, or `host` has the GPU side itself), and those of the readers.
absl::StatusOr<std::unique_ptr<CaptureReader>> JoinTrace(std::unique_ptr<CaptureReader> host,
                                                         std::unique_ptr<CaptureReader> trace);

}  // namespace stallhound::capture
