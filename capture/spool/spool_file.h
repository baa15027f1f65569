#pragma once

// The file under a spool: created private, grown by reserving disk space before anything is written to it, and mapped
// once at its largest size. std only, no exceptions, no allocation. Not thread-safe: SpoolWriter serialises.

#include <limits.h>

#include <cstdint>

namespace stallhound::capture::spool {

// posix_fallocate's contract; a seam through which tests inject a full disk.
using AllocateFunction = int (*)(int fd, int64_t offset, int64_t bytes);

enum class ReserveResult {
  kReserved,
  kDiskFull,  // no space, or the file can no longer be reached
  kLimit,     // the spool's size limit
  kTryAgain,  // no file descriptor free at this moment
};

class SpoolFile {
 public:
  // Creates `directory` (mode 0700, with its parents) and in it stallhound-<pid>-<uuid>.spool (mode 0600), reserves
  // `first_bytes` and maps up to `max_bytes`. Less than `max_bytes` is mapped where limits of the process forbid more.
  // False: nothing was left behind. `allocate` null: posix_fallocate.
  bool Create(const char* directory, const uint8_t (&uuid)[16], uint64_t first_bytes, uint64_t max_bytes,
              AllocateFunction allocate) noexcept;

  // Makes [0, end_bytes) safe to write. Reserves more than asked where the disk allows. No descriptor is held between
  // calls: programs close descriptors that they did not open, and reuse their numbers.
  ReserveResult Reserve(uint64_t end_bytes) noexcept;

  // Gives back what was reserved behind `end_bytes`; the mapping stays.
  void Shrink(uint64_t end_bytes) noexcept;

  // In a forked child: detaches from the parent's file. Pointers into the mapping stay valid, as private memory.
  void Forget() noexcept;

  // Unmaps. No pointer into the mapping may be used afterwards.
  void Unmap() noexcept;

  uint8_t* base() const { return base_; }
  uint64_t mapped_bytes() const { return mapped_bytes_; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  const char* path() const { return path_; }

 private:
  int OpenAgain() const noexcept;

  uint8_t* base_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  AllocateFunction allocate_ = nullptr;
  char path_[PATH_MAX] = {};
};

}  // namespace stallhound::capture::spool
