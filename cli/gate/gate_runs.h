#pragma once

// A gate from two runs of the history to its report and exit code: what `gate`, and whatever measures both sides
// itself, end with.

#include <absl/status/statusor.h>

#include <string>

#include "cli/config/config.h"
#include "cli/console.h"
#include "cli/gate/judge_run.h"
#include "cli/report_format.h"
#include "reports/gate/gate_report.h"
#include "store/history.h"

namespace stallhound::cli {

struct GateRequest {
  std::string run_uuid;
  std::string baseline_uuid;
  GateConfig config;
  bool is_strict = false;
  bool are_interleaved = false;  // as of JudgeRequest
  bool is_same_program = false;  // as of JudgeRequest
  ConfirmRounds confirm;         // as of JudgeRequest
  ReportOptions report;          // text, markdown, json or junit
};

// Judges and keeps the judgement in the history. What interleaved rounds have said of the two runs before stands where
// there are no fresh ones (ConfirmedVerdicts). The report's exit code is 1 if something regressed, 5 if strict and
// something is suspect or inconclusive or the run was interrupted, else 0. GateRequest::report is not used. Errors: as
// JudgeRun and those of the history.
absl::StatusOr<reports::GateReport> JudgeStoredRuns(const GateRequest& request, store::History& history);

// Names the budgets that no benchmark of the run matches: they are misspelt, or of what was removed.
void WarnOfUnmatchedBudgets(const GateConfig& config, const store::RunRecord& run, Console& console);

// The same as JudgeStoredRuns and WarnOfUnmatchedBudgets, and writes the report. Returns its exit code. Errors: also
// those of the output.
absl::StatusOr<int> GateRuns(const GateRequest& request, store::History& history, Console& console);

}  // namespace stallhound::cli
