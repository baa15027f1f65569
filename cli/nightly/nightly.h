#pragma once

// The nightly run of a suite: measure, judge against the baseline, report.

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/times.h"
#include "cli/bench/measure.h"
#include "cli/config/config.h"
#include "cli/console.h"
#include "store/run.h"

namespace stallhound::cli {

struct NightlyRequest {
  MeasureRequest measure;
  GateConfig gate;
  bool is_strict = false;  // suspect and inconclusive fail
};

// What measures, as cli/bench/measure.h says; a test brings its own.
struct NightlyMeasure {
  std::function<absl::StatusOr<store::RunRecord>(const MeasureRequest&, Console&)> run = MeasureRun;
  std::function<absl::StatusOr<std::vector<analysis::gate::CaseRounds>>(
      const MeasureRequest& baseline, const MeasureRequest& candidate, std::span<const std::string> benchmarks,
      int64_t rounds_a_side, Console&)>
      interleaved = MeasureInterleaved;
};

// Where the baseline is of another suite nothing is measured. Keeps the program (kept_builds.h), measures it, adds the
// run to the history and judges it. Changes of time are confirmed if the baseline's program is still kept, and are the
// machine's if it is the same. Where there is no baseline the run becomes it, unless a case failed. The report
// (report.html, report.json, and gate.json where there was a baseline) goes to <home>/nightly/<UTC time>-<uuid's first
// 8 characters>/; its path and the verdict are printed last, before them what regressed, as by GateRuns. Returns the
// exit code: 1 regressed, 3 no baseline because a case failed, 5 suspect or inconclusive if strict, else 0. Errors:
// FailedPrecondition for a baseline of another suite; those of measuring, the history and files.
absl::StatusOr<int> RunNightly(const NightlyRequest& request, const NightlyMeasure& measure, Console& console);

}  // namespace stallhound::cli
