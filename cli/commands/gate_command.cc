#include "cli/commands/gate_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/status_macros.h"
#include "cli/config/config.h"
#include "cli/gate/gate_runs.h"
#include "cli/history.h"
#include "cli/home.h"
#include "cli/nightly/kept_builds.h"
#include "cli/report_format.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Compares a run of the history (the newest, or the one whose uuid begins with RUN) with the baseline
that stallhound.toml names. Counts must not rise: a new kernel, wait or copy is named with its case
and line. Times of stored runs alone make a case suspect, never a failure: `stallhound ab` and
`stallhound nightly` measure both sides again, and what they said of the same two runs stands. A case
that fails now is a regression. What was said is kept in the history.

Where `stallhound nightly` kept the program and it is the same for both, other times are the machine's.
A time whose noise would hide a slow-down of 10% beyond its budget is inconclusive, not a pass; so are
counts that neither side has recorded, unless both ran on the CPU, and a run that was interrupted.

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

absl::StatusOr<int> RunGateCommand(const GateOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const Config config, LoadConfig());
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kAppend, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunInfo run, FindRunOrNewest(*history, options.run, context.console));
  const std::string& name = options.baseline.empty() ? config.gate.baseline : options.baseline;
  SH_ASSIGN_OR_RETURN(const store::RunInfo baseline, FindBaselineRun(*history, name));
  if (run.uuid == baseline.uuid) {
    return absl::FailedPreconditionError(
        fmt::format("judging the run {}: it is the baseline '{}' itself; `stallhound bench` measures another, "
                    "--baseline names another baseline",
                    run.uuid, name));
  }
  const GateRequest request = {.run_uuid = run.uuid,
                               .baseline_uuid = baseline.uuid,
                               .config = config.gate,
                               .is_strict = options.strict,
                               .is_same_program = AreOfOneBuild(HomeFolder(), run.uuid, baseline.uuid),
                               .report = options.report};
  return GateRuns(request, *history, context.console);
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
