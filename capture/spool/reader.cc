#include "capture/spool/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/status_macros.h"
#include "capture/spool/dimensions.h"
#include "capture/spool/process_spool.h"
#include "capture/spool/recording_info.h"
#include "capture/spool/row_builder.h"
#include "capture/spool/run_merger.h"
#include "capture/spool/spool_file_reader.h"
#include "capture/spool/time_difference.h"

namespace stallhound::capture {
namespace spool {
namespace {

// Raw clocks of processes whose offsets to the wall clock differ by less are the same clock: one boot of one machine.
constexpr int64_t kSameBootNs = 50'000'000;

int64_t WallOffset(const FileHeader& header) { return TimeDifference(header.open_realtime_ns, header.open_ns); }

struct Process {
  std::unique_ptr<ProcessSpool> spool;
  ProcessIds ids;
};

class SpoolReader : public CaptureReader {
 public:
  SpoolReader() : dimensions_(strings_) {}

  absl::Status Load(std::vector<std::unique_ptr<ProcessSpool>> spools) {
    std::sort(spools.begin(), spools.end(), [](const auto& a, const auto& b) {
      return std::pair(a->header().open_realtime_ns, a->header().pid) <
             std::pair(b->header().open_realtime_ns, b->header().pid);
    });
    info_ = InfoOf(spools);
    const int64_t reference = WallOffset(spools.front()->header());
    for (auto& spool : spools) {
      const int64_t own = WallOffset(spool->header());
      const int64_t apart_ns = TimeDifference(own, reference);
      const int64_t offset = -kSameBootNs < apart_ns && apart_ns < kSameBootNs ? reference : own;
      ProcessIds ids = dimensions_.Add(*spool, TimeDifference(*info_.epoch_ns, offset));
      info_.end_ns = std::max(info_.end_ns, TimeDifference(spool->last_ns(), ids.zero_ns));
      processes_.push_back({std::move(spool), std::move(ids)});
    }
    return dimensions_.status();
  }

  // `why`: a sentence.
  void AddMissing(std::string why) {
    info_.notes.push_back(std::move(why));
    dimensions_.AddMissing();
  }

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return strings_; }

  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override {
    SH_RETURN_IF_ERROR(dimensions_.Emit(wanted, visitor));
    SH_RETURN_IF_ERROR(Stream<HostCallBatch>(wanted, Table::kHostCall, RecordType::kHostCall, visitor));
    SH_RETURN_IF_ERROR(Stream<KernelBatch>(wanted, Table::kKernel, RecordType::kKernel, visitor));
    SH_RETURN_IF_ERROR(Stream<CopyBatch>(wanted, Table::kCopy, RecordType::kCopy, visitor));
    SH_RETURN_IF_ERROR(Stream<MemsetBatch>(wanted, Table::kMemset, RecordType::kMemset, visitor));
    SH_RETURN_IF_ERROR(Stream<SyncBatch>(wanted, Table::kSync, RecordType::kSync, visitor));
    SH_RETURN_IF_ERROR(Stream<CudaEventBatch>(wanted, Table::kCudaEvent, RecordType::kCudaEvent, visitor));
    return Stream<OverheadBatch>(wanted, Table::kOverhead, RecordType::kOverhead, visitor);
  }

 private:
  struct ChunkRef {
    int64_t first_ns;
    const IndexedChunk* chunk;
    size_t process;
  };

  std::vector<ChunkRef> ChunksWith(RecordType type) const {
    std::vector<ChunkRef> refs;
    for (size_t i = 0; i < processes_.size(); ++i) {
      for (const IndexedChunk& chunk : processes_[i].spool->chunks()) {
        const int64_t first_ns = chunk.first_ns[StreamedIndex(type)];
        if (first_ns != INT64_MAX) refs.push_back({TimeDifference(first_ns, processes_[i].ids.zero_ns), &chunk, i});
      }
    }
    std::stable_sort(refs.begin(), refs.end(),
                     [](const ChunkRef& a, const ChunkRef& b) { return a.first_ns < b.first_ns; });
    return refs;
  }

