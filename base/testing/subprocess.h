#pragma once

// Runs a program to its end and keeps what it printed.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stallhound::testing {

struct SubprocessOptions {
  std::vector<std::string> argv;  // argv[0] is a path, or a name to be found in PATH
  // Added to, or put in place of, the test's own variables; a value of nullopt removes the variable.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  bool clear_environment = false;  // start with only those above
  std::string working_folder;      // empty: the test's
  std::string stdin_text;
  int timeout_ms = 30'000;  // then SIGKILL
  // Called often with what was printed so far, while the program runs: to send it a signal at the right moment.
  std::function<void(pid_t pid, const std::string& out, const std::string& err)> while_running;
};

struct SubprocessResult {
  std::optional<int> exit_code;  // nullopt: ended by `signal`
  std::optional<int> signal;
  bool timed_out = false;
  std::string out;
  std::string err;
};

SubprocessResult RunSubprocess(const SubprocessOptions& options);

// Writes what `packed`, a .zst file, holds to `path`, with the system's zstd. Returns whether that worked.
bool Unpack(const std::string& packed, const std::string& path);

}  // namespace stallhound::testing
