#pragma once

// Measuring: rounds in fresh processes without the recorder, then one pass with it. All of it is one run of the
// history.

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/times.h"
#include "cli/config/config.h"
#include "cli/console.h"
#include "store/run.h"

namespace stallhound::cli {

struct MeasureRequest {
  BenchConfig bench;          // its binary a path that can be started from the working folder
  std::string home;           // captures go there
  std::string source_folder;  // the git work tree that the binary was built from; empty: unknown
};

// Errors of all three: those of RunBench (bench_program.h), after which nothing was measured but captures may be kept;
// the environment's. That the recording pass failed is a warning, and the counts are unknown. Progress is shown on
// terminals.

// A complete run; an interrupted one, without counts, if a signal asked to stop behind the first round. Before that
// Cancelled.
absl::StatusOr<store::RunRecord> MeasureRun(const MeasureRequest& request, Console& console);

struct MeasuredPair {
  store::RunRecord baseline;
  store::RunRecord candidate;
};
// The rounds of both in ABBA order, as many as the candidate's configuration says, then a recording pass of each. Both
// are interrupted if a signal asked to stop when each had a round.
absl::StatusOr<MeasuredPair> MeasurePair(const MeasureRequest& baseline, const MeasureRequest& candidate,
                                         Console& console);

// Fresh rounds of these benchmarks alone, interleaved, in the order of `benchmarks`; nothing is recorded or kept. Also
// DataLoss if one of them failed or is not there.
absl::StatusOr<std::vector<analysis::gate::CaseRounds>> MeasureInterleaved(const MeasureRequest& baseline,
                                                                           const MeasureRequest& candidate,
                                                                           std::span<const std::string> benchmarks,
                                                                           int64_t rounds_a_side, Console& console);

// An extended regular expression that matches these ids and no others.
std::string FilterOf(std::span<const std::string> benchmarks);

}  // namespace stallhound::cli
