#include "cli/commands/baseline_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/status_macros.h"
#include "cli/bench/keep_run.h"
#include "cli/exit_code.h"
#include "cli/history.h"
#include "cli/home.h"
#include "cli/nightly/kept_builds.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(`baseline set` makes a run of the history what `stallhound gate` compares others with; `baseline show`
says which run that is. RUN is the beginning of a run's uuid (`stallhound runs` lists them). Baselines
have names; stallhound.toml says which one the gate takes, main if it says nothing. Earlier baselines
of a name stay in the history.

Examples:
  stallhound baseline set 3f2a
  stallhound baseline set 9c41 --name release-1 --reason "as shipped"
  stallhound baseline show
  stallhound baseline show --name release-1)help";

struct BaselineOptions {
  std::string action;
  std::string run;
  std::string name = "main";
  std::optional<std::string> reason;
};

// Nothing that is asked for by name is refused, but the gate will find little to compare with.
void WarnOfDefects(const store::RunRecord& run, Console& console) {
  if (run.info.status != store::RunStatus::kComplete) {
    console.Warn(
        fmt::format("the run {} was interrupted: what it did not measure cannot be judged against it", run.info.uuid));
  }
  if (const int64_t failed_count = FailedCaseCount(run); failed_count > 0) {
    console.Warn(fmt::format("{} of {} cases of the run {} failed: they cannot be judged against it", failed_count,
                             run.benchmarks.size(), run.info.uuid));
  }
}

bool IsProgramKept(const std::string& run_uuid) {
  const absl::StatusOr<std::optional<KeptBuild>> kept = FindBuildOfRun(HomeFolder(), run_uuid);
  return kept.ok() && kept->has_value();
}

absl::StatusOr<int> SetBaseline(const BaselineOptions& options, CommandContext& context) {
  if (options.run.empty()) {
    return UsageError("stallhound baseline set: which run? `stallhound runs` lists them");
  }
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kAppend, context.console));
  SH_ASSIGN_OR_RETURN(const store::RunInfo run, history->FindRun(options.run));
  SH_ASSIGN_OR_RETURN(const store::RunRecord record, history->ReadRun(run.uuid));
  WarnOfDefects(record, context.console);
  SH_RETURN_IF_ERROR(history->SetBaseline({options.name, run.uuid, SystemClock().RealtimeNs(), options.reason}));
  context.console.Note(fmt::format("the baseline '{}' is now the run {}", options.name, run.uuid));
  if (!IsProgramKept(run.uuid)) {
    context.console.Note(
        "its program is not kept, as `stallhound nightly` keeps those that it measures: nightly cannot confirm changes "
        "of time against this baseline");
  }
  return kExitFine;
}

absl::StatusOr<int> ShowBaseline(const BaselineOptions& options, CommandContext& context) {
  if (!options.run.empty() || options.reason) {
    return UsageError("stallhound baseline show: it takes --name and nothing else");
  }
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history,
                      OpenHomeHistory(store::Access::kRead, context.console));
  const absl::StatusOr<store::Baseline> baseline = history->FindBaseline(options.name);
  if (absl::IsNotFound(baseline.status())) {
    return absl::NotFoundError(
        fmt::format("showing the baseline '{0}': there is none of that name; `stallhound baseline set RUN --name {0}` "
                    "makes one",
                    options.name));
  }
  SH_RETURN_IF_ERROR(baseline.status());
  SH_ASSIGN_OR_RETURN(const store::RunInfo run, history->FindRun(baseline->run_uuid));
  std::string text = fmt::format("{}: run {} of {} UTC, set {} UTC", options.name, run.uuid,
                                 FormatUtc(run.started_at_ns), FormatUtc(baseline->set_at_ns));
  if (run.revision) text += fmt::format(", commit {}", run.revision->sha);
  if (run.branch) text += fmt::format(" of {}", *run.branch);
  if (baseline->reason) text += fmt::format(": {}", *baseline->reason);
  context.console.Out(Displayable(text) + "\n");
  return kExitFine;
}

}  // namespace

void AddBaselineCommand(CommandRegistry& registry) {
  auto options = std::make_shared<BaselineOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "baseline",
          .summary = "Say which run others are judged against",
          .usage = "set RUN [options] | show [options]",
          .details = kDetails,
      },
      [options](CommandContext& context) {
        return options->action == "set" ? SetBaseline(*options, context) : ShowBaseline(*options, context);
      });
  command->add_option("action", options->action, "set or show")
      ->required()
      ->check(CLI::IsMember({"set", "show"}))
      ->type_name("");
  command->add_option("run", options->run, "set: the beginning of the run's uuid")->type_name("");
  command->add_option("--name", options->name, "Of the baseline")->capture_default_str()->type_name("NAME");
  command->add_option("--reason", options->reason, "set: why, for those who read it later")->type_name("TEXT");
}

}  // namespace stallhound::cli
