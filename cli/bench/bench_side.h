#pragma once

// One binary that is being measured, and what has been measured of it so far.

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_output.h"
#include "cli/bench/measure.h"
#include "cli/bench/recording_pass.h"
#include "cli/console.h"

namespace stallhound::cli {

class BenchSide {
 public:
  explicit BenchSide(const MeasureRequest& request);

  // A further round in a fresh process; the first one checks the results. Errors: those of RunBench.
  absl::Status AddRound(const std::string& name);
  // The recording pass of the cases that did not fail. Errors: those of RunRecordingPass.
  absl::Status Record(const std::string& name, Console& console);

  const std::vector<BenchOutput>& rounds() const { return rounds_; }
  // All of it as a run of a new uuid. Errors: the environment's.
  absl::StatusOr<store::RunRecord> Finish(store::RunStatus status, const std::optional<std::string>& round_plan) const;

 private:
  void FillClocks(store::RunInfo& info) const;

  MeasureRequest request_;
  BenchProgram program_;
  int64_t started_at_ns_;
  int64_t started_monotonic_ns_;
  std::vector<BenchOutput> rounds_;
  std::optional<RecordedPass> recorded_;
};

}  // namespace stallhound::cli
