#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include "cli/completion/completion.h"

namespace stallhound::cli {
namespace {

// Where the cursor stands: bash splits --format=te into three words.
constexpr char kBegin[] = R"sh(# Completion of stallhound for bash from 4 on; written by `stallhound completion bash`.

_stallhound_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_stallhound() {
  local word=${COMP_WORDS[COMP_CWORD]} option="" command=${COMP_WORDS[1]-} dashes=0 i
  local options="--help --version" values="" choices="" arguments="" takes_program=0
  COMPREPLY=()
  ((COMP_CWORD > 0)) && option=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $option == "=" ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == "--" ]] && { dashes=$i; break; }
  done
)sh";

constexpr char kEnd[] = R"sh(
  if ((dashes)); then
    ((takes_program)) || return 0
    if ((COMP_CWORD == dashes + 1)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$word")
    else
      _stallhound_files "$word"
    fi
  elif [[ $values == text ]]; then
    return 0
  elif [[ $values == file ]]; then
    _stallhound_files "$word"
  elif [[ $values == choice ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ $arguments == file ]]; then
    _stallhound_files "$word"
  elif [[ -n $arguments ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$arguments" -- "$word")
  fi
}

complete -F _stallhound stallhound
)sh";

std::string ValueCases(const CompletionCommand& command) {
  std::string cases;
  for (const CompletionOption& option : command.options) {
    if (option.kind == CompletionKind::kNothing) continue;
    const char* kind = option.kind == CompletionKind::kChoice ? "choice"
                       : option.kind == CompletionKind::kFile ? "file"
                                                              : "text";
    cases += fmt::format("        {}) values={}", absl::StrJoin(option.names, " | "), kind);
    if (!option.choices.empty()) cases += fmt::format(" choices=\"{}\"", absl::StrJoin(option.choices, " "));
    cases += " ;;\n";
  }
  return cases.empty() ? "" : fmt::format("      case $option in\n{}      esac\n", cases);
}

// What stands without an option: files go before choices, which only the first argument has.
std::string Arguments(const CompletionCommand& command) {
  std::vector<std::string> choices;
  for (const CompletionOption& argument : command.arguments) {
    if (argument.kind == CompletionKind::kFile) return "file";
    choices.insert(choices.end(), argument.choices.begin(), argument.choices.end());
  }
  return absl::StrJoin(choices, " ");
}

}  // namespace

std::string BashCompletion(std::span<const CompletionCommand> commands) {
  std::vector<std::string> names;
  for (const CompletionCommand& command : commands) names.push_back(command.name);
  std::string script = kBegin;
  script += fmt::format("  ((COMP_CWORD <= 1)) && command=\"\"\n  case $command in\n    \"\") arguments=\"{}\" ;;\n",
                        absl::StrJoin(names, " "));
  for (const CompletionCommand& command : commands) {
    std::vector<std::string> options;
    for (const CompletionOption& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
    }
    script += fmt::format("    {})\n      options=\"{}\" arguments=\"{}\" takes_program={}\n{}      ;;\n", command.name,
                          absl::StrJoin(options, " "), Arguments(command), command.takes_program ? 1 : 0,
                          ValueCases(command));
  }
  return script + "    *) options=\"\" ;;\n  esac\n" + kEnd;
}

}  // namespace stallhound::cli
