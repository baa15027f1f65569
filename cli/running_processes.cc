#include "cli/running_processes.h"

#include <absl/strings/numbers.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace stallhound::cli {
namespace {

constexpr int kPatienceRounds = 50;
constexpr int kRoundUs = 20'000;

}  // namespace

std::vector<pid_t> ProcessesWith(const std::string& variable, const std::string& value) {
  // Entries end with a NUL; the first has none before it.
  const std::string entry = '\0' + variable + "=" + value + '\0';
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(it->path().filename().string(), &pid) || pid == getpid()) continue;
    const absl::StatusOr<std::string> environment = ReadFile(it->path() / "environ");
    if (environment.ok() && ('\0' + *environment + '\0').find(entry) != std::string::npos) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<pid_t> ProcessesLeftWith(const std::string& variable, const std::string& value) {
  std::vector<pid_t> found = ProcessesWith(variable, value);
  // A process that just becomes another program (exec) has no environment for a moment: seeing none once proves
  // nothing.
  bool is_none_left = false;
  for (int round = 0; round < kPatienceRounds && !is_none_left; ++round) {
    usleep(kRoundUs);
    std::vector<pid_t> still = ProcessesWith(variable, value);
    is_none_left = found.empty() && still.empty();
    found = std::move(still);
  }
  return found;
}

}  // namespace stallhound::cli
