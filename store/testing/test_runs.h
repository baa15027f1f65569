#pragma once

// Runs for tests.

#include <string>

#include "store/run.h"

namespace stallhound::testing {

// A run in which every member of every value is set, lists are sorted, and different numbers give different content.
// Benchmarks "suite/layer/0" ... "suite/layer/<benchmark_count - 1>".
store::RunRecord FullRun(int number, int benchmark_count = 2);

// Its uuid.
std::string RunUuid(int number);

// A run in which everything that may be unknown is.
store::RunRecord BareRun(const std::string& uuid);

}  // namespace stallhound::testing
