#include "cli/commands/completion_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/completion/completion.h"
#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Prints a script that completes commands, options, their values and files. The package has all three
under share/, where shells look for them once share/ is part of XDG_DATA_DIRS, or in fpath for zsh.

Examples:
  source <(stallhound completion bash)                   # in ~/.bashrc
  source <(stallhound completion zsh)                    # in ~/.zshrc, behind compinit
  stallhound completion fish > ~/.config/fish/completions/stallhound.fish)help";

absl::StatusOr<int> RunCompletionCommand(const std::string& shell, const CommandRegistry& registry,
                                         CommandContext& context) {
  const std::vector<CompletionCommand> commands = CompletionOf(registry);
  context.console.Out(shell == "bash"  ? BashCompletion(commands)
                      : shell == "zsh" ? ZshCompletion(commands)
                                       : FishCompletion(commands));
  return kExitFine;
}

}  // namespace

void AddCompletionCommand(CommandRegistry& registry) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = registry.Add(
      {
          .name = "completion",
          .summary = "Print a script that completes command lines in a shell",
          .usage = "bash|zsh|fish",
          .details = kDetails,
      },
      // The registry outlives its actions.
      [shell, &registry](CommandContext& context) { return RunCompletionCommand(*shell, registry, context); });
  command->add_option("shell", *shell, "Which one")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
}

}  // namespace stallhound::cli
