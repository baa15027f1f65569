#pragma once

// The bytes of one spool file: its header and its chunks. Every size is checked against the file; what does not fit is
// counted, never read.

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/spool/format.h"

namespace stallhound::capture::spool {

// A chunk as found in the file.
struct ChunkInfo {
  ChunkKind kind = ChunkKind::kFree;
  ActivityState activity_state = ActivityState::kIdle;
  uint64_t body_offset = 0;  // in the file
  uint32_t body_bytes = 0;   // whole body, clipped to the file
  uint32_t committed_bytes = 0;
  uint32_t transcribed_bytes = 0;
};

class SpoolFileReader {
 public:
  // Errors: NotFound, InvalidArgument (no spool; another version of the format), DataLoss (shorter than a header, or
  // one that does not say what was recorded).
  static absl::StatusOr<std::unique_ptr<SpoolFileReader>> Open(const std::string& path);
  ~SpoolFileReader();
  SpoolFileReader(const SpoolFileReader&) = delete;
  SpoolFileReader& operator=(const SpoolFileReader&) = delete;

  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(header_bytes_.data()); }
  const std::string& path() const { return path_; }
  // In file order; free units left out.
  const std::vector<ChunkInfo>& chunks() const { return chunks_; }
  // Chunks whose header is impossible, and whether the file ends before the last used unit.
  int64_t corrupt_chunk_count() const { return corrupt_chunk_count_; }
  bool is_truncated() const { return is_truncated_; }

  // Reads [offset, offset + size) of the file into `bytes`, resized to what is there.
  absl::Status Read(uint64_t offset, uint32_t size, std::vector<uint8_t>& bytes) const;

 private:
  SpoolFileReader(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  absl::Status Load();
  absl::Status ScanChunks(uint64_t file_bytes);

  std::string path_;
  int fd_;
  std::vector<uint8_t> header_bytes_;
  std::vector<ChunkInfo> chunks_;
  int64_t corrupt_chunk_count_ = 0;
  bool is_truncated_ = false;
};

// Walks the records of a chunk's committed bytes.
class RecordCursor {
 public:
  RecordCursor(const uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}
  // The next record, whole inside the data; null at the end or at damage.
  const RecordHeader* Next();
  bool is_damaged() const { return is_damaged_; }

 private:
  const uint8_t* data_;
  size_t bytes_;
  size_t offset_ = 0;
  bool is_damaged_ = false;
};

// `record` as its struct, or null if it is too short for it (damage).
template <typename Record>
const Record* RecordAs(const RecordHeader* record) {
  return record->bytes >= sizeof(Record) ? reinterpret_cast<const Record*>(record) : nullptr;
}

}  // namespace stallhound::capture::spool
