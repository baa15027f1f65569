#include "cli/commands/gate_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/config/config.h"
#include "cli/exit_code.h"
#include "cli/gate/gate_values.h"
#include "cli/gate/judge_run.h"
#include "cli/gate/judgement_uuid.h"
#include "cli/history.h"
#include "cli/report_format.h"
#include "reports/gate/gate_output.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Compares a run of the history (the newest, or the one whose uuid begins with RUN) with the baseline
that stallhound.toml names. Counts must not rise: a new kernel, wait or copy is named with its case
and line. Times of stored runs alone make a case suspect, never a failure: `stallhound ab` and
`stallhound nightly` measure both sides again. A case that fails now is a regression. What was said is
kept in the history.

Exit codes: 0 nothing regressed; 1 something did; 3 no run, no baseline or nothing in common; with
--strict 5 where something is suspect or inconclusive.

Examples:
  stallhound gate
  stallhound gate --strict --format junit --output gate.xml
  stallhound gate 3f2a --baseline 9c41
  stallhound gate --baseline release-1 --format markdown >> "$GITHUB_STEP_SUMMARY")help";

struct GateOptions {
  std::string run;
  std::string baseline;
  bool strict = false;
  ReportOptions report;
};

int ExitCodeOfGate(const reports::GateReport& report, bool is_strict) {
  using analysis::gate::Answer;
  if (AnswerCount(report, Answer::kRegressed) > 0) return kExitRegression;
  const int64_t open_count = AnswerCount(report, Answer::kSuspect) + AnswerCount(report, Answer::kInconclusive);
  return is_strict && open_count > 0 ? kExitInconclusive : kExitFine;
}

std::string Formatted(const GateOptions& options, const reports::GateReport& report, const Console& console) {
  const std::string& format = options.report.format;
  if (format == "json") return reports::GateJson(report);
  if (format == "markdown") return reports::GateMarkdown(report);
  if (format == "junit") return reports::GateJunit(report);
  const bool goes_to_stdout = options.report.output.empty() || options.report.output == "-";
  return reports::GateTerminal(report, {goes_to_stdout && console.out_has_color(), console.width()});
}

absl::StatusOr<int> RunGateCommand(const GateOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const Config config, LoadConfig());
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kAppend, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunInfo run, FindRunOrNewest(*history, options.run));
  const std::string& name = options.baseline.empty() ? config.gate.baseline : options.baseline;
  SH_ASSIGN_OR_RETURN(const store::RunInfo baseline, FindBaselineRun(*history, name));
  if (run.uuid == baseline.uuid) {
    return absl::FailedPreconditionError(
        fmt::format("judging the run {}: it is the baseline '{}' itself; `stallhound bench` measures another, "
                    "--baseline names another baseline",
                    run.uuid, name));
  }
  SH_ASSIGN_OR_RETURN(const store::RunRecord candidate_record, history->ReadRun(run.uuid));
  SH_ASSIGN_OR_RETURN(const store::RunRecord baseline_record, history->ReadRun(baseline.uuid));
  const int64_t now_ns = SystemClock().RealtimeNs();
  SH_ASSIGN_OR_RETURN(const std::vector<store::Acknowledgement> acknowledgements,
                      history->ActiveAcknowledgements(now_ns));
  SH_ASSIGN_OR_RETURN(const JudgedRun judged, JudgeRun({.baseline = &baseline_record,
                                                        .candidate = &candidate_record,
                                                        .gate = config.gate,
                                                        .acknowledgements = acknowledgements,
                                                        .judged_at_ns = now_ns}));
  SH_RETURN_IF_ERROR(KeepJudgement(judged.judgement, *history));
  reports::GateReport report;
  report.run = GateRunOf(run);
  report.baselines = {GateRunOf(baseline)};
  report.verdicts = GateVerdictsOf(judged.judgement);
  report.differences = GateDifferencesOf(judged.differences);
  report.notes = judged.notes;
  const int exit_code = ExitCodeOfGate(report, options.strict);
  report.exit_code = exit_code;
  SH_RETURN_IF_ERROR(WriteReport(options.report, Formatted(options, report, context.console), false, context.console));
  return exit_code;
}

}  // namespace

void AddGateCommand(CommandRegistry& registry) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "gate",
          .summary = "Judge a run against the baseline; a regression fails",
          .usage = "[options] [RUN]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunGateCommand(*options, context); });
  command->add_option("run", options->run, "The beginning of a run's uuid; else the newest")->type_name("");
  command->add_option("--baseline", options->baseline, "A baseline's name, or the beginning of a run's uuid")
      ->type_name("NAME");
  command->add_flag("--strict", options->strict, "Exit 5 where something is suspect or inconclusive");
  AddReportOptions(*command, {"text", "markdown", "json", "junit"}, options->report);
}

}  // namespace stallhound::cli
