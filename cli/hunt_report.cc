#include "cli/hunt_report.h"

#include <absl/time/time.h>

#include <algorithm>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/counts/counts.h"
#include "analysis/hunt/hunt.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "reports/html/hunt_html.h"
#include "reports/junit/hunt_junit.h"
#include "reports/sarif/hunt_sarif.h"
#include "reports/text/hunt_text.h"

namespace stallhound::cli {
namespace {

// Every range of the budget is analysed on its own; `report` is that of `hunted`. Limits without a range hold for what
// was hunted: the steps, if they were asked for.
absl::StatusOr<analysis::BudgetVerdict> JudgeAll(const analysis::Budget& budget, const analysis::HuntOptions& hunted,
                                                 const analysis::HuntReport& report, capture::CaptureReader& reader) {
  std::list<analysis::HuntReport> hunts;
  std::list<analysis::CountsReport> counts;
  std::vector<analysis::MeasuredRange> ranges;
  for (const analysis::BudgetLimit& limit : budget.limits) {
    const bool is_done =
        std::any_of(ranges.begin(), ranges.end(), [&](const auto& measured) { return measured.range == limit.range; });
    if (is_done) continue;
    const std::optional<analysis::StepSelection> steps = limit.range ? std::nullopt : hunted.steps;
    SH_ASSIGN_OR_RETURN(analysis::CountsReport counted, analysis::Counts(reader, {limit.range, steps}));
    counts.push_back(std::move(counted));
    if (limit.range != hunted.range) {
      SH_ASSIGN_OR_RETURN(analysis::HuntReport own, analysis::Hunt(reader, {.range = limit.range, .steps = steps}));
      hunts.push_back(std::move(own));
    }
    ranges.push_back({limit.range, limit.range == hunted.range ? &report : &hunts.back(), &counts.back()});
  }
  return analysis::JudgeBudget(budget, ranges,
                               absl::ToCivilDay(absl::FromUnixNanos(SystemClock().RealtimeNs()), absl::UTCTimeZone()));
}

absl::StatusOr<analysis::HuntReport> Analyse(const HuntReportOptions& options, OpenedRecording& recording,
                                             Console& console) {
  analysis::HuntOptions hunt_options;
  if (!options.range.empty()) hunt_options.range = options.range;
  SH_ASSIGN_OR_RETURN(hunt_options.steps, SelectSteps(options.steps, options.range));
  Progress progress(console, "analysing");
  WatchedReader reader(*recording.reader, progress);
  SH_ASSIGN_OR_RETURN(analysis::HuntReport report, analysis::Hunt(reader, hunt_options));
  if (options.budget.limits.empty()) return report;
  SH_ASSIGN_OR_RETURN(report.budget, JudgeAll(options.budget, hunt_options, report, reader));
  return report;
}

int VerdictOf(const analysis::HuntReport& report, const HuntReportOptions& options) {
  const bool has_budget = report.budget.has_value();
  if (has_budget && report.budget->outcome == analysis::BudgetOutcome::kExceeded) return kExitRegression;
  const bool is_inconclusive = options.is_partial || !report.counts_complete ||
                               (has_budget && report.budget->outcome == analysis::BudgetOutcome::kInconclusive);
  return options.strict && is_inconclusive ? kExitInconclusive : kExitFine;
}

bool HasRun(const ChildEnd& program) { return program.exit_code || program.signal; }

std::string Formatted(const HuntReportOptions& options, const analysis::HuntReport& report,
                      const reports::RunOutcome& outcome, Console& console) {
  const std::string& format = options.report.format;
  if (format == "json") return reports::HuntJson(report, outcome);
  if (format == "markdown") return reports::HuntMarkdown(report);
  if (format == "html") return reports::HuntHtml(report);
  if (format == "sarif") return reports::HuntSarif(report);
  if (format == "junit") return reports::HuntJunit(report);
  const bool goes_to_stderr = options.report.output.empty() && (outcome.program_exit_code || outcome.program_signal);
  const bool goes_to_stdout = options.report.output == "-" || (options.report.output.empty() && !goes_to_stderr);
  const bool has_color = (goes_to_stderr && console.err_has_color()) || (goes_to_stdout && console.out_has_color());
  return reports::HuntTerminal(report, {has_color, console.width()});
}

}  // namespace

absl::StatusOr<int> ReportHunt(const HuntReportOptions& options, OpenedRecording& recording, const ChildEnd& program,
                               Console& console) {
  SH_ASSIGN_OR_RETURN(const analysis::HuntReport report, Analyse(options, recording, console));
  const int verdict = VerdictOf(report, options);
  const reports::RunOutcome outcome{program.exit_code, program.signal, verdict};
  const std::string text = Formatted(options, report, outcome, console);
  SH_RETURN_IF_ERROR(WriteReport(options.report, text, HasRun(program), console));
  return verdict;
}

}  // namespace stallhound::cli
