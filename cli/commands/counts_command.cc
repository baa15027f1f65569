#include "cli/commands/counts_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "analysis/counts/counts.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/open_recording.h"
#include "cli/progress.h"
#include "cli/report_format.h"
#include "cli/step_options.h"
#include "reports/text/counts_text.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Counts kernels, sync points, copies and allocations: numbers that do not depend on time, so that two
recordings of one program can be compared. CAPTURE is a capture (a file or the beginning of a uuid),
spools, or a file of another tool (PyTorch profiler, Nsight Systems); without it, the newest capture.

Examples:
  stallhound counts                                  # of the newest capture
  stallhound counts --range step run.stallhound      # per occurrence of the NVTX range "step"
  stallhound counts --steps auto run.stallhound      # per steady step, warm-up left out
  stallhound counts --format json trace.json.gz > counts.json)help";

struct CountsOptions {
  std::vector<std::string> paths;
  std::string range;
  StepOptions steps;
  ReportOptions report;
};

absl::StatusOr<int> RunCountsCommand(const CountsOptions& options, CommandContext& context) {
  analysis::CountsOptions counts_options;
  if (!options.range.empty()) counts_options.range = options.range;
  SH_ASSIGN_OR_RETURN(counts_options.steps, SelectSteps(options.steps, options.range));
  SH_ASSIGN_OR_RETURN(const OpenedRecording recording, OpenRecording(HomeFolder(), options.paths));
  SH_RETURN_IF_ERROR(CheckNotRead(options.report.output, recording));
  absl::StatusOr<analysis::CountsReport> report = absl::UnknownError("");
  {
    Progress progress(context.console, "counting");
    WatchedReader reader(*recording.reader, progress);
    report = analysis::Counts(reader, counts_options);
  }
  SH_RETURN_IF_ERROR(report.status());
  std::string text;
  if (options.report.format == "json") {
    text = reports::CountsJson(*report);
  } else if (options.report.format == "markdown") {
    text = reports::CountsMarkdown(*report);
  } else {
    const bool has_color = options.report.output.empty() && context.console.out_has_color();
    text = reports::CountsTerminal(*report, {has_color, context.console.width()});
  }
  SH_RETURN_IF_ERROR(WriteReport(options.report, text, false, context.console));
  return kExitFine;
}

}  // namespace

void AddCountsCommand(CommandRegistry& registry) {
  auto options = std::make_shared<CountsOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "counts",
          .summary = "Count what a recording holds, exactly",
          .usage = "[options] [CAPTURE...]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunCountsCommand(*options, context); });
  command->add_option("capture", options->paths, "A capture, spools, or another tool's file")->type_name("");
  command->add_option("--range", options->range, "Per occurrence of this range, or NAME#7 for the 7th")
      ->type_name("NAME");
  AddStepOptions(*command, options->steps);
  AddReportOptions(*command, {"text", "markdown", "json"}, options->report);
}

}  // namespace stallhound::cli
