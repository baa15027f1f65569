#include "capture/spool/spool_file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/status_macros.h"

namespace stallhound::capture::spool {
namespace {

constexpr uint32_t kOldestVersion = 1;

}  // namespace

absl::StatusOr<std::unique_ptr<SpoolFileReader>> SpoolFileReader::Open(const std::string& path) {
  // Before opening, which would wait for the writer of a FIFO.
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("opening spool {}: not a regular file", path));
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, fmt::format("opening spool {}", path));
  auto reader = std::unique_ptr<SpoolFileReader>(new SpoolFileReader(path, fd));
  SH_RETURN_IF_ERROR(reader->Load());
  return reader;
}

SpoolFileReader::~SpoolFileReader() { close(fd_); }

absl::Status SpoolFileReader::Load() {
  struct stat status {};
  if (fstat(fd_, &status) != 0) return absl::ErrnoToStatus(errno, fmt::format("reading the size of spool {}", path_));
  SH_RETURN_IF_ERROR(Read(0, kHeaderBytes, header_bytes_));
  const bool has_magic = header_bytes_.size() >= sizeof kFileMagic &&
                         std::memcmp(header_bytes_.data(), kFileMagic, sizeof kFileMagic) == 0;
  if (!has_magic) return absl::InvalidArgumentError(fmt::format("opening {}: not a spool of stallhound", path_));
  if (header_bytes_.size() < sizeof(FileHeader)) {
    return absl::DataLossError(
        fmt::format("opening spool {}: {} bytes are less than its header", path_, status.st_size));
  }
  const FileHeader& head = header();
  if (head.version < kOldestVersion || head.version > kFormatVersion || head.header_bytes != kHeaderBytes ||
      head.unit_bytes != kUnitBytes) {
    return absl::InvalidArgumentError(
        fmt::format("opening spool {}: format version {} (header {} bytes, units of {}), but this stallhound reads "
                    "versions {} to {}; use the stallhound that recorded it",
                    path_, head.version, head.header_bytes, head.unit_bytes, kOldestVersion, kFormatVersion));
  }
  const auto gpu_state = static_cast<uint32_t>(head.gpu_state.load());
  const auto mode = static_cast<uint32_t>(head.mode);
  if (gpu_state > static_cast<uint32_t>(GpuState::kFailed) || mode > static_cast<uint32_t>(Mode::kFull)) {
    return absl::DataLossError(fmt::format(
        "opening spool {}: mode {} and GPU state {} in its header are none that a recorder writes; the header is "
        "damaged, so what was recorded is unknown (hint: copy the spool again, or record again)",
        path_, mode, gpu_state));
  }
  return ScanChunks(static_cast<uint64_t>(status.st_size));
}

absl::Status SpoolFileReader::ScanChunks(uint64_t file_bytes) {
  const uint64_t used_bytes = kHeaderBytes + std::min<uint64_t>(header().units_used.load(), file_bytes) * kUnitBytes;
  is_truncated_ = used_bytes > file_bytes;
  std::vector<uint8_t> bytes;
  uint64_t offset = kHeaderBytes;
  while (offset + sizeof(ChunkHeader) <= file_bytes) {
    SH_RETURN_IF_ERROR(Read(offset, sizeof(ChunkHeader), bytes));
    if (bytes.size() < sizeof(ChunkHeader)) break;
    const auto& chunk = *reinterpret_cast<const ChunkHeader*>(bytes.data());
    if (chunk.magic == 0 || chunk.kind == ChunkKind::kFree) {
      offset += kUnitBytes;
      continue;
    }
    const uint64_t whole_bytes = uint64_t{chunk.unit_count} * kUnitBytes;
    const uint64_t there_bytes = std::min(whole_bytes, file_bytes - offset) - sizeof(ChunkHeader);
    if (chunk.magic != kChunkMagic || chunk.unit_count == 0 || chunk.unit_count > kActivityUnits ||
        chunk.kind > ChunkKind::kActivity || chunk.committed_bytes.load() > whole_bytes - sizeof(ChunkHeader)) {
      ++corrupt_chunk_count_;
      offset += kUnitBytes;
      continue;
    }
    ChunkInfo info;
    info.kind = chunk.kind;
    info.activity_state = chunk.state.load();
    info.body_offset = offset + sizeof(ChunkHeader);
    info.body_bytes = static_cast<uint32_t>(there_bytes);
    is_truncated_ = is_truncated_ || chunk.committed_bytes.load() > there_bytes;
    info.committed_bytes = static_cast<uint32_t>(std::min<uint64_t>(chunk.committed_bytes.load(), there_bytes));
    info.transcribed_bytes = chunk.transcribed_bytes.load();
    chunks_.push_back(info);
    offset += whole_bytes;
  }
  return absl::OkStatus();
}

absl::Status SpoolFileReader::Read(uint64_t offset, uint32_t size, std::vector<uint8_t>& bytes) const {
  bytes.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(fd_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, fmt::format("reading spool {} at byte {}", path_, offset + done));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return absl::OkStatus();
}

const RecordHeader* RecordCursor::Next() {
  if (is_damaged_ || bytes_ - offset_ < sizeof(RecordHeader)) return nullptr;
  const auto* record = reinterpret_cast<const RecordHeader*>(data_ + offset_);
  if (record->bytes < sizeof(RecordHeader) || record->bytes % 8 != 0 || record->bytes > bytes_ - offset_) {
    is_damaged_ = true;
    return nullptr;
  }
  offset_ += record->bytes;
  return record;
}

}  // namespace stallhound::capture::spool
