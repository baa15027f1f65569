#include "cli/commands/bench_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "cli/bench/bench_program.h"
#include "cli/bench/keep_run.h"
#include "cli/bench/measure.h"
#include "cli/bench/work_tree.h"
#include "cli/config/config.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/option_checks.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Runs the bench binary that stallhound.toml names: first in fresh processes that time every case without
the recorder, then once with it, which gives the exact counts per iteration, kernels and sync sites.
All of it is one run in the history ($STALLHOUND_HOME/history.db); the recording is kept beside it.

The results of a case are checked before it is timed. One that is wrong, or fails otherwise, is in the
run as failed, and the others go on. Without a GPU the CPU is timed, and counts are unknown. Ctrl-C
behind the first round keeps what was measured as an interrupted run.

Exit codes: 0 measured; 2 no case matches; 3 no such binary, it crashed or took too long, or every case
failed; 4 the machine lacks something.

Examples:
  stallhound bench
  stallhound bench --filter 'layer_norm/optimized/.*/forward'
  stallhound bench --rounds 16 --binary ../other/bazel-bin/bench/bench
  stallhound gate                                  # then: is it worse than the baseline?)help";

constexpr char kBinaryHint[] =
    "build it, as by `bazel build //bench`, or name it: --binary, or bench.binary in stallhound.toml";

struct BenchOptions {
  std::string filter;
  std::string binary;
  std::optional<int64_t> rounds;
};

// From the working folder, or as stallhound.toml says from its own.
std::string BinaryPath(const BenchOptions& options, const Config& config) {
  namespace fs = std::filesystem;
  if (!options.binary.empty()) return fs::absolute(options.binary).lexically_normal();
  return (fs::path(config.folder) / config.bench.binary).lexically_normal();
}

absl::StatusOr<int> RunBenchCommand(const BenchOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const Config config, LoadConfig());
  MeasureRequest request;
  request.bench = config.bench;
  request.bench.binary = BinaryPath(options, config);
  if (!options.filter.empty()) request.bench.filter = options.filter;
  if (options.rounds) request.bench.rounds = *options.rounds;
  request.home = HomeFolder();
  request.source_folder = FindWorkTree(options.binary.empty() ? config.folder : request.bench.binary);
  SH_RETURN_IF_ERROR(CheckBinary(request.bench.binary, kBinaryHint));
  SH_RETURN_IF_ERROR(CheckHistory(request.home, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunRecord run, MeasureRun(request, context.console));
  SH_RETURN_IF_ERROR(KeepRun(request.home, run));
  PrintRun(run, request.home, context.console);
  SH_RETURN_IF_ERROR(CheckInterrupt());
  const bool has_measured = std::any_of(run.benchmarks.begin(), run.benchmarks.end(), [](const auto& result) {
    return result.outcome == store::BenchmarkOutcome::kMeasured;
  });
  if (!has_measured) return kExitData;
  context.console.Out(fmt::format(
      "next: `stallhound gate` compares it with '{0}', `stallhound baseline set {1} --name {0}` makes it that\n",
      config.gate.baseline, run.info.uuid.substr(0, 8)));
  return kExitFine;
}

}  // namespace

void AddBenchCommand(CommandRegistry& registry) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "bench",
          .summary = "Measure the benchmarks and keep the run in the history",
          .usage = "[options]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunBenchCommand(*options, context); });
  command->add_option("--filter", options->filter, "Only benchmarks whose id matches, in place of bench.filter")
      ->check(RegularExpression())
      ->type_name("REGEX");
  command->add_option("--rounds", options->rounds, "Fresh processes that time every case, in place of bench.rounds")
      ->check(WholeNumber(1, 1000))
      ->type_name("N");
  command->add_option("--binary", options->binary, "The bench binary, in place of bench.binary")->type_name("PATH");
}

}  // namespace stallhound::cli
