#pragma once

// The part of a hunt behind the recording: report and verdict.

#include <absl/status/statusor.h>

#include <string>

#include "analysis/hunt/budget.h"
#include "cli/child.h"
#include "cli/console.h"
#include "cli/open_recording.h"
#include "cli/report_format.h"
#include "cli/step_options.h"

namespace stallhound::cli {

struct HuntReportOptions {
  ReportOptions report;
  std::string range;  // empty: the whole recording
  StepOptions steps;
  bool strict = false;      // an inconclusive report is kExitInconclusive
  bool is_partial = false;  // processes of the program still run
  analysis::Budget budget;
  std::string kineto;  // a trace that has the GPU side; empty: none
};

// Analyses the recording and writes the report, to stderr by default if a program was run. Returns the verdict's exit
// code. `program` is how the recorded program ended, empty if none was run.
absl::StatusOr<int> ReportHunt(const HuntReportOptions& options, OpenedRecording& recording, const ChildEnd& program,
                               Console& console);

}  // namespace stallhound::cli
