#include "cli/child.h"

#include <absl/strings/str_split.h>
#include <fcntl.h>
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

#include "base/clock.h"

extern char** environ;

namespace stallhound::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kGraceNs = 2 * kSecondNs;
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

// Waits for a signal, at most until `until_ns` if there is one. 0: none came.
int NextSignal(const sigset_t& signals, std::optional<int64_t> until_ns, siginfo_t* info) {
  if (!until_ns) return std::max(0, sigwaitinfo(&signals, info));
  const int64_t left_ns = std::max<int64_t>(0, *until_ns - SystemClock().MonotonicNs());
  const timespec left{static_cast<time_t>(left_ns / kSecondNs), static_cast<long>(left_ns % kSecondNs)};
  return std::max(0, sigtimedwait(&signals, info, &left));
}

ChildEnd WaitForEnd(pid_t child, const sigset_t& signals, std::optional<int64_t> timeout_ns) {
  ChildEnd end;
  std::optional<int64_t> until_ns;
  if (timeout_ns) until_ns = SystemClock().MonotonicNs() + *timeout_ns;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    if (until_ns && SystemClock().MonotonicNs() >= *until_ns) {
      kill(child, end.timed_out ? SIGKILL : SIGTERM);
      end.timed_out = true;
      *until_ns += kGraceNs;
    }
    siginfo_t info{};
    const int signal = NextSignal(signals, until_ns, &info);
    if (signal == 0 || signal == SIGCHLD) continue;
    if (signal != SIGUSR1 && signal != SIGUSR2) end.interrupt = signal;
    // A terminal sends its signals to every process in front of it: the child has its own already.
    if (info.si_code != SI_KERNEL) kill(child, signal);
  }
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace

absl::StatusOr<ChildEnd> RunChild(const std::vector<std::string>& argv, const Variables& variables) {
  return RunWatchedChild({.argv = argv, .variables = variables, .output_path = "", .timeout_ns = std::nullopt});
}

absl::StatusOr<ChildEnd> RunWatchedChild(const WatchedChild& watched) {
  std::vector<std::string> arguments = watched.argv;
  std::vector<std::string> entries = EnvironmentWith(watched.variables);
  const SignalsHeld signals;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!watched.output_path.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, watched.output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signals.previous());
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0].c_str(), &actions, &attributes, Pointers(arguments).data(),
                                 Pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, fmt::format("starting '{}'", watched.argv[0]));
  return WaitForEnd(child, signals.held(), watched.timeout_ns);
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
  return WaitForEnd(child, signals.held(), std::nullopt);
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
