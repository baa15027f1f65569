#include "cli/program_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/interrupt.h"

extern char** environ;

namespace stallhound::cli {
namespace {

constexpr int kPollMs = 100;

absl::StatusOr<pid_t> Start(std::vector<std::string> argv, int out_fd) {
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, fmt::format("starting '{}'", argv[0]));
  return child;
}

// Everything until the end of the stream.
absl::StatusOr<std::string> ReadUntilEnd(int fd, int64_t deadline_ns) {
  std::string output;
  char piece[4096];
  while (true) {
    SH_RETURN_IF_ERROR(CheckInterrupt());
    if (SystemClock().MonotonicNs() > deadline_ns) return absl::UnavailableError("it took too long");
    pollfd stream{fd, POLLIN, 0};
    if (poll(&stream, 1, kPollMs) <= 0) continue;
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count == 0) return output;
    if (count > 0) output.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace

absl::StatusOr<std::string> ProgramOutput(const std::vector<std::string>& argv, int64_t timeout_ns) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "making a pipe");
  const absl::StatusOr<pid_t> child = Start(argv, ends[1]);
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  absl::StatusOr<std::string> output = ReadUntilEnd(ends[0], SystemClock().MonotonicNs() + timeout_ns);
  close(ends[0]);
  if (!output.ok()) kill(*child, SIGKILL);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (absl::IsUnavailable(output.status())) {
    return absl::UnavailableError(fmt::format("running '{}': no end after {}", argv[0], FormatDuration(timeout_ns)));
  }
  SH_RETURN_IF_ERROR(output.status());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  return absl::InternalError(WIFEXITED(status)
                                 ? fmt::format("running '{}': it ended with code {}", argv[0], WEXITSTATUS(status))
                                 : fmt::format("running '{}': it was ended by signal {}", argv[0], WTERMSIG(status)));
}

}  // namespace stallhound::cli
