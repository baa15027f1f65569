#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <optional>

#include "base/status_macros.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/registry.h"
#include "cli/suggest.h"

namespace stallhound::cli {
namespace {

constexpr char kDescription[] = "Stallhound records what a CUDA program does and says what each stall costs and why.";
constexpr char kFooter[] = R"(
Start here:
  stallhound doctor                    what can be recorded on this machine
  stallhound hunt -- python train.py   which lines make the host wait for the GPU
  stallhound COMMAND --help            options and examples of a command

Recordings are kept in $STALLHOUND_HOME (default: ./.stallhound).
Exit codes: 0 fine, 1 regression, 2 usage, 3 bad input, 4 environment, 5 inconclusive, 70 internal error.)";

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> closest = ClosestWord(word, candidates);
  return closest ? fmt::format("; did you mean '{}'?", *closest) : std::string();
}

// A command line that CLI11 does not accept, in our words.
absl::Status UsageOf(const CLI::ParseError& error, const CLI::App& app, const CommandRegistry& registry) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& scope = chosen.empty() ? app : *chosen.front();
  const std::string help = fmt::format(
      " ({})", chosen.empty() ? "stallhound --help" : fmt::format("stallhound {} --help", scope.get_name()));
  const std::vector<std::string> remaining = scope.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || remaining.empty()) {
    return UsageError(error.what() + help);
  }
  const std::string& word = remaining.front();
  if (word.starts_with("-")) {
    return UsageError(fmt::format("unknown option '{}'{}{}", word, DidYouMean(word, OptionNames(scope)), help));
  }
  const auto& entries = registry.entries();
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.app == &scope; });
  if (entry != entries.end() && entry->takes_program) {
    return UsageError(fmt::format("'{0}' was not expected; put -- before the program: stallhound {1} -- {0} ...", word,
                                  scope.get_name()));
  }
  return UsageError(fmt::format("'{}' was not expected{}", word, help));
}

absl::Status CheckCommand(const std::string& word, const CommandRegistry& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry.entries()) names.push_back(entry.app->get_name());
  if (word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) return absl::OkStatus();
  return UsageError(
      fmt::format("there is no command '{}'{} (stallhound --help lists them)", word, DidYouMean(word, names)));
}

// CLI11 would take the next argument for the value of "--name=", an option that is given as '' for one that is not.
absl::Status CheckEmptyValue(const std::string& argument) {
  if (!argument.starts_with("--") || argument.size() < 4 || argument.find('=') != argument.size() - 1) {
    return absl::OkStatus();
  }
  return UsageError(fmt::format("{}: '' is no value", argument.substr(0, argument.size() - 1)));
}

absl::Status CheckEmptyValues(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    return UsageError(fmt::format("{}: '' is no value; leave it out or give one (stallhound {} --help)",
                                  option->get_name(option->get_positional()), command.get_name()));
  }
  return absl::OkStatus();
}

// What stands before the first "--" and what behind it.
struct SplitArguments {
  std::vector<std::string> own;
  std::vector<std::string> program;
  bool has_dashes = false;
};

SplitArguments SplitAtDashes(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  SplitArguments split{{arguments.begin(), dashes}, {}, dashes != arguments.end()};
  if (split.has_dashes) split.program.assign(dashes + 1, arguments.end());
  return split;
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& arguments, Console& console) {
  CLI::App app(kDescription, "stallhound");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("stallhound ") + kVersion, "Print the version and exit");
  app.get_formatter()->column_width(16);
  // So that nothing behind a command is taken for another one: without it CLI11 prefers a name to an argument.
  app.require_subcommand(0, 1);
  CommandRegistry registry(app);
  AddAllCommands(registry);

  SplitArguments split = SplitAtDashes(arguments);
  if (split.own.empty()) {
    console.Err(app.help());
    return UsageError("which command?");
  }
  SH_RETURN_IF_ERROR(CheckCommand(split.own.front(), registry));
  for (const std::string& argument : split.own) SH_RETURN_IF_ERROR(CheckEmptyValue(argument));
  try {
    std::reverse(split.own.begin(), split.own.end());
    app.parse(split.own);
  } catch (const CLI::Success& wanted) {
    console.Out(dynamic_cast<const CLI::CallForVersion*>(&wanted) != nullptr ? std::string(wanted.what()) + "\n"
                : app.get_subcommands().empty()                              ? app.help()
                                                                             : app.get_subcommands().front()->help());
    return kExitFine;
  } catch (const CLI::ParseError& error) {
    return UsageOf(error, app, registry);
  }
  for (const auto& entry : registry.entries()) {
    if (!entry.app->parsed()) continue;
    if (split.has_dashes && !entry.takes_program) {
      return UsageError(fmt::format("'{}' runs no program, so nothing may stand behind --", entry.app->get_name()));
    }
    SH_RETURN_IF_ERROR(CheckEmptyValues(*entry.app));
    CommandContext context{console, split.program};
    return entry.action(context);
  }
  return UsageError("which command? (stallhound --help lists them)");
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, Console& console) {
  absl::StatusOr<int> result = absl::UnknownError("");
  try {
    result = Dispatch(arguments, console);
  } catch (const std::exception& error) {
    result = absl::InternalError(fmt::format("unexpected exception: {}", error.what()));
  }
  int exit_code = result.ok() ? *result : ExitCodeOf(result.status());
  if (!result.ok()) {
    console.Error(std::string(result.status().message()));
    if (exit_code == kExitInternal) console.Err("stallhound: this is a bug of stallhound; please report it\n");
  }
  const absl::Status flushed = console.Flush();
  if (!flushed.ok()) {
    console.Error(std::string(flushed.message()));
    if (exit_code == kExitFine) exit_code = kExitEnvironment;
  }
  return exit_code;
}

}  // namespace stallhound::cli
