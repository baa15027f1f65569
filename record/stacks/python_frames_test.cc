// Runs testdata/frames.py under every CPython of this machine: PATH, ~/.pyenv/versions, /usr/bin and /usr/local/bin.

#include <glob.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Outcome {
  int exit_status;
  std::string output;
};

// Runs `command` in a shell; `timeout` ends it after 60 s, as a hang is what some scenarios look for.
Outcome RunCommand(const std::string& command) {
  FILE* pipe = popen(("timeout 60 " + command + " 2>&1").c_str(), "r");
  Outcome outcome{-1, ""};
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, count);
  outcome.exit_status = pclose(pipe);
  return outcome;
}

std::vector<std::string> Match(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::vector<std::string> CandidatePaths() {
  std::vector<std::string> folders = {"/usr/bin", "/usr/local/bin"};
  const char* path = getenv("PATH");
  std::stringstream stream(path != nullptr ? path : "");
  for (std::string folder; std::getline(stream, folder, ':');) folders.push_back(folder);
  const passwd* user = getpwuid(getuid());
  if (user != nullptr) folders.push_back(std::string(user->pw_dir) + "/.pyenv/versions/*/bin");
  std::vector<std::string> candidates;
  for (const std::string& folder : folders) {
    for (const char* name : {"/python3", "/python3.[0-9]", "/python3.[0-9][0-9]", "/python3.[0-9][0-9]t"}) {
      for (const std::string& match : Match(folder + name)) candidates.push_back(match);
    }
  }
  return candidates;
}

// Interpreters by version ("3.14t" for a free-threaded one), each once.
const std::map<std::string, std::vector<std::string>>& Interpreters() {
  static const auto* found = [] {
    auto* result = new std::map<std::string, std::vector<std::string>>;
    std::map<std::string, bool> seen;
    for (const std::string& candidate : CandidatePaths()) {
      const Outcome outcome =
          RunCommand("'" + candidate +
                     "' -I -c \"import sys, os, ctypes, sysconfig; print('%d.%d%s' % (sys.version_info[0], "
                     "sys.version_info[1], 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''), "
                     "os.path.realpath(sys.executable))\"");
      std::stringstream words(outcome.output);
      std::string version;
      std::string executable;
      if (outcome.exit_status != 0 || !(words >> version >> executable) || seen[executable]) continue;
      seen[executable] = true;
      (*result)[version].push_back(executable);
    }
    return result;
  }();
  return *found;
}

std::string Runfile(const std::string& name) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/record/stacks/" + name;
}

class PythonFrames : public testing::TestWithParam<const char*> {};

TEST_P(PythonFrames, AreWhatTheInterpreterSays) {
  const auto found = Interpreters().find(GetParam());
  if (found == Interpreters().end()) GTEST_SKIP() << "no CPython " << GetParam() << " with ctypes on this machine";
  for (const std::string& interpreter : found->second) {
    for (const char* scenario : {"plain", "through_c", "executed", "reused", "collected", "threads", "repeated",
                                 "truncated", "allocator_lock", "at_exit", "daemon_at_exit", "finalized"}) {
      SCOPED_TRACE(interpreter + " " + scenario);
      const Outcome outcome = RunCommand("'" + interpreter + "' -I '" + Runfile("testdata/frames.py") + "' '" +
                                         Runfile("testdata/frames_library.so") + "' " + scenario);
      EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
      EXPECT_EQ(outcome.output, "ok\n");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryVersion, PythonFrames,
                         testing::Values("3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[1] = '_';
                           return name;
                         });

}  // namespace
