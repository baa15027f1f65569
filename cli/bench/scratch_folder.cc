#include "cli/bench/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "stallhound-bench-";
constexpr int64_t kLeastAgeS = 60;  // a younger one may not be locked yet
constexpr int64_t kSecondNs = 1'000'000'000;

int OpenFolder(const std::string& path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

// Whether it is ours and its process is gone.
bool IsStale(int folder) {
  struct stat status {};
  if (fstat(folder, &status) != 0 || status.st_uid != geteuid()) return false;
  const int64_t age_s = SystemClock().RealtimeNs() / kSecondNs - status.st_mtim.tv_sec;
  return age_s >= kLeastAgeS && flock(folder, LOCK_EX | LOCK_NB) == 0;
}

void RemoveStaleFolders(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(kPrefix)) continue;
    const int folder = OpenFolder(it->path());
    if (folder < 0) continue;
    std::error_code ignored;
    if (IsStale(folder)) fs::remove_all(it->path(), ignored);
    close(folder);
  }
}

}  // namespace

absl::StatusOr<ScratchFolder> ScratchFolder::Create() {
  const char* variable = getenv("TMPDIR");
  const std::string parent = variable != nullptr && *variable != '\0' ? variable : "/tmp";
  RemoveStaleFolders(parent);
  std::string path = fmt::format("{}/{}XXXXXX", parent, kPrefix);
  if (mkdtemp(path.data()) == nullptr) {
    return EnvironmentError(
        fmt::format("making the folder '{}' for the bench's results: {} (hint: TMPDIR names another place)", path,
                    strerror(errno)));
  }
  const int lock = OpenFolder(path);
  if (lock >= 0) flock(lock, LOCK_EX | LOCK_NB);
  return ScratchFolder(std::move(path), lock);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::exchange(other.lock_, -1)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace stallhound::cli
