#pragma once

// An unlinked temporary file in $TMPDIR (else /tmp), created at the first Append; gone with the object or the process.

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>

namespace stallhound::capture {

class SpillFile {
 public:
  SpillFile() = default;
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  // Errors: ResourceExhausted (no space), or as open(2) and write(2) say.
  absl::Status Append(const void* data, size_t byte_count);
  // Reads exactly `byte_count` bytes; DataLoss if the file holds fewer.
  absl::Status Read(uint64_t offset_bytes, void* data, size_t byte_count) const;

 private:
  absl::Status Create();

  int fd_ = -1;
};

}  // namespace stallhound::capture
