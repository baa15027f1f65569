#pragma once

// The seam of a command: a file pair in cli/commands/ with one function `void AddXCommand(CommandRegistry&)`, named in
// one line of cli/registry.cc.

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace stallhound::cli {

struct CommandContext {
  Console& console;
  // What stood behind "--": the program to run.
  std::vector<std::string> program;
};

// The process's exit code, or an error, which is printed as "stallhound: error: <message>" and becomes one
// (exit_code.h).
using CommandAction = std::function<absl::StatusOr<int>(CommandContext& context)>;

struct CommandDescription {
  std::string name;     // kebab-case
  std::string summary;  // one line of the list of commands, without a full stop
  std::string usage;    // what follows "stallhound <name>": "[options] CAPTURE"; empty: as the options say
  // Printed below the options: what it does beyond the summary and at least one example, lines of <= 100 columns.
  std::string details;
  bool takes_program = false;  // accepts "-- COMMAND..."
  // What its first argument can be, for shells to offer; empty: as that argument says.
  std::function<std::vector<std::string>()> argument_choices = nullptr;
};

// Collects commands and what they do.
class CommandRegistry {
 public:
  explicit CommandRegistry(CLI::App& app) : app_(app) {}

  // Returns the subcommand, to add its options to. Options must write to something that `action` owns too (a
  // shared_ptr), because both outlive the adding function.
  CLI::App* Add(const CommandDescription& description, CommandAction action);

  struct Entry {
    CLI::App* app;
    CommandAction action;
    bool takes_program;
    std::function<std::vector<std::string>()> argument_choices;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  CLI::App& app_;
  std::vector<Entry> entries_;
};

}  // namespace stallhound::cli
