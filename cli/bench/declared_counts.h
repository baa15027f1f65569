#pragma once

// What a case declares of itself, the counters expect_kernel_count and so on of bench/README.md, held against what was
// recorded.

#include <string>
#include <vector>

#include "analysis/cases/cases.h"
#include "cli/bench/bench_output.h"

namespace stallhound::cli {

// A sentence for each declared count that the recording contradicts; what was not declared, not recorded or incomplete
// contradicts nothing. A count that varies contradicts one outside of what it varies in.
std::vector<std::string> DeclaredCountProblems(const BenchRow& row, const analysis::CaseCounts& counts);

}  // namespace stallhound::cli
