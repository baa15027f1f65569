#pragma once

// NVBench's JSON (--json).

#include <absl/status/statusor.h>

#include <memory>
#include <string_view>

#include "capture/import/importer.h"
#include "capture/import/results/results.h"

namespace stallhound::capture {

// One benchmark_point for each number of each state's summaries; its metric is the summary's tag, its benchmark
// "<benchmark>/<state>". Numbers are stored as strings. Durations become ns, percentages ratios. A skipped state is one
// point without a value that says why. Command lines are left out. Errors: InvalidArgument (no NVBench result).
absl::StatusOr<std::unique_ptr<Results>> ParseNvbench(std::string_view text);

// CaptureInfo::format is "nvbench".
Importer NvbenchImporter();

}  // namespace stallhound::capture
