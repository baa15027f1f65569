#pragma once

// Rounds of the bench as benchmarks of the history. Pure functions.

#include <span>
#include <string>
#include <vector>

#include "analysis/cases/cases.h"
#include "cli/bench/bench_output.h"
#include "store/run.h"

namespace stallhound::cli {

// The time of an iteration, by the device that the bench measures on.
inline constexpr char kGpuTimeMetric[] = "gpu_time_ns";
inline constexpr char kCpuTimeMetric[] = "cpu_time_ns";

// One benchmark for each id of the rounds, in the order of their first appearance; a sample of a time is the median of
// one round, numbered from 0. A case that failed in any round is failed, with the first message and without points.
std::vector<store::BenchmarkResult> BenchmarkResults(const std::string& suite, std::span<const BenchOutput> rounds);

// Adds what the recording pass counted. A case that failed in it keeps its times; its counts are unknown.
void AddCounts(const analysis::CaseCounts& counts, store::BenchmarkResult& result);

}  // namespace stallhound::cli