  // Chunks are opened when the merge reaches their first time, so that only those that overlap are held.
  template <typename Batch>
  absl::Status Stream(const TableSet& wanted, Table table, RecordType type, CaptureVisitor& visitor) {
    using Row = typename Batch::Row;
    if (!wanted.test(static_cast<size_t>(table))) return absl::OkStatus();
    std::vector<RowBuilder> builders;
    for (const Process& process : processes_) builders.emplace_back(*process.spool, process.ids, strings_);
    RunMerger<Row> merger;
    Batch batch;
    const auto give = [&](const Row& row) -> absl::Status {
      batch.Append(row);
      if (batch.size < kBatchRows) return absl::OkStatus();
      SH_RETURN_IF_ERROR(visitor.On(batch));
      batch.Clear();
      return absl::OkStatus();
    };
    std::vector<uint8_t> buffer;
    for (const ChunkRef& ref : ChunksWith(type)) {
      SH_RETURN_IF_ERROR(merger.EmitBelow(ref.first_ns, give));
      std::vector<Row> rows;
      const ProcessSpool& spool = *processes_[ref.process].spool;
      SH_ASSIGN_OR_RETURN(RecordCursor cursor, spool.ReadChunk(*ref.chunk, buffer));
      while (const RecordHeader* record = cursor.Next()) {
        Row row;
        if (record->type != type || !spool.UsableSpan(record).has_value()) continue;
        if (builders[ref.process].Build(record, row)) rows.push_back(row);
      }
      std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return SortTime(a) < SortTime(b); });
      merger.AddRun(std::move(rows));
    }
    SH_RETURN_IF_ERROR(merger.EmitBelow(INT64_MAX, give));
    return batch.size == 0 ? absl::OkStatus() : visitor.On(batch);
  }

  CaptureInfo info_;
  StringTable strings_;
  Dimensions dimensions_;
  std::vector<Process> processes_;
};

struct SpoolPath {
  std::string path;
  bool is_named = true;  // by the caller; false: found in a folder
};

absl::StatusOr<std::vector<SpoolPath>> FindSpools(absl::Span<const std::string> paths) {
  std::vector<SpoolPath> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back({path});
      continue;
    }
    std::filesystem::directory_iterator entry(path, error);
    for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == kFileSuffix) files.push_back({entry->path(), false});
    }
    if (error) return absl::NotFoundError(fmt::format("listing spools in {}: {}", path, error.message()));
  }
  std::sort(files.begin(), files.end(), [](const SpoolPath& a, const SpoolPath& b) { return a.path < b.path; });
  if (files.empty()) {
    return absl::NotFoundError(fmt::format("no spool ({} file) in {}", kFileSuffix, fmt::join(paths, ", ")));
  }
  return files;
}

struct OpenedSpools {
  std::vector<std::unique_ptr<ProcessSpool>> spools;
  std::vector<std::string> left_out;  // sentences
};

// A process killed while it made its file must not hide the others of the folder.
absl::StatusOr<OpenedSpools> OpenFiles(const std::vector<SpoolPath>& files) {
  OpenedSpools opened;
  absl::Status first_error;
  std::map<std::string_view, std::string_view> path_of_uuid;
  for (const SpoolPath& file : files) {
    auto spool = ProcessSpool::Open(file.path);
    if (spool.ok()) {
      const FileHeader& header = (*spool)->header();
      const std::string_view uuid(reinterpret_cast<const char*>(header.uuid), sizeof header.uuid);
      const auto [first, is_new] = path_of_uuid.try_emplace(uuid, file.path);
      if (!is_new) {
        return absl::InvalidArgumentError(
            fmt::format("reading the spools {} and {}: both are the same recording of process {}, which would count "
                        "twice; give only one of them",
                        first->second, file.path, header.pid));
      }
      opened.spools.push_back(*std::move(spool));
      continue;
    }
    if (file.is_named) return spool.status();
    if (first_error.ok()) first_error = spool.status();
    opened.left_out.push_back(fmt::format("a process is missing: {}", std::string(spool.status().message())));
  }
  if (opened.spools.empty()) return first_error;
  return opened;
}

}  // namespace
}  // namespace spool

absl::StatusOr<std::unique_ptr<CaptureReader>> OpenSpools(absl::Span<const std::string> paths) {
  SH_ASSIGN_OR_RETURN(const std::vector<spool::SpoolPath> files, spool::FindSpools(paths));
  SH_ASSIGN_OR_RETURN(spool::OpenedSpools opened, spool::OpenFiles(files));
  auto reader = std::make_unique<spool::SpoolReader>();
  SH_RETURN_IF_ERROR(reader->Load(std::move(opened.spools)));
  for (std::string& why : opened.left_out) reader->AddMissing(std::move(why));
  return reader;
}

absl::StatusOr<std::string> SpoolsUuid(absl::Span<const std::string> paths) {
  SH_ASSIGN_OR_RETURN(const std::vector<spool::SpoolPath> files, spool::FindSpools(paths));
  spool::RecordingUuid uuid;
  for (const spool::SpoolPath& file : files) {
    const auto spool = spool::SpoolFileReader::Open(file.path);
    if (spool.ok()) uuid.Add((*spool)->header());
  }
  return uuid.Text();
}

bool IsSpool(const std::string& path) {
  // Opening a FIFO would wait for its writer.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  char magic[sizeof spool::kFileMagic] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof magic) && std::memcmp(magic, spool::kFileMagic, sizeof magic) == 0;
}

}  // namespace stallhound::capture
