#include "cli/commands/hunt_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "cli/budget_options.h"
#include "cli/child.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/hunt_report.h"
#include "cli/interrupt.h"
#include "cli/no_spool.h"
#include "cli/operators_hook.h"
#include "cli/recorder.h"
#include "cli/recording_options.h"
#include "cli/running_processes.h"
#include "cli/save_capture.h"
#include "cli/step_options.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Runs COMMAND with the recorder and says which lines make the host wait for the GPU and what that costs.
The program's input, output, signals and exit code stay its own: the report goes to stderr (or to
--output), and stallhound ends as the program did. Its own failures only warn. A COMMAND that can't be
started is 127 or 126, as in a shell. The recording is kept as a capture in $STALLHOUND_HOME
(./.stallhound).

With a budget or --strict it ends with the verdict, unless the program failed: 1 if a limit is exceeded,
with --strict 5 if data that it needs is missing. Limits on counts hold for each occurrence of a range
(without one: each process). A ratio is of the time of them all, added up, of a process from its start to
its end. A budget file:

  [[range]]
  name = "step"                 # without it: as --range
  max-waits = 0                 # also max-pageable-copies, max-allocator-calls, max-loader-calls,
  max-bytes = "1MiB"            # max-sync-points, max-copies, max-allocations,
  max-recoverable-ratio = 0.02  # of the measured time: what would be saved without the sites
  [[allow]]
  site = "train.py:27"          # or function = "log_loss", or operator = "aten::item"
  reason = "the loss is printed every 100 steps"
  expires = 2027-01-31          # the last day on which no limit counts the site

With --from it reports on what was recorded before: spools (of `stallhound env`), a capture (a file or
the beginning of a uuid), or a file of another tool. Then the report goes to stdout.

Times are such as 20ms or 10s, sizes such as 512MiB.

Examples:
  stallhound hunt -- python train.py
  stallhound hunt --mode light --format json --output report.json -- ./app --steps 100
  stallhound hunt --range step -- python train.py          # per occurrence of the NVTX range "step"
  stallhound hunt --steps auto -- python train.py          # per steady step, warm-up left out
  stallhound hunt --operators -- python train.py           # waits of a backward with their forward line
  stallhound hunt --window-range step --window-steps 10-20 -- python train.py
  stallhound hunt --delay 30s --duration 5s -- python serve.py
  stallhound hunt --range step --max-waits 0 --format sarif --output hunt.sarif -- python train.py
  stallhound hunt --format html --output report.html --from a1b2c3)help";

struct HuntCommandOptions {
  RecordingOptions recording;
  HuntReportOptions report;
  BudgetOptions budget;
  std::vector<std::string> given_recording;  // options of `recording` on the command line
  std::vector<std::string> from;
  std::string exit_code;  // "program", "verdict" or empty: as --strict and the budget say
};

// Better now than after a run of hours.
absl::Status CheckBeforeTheRun(const HuntCommandOptions& options) {
  SH_RETURN_IF_ERROR(RecordingVariables(options.recording, "", "").status());
  SH_RETURN_IF_ERROR(SelectSteps(options.report.steps, options.report.range).status());
  if (const std::string& trace = options.report.kineto; !trace.empty()) {
    const absl::Status writable = CheckWritable(trace);
    if (!writable.ok()) {
      return UsageError(
          fmt::format("--kineto: the program could not write the trace: {} (hint: its folder must be there)",
                      std::string(writable.message())));
    }
  }
  return CheckOutput(options.report.report);
}

// Report first, because somebody waits for it; whatever it says, the recording is kept.
absl::StatusOr<int> ReportAndSave(const HuntReportOptions& options, const std::vector<std::string>& spools,
                                  const ChildEnd& end, Console& console) {
  const std::string home = HomeFolder();
  SH_ASSIGN_OR_RETURN(OpenedRecording recording, OpenRecording(home, spools));
  if (!options.kineto.empty()) SH_RETURN_IF_ERROR(AddTrace(options.kineto, recording));
  SH_RETURN_IF_ERROR(CheckNotRead(options.report.output, recording));
  const absl::StatusOr<int> verdict = ReportHunt(options, recording, end, console);
  SH_RETURN_IF_ERROR(CheckInterrupt());
  if (!recording.spools.empty()) {
    const absl::StatusOr<std::string> path = SaveCapture(home, recording, console);
    const bool is_run = end.exit_code || end.signal;
    if (!path.ok() && verdict.ok() && is_run) return path.status();
    SH_RETURN_IF_ERROR(CheckInterrupt());
    if (!path.ok()) console.Warn(fmt::format("no capture was kept: {}", std::string(path.status().message())));
    if (path.ok()) console.Note("capture: " + *path);
  }
  return verdict;
}

