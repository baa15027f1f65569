#include "cli/commands/env_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/install_paths.h"
#include "cli/operators_hook.h"
#include "cli/recording_options.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Prints what a program needs in its environment to record itself: for batch systems, services,
containers and notebooks. In a container the recorder and the spool folder must be mounted under
the same paths. Every process writes its own spool; `stallhound hunt --from FOLDER` reads them all.

Examples:
  eval "$(stallhound env)"                      # record what this shell starts from now on
  stallhound env --mode light > stallhound.sh   # for a job script to source
  stallhound env --json                         # for a container's description
  stallhound hunt --from .stallhound/spool/20261130-044737-x7Rk2f)help";

struct EnvOptions {
  RecordingOptions recording;
  bool json = false;
};

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

absl::StatusOr<std::string> AsJson(const Variables& variables) {
  std::string json;
  JsonWriter writer(&json, 2);
  writer.BeginObject();
  for (const auto& [name, value] : variables) writer.Field(name, value);
  writer.EndObject();
  SH_RETURN_IF_ERROR(writer.Finish());
  return json;
}

absl::StatusOr<int> RunEnvCommand(const EnvOptions& options, CommandContext& context) {
  // Before a folder is made for values that do not parse.
  SH_RETURN_IF_ERROR(RecordingVariables(options.recording, "", "").status());
  SH_ASSIGN_OR_RETURN(const std::string recorder, FindRecorder());
  SH_ASSIGN_OR_RETURN(const std::string folder, NewSpoolFolder(HomeFolder(), SystemClock().RealtimeNs()));
  SH_ASSIGN_OR_RETURN(Variables variables, RecordingVariables(options.recording, recorder, folder));
  if (options.recording.operators) {
    SH_ASSIGN_OR_RETURN(const std::string hook, FindOperatorsHook());
    AddOperatorsHook(hook, variables);
  }
  for (const std::string& warning : ResolveInjectionConflicts(options.recording, variables)) {
    context.console.Warn(warning);
  }
  if (options.json) {
    SH_ASSIGN_OR_RETURN(const std::string json, AsJson(variables));
    context.console.Out(json);
  } else {
    for (const auto& [name, value] : variables) {
      context.console.Out(fmt::format("export {}={}\n", name, ShellQuoted(value)));
    }
  }
  context.console.Note(fmt::format("afterwards: stallhound hunt --from {}", folder));
  return kExitFine;
}

}  // namespace

void AddEnvCommand(CommandRegistry& registry) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "env",
          .summary = "Print the variables that make a program record itself",
          .usage = "[options]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunEnvCommand(*options, context); });
  AddRecordingOptions(*command, options->recording);
  command->add_flag("--json", options->json, "One JSON object instead of shell lines");
}

}  // namespace stallhound::cli
