#include "cli/gate/gate_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/gate/confirmed_verdicts.h"
#include "cli/gate/gate_values.h"
#include "cli/gate/judgement_notes.h"
#include "cli/gate/judgement_uuid.h"
#include "reports/gate/gate_output.h"

namespace stallhound::cli {
namespace {

int ExitCodeOf(const reports::GateReport& report, bool is_strict) {
  using analysis::gate::Answer;
  if (AnswerCount(report, Answer::kRegressed) > 0) return kExitRegression;
  const int64_t open_count = AnswerCount(report, Answer::kSuspect) + AnswerCount(report, Answer::kInconclusive);
  return is_strict && (open_count > 0 || report.is_interrupted) ? kExitInconclusive : kExitFine;
}

std::string Formatted(const ReportOptions& options, const reports::GateReport& report, const Console& console) {
  if (options.format == "json") return reports::GateJson(report);
  if (options.format == "markdown") return reports::GateMarkdown(report);
  if (options.format == "junit") return reports::GateJunit(report);
  const bool goes_to_stdout = options.output.empty() || options.output == "-";
  return reports::GateTerminal(report, {goes_to_stdout && console.out_has_color(), console.width()});
}

// `run` is the one that the request names.
absl::StatusOr<reports::GateReport> JudgeAndKeep(const GateRequest& request, const store::RunRecord& run,
                                                 store::History& history) {
  SH_ASSIGN_OR_RETURN(const store::RunRecord baseline, history.ReadRun(request.baseline_uuid));
  const int64_t now_ns = SystemClock().RealtimeNs();
  SH_ASSIGN_OR_RETURN(const std::vector<store::Acknowledgement> acknowledgements,
                      history.ActiveAcknowledgements(now_ns));
  SH_ASSIGN_OR_RETURN(const std::vector<store::Judgement> earlier, history.ReadJudgements(request.run_uuid));
  const std::vector<store::Verdict> confirmed = ConfirmedVerdicts(earlier, request.baseline_uuid);
  SH_ASSIGN_OR_RETURN(const JudgedRun judged, JudgeRun({.baseline = &baseline,
                                                        .candidate = &run,
                                                        .gate = request.config,
                                                        .are_interleaved = request.are_interleaved,
                                                        .is_same_program = request.is_same_program,
                                                        .confirm = request.confirm,
                                                        .confirmed = confirmed,
                                                        .acknowledgements = acknowledgements,
                                                        .judged_at_ns = now_ns}));
  SH_RETURN_IF_ERROR(KeepJudgement(judged.judgement, history));
  reports::GateReport report;
  report.run = GateRunOf(run.info);
  report.baselines = {GateRunOf(baseline.info)};
  report.verdicts = GateVerdictsOf(judged.judgement);
  report.differences = GateDifferencesOf(judged.differences);
  report.notes = judged.notes;
  report.is_interrupted = run.info.status != store::RunStatus::kComplete;
  report.exit_code = ExitCodeOf(report, request.is_strict);
  return report;
}

}  // namespace

absl::StatusOr<reports::GateReport> JudgeStoredRuns(const GateRequest& request, store::History& history) {
  SH_ASSIGN_OR_RETURN(const store::RunRecord run, history.ReadRun(request.run_uuid));
  return JudgeAndKeep(request, run, history);
}

void WarnOfUnmatchedBudgets(const GateConfig& config, const store::RunRecord& run, Console& console) {
  for (const TimeBudget& budget : config.budgets) {
    const bool has_match =
        std::any_of(run.benchmarks.begin(), run.benchmarks.end(),
                    [&](const store::BenchmarkResult& result) { return Matches(budget.benchmark, result.name); });
    if (has_match) continue;
    console.Warn(
        fmt::format("the budget of '{}' in stallhound.toml ([[gate.budget]]) matches no benchmark of the run {}",
                    budget.benchmark, run.info.uuid));
  }
}

absl::StatusOr<int> GateRuns(const GateRequest& request, store::History& history, Console& console) {
  SH_ASSIGN_OR_RETURN(const store::RunRecord run, history.ReadRun(request.run_uuid));
  WarnOfUnmatchedBudgets(request.config, run, console);
  SH_ASSIGN_OR_RETURN(const reports::GateReport report, JudgeAndKeep(request, run, history));
  SH_RETURN_IF_ERROR(WriteReport(request.report, Formatted(request.report, report, console), false, console));
  return *report.exit_code;
}

}  // namespace stallhound::cli
