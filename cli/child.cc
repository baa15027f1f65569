#include "cli/child.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

extern char** environ;

namespace stallhound::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::vector<std::string> EnvironmentWith(const Variables& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_replaced =
        std::any_of(variables.begin(), variables.end(), [&](const auto& variable) { return variable.first == name; });
    if (!is_replaced) entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Blocks the forwarded signals and SIGCHLD while it lives, so that they wait for WaitForEnd.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigemptyset(&held_);
    for (const int signal : kForwarded) sigaddset(&held_, signal);
    sigaddset(&held_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &held_, &previous_);
    // Ignored by our parent, it would take the child's end from us.
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &previous_child_action_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  ~SignalsHeld() {
    sigaction(SIGCHLD, &previous_child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &previous_, nullptr);
  }
  const sigset_t& held() const { return held_; }
  const sigset_t& previous() const { return previous_; }

 private:
  sigset_t held_;
  sigset_t previous_;
  struct sigaction previous_child_action_ {};
};

int WaitForEnd(pid_t child, const sigset_t& signals) {
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    siginfo_t info{};
    const int signal = sigwaitinfo(&signals, &info);
    // A terminal sends its signals to every process in front of it: the child has its own already.
    const bool is_terminals = info.si_code == SI_KERNEL;
    if (signal > 0 && signal != SIGCHLD && !is_terminals) kill(child, signal);
  }
}

ChildEnd EndOf(int status) {
  ChildEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace

absl::StatusOr<ChildEnd> RunChild(const std::vector<std::string>& argv, const Variables& variables) {
  std::vector<std::string> arguments = argv;
  std::vector<std::string> entries = EnvironmentWith(variables);
  const SignalsHeld signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signals.previous());
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0].c_str(), nullptr, &attributes, Pointers(arguments).data(),
                                 Pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, fmt::format("starting '{}'", argv[0]));
  return EndOf(WaitForEnd(child, signals.held()));
}

ChildEnd RunForked(const std::function<int()>& work) {
  const SignalsHeld signals;
  const pid_t child = fork();
  if (child < 0) return {work(), std::nullopt};
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &signals.previous(), nullptr);
    const int exit_code = work();
    fflush(nullptr);
    _exit(exit_code);
  }
  return EndOf(WaitForEnd(child, signals.held()));
}

std::optional<std::string> FindInPath(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path != nullptr ? path : "/bin:/usr/bin", ':')) {
    const std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    struct stat status {};
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace stallhound::cli
