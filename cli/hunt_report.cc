#include "cli/hunt_report.h"

#include "analysis/hunt/hunt.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "reports/html/hunt_html.h"
#include "reports/text/hunt_text.h"

namespace stallhound::cli {
namespace {

absl::StatusOr<analysis::HuntReport> Analyse(const HuntReportOptions& options, OpenedRecording& recording,
                                             Console& console) {
  Progress progress(console, "analysing");
  WatchedReader reader(*recording.reader, progress);
  analysis::HuntOptions hunt_options;
  if (!options.range.empty()) hunt_options.range = options.range;
  return analysis::Hunt(reader, hunt_options);
}

bool HasRun(const ChildEnd& program) { return program.exit_code || program.signal; }

std::string Formatted(const HuntReportOptions& options, const analysis::HuntReport& report,
                      const reports::RunOutcome& outcome, Console& console) {
  const std::string& format = options.report.format;
  if (format == "json") return reports::HuntJson(report, outcome);
  if (format == "markdown") return reports::HuntMarkdown(report);
  if (format == "html") return reports::HuntHtml(report);
  const bool goes_to_stderr = options.report.output.empty() && (outcome.program_exit_code || outcome.program_signal);
  const bool goes_to_stdout = options.report.output == "-" || (options.report.output.empty() && !goes_to_stderr);
  const bool has_color = (goes_to_stderr && console.err_has_color()) || (goes_to_stdout && console.out_has_color());
  return reports::HuntTerminal(report, {has_color, console.width()});
}

}  // namespace

absl::StatusOr<int> ReportHunt(const HuntReportOptions& options, OpenedRecording& recording, const ChildEnd& program,
                               Console& console) {
  SH_ASSIGN_OR_RETURN(const analysis::HuntReport report, Analyse(options, recording, console));
  const int verdict = options.strict && !report.counts_complete ? kExitInconclusive : kExitFine;
  const reports::RunOutcome outcome{program.exit_code, program.signal, verdict};
  const std::string text = Formatted(options, report, outcome, console);
  SH_RETURN_IF_ERROR(WriteReport(options.report, text, HasRun(program), console));
  return verdict;
}

absl::StatusOr<std::string> SaveCapture(const std::string& home, OpenedRecording& recording, Console& console) {
  const capture::CaptureInfo& info = recording.reader->info();
  const int64_t started_ns = info.epoch_ns.value_or(SystemClock().RealtimeNs());
  SH_ASSIGN_OR_RETURN(std::string path, NewCapturePath(home, info.uuid, started_ns));
  Progress progress(console, "writing the capture");
  const auto on_rows = [&progress](uint64_t row_count) {
    progress.Update(row_count);
    return InterruptSignal() == 0;
  };
  SH_RETURN_IF_ERROR(capture::WriteCaptureFile(*recording.reader, path, on_rows));
  return path;
}

}  // namespace stallhound::cli
