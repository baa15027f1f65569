#pragma once

// The registry with one case changed, for tests of the gate: a suite in which all but one is as it was.

#include <functional>
#include <vector>

#include "kernels/pair.h"

namespace stallhound::bench {

using Forward = std::function<kernels::Tensors(const kernels::Case&, const kernels::Tensors& inputs)>;

// Changed is layer_norm/optimized/fp32/1200000x512/forward on CUDA, 10000x512 on the CPU: the largest of its device, so
// that what comes with any piece of work (a launch, threads that wake up) is little. Ids stay. `change` gets what the
// case did before.
std::vector<kernels::Pair> PairsWithChangedCase(const std::function<Forward(Forward)>& change);

// Does the same again on the first `ratio` of the rows, after the case's own work on the same stream: so much more
// work of the same kind. Nothing of it is kept or recorded for autograd.
Forward WithMoreRows(Forward forward, double ratio);

}  // namespace stallhound::bench
