#include "cli/commands/runs_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/gate/gate_values.h"
#include "cli/history.h"
#include "cli/option_checks.h"
#include "reports/run/run_output.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Lists the runs that `stallhound bench` has kept in the history, newest first, with what the gate last
said of each.

Examples:
  stallhound runs
  stallhound runs --limit 5 --branch main
  stallhound runs --format json | jq -r '.[0].run.uuid')help";

struct RunsOptions {
  size_t limit = 20;
  std::optional<std::string> branch;
  std::string format = "text";
};

absl::StatusOr<reports::RunSummary> Summary(const store::RunInfo& info, store::HistoryReader& history) {
  SH_ASSIGN_OR_RETURN(const store::RunRecord record, history.ReadRun(info.uuid));
  SH_ASSIGN_OR_RETURN(const std::vector<store::Judgement> judgements, history.ReadJudgements(info.uuid));
  reports::RunSummary summary;
  summary.run = GateRunOf(info);
  summary.status = store::Text(info.status);
  summary.case_count = static_cast<int64_t>(record.benchmarks.size());
  if (!judgements.empty()) {
    reports::GateReport gate;
    gate.verdicts = GateVerdictsOf(judgements.front());
    gate.is_interrupted = info.status != store::RunStatus::kComplete;
    summary.answer = AnswerName(OverallAnswer(gate));
  }
  return summary;
}

absl::StatusOr<int> RunRunsCommand(const RunsOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kRead, context.console));
  SH_ASSIGN_OR_RETURN(const std::vector<store::RunInfo> infos,
                      history->LastRuns({.limit = options.limit, .branch = options.branch}));
  std::vector<reports::RunSummary> runs;
  for (const store::RunInfo& info : infos) {
    SH_ASSIGN_OR_RETURN(runs.emplace_back(), Summary(info, *history));
  }
  if (options.format == "json") {
    context.console.Out(reports::RunsJson(runs));
  } else if (runs.empty()) {
    context.console.Note(options.branch ? "no run of that branch is in the history" : "the history has no runs");
  } else {
    context.console.Out(reports::RunsTerminal(runs, {context.console.out_has_color(), context.console.width()}));
  }
  return kExitFine;
}

}  // namespace

void AddRunsCommand(CommandRegistry& registry) {
  auto options = std::make_shared<RunsOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "runs",
          .summary = "List the benchmark runs of the history",
          .usage = "[options]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunRunsCommand(*options, context); });
  command->add_option("--limit", options->limit, "At most so many")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--branch", options->branch, "Only runs of this branch")->type_name("NAME");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
}

}  // namespace stallhound::cli
