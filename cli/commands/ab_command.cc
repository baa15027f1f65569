#include "cli/commands/ab_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status_macros.h"
#include "cli/bench/bench_program.h"
#include "cli/bench/keep_run.h"
#include "cli/bench/measure.h"
#include "cli/bench/work_tree.h"
#include "cli/config/config.h"
#include "cli/gate/gate_runs.h"
#include "cli/history.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/option_checks.h"
#include "cli/report_format.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Measures two bench binaries in turns (A B B A ...), records each once, and judges B against A: counts
must not rise, and a change of time is confirmed by fresh rounds of those benchmarks alone, again in
turns, before it is a regression. Both are runs in the history. BUILD_A and BUILD_B are paths of bench
binaries; what stallhound.toml says of rounds, budgets and q holds.

Exit codes: 0 B is not worse; 1 it is; 2 no case matches; 3 no such binary, it crashed or took too long;
4 the machine lacks something; with --strict 5 where something is suspect or inconclusive.

Examples:
  stallhound ab ../main/bazel-bin/bench/bench bazel-bin/bench/bench
  stallhound ab old_bench new_bench --filter '^layer_norm/optimized/' --rounds 16
  stallhound ab old_bench new_bench --strict --format junit --output ab.xml)help";

struct AbOptions {
  std::string baseline;
  std::string candidate;
  std::string filter;
  std::optional<int64_t> rounds;
  bool strict = false;
  ReportOptions report;
};

MeasureRequest RequestOf(const std::string& binary, const AbOptions& options, const Config& config) {
  MeasureRequest request;
  request.bench = config.bench;
  request.bench.binary = std::filesystem::absolute(binary).lexically_normal();
  if (!options.filter.empty()) request.bench.filter = options.filter;
  if (options.rounds) request.bench.rounds = *options.rounds;
  request.home = HomeFolder();
  request.source_folder = FindWorkTree(request.bench.binary);
  return request;
}

absl::StatusOr<int> RunAbCommand(const AbOptions& options, CommandContext& context) {
  Console& console = context.console;
  SH_ASSIGN_OR_RETURN(const Config config, LoadConfig());
  MeasureRequest baseline = RequestOf(options.baseline, options, config);
  MeasureRequest candidate = RequestOf(options.candidate, options, config);
  // One tree cannot be the source of both as it is now, and nothing says of which it is.
  if (baseline.source_folder == candidate.source_folder) baseline.source_folder = candidate.source_folder = "";
  for (const MeasureRequest* request : {&baseline, &candidate}) {
    SH_RETURN_IF_ERROR(CheckBinary(request->bench.binary, "BUILD_A and BUILD_B are paths of bench binaries"));
  }
  SH_RETURN_IF_ERROR(CheckOutput(options.report));
  SH_RETURN_IF_ERROR(CheckHistory(baseline.home, console));
  SH_ASSIGN_OR_RETURN(const MeasuredPair pair, MeasurePair(baseline, candidate, console));
  SH_RETURN_IF_ERROR(KeepRun(baseline.home, pair.baseline));
  SH_RETURN_IF_ERROR(KeepRun(candidate.home, pair.candidate));
  console.Note(fmt::format("kept as runs {} (A) and {} (B)", pair.baseline.info.uuid, pair.candidate.info.uuid));
  SH_RETURN_IF_ERROR(CheckInterrupt());
  GateRequest gate;
  gate.run_uuid = pair.candidate.info.uuid;
  gate.baseline_uuid = pair.baseline.info.uuid;
  gate.config = config.gate;
  gate.is_strict = options.strict;
  gate.are_interleaved = true;
  gate.confirm = [&](std::span<const std::string> benchmarks, int64_t rounds_a_side) {
    return MeasureInterleaved(baseline, candidate, benchmarks, rounds_a_side, console);
  };
  gate.report = options.report;
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history, OpenHomeHistory(store::Access::kAppend, console));
  return GateRuns(gate, *history, console);
}

}  // namespace

void AddAbCommand(CommandRegistry& registry) {
  auto options = std::make_shared<AbOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "ab",
          .summary = "Measure two builds in turns and judge the second",
          .usage = "[options] BUILD_A BUILD_B",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunAbCommand(*options, context); });
  command->add_option("BUILD_A", options->baseline, "Path of the bench binary to compare with")
      ->required()
      ->type_name("");
  command->add_option("BUILD_B", options->candidate, "Path of the one that is judged")->required()->type_name("");
  command->add_option("--filter", options->filter, "Only benchmarks whose id matches, in place of bench.filter")
      ->check(RegularExpression())
      ->type_name("REGEX");
  command->add_option("--rounds", options->rounds, "Fresh processes a side before any confirmation")
      ->check(WholeNumber(1, 1000))
      ->type_name("N");
  command->add_flag("--strict", options->strict, "Exit 5 where something is suspect or inconclusive");
  AddReportOptions(*command, {"text", "markdown", "json", "junit"}, options->report);
}

}  // namespace stallhound::cli