// The same for the spools of a program just run: nothing that goes wrong here may end us. Returns the verdict's code.
int ProcessRun(const HuntReportOptions& options, const Recorder& recorder, const ChildEnd& end, Console& console) {
  absl::StatusOr<int> verdict = absl::UnknownError("");
  try {
    verdict = ReportAndSave(options, {recorder.spool_folder}, end, console);
  } catch (const std::exception& error) {
    verdict = absl::InternalError(fmt::format("unexpected exception: {}", error.what()));
  }
  if (verdict.ok()) return *verdict;
  console.Warn(fmt::format("{}; the spools are kept: stallhound hunt --from {}",
                           std::string(verdict.status().message()), recorder.spool_folder));
  return ExitCodeOf(verdict.status());
}

// Whether processes of the program still run; says so.
bool WarnOfRunning(const std::string& spool_folder, Console& console) {
  const std::vector<pid_t> running = ProcessesLeftWith(record::kSpoolDirectory, spool_folder);
  for (const pid_t pid : running) {
    console.Warn(
        fmt::format("process {} of the program still runs; its recording is not in this report, or not to its end: "
                    "stallhound hunt --from {} later",
                    pid, spool_folder));
  }
  return !running.empty();
}

int FinishRun(const HuntCommandOptions& options, const std::vector<std::string>& argv, const Recorder& recorder,
              const ChildEnd& end, Console& console) {
  HuntReportOptions report = options.report;
  report.is_partial = WarnOfRunning(recorder.spool_folder, console);
  if (report.is_partial && SpoolFiles(recorder.spool_folder).empty()) return kExitInconclusive;
  if (SpoolFiles(recorder.spool_folder).empty()) {
    for (const std::string& reason :
         ExplainNoSpool({argv, end, recorder.path, recorder.spool_folder, options.recording})) {
      console.Warn("nothing was recorded: " + reason);
    }
    RemoveSpools(recorder.spool_folder);
    return kExitEnvironment;
  }
  if (const absl::Status flushed = console.Flush(); !flushed.ok()) console.Warn(std::string(flushed.message()));
  const ChildEnd processed = RunForked([&] { return ProcessRun(report, recorder, end, console); });
  if (processed.signal) {
    console.Warn(fmt::format("the analysis was ended by signal {}; the spools are kept: stallhound hunt --from {}",
                             *processed.signal, recorder.spool_folder));
    return kExitInternal;
  }
  const bool is_kept = *processed.exit_code == kExitFine || *processed.exit_code == kExitRegression ||
                       *processed.exit_code == kExitInconclusive;
  if (is_kept && !report.is_partial) RemoveSpools(recorder.spool_folder);
  return *processed.exit_code;
}

// Ends as the program did, or with the verdict (design: exit codes).
int ChooseEnd(const HuntCommandOptions& options, const ChildEnd& end, int verdict, Console& console) {
  const bool has_failed = end.signal || *end.exit_code != 0;
  const bool has_verdict = options.report.strict || !options.report.budget.limits.empty();
  const bool is_verdicts = options.exit_code == "verdict" || (options.exit_code.empty() && has_verdict && !has_failed);
  if (is_verdicts) return verdict;
  if (end.signal) {
    console.Flush().IgnoreError();
    EndBySignal(*end.signal);
    return 128 + *end.signal;
  }
  return *end.exit_code;
}

