// What changes when a terminal watches: signals come from it, colour and progress go to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/testing/golden.h"
#include "base/testing/temp_dir.h"

namespace stallhound::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCtrlC = 3;
constexpr int kTimeoutMs = 20'000;

struct TerminalResult {
  std::string text;  // both streams, as a terminal shows them
  int status = 0;    // as waitpid gives it
};

class TerminalTest : public ::testing::Test {
 protected:
  // Runs the binary on a terminal of its own; presses Ctrl-C once `press_after` was printed.
  TerminalResult Run(std::vector<std::string> arguments, const std::string& press_after = "") {
    arguments.insert(arguments.begin(), stallhound::testing::DataPath("cli/stallhound"));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      setenv("STALLHOUND_HOME", folder_.File("home").c_str(), 1);
      setenv("TERM", "xterm", 1);
      unsetenv("CUDA_INJECTION64_PATH");
      unsetenv("NVTX_INJECTION64_PATH");
      execv(argv[0], argv.data());
      _exit(127);
    }
    TerminalResult result;
    bool is_pressed = press_after.empty();
    char piece[1024];
    pollfd stream{terminal, POLLIN, 0};
    while (true) {
      const bool is_stuck = poll(&stream, 1, kTimeoutMs) <= 0;
      EXPECT_FALSE(is_stuck) << result.text;
      if (is_stuck) kill(child, SIGKILL);
      const ssize_t count = is_stuck ? 0 : read(terminal, piece, sizeof(piece));
      if (count <= 0) break;
      result.text.append(piece, static_cast<size_t>(count));
      if (is_pressed || result.text.find(press_after) == std::string::npos) continue;
      is_pressed = write(terminal, &kCtrlC, 1) == 1;
    }
    waitpid(child, &result.status, 0);
    close(terminal);
    return result;
  }

  stallhound::testing::TempDir folder_;
};

TEST_F(TerminalTest, CtrlCReachesTheProgramOnce) {
  const std::string script =
      folder_.Write("count.sh",
                    "#!/bin/sh\nn=0\ntrap 'n=$((n+1))' INT\necho ready\n"
                    "while [ $n = 0 ]; do sleep 0.01; done\nsleep 0.05\necho \"signals: $n\"\nexit 6\n",
                    0755);
  const TerminalResult result = Run({"hunt", "--", script}, "ready");
  EXPECT_THAT(result.text, HasSubstr("signals: 1"));
  ASSERT_TRUE(WIFEXITED(result.status));
  EXPECT_EQ(WEXITSTATUS(result.status), 6);
}

TEST_F(TerminalTest, CtrlCThatEndsTheProgramEndsUs) {
  const TerminalResult result = Run({"hunt", "--", "sh", "-c", "echo ready; exec sleep 20"}, "ready");
  ASSERT_TRUE(WIFSIGNALED(result.status));
  EXPECT_EQ(WTERMSIG(result.status), SIGINT);
}

TEST_F(TerminalTest, ColourIsForTerminalsAndCanBeRefused) {
  unsetenv("NO_COLOR");
  EXPECT_THAT(Run({"hunt", "--", "true"}).text, HasSubstr("\x1b[33mwarning:\x1b[0m"));
  setenv("NO_COLOR", "1", 1);
  EXPECT_THAT(Run({"hunt", "--", "true"}).text, Not(HasSubstr("\x1b[")));
}

TEST_F(TerminalTest, PruneAsks) {
  const std::string capture = folder_.Write("home/20260101-000000-aaaa0000.stallhound", "x");
  const TerminalResult result = Run({"prune", "--keep", "0"}, "[y/N]");
  EXPECT_THAT(result.text, HasSubstr("Remove 1 recording (1 B)?"));
  ASSERT_TRUE(WIFSIGNALED(result.status));
  EXPECT_EQ(access(capture.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace stallhound::cli
