#include "cli/commands/nightly_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/status_macros.h"
#include "cli/bench/work_tree.h"
#include "cli/config/config.h"
#include "cli/home.h"
#include "cli/nightly/nightly.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Measures the suite that stallhound.toml describes, as `stallhound bench` does, and judges the run against
the baseline, as `stallhound gate` does. Where a time has changed, both programs are measured again in
turns, in fresh processes: only what that confirms is a regression; if both are the same program, it is
the machine's. For that the measured program is kept in $STALLHOUND_HOME/builds; `stallhound prune`
removes those that no baseline names. Programs are the same if their files are: shared libraries and
what a script loads are neither kept nor compared, so link what a change may touch into the program.
Without a baseline the run becomes it, unless a case or, on a GPU, the recording pass failed.

The report (report.html, report.json, and gate.json unless it was the first run) goes to
$STALLHOUND_HOME/nightly/TIME-RUN/; its path and the verdict are the last two lines. Suites have a
baseline each: gate.baseline in stallhound.toml names it.

Exit codes: 0 nothing regressed, or the run became the baseline; 1 something regressed; 2 no case
matches; 3 no such program, it crashed or took too long, a case of a first run failed, or the baseline
is of another suite; 4 the machine lacks something; with --strict 5 where something is suspect or
inconclusive.

Examples:
  stallhound nightly
  stallhound nightly --strict
  stallhound baseline set 3f2a                     # from now on compare with this run)help";

absl::StatusOr<int> RunNightlyCommand(bool is_strict, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const Config config, LoadConfig());
  NightlyRequest request;
  request.measure.bench = config.bench;
  request.measure.bench.binary = (std::filesystem::path(config.folder) / config.bench.binary).lexically_normal();
  request.measure.home = HomeFolder();
  request.measure.source_folder = FindWorkTree(config.folder);
  request.gate = config.gate;
  request.is_strict = is_strict;
  return RunNightly(request, NightlyMeasure(), context.console);
}

}  // namespace

void AddNightlyCommand(CommandRegistry& registry) {
  auto is_strict = std::make_shared<bool>(false);
  CLI::App* command = registry.Add(
      {
          .name = "nightly",
          .summary = "Measure the benchmarks, judge them against the baseline, report",
          .usage = "[options]",
          .details = kDetails,
      },
      [is_strict](CommandContext& context) { return RunNightlyCommand(*is_strict, context); });
  command->add_flag("--strict", *is_strict, "Exit 5 where something is suspect or inconclusive");
}

}  // namespace stallhound::cli
