#pragma once

// What one process of the bench left behind: Google Benchmark's JSON and the side file (bench/README.md, "Contract").

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stallhound::cli {

struct BenchRow {
  std::string id;                          // without what Google Benchmark appends
  std::optional<std::string> error;        // why the case failed; its numbers mean nothing then
  double time_ns = 0;                      // median of the process; of a recording pass the wall time of an iteration
  std::map<std::string, double> counters;  // unknown ones are left out
};

struct BenchOutput {
  std::map<std::string, std::string> context;  // values that are texts
  std::vector<BenchRow> rows;                  // in the order of the run
  // Of the side file; unset: it says nothing of them, or there is none.
  std::optional<std::set<std::string>> throttle_reasons;
  std::optional<int64_t> sm_clock_min_hz;
};

// A case whose time is not above 0 and at most 1e15 ns has failed, and so has one with a counter of the contract that
// cannot be (negative bytes). Errors, without the paths: DataLoss (no result, no
// JSON, or none of Google Benchmark; a case that is reported twice; a line of the side file that is no JSON).
absl::StatusOr<BenchOutput> ReadBenchOutput(const std::string& result_path, const std::string& samples_path);

}  // namespace stallhound::cli
