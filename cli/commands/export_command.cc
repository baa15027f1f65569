#include "cli/commands/export_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "analysis/hunt/hunt.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "capture/export/export.h"
#include "cli/exit_code.h"
#include "cli/export_findings.h"
#include "cli/home.h"
#include "cli/open_recording.h"
#include "cli/progress.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Writes a recording for another viewer: perfetto (ui.perfetto.dev), chrome (chrome://tracing and tools
that read PyTorch traces) or csv. Stalls of the host come along as a track, with their line and the GPU
idle that follows them. CAPTURE is a capture (a file or the beginning of a uuid), spools, or a file of
another tool; without it, the newest capture.

Examples:
  stallhound export --output run.perfetto
  stallhound export --around 1 --window 20ms --output first.perfetto   # around the costliest finding
  stallhound export --format csv --output events.csv run.stallhound)help";

struct Options {
  std::vector<std::string> paths;
  std::string format = "perfetto";
  std::string output;
  std::string around;
  std::string window = "20ms";
};

absl::StatusOr<capture::ExportOptions> Prepare(const Options& options, capture::CaptureReader& reader) {
  capture::ExportOptions result;
  if (options.format == "chrome") result.format = capture::ExportFormat::kChrome;
  if (options.format == "csv") result.format = capture::ExportFormat::kCsv;
  SH_ASSIGN_OR_RETURN(const int64_t window_ns, ParseDuration(options.window));
  SH_ASSIGN_OR_RETURN(const analysis::HuntReport report, analysis::Hunt(reader, {.keep_waits = true}));
  result.extra_tracks = WaitTracks(report);
  if (!options.around.empty()) {
    SH_ASSIGN_OR_RETURN(result.window, WindowAround(report, options.around, window_ns));
  }
  return result;
}

absl::StatusOr<int> RunExportCommand(const Options& options, CommandContext& context) {
  const std::string home = HomeFolder();
  std::vector<std::string> paths = options.paths;
  if (paths.empty()) {
    SH_ASSIGN_OR_RETURN(std::string newest, NewestCapture(home));
    paths.push_back(std::move(newest));
  }
  SH_ASSIGN_OR_RETURN(const OpenedRecording recording, OpenRecording(home, paths));
  capture::ExportSummary summary;
  {
    Progress progress(context.console, "exporting");
    WatchedReader reader(*recording.reader, progress);
    SH_ASSIGN_OR_RETURN(const capture::ExportOptions export_options, Prepare(options, reader));
    SH_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(options.output));
    const auto write = [&file](std::string_view piece) { return file.Write(piece); };
    SH_ASSIGN_OR_RETURN(summary, capture::Export(reader, export_options, write));
    SH_RETURN_IF_ERROR(file.Commit());
  }
  context.console.Note(fmt::format("{}: {} events, {}", options.output, FormatCount(summary.slice_count),
                                   FormatBytes(summary.byte_count)));
  return kExitFine;
}

}  // namespace

void AddExportCommand(CommandRegistry& registry) {
  auto options = std::make_shared<Options>();
  CLI::App* command = registry.Add(
      {
          .name = "export",
          .summary = "Write a recording for Perfetto, Chrome or a spreadsheet",
          .usage = "[options] --output FILE [CAPTURE...]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunExportCommand(*options, context); });
  command->add_option("capture", options->paths, "A capture, spools, or another tool's file")->type_name("");
  command->add_option("--format", options->format, "perfetto, chrome or csv")
      ->check(CLI::IsMember({"perfetto", "chrome", "csv"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  command->add_option("--output", options->output, "Where to write")->required()->type_name("FILE");
  command->add_option("--around", options->around, "Only what happens around this finding of a hunt: 1 is the first")
      ->type_name("FINDING");
  command->add_option("--window", options->window, "How much around it")->capture_default_str()->type_name("TIME");
}

}  // namespace stallhound::cli
