#pragma once

// Completion of command lines in shells, made from the commands as they are registered.

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace stallhound::cli {

enum class CompletionKind {
  kNothing,  // a flag: no value follows
  kText,     // a value that nobody can guess
  kFile,
  kChoice,
};

struct CompletionOption {
  std::vector<std::string> names;  // "--help", "-h"; of a positional argument its name alone
  std::string description;         // one line
  std::string value_name;          // "FILE"; empty for flags
  CompletionKind kind = CompletionKind::kNothing;
  std::vector<std::string> choices;
};

struct CompletionCommand {
  std::string name;
  std::string summary;
  bool takes_program = false;  // behind --
  std::vector<CompletionOption> options;
  std::vector<CompletionOption> arguments;
};

// In the registry's order. Subcommands of a command are choices of its first argument; their options become its own.
std::vector<CompletionCommand> CompletionOf(const CommandRegistry& registry);

// Scripts to be sourced, or put where the shell looks for them. Bash from 4 on, without the package bash-completion.
std::string BashCompletion(std::span<const CompletionCommand> commands);
std::string ZshCompletion(std::span<const CompletionCommand> commands);
std::string FishCompletion(std::span<const CompletionCommand> commands);

}  // namespace stallhound::cli
