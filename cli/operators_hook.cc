#include "cli/operators_hook.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "cli/child.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr char kPythonPath[] = "PYTHONPATH";

bool IsPython(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  return absl::StartsWith(name, "python") || absl::StartsWith(name, "pypy");
}

// The words of a script's first line, "/usr/bin/env [-S]" left out, before the script's own; else `argv` as it is.
std::vector<std::string> WithInterpreter(const std::vector<std::string>& argv) {
  if (IsPython(argv[0])) return argv;  // be it a script that finds the right one
  const absl::StatusOr<std::string> content = ReadFile(FindInPath(argv[0]).value_or(argv[0]));
  if (!content.ok() || content->substr(0, 2) != "#!") return argv;
  const std::string line = content->substr(2, content->find('\n') - 2);
  std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  const bool is_env = !words.empty() && std::filesystem::path(words[0]).filename() == "env";
  if (is_env) words.erase(words.begin());
  if (is_env && !words.empty() && words[0] == "-S") words.erase(words.begin());
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

// The letters of the interpreter's own options: of "python3 -u -W error -IS train.py -E" they are u, I and S.
std::string OptionLetters(const std::vector<std::string>& argv) {
  std::string letters;
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.size() < 2 || word[0] != '-') break;
    if (word[1] == '-') continue;
    for (size_t at = 1; at < word.size(); ++at) {
      if (word[at] == 'c' || word[at] == 'm') return letters;
      if (word[at] == 'W' || word[at] == 'X') {
        if (at + 1 == word.size()) ++i;  // its value is the next word
        break;
      }
      letters += word[at];
    }
  }
  return letters;
}

}  // namespace

void AddOperatorsHook(const std::string& folder, Variables& variables) {
  variables.emplace_back(record::kOperators, "1");
  const char* present = getenv(kPythonPath);
  const std::string own = present == nullptr ? "" : present;
  if (own == folder || absl::StartsWith(own, folder + ":")) return;
  // Behind a last colon the working folder would be searched too.
  variables.emplace_back(kPythonPath, own.empty() ? folder : folder + ":" + own);
}

std::optional<std::string> HookHindrance(const std::vector<std::string>& argv) {
  const std::vector<std::string> words = WithInterpreter(argv);
  if (words.empty() || !IsPython(words[0])) return std::nullopt;
  for (const char letter : OptionLetters(words)) {
    if (letter == 'S') {
      return fmt::format("{} -S starts without `site`, which loads the start-up hook: leave -S out", words[0]);
    }
    if (letter == 'I' || letter == 'E') {
      return fmt::format("{} -{} ignores PYTHONPATH, where the start-up hook lies: leave -{} out", words[0], letter,
                         letter);
    }
  }
  return std::nullopt;
}

}  // namespace stallhound::cli
