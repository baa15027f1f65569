#pragma once

// Whole files, read and written so that nobody ever sees half of one.

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace stallhound {

// The file's bytes. Errors: NotFound, PermissionDenied, or what errno says; OutOfRange: more than `most_bytes`, as of a
// device without an end.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most_bytes = std::numeric_limits<size_t>::max());

// Replaces `path` by a file with this content: written beside it under another name, then renamed. A symbolic link is
// followed and stays; a file that exists keeps its mode, a new one has 0666 less the umask. What is no regular file (a
// device, a FIFO) is written straight into. Errors: what errno says (a folder: EISDIR); a file is then as it was.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

// Which file a path leads to, and as of when: one that was replaced or written has another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;  // CLOCK_REALTIME
  bool operator==(const FileIdentity&) const = default;
};
// Links are followed; nullopt: it can't be looked at.
std::optional<FileIdentity> IdentityOf(const std::string& path);

// Whether both paths lead to one file (device and inode); false if either can't be looked at.
bool IsSameFile(const std::string& a, const std::string& b);

// Whether WriteFileAtomically can be expected to work now; touches nothing. Errors: as there.
absl::Status CheckWritable(const std::string& path);

// The same for content that comes in pieces. Of a regular file: until Commit nothing is at `path`; without it the
// destructor removes what was written. Not thread-safe.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  ~AtomicFile();

  absl::Status Write(std::string_view piece);
  // Syncs, closes, renames. Call once, last.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary_path, int fd);
  absl::Status Failed(std::string_view action, int error) const;

  std::string path_;
  std::string temporary_path_;  // empty: `path_` itself is written
  int fd_;
};

// Makes the folder and its parents; one that exists is fine. `mode` is of those made (less the umask).
absl::Status MakeFolders(const std::string& path, unsigned mode = 0777);

}  // namespace stallhound
