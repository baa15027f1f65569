#include "cli/commands/report_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/gate/gate_values.h"
#include "cli/gate/judgement_notes.h"
#include "cli/gate/run_report_values.h"
#include "cli/history.h"
#include "cli/report_format.h"
#include "reports/run/run_output.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Prints one run of the history (the newest, or the one whose uuid begins with RUN): a table a layer with
reference and optimized side by side, the places that wait and what they cost, what the gate said last,
and where it ran. HTML is one page without anything beside it.

Examples:
  stallhound report
  stallhound report 3f2a --format html --output report.html
  stallhound report --format json | jq '.benchmarks[] | {name, time_ns}')help";

struct RunReportOptions {
  std::string run;
  ReportOptions report;
};

// What was said last of the run, as far as the history keeps it.
absl::StatusOr<std::optional<reports::GateReport>> LastGate(const store::RunRecord& run,
                                                            store::HistoryReader& history) {
  SH_ASSIGN_OR_RETURN(const std::vector<store::Judgement> judgements, history.ReadJudgements(run.info.uuid));
  if (judgements.empty()) return std::nullopt;
  const store::Judgement& last = judgements.front();
  SH_ASSIGN_OR_RETURN(const std::vector<store::Acknowledgement> acknowledgements,
                      history.ActiveAcknowledgements(last.judged_at_ns));
  reports::GateReport gate;
  gate.run = GateRunOf(run.info);
  for (const std::string& uuid : last.baseline_run_uuids) {
    SH_ASSIGN_OR_RETURN(const store::RunRecord baseline, history.ReadRun(uuid));
    gate.baselines.push_back(GateRunOf(baseline.info));
    const std::vector<std::string> notes = JudgementNotes({.baseline = &baseline,
                                                           .candidate = &run,
                                                           .verdicts = last.verdicts,
                                                           .acknowledgements = acknowledgements,
                                                           .judged_at_ns = last.judged_at_ns});
    gate.notes.insert(gate.notes.end(), notes.begin(), notes.end());
  }
  gate.verdicts = GateVerdictsOf(last);
  gate.is_interrupted = run.info.status != store::RunStatus::kComplete;
  return gate;
}

std::string Formatted(const ReportOptions& options, const reports::RunReport& report, const Console& console) {
  if (options.format == "json") return reports::RunJson(report);
  if (options.format == "markdown") return reports::RunMarkdown(report);
  if (options.format == "html") return reports::RunHtml(report);
  const bool goes_to_stdout = options.output.empty() || options.output == "-";
  return reports::RunTerminal(report, {goes_to_stdout && console.out_has_color(), console.width()});
}

absl::StatusOr<int> RunReportCommand(const RunReportOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kRead, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunInfo run, FindRunOrNewest(*history, options.run, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunRecord record, history->ReadRun(run.uuid));
  reports::RunReport report = RunReportOf(record);
  SH_ASSIGN_OR_RETURN(report.gate, LastGate(record, *history));
  SH_RETURN_IF_ERROR(
      WriteReport(options.report, Formatted(options.report, report, context.console), false, context.console));
  return kExitFine;
}

}  // namespace

void AddReportCommand(CommandRegistry& registry) {
  auto options = std::make_shared<RunReportOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "report",
          .summary = "Print a benchmark run whole",
          .usage = "[options] [RUN]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunReportCommand(*options, context); });
  command->add_option("run", options->run, "The beginning of a run's uuid; else the newest")->type_name("");
  AddReportOptions(*command, {"text", "markdown", "json", "html"}, options->report);
}

}  // namespace stallhound::cli
