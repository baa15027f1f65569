#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessOptions;
using stallhound::testing::SubprocessResult;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

using Words = std::vector<std::string>;

class CompletionTest : public ::testing::Test {
 protected:
  std::string Script(const std::string& shell) {
    const SubprocessResult result = RunSubprocess(StallhoundOptions(folder_.File("home"), {"completion", shell}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder_.Write("stallhound." + shell, result.out);
  }

  // Lines that `shell` prints, in a folder that holds run.json and out/.
  Words RunShell(const Words& argv) {
    folder_.Write("work/run.json", "");
    folder_.Write("work/out/x", "");
    SubprocessOptions options;
    options.argv = argv;
    options.working_folder = folder_.File("work");
    const SubprocessResult result = RunSubprocess(options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    Words lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  static bool HasShell(const std::string& shell) {
    SubprocessOptions options;
    options.argv = {"sh", "-c", "command -v " + shell};
    return RunSubprocess(options).exit_code == 0;
  }

  // What bash offers at the end of the words, which are split as bash splits them.
  Words Bash(const Words& words) {
    const char* complete =
        "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _stallhound; "
        "printf '%s\\n' \"${COMPREPLY[@]}\"";
    Words argv = {"bash", "--norc", "-c", complete, "bash", Script("bash"), "stallhound"};
    argv.insert(argv.end(), words.begin(), words.end());
    return RunShell(argv);
  }

  Words Fish(const std::string& line) {
    Words offered;
    const std::string script = Script("fish");
    // Behind a tab stands the description.
    for (const std::string& text :
         RunShell({"fish", "--no-config", "-c", "source " + script + "; complete -C '" + line + "'"})) {
      offered.push_back(text.substr(0, text.find('\t')));
    }
    return offered;
  }

  stallhound::testing::TempDir folder_;
};

TEST_F(CompletionTest, BashOffersCommandsAndOptions) {
  EXPECT_THAT(Bash({"hu"}), ElementsAre("hunt"));
  EXPECT_THAT(Bash({""}), IsSupersetOf({"hunt", "explain", "prune", "config", "completion"}));
  EXPECT_THAT(Bash({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(Bash({"prune", "--"}),
              ElementsAre("--dry-run", "--help", "--keep", "--max-size", "--older-than", "--yes"));
  EXPECT_THAT(Bash({"nosuch", "--"}), IsEmpty());
}

TEST_F(CompletionTest, BashOffersChoicesFilesAndPrograms) {
  EXPECT_THAT(Bash({"hunt", "--mode", ""}), ElementsAre("default", "full", "light"));
  EXPECT_THAT(Bash({"hunt", "--mode", "=", "li"}), ElementsAre("light"));
  EXPECT_THAT(Bash({"hunt", "--mode", "="}), ElementsAre("default", "full", "light"));
  EXPECT_THAT(Bash({"config", "--format", "j"}), ElementsAre("json"));
  EXPECT_THAT(Bash({"completion", ""}), ElementsAre("bash", "fish", "zsh"));
  EXPECT_THAT(Bash({"counts", "--output", ""}), ElementsAre("out", "run.json"));
  EXPECT_THAT(Bash({"counts", "r"}), ElementsAre("run.json"));
  EXPECT_THAT(Bash({"ab", ""}), ElementsAre("out", "run.json"));
  EXPECT_THAT(Bash({"config", "bench.ro"}), ElementsAre("bench.round-timeout", "bench.rounds"));
  EXPECT_THAT(Bash({"config", "gate"}), IsSupersetOf({"gate", "gate.q", "gate.budget", "gate.budget.ratio"}));
  EXPECT_THAT(Bash({"explain", "one-"}), ElementsAre("one-hot"));
  EXPECT_THAT(Bash({"prune", "--keep", ""}), IsEmpty());
  EXPECT_THAT(Bash({"hunt", "--", "ba"}), Contains("bash"));
  EXPECT_THAT(Bash({"hunt", "--mode", "light", "--", "bash", "--"}), IsEmpty());
  EXPECT_THAT(Bash({"hunt", "--", "bash", "ru"}), ElementsAre("run.json"));
  EXPECT_THAT(Bash({"prune", "--", "ba"}), IsEmpty());
}

TEST_F(CompletionTest, BashKnowsEveryOptionThatHelpNames) {
  for (const std::string& command : Bash({""})) {
    const std::string help = RunSubprocess(StallhoundOptions(folder_.File("home"), {command, "--help"})).out;
    const Words offered = Bash({command, "--"});
    EXPECT_THAT(offered, Contains("--help")) << command;
    for (const std::string& option : offered) EXPECT_THAT(help, HasSubstr(option));
    for (const std::string& line : Words(absl::StrSplit(help, '\n'))) {
      if (!line.starts_with("  --")) continue;
      const std::string option = line.substr(2, line.find_first_of(" ,", 2) - 2);
      EXPECT_THAT(offered, Contains(option)) << command;
    }
  }
}

TEST_F(CompletionTest, BashRegistersIt) {
  EXPECT_THAT(RunShell({"bash", "--norc", "-c", "source " + Script("bash") + "; complete -p stallhound"}),
              ElementsAre("complete -F _stallhound stallhound"));
}

TEST_F(CompletionTest, Fish) {
  if (!HasShell("fish")) GTEST_SKIP() << "there is no fish on this machine";
  EXPECT_THAT(Fish("stallhound hu"), ElementsAre("hunt"));
  EXPECT_THAT(Fish("stallhound hunt --mode "), ElementsAre("default", "full", "light"));
  EXPECT_THAT(Fish("stallhound prune --"), IsSupersetOf({"--dry-run", "--keep", "--older-than", "--yes"}));
  EXPECT_THAT(Fish("stallhound completion "), ElementsAre("bash", "fish", "zsh"));
  EXPECT_THAT(Fish("stallhound counts "), IsSupersetOf({"out/", "run.json"}));
  EXPECT_THAT(Fish("stallhound ab "), IsSupersetOf({"out/", "run.json"}));
  EXPECT_THAT(Fish("stallhound explain one-"), ElementsAre("one-hot"));
  EXPECT_THAT(Fish("stallhound prune "), Not(Contains("run.json")));
  EXPECT_THAT(Fish("stallhound hunt -- bas"), Contains("bash"));
}

// Its completion needs a terminal; here the functions that it calls print what they were asked.
TEST_F(CompletionTest, Zsh) {
  if (!HasShell("zsh")) GTEST_SKIP() << "there is no zsh on this machine";
  const std::string stubs =
      "compdef() { print -r -- compdef $@ }; _describe() { print -rl -- $subcommands }; _normal() { print normal "
      "$words "
      "}\n"
      "_arguments() { print -rl -- \"$@\"; state=$next }\n";
  const auto zsh = [&](const std::string& state, const std::string& words) {
    return RunShell({"zsh", "-f", "-c",
                     stubs + "source " + Script("zsh") + "; next=" + state + "; words=(" + words +
                         "); CURRENT=$#words; _stallhound"});
  };
  EXPECT_THAT(zsh("command", "stallhound"),
              IsSupersetOf({"compdef _stallhound stallhound", "prune:Remove old captures"}));
  const Words hunt = zsh("argument", "hunt ''");
  EXPECT_THAT(hunt, Contains(HasSubstr("--mode=[")));
  EXPECT_THAT(hunt, Contains(HasSubstr(":MODE:(light default full)")));
  EXPECT_THAT(hunt, Contains(HasSubstr(":FILE:_files")));
  EXPECT_THAT(zsh("argument", "hunt -- ba"), Contains("normal ba"));
  EXPECT_THAT(zsh("argument", "completion ''"), Contains("1:shell:(bash zsh fish)"));
  EXPECT_THAT(zsh("argument", "ab ''"), Contains("*:BUILD_B:_files"));
  EXPECT_THAT(zsh("argument", "explain ''"), Contains(HasSubstr(" one-hot ")));
}

}  // namespace
}  // namespace stallhound::cli
