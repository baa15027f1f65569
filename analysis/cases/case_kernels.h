#pragma once

// The kernels of a case, as the history keeps them: one row a name and shape, or a name where shapes follow the data.

#include <cstdint>
#include <vector>

#include "analysis/cases/case_events.h"

namespace stallhound::analysis {

struct CaseKernel {
  KernelKey key;
  std::vector<KernelCall> calls;
};

// By iteration.
std::vector<int64_t> CallsByIteration(const std::vector<KernelCall>& calls, size_t iteration_count);

// A benchmark's input sets take turns, and what depends on values (how many were found) sets the grid. Shapes of one
// name whose numbers of calls still change in the last iterations are one kernel; what they differ in is null.
std::vector<CaseKernel> KernelsOfCase(const CaseDirectory& directory, const CaseEvents& events);

}  // namespace stallhound::analysis
