#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/status_macros.h"

namespace stallhound {
namespace {

absl::Status Errno(std::string_view action, std::string_view path, int error) {
  return absl::ErrnoToStatus(error, fmt::format("{} '{}'", action, path));
}

// Not a temporary folder's: rename works only within one file system. mkstemp's mode is 0600 whatever the umask.
mode_t DefaultMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// What writing to a path means: to which file, with which mode, or straight into what is no regular file.
struct Target {
  std::string path;
  mode_t mode = 0;
  bool is_special = false;
};

// A link that leads to nothing yet is followed too, as the shell's > does.
absl::StatusOr<Target> TargetOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return Errno("writing", path, EISDIR);
    if (!S_ISREG(status.st_mode)) return Target{.path = path, .is_special = true};
    char* resolved = realpath(path.c_str(), nullptr);
    if (resolved == nullptr) return Errno("resolving", path, errno);
    Target target{.path = resolved, .mode = status.st_mode & 07777};
    free(resolved);
    return target;
  }
  if (errno != ENOENT) return Errno("writing", path, errno);
  std::filesystem::path current = path;
  std::error_code error;
  while (std::filesystem::is_symlink(current, error)) {
    const std::filesystem::path next = std::filesystem::read_symlink(current, error);
    if (error) return Errno("resolving", path, error.value());
    current = current.parent_path() / next;
  }
  return Target{.path = current, .mode = DefaultMode()};
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Errno("opening", path, errno);
  std::string content;
  char piece[64 * 1024];
  while (true) {
    const ssize_t count = read(fd, piece, sizeof(piece));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(fd);
      return Errno("reading", path, error);
    }
    if (count == 0) break;
    content.append(piece, static_cast<size_t>(count));
    if (content.size() > most_bytes) {
      close(fd);
      return absl::OutOfRangeError(fmt::format("reading '{}': it has more than {} bytes", path, most_bytes));
    }
  }
  close(fd);
  return content;
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content) {
  SH_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SH_RETURN_IF_ERROR(file.Write(content));
  return file.Commit();
}

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, status.st_size,
                      status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

bool IsSameFile(const std::string& a, const std::string& b) {
  const std::optional<FileIdentity> first = IdentityOf(a), second = IdentityOf(b);
  return first && second && first->device == second->device && first->inode == second->inode;
}

absl::Status CheckWritable(const std::string& path) {
  SH_ASSIGN_OR_RETURN(const Target target, TargetOf(path));
  if (target.is_special) {
    if (access(target.path.c_str(), W_OK) == 0) return absl::OkStatus();
    return Errno("writing", path, errno);
  }
  const std::string folder = std::filesystem::path(target.path).parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return Errno("creating a file beside", path, errno);
}

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  SH_ASSIGN_OR_RETURN(Target target, TargetOf(path));
  if (target.is_special) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return Errno("opening", path, errno);
    return AtomicFile(path, "", fd);
  }
  std::string temporary_path = target.path + ".XXXXXX";
  const int fd = mkostemp(temporary_path.data(), O_CLOEXEC);
  if (fd < 0) return Errno("creating a file beside", path, errno);
  fchmod(fd, target.mode);
  return AtomicFile(std::move(target.path), std::move(temporary_path), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary_path, int fd)
    : path_(std::move(path)), temporary_path_(std::move(temporary_path)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

absl::Status AtomicFile::Write(std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t count = write(fd_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed("writing", errno);
    piece.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  const bool is_special = temporary_path_.empty();
  if (!is_special && fsync(fd_) != 0) return Failed("syncing", errno);
  if (close(std::exchange(fd_, -1)) != 0) return Failed("closing", errno);
  if (is_special) return absl::OkStatus();
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0) return Failed("renaming to", errno);
  temporary_path_.clear();
  return absl::OkStatus();
}

absl::Status AtomicFile::Failed(std::string_view action, int error) const { return Errno(action, path_, error); }

absl::Status MakeFolders(const std::string& path, unsigned mode) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return Errno("making the folder", part, errno);
    if (end == std::string::npos) break;
  }
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return Errno("making the folder", path, errno);
  if (!S_ISDIR(status.st_mode)) return Errno("making the folder", path, ENOTDIR);
  return absl::OkStatus();
}

}  // namespace stallhound
