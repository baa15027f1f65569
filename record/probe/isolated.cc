#include "record/probe/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace stallhound::record {
namespace {

[[noreturn]] void RunStep(std::string (*step)(const void* context), const void* context, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nowhere = open("/dev/null", O_RDWR);
  if (nowhere >= 0) {
    for (int stream = 0; stream < 3; ++stream) dup2(nowhere, stream);
  }
  const std::string text = step(context);
  for (size_t at = 0; at < text.size();) {
    const ssize_t bytes = write(pipe, text.data() + at, text.size() - at);
    if (bytes <= 0) _exit(1);
    at += static_cast<size_t>(bytes);
  }
  // Without exit handlers: those of the libraries that the step loaded may crash or hang too.
  _exit(0);
}

int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// False when the time is over before the pipe was closed.
bool ReadAll(int pipe, int64_t deadline_ms, std::string& text) {
  for (;;) {
    const int64_t left_ms = deadline_ms - NowMs();
    pollfd entry = {pipe, POLLIN, 0};
    if (left_ms <= 0 || poll(&entry, 1, static_cast<int>(left_ms)) <= 0) return false;
    char buffer[4096];
    const ssize_t bytes = read(pipe, buffer, sizeof(buffer));
    if (bytes <= 0) return true;
    text.append(buffer, static_cast<size_t>(bytes));
  }
}

}  // namespace

IsolatedResult RunIsolated(std::string (*step)(const void* context), const void* context, int timeout_s) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {IsolatedEnd::kNotStarted, ""};
  const pid_t child = fork();
  if (child == 0) RunStep(step, context, ends[1]);
  close(ends[1]);
  IsolatedResult result{IsolatedEnd::kNotStarted, ""};
  if (child > 0) {
    const bool was_closed = ReadAll(ends[0], NowMs() + int64_t{timeout_s} * 1000, result.text);
    if (!was_closed) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    const bool is_fine = was_closed && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    result.end = !was_closed ? IsolatedEnd::kTimedOut : is_fine ? IsolatedEnd::kFine : IsolatedEnd::kCrashed;
    if (!is_fine) result.text.clear();
  }
  close(ends[0]);
  return result;
}

}  // namespace stallhound::record
