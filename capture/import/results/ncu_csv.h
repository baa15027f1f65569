#pragma once

// Nsight Compute's CSV (`ncu --csv`), both pages: details (one metric a line) and raw (one kernel a line).

#include <absl/status/statusor.h>

#include <memory>
#include <string_view>

#include "capture/import/importer.h"
#include "capture/import/results/results.h"

namespace stallhound::capture {

// One kernel_metric for each metric of each profiled launch, one kernel_shape for each name, grid and block: the keys
// by which metrics are joined with the kernels of a capture. Rule rows have no metric and are counted only; process and
// host names are left out. Errors: InvalidArgument (no table of Nsight Compute), DataLoss (a quoted field does not
// end).
absl::StatusOr<std::unique_ptr<Results>> ParseNcuCsv(std::string_view text);

// CaptureInfo::format is "ncu".
Importer NcuCsvImporter();

}  // namespace stallhound::capture
