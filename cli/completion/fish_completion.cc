#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include "cli/completion/completion.h"

namespace stallhound::cli {
namespace {

std::string Quoted(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

// What a value may be, as options of `complete`.
std::string Value(const CompletionOption& option) {
  switch (option.kind) {
    case CompletionKind::kNothing:
      return "";
    case CompletionKind::kText:
      return " -x";
    case CompletionKind::kFile:
      return " -r -F";
    case CompletionKind::kChoice:
      return " -x -a " + Quoted(absl::StrJoin(option.choices, " "));
  }
  return "";
}

std::string Line(const std::string& condition, const std::string& what) {
  return fmt::format("complete -c stallhound -n {} {}\n", Quoted(condition), what);
}

}  // namespace

std::string FishCompletion(std::span<const CompletionCommand> commands) {
  std::string script =
      "# Completion of stallhound for fish; written by `stallhound completion fish`.\n\n"
      "function __stallhound_behind_dashes\n    contains -- -- (commandline -opc)\nend\n\n"
      "complete -c stallhound -f\n"
      "complete -c stallhound -n __fish_use_subcommand -l help -d 'Print this help message and exit'\n"
      "complete -c stallhound -n __fish_use_subcommand -l version -d 'Print the version and exit'\n";
  for (const CompletionCommand& command : commands) {
    const std::string is_chosen = "__fish_seen_subcommand_from " + command.name;
    const std::string is_own = is_chosen + "; and not __stallhound_behind_dashes";
    script += fmt::format("\ncomplete -c stallhound -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          Quoted(command.summary));
    for (const CompletionOption& option : command.options) {
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      script += Line(is_own, fmt::format("{}{} -d {}", names.substr(1), Value(option), Quoted(option.description)));
    }
    for (const CompletionOption& argument : command.arguments) {
      if (argument.kind == CompletionKind::kFile) script += Line(is_own, "-F");
      if (argument.kind == CompletionKind::kChoice)
        script += Line(is_own, "-a " + Quoted(absl::StrJoin(argument.choices, " ")));
    }
    if (command.takes_program) {
      script += Line(is_chosen + "; and __stallhound_behind_dashes", "-F -a '(__fish_complete_command)'");
    }
  }
  return script;
}

}  // namespace stallhound::cli
