#pragma once

// The check before a case is timed, within the memory that there is.

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/input_sets.h"

namespace stallhound::bench {

// What may be checked in place of the case, largest first: the case, then the layer's other shapes that differ from it
// in a smaller first dimension alone (fewer rows of the same width).
std::vector<kernels::Case> CheckCandidates(const kernels::Pair& pair, const kernels::Case& benchmark_case);

// Checks the first candidate whose kernels::CheckBytes are within `limit_bytes` (the next one, should memory run out
// all the same) and returns the name of its shape. Errors: those of kernels::CheckCase; ResourceExhausted if no
// candidate is small enough.
absl::StatusOr<std::string> CheckWithinMemory(const BenchCase& bench_case, kernels::Device device, int64_t limit_bytes);

}  // namespace stallhound::bench
