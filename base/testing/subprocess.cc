#include "base/testing/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/clock.h"

extern char** environ;

namespace stallhound::testing {
namespace {

constexpr int kPollMs = 10;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  return {ends[0], ends[1]};
}

std::vector<std::string> Environment(const SubprocessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; !options.clear_environment && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.environment) {
    if (value) {
      variables[name] = *value;
    } else {
      variables.erase(name);
    }
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What is there now; false at the end of the stream.
bool Drain(int fd, std::string& text) {
  char piece[4096];
  while (true) {
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count > 0) {
      text.append(piece, static_cast<size_t>(count));
      continue;
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

// Reads both streams until the program has ended. A grandchild may hold them open longer; it is not waited for.
int Communicate(const SubprocessOptions& options, pid_t pid, int out_fd, int err_fd, SubprocessResult& result) {
  const int64_t deadline_ns = SystemClock().MonotonicNs() + options.timeout_ms * int64_t{1'000'000};
  pollfd streams[] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
  int status = 0;
  bool has_ended = false;
  while (!has_ended) {
    poll(streams, 2, kPollMs);
    has_ended = waitpid(pid, &status, WNOHANG) == pid;
    if (!Drain(out_fd, result.out)) streams[0].fd = -1;
    if (!Drain(err_fd, result.err)) streams[1].fd = -1;
    if (has_ended) break;
    if (options.while_running) options.while_running(pid, result.out, result.err);
    if (!result.timed_out && SystemClock().MonotonicNs() > deadline_ns) {
      result.timed_out = true;
      kill(pid, SIGKILL);
    }
  }
  return status;
}

}  // namespace

SubprocessResult RunSubprocess(const SubprocessOptions& options) {
  const Pipe in = MakePipe();
  const Pipe out = MakePipe();
  const Pipe err = MakePipe();
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> variables = Environment(options);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(variables);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in.read_end, STDIN_FILENO);
    dup2(out.write_end, STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    if (!options.working_folder.empty() && chdir(options.working_folder.c_str()) != 0) _exit(126);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  // A program that does not read its input must not end the test by SIGPIPE.
  const auto previous = signal(SIGPIPE, SIG_IGN);
  const ssize_t written = write(in.write_end, options.stdin_text.data(), options.stdin_text.size());
  EXPECT_TRUE(written >= 0 || errno == EPIPE);
  close(in.write_end);
  signal(SIGPIPE, previous);
  fcntl(out.read_end, F_SETFL, O_NONBLOCK);
  fcntl(err.read_end, F_SETFL, O_NONBLOCK);
  SubprocessResult result;
  const int status = Communicate(options, pid, out.read_end, err.read_end, result);
  close(out.read_end);
  close(err.read_end);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

bool Unpack(const std::string& packed, const std::string& path) {
  SubprocessOptions options;
  options.argv = {"zstd", "-dqf", packed, "-o", path};
  return RunSubprocess(options).exit_code == 0;
}

}  // namespace stallhound::testing
