#include "capture/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "capture/spool/format.h"

namespace stallhound::capture::spool {
namespace {

// Large steps keep the file in few pieces; the small ones let the last megabytes of a disk be used.
constexpr uint64_t kExtentBytes[] = {4u << 20, 1u << 20, 0};

int PosixAllocate(int fd, int64_t offset, int64_t bytes) { return posix_fallocate(fd, offset, bytes); }

// mkdir -p. `path` is changed while it runs and whole again afterwards.
bool MakeDirectories(char* path) {
  for (char* slash = strchr(path + 1, '/'); slash != nullptr; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    // What exists may refuse mkdir in other ways than EEXIST (read-only or foreign file systems).
    const bool there = mkdir(path, 0700) == 0 || errno == EEXIST || access(path, F_OK) == 0;
    *slash = '/';
    if (!there) return false;
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

// Writing past RLIMIT_FSIZE raises SIGXFSZ, so the spool stays below it.
uint64_t CapByLimits(uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    bytes = std::min<uint64_t>(bytes, limit.rlim_cur);
  }
  return bytes / kUnitBytes * kUnitBytes;
}

}  // namespace

bool SpoolFile::Create(const char* directory, const uint8_t (&uuid)[16], uint64_t first_bytes, uint64_t max_bytes,
                       AllocateFunction allocate) noexcept {
  allocate_ = allocate != nullptr ? allocate : PosixAllocate;
  char folder[PATH_MAX];
  char whole[PATH_MAX];
  if (directory[0] == '\0' || strlen(directory) >= sizeof(folder)) return false;
  strcpy(folder, directory);
  // Absolute: the program may change its working directory before the file grows.
  if (!MakeDirectories(folder) || realpath(folder, whole) == nullptr) return false;
  char name[33];
  for (int i = 0; i < 16; ++i) snprintf(name + 2 * i, 3, "%02x", uuid[i]);
  const int length =
      snprintf(path_, sizeof(path_), "%s/stallhound-%d-%s%s", whole, static_cast<int>(getpid()), name, kFileSuffix);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path_)) return false;
  const int fd = open(path_, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  struct stat status {};
  bool ok = fstat(fd, &status) == 0;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  max_bytes = CapByLimits(max_bytes);
  ok = ok && max_bytes >= first_bytes && allocate_(fd, 0, static_cast<int64_t>(first_bytes)) == 0;
  // An address-space limit may forbid the whole mapping: a smaller spool is better than none.
  for (; ok && max_bytes >= first_bytes; max_bytes = max_bytes / 2 / kUnitBytes * kUnitBytes) {
    void* base = mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED) continue;
    base_ = static_cast<uint8_t*>(base);
    break;
  }
  close(fd);
  if (base_ == nullptr) {
    unlink(path_);
    return false;
  }
  mapped_bytes_ = max_bytes;
  reserved_bytes_ = first_bytes;
  return true;
}

int SpoolFile::OpenAgain() const noexcept {
  const int fd = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat status {};
  if (fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) return fd;
  close(fd);
  errno = ENOENT;
  return -1;
}

ReserveResult SpoolFile::Reserve(uint64_t end_bytes) noexcept {
  if (end_bytes <= reserved_bytes_) return ReserveResult::kReserved;
  if (end_bytes > mapped_bytes_) return ReserveResult::kLimit;
  const int fd = OpenAgain();
  if (fd < 0) return errno == EMFILE || errno == ENFILE ? ReserveResult::kTryAgain : ReserveResult::kDiskFull;
  ReserveResult result = ReserveResult::kDiskFull;
  for (uint64_t extent : kExtentBytes) {
    const uint64_t end = std::min(std::max(end_bytes, reserved_bytes_ + extent), mapped_bytes_);
    int error = EINTR;
    while (error == EINTR) {
      error = allocate_(fd, static_cast<int64_t>(reserved_bytes_), static_cast<int64_t>(end - reserved_bytes_));
    }
    if (error != 0) continue;
    reserved_bytes_ = end;
    result = ReserveResult::kReserved;
    break;
  }
  close(fd);
  return result;
}

void SpoolFile::Shrink(uint64_t end_bytes) noexcept {
  if (end_bytes >= reserved_bytes_) return;
  const int fd = OpenAgain();
  if (fd < 0) return;
  if (ftruncate(fd, static_cast<off_t>(end_bytes)) == 0) reserved_bytes_ = end_bytes;
  close(fd);
}

void SpoolFile::Forget() noexcept {
  if (base_ != nullptr) {
    // Whoever still holds a pointer (CUPTI's buffers, at the child's exit) must neither fault nor write into the
    // parent's file.
    (void)mmap(base_, reserved_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
               -1, 0);
    const uint64_t rest = mapped_bytes_ - reserved_bytes_;
    if (rest != 0) munmap(base_ + reserved_bytes_, rest);
  }
  base_ = nullptr;
  mapped_bytes_ = 0;
  reserved_bytes_ = 0;
  path_[0] = '\0';
}

void SpoolFile::Unmap() noexcept {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
  base_ = nullptr;
  mapped_bytes_ = 0;
  reserved_bytes_ = 0;
}

}  // namespace stallhound::capture::spool
