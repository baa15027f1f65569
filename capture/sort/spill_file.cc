#include "capture/sort/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/status_macros.h"

namespace stallhound::capture {

SpillFile::~SpillFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status SpillFile::Create() {
  const char* folder = getenv("TMPDIR");
  std::string path = fmt::format("{}/stallhound-sort-XXXXXX", folder != nullptr && *folder != '\0' ? folder : "/tmp");
  fd_ = mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) {
    return absl::ErrnoToStatus(errno, fmt::format("creating a temporary file {} to sort events; set TMPDIR", path));
  }
  unlink(path.c_str());
  return absl::OkStatus();
}

absl::Status SpillFile::Append(const void* data, size_t byte_count) {
  if (fd_ < 0) SH_RETURN_IF_ERROR(Create());
  const char* bytes = static_cast<const char*>(data);
  while (byte_count > 0) {
    const ssize_t written = write(fd_, bytes, byte_count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return absl::ErrnoToStatus(errno, fmt::format("writing {} bytes of sorted events to a temporary file; set TMPDIR "
                                                    "to a folder with more space",
                                                    byte_count));
    }
    bytes += written;
    byte_count -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status SpillFile::Read(uint64_t offset_bytes, void* data, size_t byte_count) const {
  char* bytes = static_cast<char*>(data);
  while (byte_count > 0) {
    const ssize_t read = pread(fd_, bytes, byte_count, static_cast<off_t>(offset_bytes));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return absl::ErrnoToStatus(errno, "reading sorted events from a temporary file");
    if (read == 0) return absl::DataLossError("reading sorted events: the temporary file is shorter than written");
    bytes += read;
    offset_bytes += static_cast<uint64_t>(read);
    byte_count -= static_cast<size_t>(read);
  }
  return absl::OkStatus();
}

}  // namespace stallhound::capture
