#pragma once

// The profiled program as a child process: its streams are ours, its signals are passed on, its end is ours to copy.

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/recording_options.h"

namespace stallhound::cli {

inline constexpr int kExitNotExecutable = 126;  // as shells, env and timeout say it
inline constexpr int kExitNotFound = 127;

struct ChildEnd {
  std::optional<int> exit_code;  // exactly one of the two is set
  std::optional<int> signal;
  bool timed_out = false;  // ended by WatchedChild::timeout_ns
  // SIGINT, SIGTERM, SIGHUP or SIGQUIT if it came to us meanwhile; passed on as RunChild says.
  std::optional<int> interrupt = std::nullopt;
};

// Runs `argv` (argv[0] is looked up in PATH) with our environment and `variables` set, and waits for its end. Passes on
// SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2, but for those that a terminal sends to the child itself, and
// those that we were started to ignore, as by nohup. What is sent to our whole group reaches the child twice: the
// kernel says the same of a signal to us alone. Errors if it can't be started: NotFound, PermissionDenied,
// FailedPrecondition (a folder, or what this machine cannot run).
absl::StatusOr<ChildEnd> RunChild(const std::vector<std::string>& argv, const Variables& variables);

struct WatchedChild {
  std::vector<std::string> argv;
  Variables variables;
  std::string output_path;            // where both its streams go
  std::optional<int64_t> timeout_ns;  // then SIGTERM, and two seconds later SIGKILL; unset: none
};

// As RunChild, but nothing of it outlives its limit of time, an interrupt or us: it is the head of a process group of
// its own, which gets what is sent, a terminal's signals too. SIGKILL follows the first of SIGINT, SIGTERM, SIGHUP and
// SIGQUIT after five seconds or at the second; it also goes to what is left of the group when the child has ended by
// any of that. The child, though not what it started, gets SIGKILL when we die. Its input is empty. Errors also: what
// opening the output gives.
absl::StatusOr<ChildEnd> RunWatchedChild(const WatchedChild& child);

// Runs `work` in a forked copy of this process, whose exit code it returns, so that a crash in it is not ours. Waits
// and passes on signals as RunChild does. Call from a process of one thread, with flushed streams.
ChildEnd RunForked(const std::function<int()>& work);

// The file that `name` starts, as execvp finds it.
std::optional<std::string> FindInPath(const std::string& name);

}  // namespace stallhound::cli
