#pragma once

// Every case of pairs as a benchmark of Google Benchmark.

#include <absl/status/status.h>

#include <optional>
#include <span>
#include <vector>

#include "bench/harness/case_bench.h"
#include "bench/harness/harness.h"
#include "bench/harness/side_file.h"
#include "kernels/pair.h"

namespace stallhound::bench {

// What the benchmarks use while they run and what they leave behind. Must outlive the run.
struct SuiteRun {
  Harness* harness = nullptr;
  BenchSettings settings;
  std::optional<SideFile> side_file;
  // Of the cases that failed, in order; their rows have them too. The last may be the side file's.
  std::vector<absl::Status> errors;
};

// Registers all variants and cases of the harness's device as layer/variant/dtype/shape/pass. `pairs` must outlive the
// run.
void RegisterPairs(std::span<const kernels::Pair> pairs, SuiteRun& run);

}  // namespace stallhound::bench
