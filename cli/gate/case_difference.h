#pragma once

// What is new between the recordings of one case in two runs. Pure functions, safe from any thread.

#include <string>

#include "analysis/gate/difference.h"
#include "store/run.h"

namespace stallhound::cli {

// What is new in a case, and what is gone.
struct CaseDifference {
  std::string benchmark;
  analysis::gate::KernelDifference kernels;
  analysis::gate::SiteDifference sites;
};

// Only of the kinds of events that both sides know whole, with their kernels or sites: what one side has not recorded,
// or has lost, is neither new nor gone.
CaseDifference DifferenceOf(const store::BenchmarkResult& baseline, const store::BenchmarkResult& candidate);

}  // namespace stallhound::cli
