#include "cli/commands/export_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
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
  stallhound export --around 1 --output first.perfetto      # the costliest finding and 10 ms on both sides
  stallhound export --range step --around 2 --output second.perfetto   # the second of `hunt --range step`
  stallhound export --format csv --output events.csv run.stallhound)help";

constexpr char kDefaultWindow[] = "20ms";

struct Options {
  std::vector<std::string> paths;
  std::string format = "perfetto";
  std::string output;
  std::optional<std::string> around;
  std::optional<std::string> window;  // kDefaultWindow
  std::string range;
};

// What is exported around a finding.
struct Around {
  size_t finding = 0;
  int64_t window_ns = 0;
};

absl::StatusOr<std::optional<Around>> AroundOf(const Options& options) {
  if (!options.around) {
    if (!options.window) return std::nullopt;
    return UsageError("--window: it is the time around a finding: give --around too");
  }
  const absl::StatusOr<size_t> finding = FindingNumber(*options.around);
  if (!finding.ok()) return UsageError(fmt::format("--around: {}", std::string(finding.status().message())));
  const std::string window = options.window.value_or(kDefaultWindow);
  const absl::StatusOr<int64_t> window_ns = ParseDuration(window);
  if (!window_ns.ok()) return UsageError(fmt::format("--window: {}", std::string(window_ns.status().message())));
  if (*window_ns <= 0) return UsageError(fmt::format("--window: '{}' is no time above 0", window));
  return Around{*finding, *window_ns};
}

struct Prepared {
  capture::ExportOptions options;
  std::string finding;  // empty: everything is exported
};

absl::StatusOr<Prepared> Prepare(const Options& options, const std::optional<Around>& around,
                                 capture::CaptureReader& reader) {
  Prepared result;
  if (options.format == "chrome") result.options.format = capture::ExportFormat::kChrome;
  if (options.format == "csv") result.options.format = capture::ExportFormat::kCsv;
  analysis::HuntOptions hunt_options{.keep_waits = true};
  if (!options.range.empty()) hunt_options.range = options.range;
  SH_ASSIGN_OR_RETURN(const analysis::HuntReport report, analysis::Hunt(reader, hunt_options));
  result.options.extra_tracks = WaitTracks(report);
  if (!around) return result;
  SH_ASSIGN_OR_RETURN(FindingWindow found, WindowAround(report, around->finding, around->window_ns));
  result.options.window = found.window;
  result.finding = std::move(found.finding);
  return result;
}

absl::StatusOr<capture::ExportSummary> Write(capture::CaptureReader& reader, const capture::ExportOptions& options,
                                             const std::string& output, Console& console) {
  if (output == "-") {
    const auto print = [&console](std::string_view piece) {
      console.Out(piece);
      return absl::OkStatus();
    };
    return capture::Export(reader, options, print);
  }
  SH_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(output));
  const auto write = [&file](std::string_view piece) { return file.Write(piece); };
  SH_ASSIGN_OR_RETURN(const capture::ExportSummary summary, capture::Export(reader, options, write));
  SH_RETURN_IF_ERROR(file.Commit());
  return summary;
}

absl::StatusOr<int> RunExportCommand(const Options& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const std::optional<Around> around, AroundOf(options));
  SH_ASSIGN_OR_RETURN(const OpenedRecording recording, OpenRecording(HomeFolder(), options.paths));
  SH_RETURN_IF_ERROR(CheckNotRead(options.output, recording));
  capture::ExportSummary summary;
  Prepared prepared;
  {
    Progress progress(context.console, "exporting");
    WatchedReader reader(*recording.reader, progress);
    SH_ASSIGN_OR_RETURN(prepared, Prepare(options, around, reader));
    SH_ASSIGN_OR_RETURN(summary, Write(reader, prepared.options, options.output, context.console));
  }
  context.console.Note(fmt::format("{}: {} events, {}{}", options.output == "-" ? "stdout" : options.output,
                                   FormatCount(summary.slice_count), FormatBytes(summary.byte_count),
                                   prepared.finding.empty() ? "" : ", around " + prepared.finding));
  if (summary.untimed_copy_count > 0) {
    context.console.Note(fmt::format("{} copies left out: the recording has no times of the GPU for them (mode light)",
                                     FormatCount(summary.untimed_copy_count)));
  }
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
  command->add_option("--output", options->output, "Where to write; - is stdout")->required()->type_name("FILE");
  command->add_option("--around", options->around, "Only what happens around this finding of a hunt: 1 is the first")
      ->type_name("FINDING");
  command
      ->add_option("--window", options->window,
                   fmt::format("How much around its costliest wait, half on each side (default {})", kDefaultWindow))
      ->type_name("TIME");
  command->add_option("--range", options->range, "The range of the hunt, so that findings have its numbers")
      ->type_name("NAME");
}

}  // namespace stallhound::cli
