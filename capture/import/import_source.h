#pragma once

// What an importer reads: the bytes of one file or of one member of an archive, decompressed, without byte-order mark.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture {

struct ImportOptions {
  // Reads a truncated file as far as it goes; the cut is counted (TruncatedFile). Without it a cut is an error.
  bool partial = false;
  // Lifts the limits on size (16 GiB) and compression ratio (200:1).
  bool force = false;
};

inline constexpr uint64_t kMaxImportBytes = uint64_t{16} << 30;
inline constexpr uint64_t kMaxCompressionRatio = 200;

// A stream of bytes that has no length known in advance. Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills `buffer` with up to `size` bytes and returns how many; 0 at the end. Errors: DataLoss (gzip stream cut off or
  // damaged), OutOfRange (limits above; the message names --force), Unavailable (read error).
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t size) = 0;
};

// One file or archive member. Immutable but for the temporary file of LocalFile; not thread-safe.
class ImportSource {
 public:
  ~ImportSource();
  ImportSource(const ImportSource&) = delete;
  ImportSource& operator=(const ImportSource&) = delete;

  // As given on the command line; members are "archive.tar.gz:member".
  const std::string& path() const { return path_; }
  // File name without directories, or the whole name of the member; carries ".gz" as stored.
  const std::string& name() const { return name_; }
  // The first bytes (up to kHeadBytes) after decompression and byte-order mark; shorter for short or damaged files.
  std::string_view head() const { return head_; }
  bool is_compressed() const { return compressed_; }
  // Why `head` is shorter than the content: the error of its first read, if any.
  const absl::Status& head_status() const { return head_status_; }
  const ImportOptions& options() const { return options_; }

  // A new stream from the first byte. May be called again.
  absl::StatusOr<std::unique_ptr<ByteStream>> OpenStream() const;
  // A path that other libraries can open: the file itself, or a temporary copy that lives as long as this object.
  absl::StatusOr<std::filesystem::path> LocalFile();
  // Everything in one string, for small formats. Errors: OutOfRange above `limit_bytes`, and those of ByteStream.
  absl::StatusOr<std::string> ReadAll(uint64_t limit_bytes) const;

  static constexpr size_t kHeadBytes = 64 << 10;

 private:
  friend class SourceOpener;
  ImportSource() = default;

  // The stored bytes: still compressed if the file or member is.
  absl::StatusOr<std::unique_ptr<ByteStream>> OpenRaw() const;

  std::string path_;
  std::string name_;
  std::filesystem::path file_;  // on disk, holds the bytes
  bool is_member_ = false;      // of the tar archive `file_`
  uint64_t member_offset_ = 0;  // in the decompressed archive
  uint64_t member_bytes_ = 0;
  bool compressed_ = false;
  std::string head_;
  absl::Status head_status_;
  ImportOptions options_;
  std::filesystem::path temporary_;
};

struct ImportSources {
  bool is_archive = false;
  // One source for a plain file; for an archive its regular members in archive order.
  std::vector<std::shared_ptr<ImportSource>> sources;
};

// Opens `path` and looks into it: gzip and tar are told by content, not by name. Errors: NotFound, PermissionDenied,
// FailedPrecondition (a directory, an empty file), OutOfRange (file above 16 GiB without `force`).
absl::StatusOr<ImportSources> OpenSources(const std::filesystem::path& path, const ImportOptions& options);

}  // namespace stallhound::capture
