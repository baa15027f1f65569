#pragma once

// One process's spool, indexed: dictionary and launches in memory, event records left in the file, with the earliest
// time of each kind of record known for every chunk.

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/api/api_class.h"
#include "capture/spool/dictionary.h"
#include "capture/spool/launch_table.h"
#include "capture/spool/spool_file_reader.h"
#include "capture/spool/work_check.h"
#include "capture/types.h"

namespace stallhound::capture::spool {

// Kinds of records that are streamed from the file.
inline constexpr RecordType kStreamedTypes[] = {RecordType::kHostCall, RecordType::kKernel, RecordType::kCopy,
                                                RecordType::kMemset,   RecordType::kSync,   RecordType::kCudaEvent,
                                                RecordType::kOverhead};
inline constexpr size_t kStreamedTypeCount = std::size(kStreamedTypes);
constexpr size_t StreamedIndex(RecordType type) {
  return static_cast<size_t>(type) - static_cast<size_t>(RecordType::kHostCall);
}

struct IndexedChunk {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  int salvaged = -1;                                 // >= 0: not in the file but in ProcessSpool's memory
  std::array<int64_t, kStreamedTypeCount> first_ns;  // INT64_MAX: no record of that kind
  bool has_untimed_events = false;                   // CUDA events that take their time from their call
};

struct LossEntry {
  LossCounter counter;
  int64_t count = 0;
  int64_t first_ns = 0;  // 0: unknown
  int64_t last_ns = 0;
  uint32_t detail = 0;  // string of the dictionary
};

class ProcessSpool {
 public:
  static absl::StatusOr<std::unique_ptr<ProcessSpool>> Open(const std::string& path);

  const FileHeader& header() const { return file_->header(); }
  const Dictionary& dictionary() const { return dictionary_; }
  const LaunchTable& launches() const { return launches_; }
  const std::vector<IndexedChunk>& chunks() const { return chunks_; }
  const std::vector<RangeRecord>& ranges() const { return ranges_; }
  const std::vector<WindowRecord>& windows() const { return windows_; }
  const std::vector<LossEntry>& losses() const { return losses_; }
  bool is_clean() const { return header().close_ns.load() != 0; }
  // Raw times of the first and last thing known; INT64_MAX and 0 if there is none.
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }
  // By thread index: the end of the last host record.
  const std::map<uint32_t, int64_t>& last_of_thread() const { return last_of_thread_; }
  // By thread index: until when the thread's records are known to be whole: the end of the last GPU work that it
  // launched, or of its last host record if it launched none.
  std::optional<int64_t> LastDelivered(uint32_t thread_index) const;
  // Largest violation of causality between host and GPU clock; null without GPU work.
  std::optional<int64_t> gpu_clock_error_ns() const { return work_.clock_error_ns(); }
  // Kernels whose shape the dictionary lacks.
  int64_t unknown_shape_count() const { return unknown_shape_count_; }

  // When an event was recorded: its own time or the start of its call; null if neither is known.
  std::optional<int64_t> EventTime(const CudaEventRecord& event) const;
  // Start and end of an event record; null if it is damaged, has no times or impossible ones. Such records were counted
  // and give no row.
  struct Span {
    int64_t start_ns;
    int64_t end_ns;
  };
  std::optional<Span> UsableSpan(const RecordHeader* record) const;
  ApiClass ClassOf(const HostCallRecord& call) const;
  // The records of a chunk; valid until the next call with the same buffer.
  absl::StatusOr<RecordCursor> ReadChunk(const IndexedChunk& chunk, std::vector<uint8_t>& buffer) const;

 private:
  explicit ProcessSpool(std::unique_ptr<SpoolFileReader> file) : file_(std::move(file)) {}
  absl::Status Load();
  absl::Status LoadDictionary();
  absl::Status Salvage(const ChunkInfo& chunk);
  absl::Status Index(IndexedChunk chunk);
  void IndexRecord(const RecordHeader* record, IndexedChunk& chunk);
  void IndexCall(const HostCallRecord& call);
  void IndexLoss(const LossRecord* loss);
  void CountUnusable(const RecordHeader* record);
  void Note(int64_t start_ns, int64_t end_ns);
  absl::Status CheckWork();
  void CountWorkLosses();
  void CountLoss(LossCounter counter, int64_t count = 1, int64_t first_ns = 0, int64_t last_ns = 0);
  void LoadHeaderLosses();

  std::unique_ptr<SpoolFileReader> file_;
  Dictionary dictionary_;
  LaunchTable launches_;
  std::vector<IndexedChunk> chunks_;
  std::vector<std::vector<uint8_t>> salvaged_;
  std::vector<RangeRecord> ranges_;
  std::vector<WindowRecord> windows_;
  std::vector<LossEntry> losses_;
  std::map<uint32_t, int64_t> last_of_thread_;
  WorkCheck work_{launches_};
  mutable absl::flat_hash_map<uint64_t, ApiClass> classes_;
  int64_t unknown_shape_count_ = 0;
  Occurrences graph_launches_;
  int64_t first_ns_ = INT64_MAX;
  int64_t last_ns_ = 0;
};

}  // namespace stallhound::capture::spool