absl::StatusOr<int> HuntProgram(const HuntCommandOptions& options, CommandContext& context) {
  Console& console = context.console;
  SH_RETURN_IF_ERROR(CheckBeforeTheRun(options));
  const absl::StatusOr<Recorder> recorder = PrepareRecorder(HomeFolder(), options.recording, console);
  if (!recorder.ok()) {
    console.Warn(fmt::format("the program runs without being recorded: {}", std::string(recorder.status().message())));
  }
  if (const std::optional<std::string> hindrance = HookHindrance(context.program);
      options.recording.operators && hindrance) {
    console.Warn("no operators are recorded: " + *hindrance);
  }
  SH_RETURN_IF_ERROR(console.Flush());
  const std::string& output = options.report.report.output;
  const std::optional<FileIdentity> earlier = ReportAt(output);
  const absl::StatusOr<ChildEnd> end = RunChild(context.program, recorder.ok() ? recorder->variables : Variables());
  if (!end.ok()) {
    if (recorder.ok()) RemoveSpools(recorder->spool_folder);
    console.Error(std::string(end.status().message()));
    RemoveStaleReport(output, earlier, console);
    return absl::IsNotFound(end.status()) ? kExitNotFound : kExitNotExecutable;
  }
  const int verdict = recorder.ok() ? FinishRun(options, context.program, *recorder, *end, console) : kExitEnvironment;
  RemoveStaleReport(output, earlier, console);
  return ChooseEnd(options, *end, verdict, console);
}

absl::StatusOr<int> HuntEarlier(const HuntCommandOptions& options, CommandContext& context) {
  if (!context.program.empty()) return UsageError("either --from or a program behind --, not both");
  if (options.exit_code == "program") return UsageError("--exit-code program: with --from no program is run");
  if (!options.given_recording.empty()) {
    return UsageError(
        fmt::format("{}: with --from nothing is recorded; it would change nothing", options.given_recording.front()));
  }
  return ReportAndSave(options.report, options.from, {}, context.console);
}

absl::StatusOr<int> RunHuntCommand(HuntCommandOptions options, CommandContext& context) {
  if (options.from.empty() && context.program.empty()) {
    return UsageError("what shall be hunted? stallhound hunt -- COMMAND..., or --from SPOOLS (stallhound hunt --help)");
  }
  SH_ASSIGN_OR_RETURN(options.report.budget, LoadBudget(options.budget, options.report.range));
  if (IsSameFile(options.report.report.output, options.budget.file)) {
    return UsageError(fmt::format("--output: '{}' is the budget, and would be overwritten", options.budget.file));
  }
  if (options.report.report.format == "junit" && options.report.budget.limits.empty()) {
    return UsageError("--format junit prints the limits of a budget: give --budget, --max-waits or another limit");
  }
  // The trace's profiler needs CUPTI.
  if (!options.report.kineto.empty()) options.recording.yield_to_profiler = true;
  return options.from.empty() ? HuntProgram(options, context) : HuntEarlier(options, context);
}

}  // namespace

void AddHuntCommand(CommandRegistry& registry) {
  auto options = std::make_shared<HuntCommandOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "hunt",
          .summary = "Find the lines that make the host wait for the GPU",
          .usage = "[options] -- COMMAND...\n       stallhound hunt [options] --from SPOOLS...",
          .details = kDetails,
          .takes_program = true,
      },
      [options](CommandContext& context) { return RunHuntCommand(*options, context); });
  command->final_callback([options, command] { options->given_recording = GivenRecordingOptions(*command); });
  command->add_option("--from", options->from, "Report on spools, a capture or another tool's file")->type_name("PATH");
  command
      ->add_option("--kineto", options->report.kineto,
                   "GPU side from the torch.profiler trace that the program writes; implies --yield-to-profiler")
      ->type_name("FILE");
  AddReportOptions(*command, {"text", "markdown", "json", "html", "sarif", "junit"}, options->report.report);
  command->add_option("--range", options->report.range, "Per occurrence of this range, or NAME#7 for the 7th")
      ->type_name("NAME");
  AddStepOptions(*command, options->report.steps);
  command->add_flag("--strict", options->report.strict,
                    "An incomplete recording, or a limit that can't be judged, is exit code 5");
  command->add_option("--exit-code", options->exit_code, "End as the program did, or with the verdict")
      ->check(CLI::IsMember({"program", "verdict"}))
      ->type_name("WHOSE");
  AddBudgetOptions(*command, options->budget);
  AddRecordingOptions(*command, options->recording);
}

}  // namespace stallhound::cli
