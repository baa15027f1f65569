#pragma once

#include <absl/status/status.h>

#include "kernels/case_runner.h"

namespace stallhound::kernels {

// The memory that CheckCase needs, estimated: inputs, results and gradients in fp64 and what autograd keeps of the
// formula's steps, twice where roundings are perturbed, so about 8 times the case's tensors at 8 bytes an element.
int64_t CheckBytes(const Pair& pair, const Case& benchmark_case);

// Runs the case and compares every result with the exact one, computed in fp64 from the same (rounded) inputs. The
// error of a result is its largest absolute difference. Allowed is
//
//   2 x the reference's error at the same dtype
//   + one rounding of the result: u(storage) x its largest magnitude
//   + 4 x the change of the exact result when each input element moves by at most one rounding of the accumulation type
//     (u = 2^-24; tf32 products: 2^-11): the largest of four drawn moves, which are the same each time,
//
// where the last two are the floor below which errors say nothing about the algorithm. Results of Comparison::kExact
// must be equal. A variant with a `peer_error_ratio` is held to that instead. Shapes and dtypes must be those of the
// reference.
//
// OK if all of it holds. DataLoss if a result is wrong: case, result, error and limit are named. Other errors are those
// of CaseRunner. Waits for the device.
absl::Status CheckCase(const Pair& pair, const Variant& variant, const Case& benchmark_case,
                       const CaseRunner::Options& options);

}  // namespace stallhound::kernels
