#pragma once

// Google Benchmark's JSON (--benchmark_format=json), all versions since 2016, and what wrappers and locales do to it.

#include <absl/status/statusor.h>

#include <memory>
#include <string_view>

#include "capture/import/importer.h"
#include "capture/import/results/results.h"

namespace stallhound::capture {

// One benchmark_point for each number of each entry. Times are ns whatever their unit; a `cv` or RMS is a ratio, and
// BigO coefficients are no times. Values that the reporter wrote as NaN or infinity, and entries that failed or were
// skipped, have no value and say so; they are never 0. Of the context, names of hosts and paths are left out. Errors:
// InvalidArgument (no benchmarks), DataLoss (ends early).
absl::StatusOr<std::unique_ptr<Results>> ParseGoogleBenchmark(std::string_view text);

// CaptureInfo::format is "google-benchmark".
Importer GoogleBenchmarkImporter();

}  // namespace stallhound::capture
