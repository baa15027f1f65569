#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "bench/harness/case_result.h"
#include "bench/harness/harness.h"
#include "bench/harness/input_sets.h"

namespace stallhound::bench {

struct BenchSettings {
  // Set: a recording pass of so many iterations without sampling, to run under a recorder.
  std::optional<int64_t> record_iterations;
  StoppingRule rule;
  bool check = true;  // false: the results were checked before, by another process of the same program
};

// Checks the case unless told otherwise, then measures it (the optimized variant also as a CUDA graph), or runs its
// recording pass. The case range of NVTX opens behind check and inputs; in it, an iteration range lies around each
// iteration alone. Errors: DataLoss if its results are wrong; those of LibTorch and CUDA.
absl::StatusOr<CaseResult> RunCase(const BenchCase& bench_case, Harness& harness, const BenchSettings& settings,
                                   const Clock& clock);

}  // namespace stallhound::bench
