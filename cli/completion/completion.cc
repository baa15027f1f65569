#include "cli/completion/completion.h"

#include <absl/strings/str_split.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

namespace stallhound::cli {
namespace {

// Options say what they take by the name of their value, arguments by their own.
constexpr const char* kFileNames[] = {"FILE", "PATH", "FOLDER", "capture", "captures", "files", "BUILD_A", "BUILD_B"};

// The choices of CLI::IsMember, which the type's name ends in: "FORMAT:{text,json}".
std::vector<std::string> ChoicesOf(const std::string& type_name) {
  const size_t begin = type_name.find('{');
  const size_t end = type_name.rfind('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type_name.substr(begin + 1, end - begin - 1), ',', absl::SkipEmpty());
}

CompletionOption OptionOf(const CLI::Option& option) {
  CompletionOption made;
  made.description = option.get_description();
  std::replace(made.description.begin(), made.description.end(), '\n', ' ');
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  if (option.get_positional()) made.names = {option.get_name(true)};
  if (option.get_items_expected_max() == 0) return made;
  const std::string type_name = option.get_type_name();
  made.choices = ChoicesOf(type_name);
  made.value_name = option.get_positional() ? made.names.front() : type_name.substr(0, type_name.find(':'));
  const bool is_file = std::find(std::begin(kFileNames), std::end(kFileNames), made.value_name) != std::end(kFileNames);
  made.kind = !made.choices.empty() ? CompletionKind::kChoice : is_file ? CompletionKind::kFile : CompletionKind::kText;
  return made;
}

void AddOptions(const CLI::App& app, CompletionCommand& command) {
  for (const CLI::Option* option : app.get_options()) {
    CompletionOption made = OptionOf(*option);
    if (option->get_positional()) {
      command.arguments.push_back(std::move(made));
      continue;
    }
    const auto is_same = [&](const CompletionOption& known) { return known.names == made.names; };
    if (std::none_of(command.options.begin(), command.options.end(), is_same))
      command.options.push_back(std::move(made));
  }
}

}  // namespace

std::vector<CompletionCommand> CompletionOf(const CommandRegistry& registry) {
  std::vector<CompletionCommand> commands;
  for (const CommandRegistry::Entry& entry : registry.entries()) {
    CompletionCommand command{entry.app->get_name(), entry.app->get_description(), entry.takes_program, {}, {}};
    const std::vector<CLI::App*> subcommands = entry.app->get_subcommands([](CLI::App*) { return true; });
    if (!subcommands.empty()) {
      CompletionOption which{{"command"}, "What to do", "command", CompletionKind::kChoice, {}};
      for (const CLI::App* subcommand : subcommands) which.choices.push_back(subcommand->get_name());
      command.arguments.push_back(std::move(which));
    }
    AddOptions(*entry.app, command);
    for (const CLI::App* subcommand : subcommands) AddOptions(*subcommand, command);
    if (entry.argument_choices && !command.arguments.empty()) {
      command.arguments.front().kind = CompletionKind::kChoice;
      command.arguments.front().choices = entry.argument_choices();
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace stallhound::cli
