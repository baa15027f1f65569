#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include "cli/completion/completion.h"

namespace stallhound::cli {
namespace {

// Within the single quotes of a specification of _arguments.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}, {"\\", "\\\\"}});
}

std::string Action(const CompletionOption& option) {
  if (option.kind == CompletionKind::kChoice) return fmt::format("({})", absl::StrJoin(option.choices, " "));
  return option.kind == CompletionKind::kFile ? "_files" : " ";
}

std::string Specifications(const CompletionCommand& command) {
  std::string lines;
  for (const CompletionOption& option : command.options) {
    for (const std::string& name : option.names) {
      lines += fmt::format(" \\\n          '{}{}[{}]", name,
                           option.kind != CompletionKind::kNothing && name.starts_with("--") ? "=" : "",
                           Escaped(option.description));
      if (option.kind != CompletionKind::kNothing) {
        lines += fmt::format(":{}:{}", Escaped(option.value_name), Action(option));
      }
      lines += "'";
    }
  }
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const CompletionOption& argument = command.arguments[i];
    const bool is_last = i + 1 == command.arguments.size();
    lines += fmt::format(" \\\n          '{}:{}:{}'",
                         is_last && argument.kind != CompletionKind::kChoice ? "*" : std::to_string(i + 1),
                         Escaped(argument.value_name), Action(argument));
  }
  return lines;
}

}  // namespace

std::string ZshCompletion(std::span<const CompletionCommand> commands) {
  std::string script = R"sh(#compdef stallhound
# Completion of stallhound for zsh; written by `stallhound completion zsh`.

_stallhound() {
  # `commands` is zsh's own.
  local curcontext="$curcontext" state line dashes
  local -a subcommands
  subcommands=(
)sh";
  for (const CompletionCommand& command : commands) {
    script += fmt::format("    '{}:{}'\n", command.name, Escaped(command.summary));
  }
  script += R"sh(  )
  _arguments -C '--help[Print this help message and exit]' '--version[Print the version and exit]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command subcommands ;;
    argument)
      dashes=${words[(i)--]}
      case $words[1] in
)sh";
  for (const CompletionCommand& command : commands) {
    script += fmt::format("        {})\n", command.name);
    if (command.takes_program) {
      script +=
          "          if ((dashes < CURRENT)); then\n"
          "            shift $dashes words\n            ((CURRENT -= dashes))\n            _normal\n            "
          "return\n"
          "          fi\n";
    }
    script += fmt::format("          _arguments{}\n          ;;\n", Specifications(command));
  }
  return script + R"sh(      esac
      ;;
  esac
}

# Autoloaded from $fpath it is the function's body; sourced it registers itself.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _stallhound "$@"
else
  compdef _stallhound stallhound
fi
)sh";
}

}  // namespace stallhound::cli
