#include "cli/child.h"

#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "base/clock.h"
#include "cli/elf_file.h"

extern char** environ;

namespace stallhound::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kGraceNs = 2 * kSecondNs;
constexpr int64_t kInterruptGraceNs = 5 * kSecondNs;
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
    for (const int signal : kForwarded) {
      struct sigaction current {};
      sigaction(signal, nullptr, &current);
      // One that is blocked waits for us even if it is ignored.
      if (current.sa_handler != SIG_IGN) sigaddset(&held_, signal);
    }
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

bool AsksToEnd(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

// Takes the end of a child that has ended.
void Reap(pid_t child, ChildEnd& end) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
}

// Leaves an ended child as it is, so that its number stays its own.
bool HasEnded(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

ChildEnd WaitForEnd(pid_t child, const sigset_t& signals) {
  ChildEnd end;
  while (!HasEnded(child)) {
    siginfo_t info{};
    const int signal = NextSignal(signals, std::nullopt, &info);
    if (signal == 0 || signal == SIGCHLD) continue;
    if (AsksToEnd(signal)) end.interrupt = signal;
    // A terminal sends its signals to every process in front of it: the child has its own already.
    if (info.si_code != SI_KERNEL) kill(child, signal);
  }
  Reap(child, end);
  return end;
}

// The same of the head of a process group.
ChildEnd WaitForEndOfGroup(pid_t head, const sigset_t& signals, std::optional<int64_t> timeout_ns) {
  ChildEnd end;
  std::optional<int64_t> until_ns;
  if (timeout_ns) until_ns = SystemClock().MonotonicNs() + *timeout_ns;
  const auto is_told = [&] { return end.timed_out || end.interrupt; };
  while (!HasEnded(head)) {
    if (until_ns && SystemClock().MonotonicNs() >= *until_ns) {
      kill(-head, is_told() ? SIGKILL : SIGTERM);
      end.timed_out = !end.interrupt;
      until_ns = SystemClock().MonotonicNs() + kGraceNs;
    }
    siginfo_t info{};
    const int signal = NextSignal(signals, until_ns, &info);
    if (signal == 0 || signal == SIGCHLD) continue;
    kill(-head, AsksToEnd(signal) && is_told() ? SIGKILL : signal);
    if (!AsksToEnd(signal)) continue;
    end.interrupt = signal;
    const int64_t patience_ns = SystemClock().MonotonicNs() + kInterruptGraceNs;
    until_ns = std::min(until_ns.value_or(patience_ns), patience_ns);
  }
  if (is_told()) kill(-head, SIGKILL);
  Reap(head, end);
  return end;
}

// What the child does between fork and its program; only what is safe there. Returns only if it failed, with errno.
void BecomeProgram(const char* program, char* const* argv, char* const* environment, const char* output_path,
                   const sigset_t& signals) {
  const int output = open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (output < 0 || input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(output, STDERR_FILENO) < 0) {
    return;
  }
  // What comes before exec must not end in a handler of ours.
  for (const int signal_number : kForwarded) {
    struct sigaction action {};
    sigaction(signal_number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) signal(signal_number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execve(program, argv, environment);
}

// What hinders execve, as the file shows it.
std::string WhyNoProgram(const std::string& path) {
  constexpr std::streamsize kReadBytes = 4096;
  std::string begin(kReadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), kReadBytes);
  begin.resize(static_cast<size_t>(file.gcount()));
  if (begin.empty()) return "the file is empty";
  if (const std::optional<ElfFacts> facts = ParseElf(begin)) {
    return fmt::format("it is an ELF file for {} ({} bits), or a damaged one, which this machine cannot run",
                       MachineName(facts->machine), facts->bits);
  }
  return "it is neither a program of this machine nor a script whose first line is #! and its interpreter";
}

// `error` is what execve and its like say of the file. None of it is a bug of ours.
absl::Status CannotStart(const std::string& name, int error) {
  const std::string action = fmt::format("starting '{}'", name);
  const std::string path = FindInPath(name).value_or(name);
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return absl::FailedPreconditionError(action + ": it is a folder");
  if (error == ENOEXEC) return absl::FailedPreconditionError(fmt::format("{}: {}", action, WhyNoProgram(path)));
  if (error == ENOENT && is_there) {
    return absl::NotFoundError(action + ": the interpreter that it names is not there");
  }
  const absl::Status known = absl::ErrnoToStatus(error, action);
  return absl::IsUnknown(known) ? absl::FailedPreconditionError(known.message()) : known;
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
  if (error != 0) return CannotStart(argv[0], error);
  return WaitForEnd(child, signals.held());
}

absl::StatusOr<ChildEnd> RunWatchedChild(const WatchedChild& watched) {
  const std::string action = fmt::format("starting '{}'", watched.argv[0]);
  const std::optional<std::string> program = FindInPath(watched.argv[0]);
  if (!program) return CannotStart(watched.argv[0], ENOENT);
  std::vector<std::string> arguments = watched.argv;
  std::vector<std::string> entries = EnvironmentWith(watched.variables);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> environment = Pointers(entries);
  int failure[2];  // gets errno, or ends with exec
  if (pipe2(failure, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, action);
  const SignalsHeld signals;
  const pid_t parent = getpid();
  // posix_spawn knows nothing of a parent's death.
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
      BecomeProgram(program->c_str(), argv.data(), environment.data(), watched.output_path.c_str(), signals.previous());
    }
    const int error = errno;
    _exit(write(failure[1], &error, sizeof error) == sizeof error ? kExitNotExecutable : kExitNotFound);
  }
  const int fork_error = errno;
  close(failure[1]);
  int error = 0;
  ssize_t count = 0;
  if (child > 0) {
    while ((count = read(failure[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
  }
  close(failure[0]);
  if (child < 0) return absl::ErrnoToStatus(fork_error, action);
  if (count == 0) return WaitForEndOfGroup(child, signals.held(), watched.timeout_ns);
  waitpid(child, nullptr, 0);
  return CannotStart(watched.argv[0], error);
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
  return WaitForEnd(child, signals.held());
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
