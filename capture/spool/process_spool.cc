#include "capture/spool/process_spool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "capture/api/api_class.h"
#include "capture/spool/salvage.h"
#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {
namespace {

// Records farther from the opening of the file are damaged: no call lasts a day before it, no program runs for years.
constexpr int64_t kLongestBeforeOpenNs = int64_t{24} * 3600 * 1'000'000'000;
constexpr int64_t kLongestRunNs = int64_t{3 * 365} * 24 * 3600 * 1'000'000'000;

using Span = ProcessSpool::Span;

template <typename Record>
std::optional<Span> SpanAs(const RecordHeader* header) {
  const auto* record = RecordAs<Record>(header);
  if (record == nullptr) return std::nullopt;
  if constexpr (requires { record->start_ns; }) {
    return Span{record->start_ns, record->end_ns};
  } else {
    return Span{record->time_ns, record->time_ns};
  }
}

// When a record begins and ends, as it says itself; null if it is too short or of no known kind.
std::optional<Span> WrittenSpan(const RecordHeader* record) {
  switch (record->type) {
    case RecordType::kHostCall:
      return SpanAs<HostCallRecord>(record);
    case RecordType::kKernel:
      return SpanAs<KernelRecord>(record);
    case RecordType::kCopy:
      return SpanAs<CopyRecord>(record);
    case RecordType::kMemset:
      return SpanAs<MemsetRecord>(record);
    case RecordType::kSync:
      return SpanAs<SyncRecord>(record);
    case RecordType::kCudaEvent:
      return SpanAs<CudaEventRecord>(record);
    case RecordType::kOverhead:
      return SpanAs<OverheadRecord>(record);
    case RecordType::kRange:
      return SpanAs<RangeRecord>(record);
    case RecordType::kWindow:
      return SpanAs<WindowRecord>(record);
    default:
      return std::nullopt;
  }
}

// Calls that GPU work or an event record refers to.
bool HasWork(ApiClass api_class) {
  return api_class == ApiClass::kKernelLaunch || api_class == ApiClass::kGraphLaunch ||
         api_class == ApiClass::kCopyAsync || api_class == ApiClass::kCopyBlocking || api_class == ApiClass::kMemset ||
         api_class == ApiClass::kEventRecord;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessSpool>> ProcessSpool::Open(const std::string& path) {
  SH_ASSIGN_OR_RETURN(auto file, SpoolFileReader::Open(path));
  auto spool = std::unique_ptr<ProcessSpool>(new ProcessSpool(std::move(file)));
  SH_RETURN_IF_ERROR(spool->Load());
  return spool;
}

absl::Status ProcessSpool::Load() {
  LoadHeaderLosses();
  SH_RETURN_IF_ERROR(LoadDictionary());
  for (const ChunkInfo& chunk : file_->chunks()) {
    if (chunk.kind == ChunkKind::kRecords) {
      IndexedChunk indexed;
      indexed.offset = chunk.body_offset;
      indexed.bytes = chunk.committed_bytes;
      SH_RETURN_IF_ERROR(Index(indexed));
    }
  }
  for (const ChunkInfo& chunk : file_->chunks()) {
    if (chunk.kind == ChunkKind::kActivity) SH_RETURN_IF_ERROR(Salvage(chunk));
  }
  if (file_->corrupt_chunk_count() > 0) CountLoss(LossCounter::kCorruptChunk, file_->corrupt_chunk_count());
  if (file_->is_truncated()) CountLoss(LossCounter::kSpoolTruncated);
  // Nothing later than the last heartbeat is known of a process that was killed.
  if (!is_clean()) CountLoss(LossCounter::kKilled, 1, header().heartbeat_ns.load());
  SH_RETURN_IF_ERROR(CheckWork());
  CountWorkLosses();
  return absl::OkStatus();
}

void ProcessSpool::LoadHeaderLosses() {
  for (int i = 0; i < kHeaderLossCount; ++i) {
    const LossSlot& slot = header().losses[i];
    const auto count = static_cast<int64_t>(slot.count.load());
    if (count > 0) losses_.push_back({static_cast<LossCounter>(i), count, slot.first_ns.load(), slot.last_ns.load()});
  }
}

void ProcessSpool::CountLoss(LossCounter counter, int64_t count, int64_t first_ns, int64_t last_ns) {
  for (LossEntry& entry : losses_) {
    if (entry.counter != counter || entry.detail != 0) continue;
    entry.count += count;
    // An interval is only known if all of its occurrences are.
    entry.first_ns = first_ns == 0 || entry.first_ns == 0 ? 0 : std::min(entry.first_ns, first_ns);
    entry.last_ns = last_ns == 0 || entry.last_ns == 0 ? 0 : std::max(entry.last_ns, last_ns);
    return;
  }
  losses_.push_back({counter, count, first_ns, last_ns});
}

absl::Status ProcessSpool::LoadDictionary() {
  std::vector<uint8_t> buffer;
  for (const ChunkInfo& chunk : file_->chunks()) {
    if (chunk.kind != ChunkKind::kDictionary) continue;
    SH_RETURN_IF_ERROR(file_->Read(chunk.body_offset, chunk.committed_bytes, buffer));
    RecordCursor cursor(buffer.data(), buffer.size());
    while (const RecordHeader* record = cursor.Next()) {
      if (!dictionary_.Add(record)) CountLoss(LossCounter::kCorruptRecord);
    }
    if (cursor.is_damaged()) CountLoss(LossCounter::kCorruptRecord);
  }
  return absl::OkStatus();
}

absl::Status ProcessSpool::Salvage(const ChunkInfo& chunk) {
  if (chunk.activity_state != ActivityState::kLent && chunk.activity_state != ActivityState::kDelivered) {
    return absl::OkStatus();
  }
  std::vector<uint8_t> raw;
  SH_RETURN_IF_ERROR(file_->Read(chunk.body_offset, chunk.body_bytes, raw));
  const size_t done = std::min<size_t>(chunk.transcribed_bytes, raw.size());
  const size_t end = chunk.activity_state == ActivityState::kDelivered
                         ? std::clamp<size_t>(chunk.committed_bytes, done, raw.size())
                         : raw.size();
  SalvagedRecords salvaged = SalvageActivity(header().layout, {raw.data() + done, end - done}, dictionary_);
  if (salvaged.has_unknown_layout) CountLoss(LossCounter::kUnknownLayout);
  if (salvaged.count == 0) return absl::OkStatus();
  CountLoss(LossCounter::kUndeliveredRecovered, salvaged.count);
  IndexedChunk indexed;
  indexed.bytes = static_cast<uint32_t>(salvaged.records.size());
  indexed.salvaged = static_cast<int>(salvaged_.size());
  salvaged_.push_back(std::move(salvaged.records));
  return Index(indexed);
}

absl::StatusOr<RecordCursor> ProcessSpool::ReadChunk(const IndexedChunk& chunk, std::vector<uint8_t>& buffer) const {
  if (chunk.salvaged >= 0) {
    const auto& records = salvaged_[static_cast<size_t>(chunk.salvaged)];
    return RecordCursor(records.data(), records.size());
  }
  SH_RETURN_IF_ERROR(file_->Read(chunk.offset, chunk.bytes, buffer));
  return RecordCursor(buffer.data(), buffer.size());
}

absl::Status ProcessSpool::Index(IndexedChunk chunk) {
  chunk.first_ns.fill(INT64_MAX);
  std::vector<uint8_t> buffer;
  SH_ASSIGN_OR_RETURN(RecordCursor cursor, ReadChunk(chunk, buffer));
  while (const RecordHeader* record = cursor.Next()) IndexRecord(record, chunk);
  if (cursor.is_damaged()) CountLoss(LossCounter::kCorruptRecord);
  chunks_.push_back(chunk);
  return absl::OkStatus();
}

void ProcessSpool::IndexRecord(const RecordHeader* record, IndexedChunk& chunk) {
  if (record->type == RecordType::kClock) return;
  if (record->type == RecordType::kLoss) return IndexLoss(RecordAs<LossRecord>(record));
  if (record->type == RecordType::kCudaEvent && record->bytes >= sizeof(CudaEventRecord) &&
      RecordAs<CudaEventRecord>(record)->time_ns == 0) {
    chunk.has_untimed_events = true;
    return;
  }
  const std::optional<Span> span = UsableSpan(record);
  if (!span.has_value()) return CountUnusable(record);
  Note(span->start_ns, span->end_ns);
  if (record->type == RecordType::kRange) return ranges_.push_back(*RecordAs<RangeRecord>(record));
  if (record->type == RecordType::kWindow) return windows_.push_back(*RecordAs<WindowRecord>(record));
  int64_t& first_ns = chunk.first_ns[StreamedIndex(record->type)];
  first_ns = std::min(first_ns, span->start_ns);
  if (record->type == RecordType::kHostCall) IndexCall(*RecordAs<HostCallRecord>(record));
  if (record->type == RecordType::kSync) work_.AddSync(*RecordAs<SyncRecord>(record));
  if (record->type == RecordType::kKernel) {
    unknown_shape_count_ += !dictionary_.shapes().contains(RecordAs<KernelRecord>(record)->shape_id);
  }
}

void ProcessSpool::IndexLoss(const LossRecord* loss) {
  if (loss == nullptr || loss->counter >= static_cast<uint32_t>(LossCounter::kCount)) {
    return CountLoss(LossCounter::kCorruptRecord);
  }
  losses_.push_back({static_cast<LossCounter>(loss->counter), static_cast<int64_t>(loss->count), loss->start_ns,
                     loss->end_ns, loss->detail});
}

void ProcessSpool::CountUnusable(const RecordHeader* record) {
  const std::optional<Span> span = WrittenSpan(record);
  const bool has_no_time = span.has_value() && (span->start_ns == 0 || span->end_ns == 0);
  CountLoss(has_no_time ? LossCounter::kZeroTime : LossCounter::kCorruptRecord);
}

std::optional<Span> ProcessSpool::UsableSpan(const RecordHeader* record) const {
  std::optional<Span> span = WrittenSpan(record);
  if (span.has_value() && record->type == RecordType::kCudaEvent) {
    const std::optional<int64_t> time_ns = EventTime(*RecordAs<CudaEventRecord>(record));
    if (!time_ns.has_value()) return std::nullopt;
    span = {*time_ns, *time_ns};
  }
  if (!span.has_value() || span->start_ns <= 0 || span->end_ns < span->start_ns) return std::nullopt;
  const int64_t open_ns = header().open_ns;
  if (TimeDifference(open_ns, span->start_ns) > kLongestBeforeOpenNs) return std::nullopt;
  if (TimeDifference(span->end_ns, open_ns) > kLongestRunNs) return std::nullopt;
  return span;
}

std::optional<int64_t> ProcessSpool::EventTime(const CudaEventRecord& event) const {
  if (event.time_ns != 0) return event.time_ns;
  const Launch* call = launches_.Find(event.correlation_id);
  return call == nullptr ? std::nullopt : std::optional(call->start_ns);
}

std::optional<int64_t> ProcessSpool::LastDelivered(uint32_t thread_index) const {
  if (const auto it = work_.last_of_thread().find(thread_index); it != work_.last_of_thread().end()) return it->second;
  if (const auto it = last_of_thread_.find(thread_index); it != last_of_thread_.end()) return it->second;
  return std::nullopt;
}

void ProcessSpool::IndexCall(const HostCallRecord& call) {
  int64_t& last_ns = last_of_thread_[call.thread_index];
  last_ns = std::max(last_ns, call.end_ns);
  const ApiClass api_class = ClassOf(call);
  if (api_class == ApiClass::kGraphLaunch && call.depth == 0) graph_launches_.Add(call.start_ns, call.end_ns);
  constexpr uint32_t kThreadLimit = 1u << 30;
  if (call.correlation_id == 0 || call.thread_index == 0 || call.thread_index >= kThreadLimit) return;
  if (!HasWork(api_class)) return;
  Launch launch;
  launch.start_ns = call.start_ns;
  launch.duration_ns = static_cast<uint32_t>(std::min<int64_t>(call.end_ns - call.start_ns, UINT32_MAX));
  launch.thread_index = call.thread_index;
  launch.is_kernel_launch = api_class == ApiClass::kKernelLaunch && call.return_value == 0;
  launches_.Add(call.correlation_id, launch);
}

void ProcessSpool::Note(int64_t start_ns, int64_t end_ns) {
  if (start_ns > 0) first_ns_ = std::min(first_ns_, start_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

ApiClass ProcessSpool::ClassOf(const HostCallRecord& call) const {
  const uint64_t key = uint64_t{call.layer} << 32 | call.cbid;
  const auto [it, is_new] = classes_.try_emplace(key, ApiClass::kOther);
  if (is_new) it->second = ClassifyApi(dictionary_.ApiName(call.layer, call.cbid));
  return it->second;
}

// A second way through the chunks that hold GPU work and event records, now that all launches are known.
absl::Status ProcessSpool::CheckWork() {
  constexpr RecordType kWork[] = {RecordType::kKernel, RecordType::kCopy, RecordType::kMemset};
  std::vector<uint8_t> buffer;
  for (IndexedChunk& chunk : chunks_) {
    const bool has_work = std::any_of(std::begin(kWork), std::end(kWork), [&](RecordType type) {
      return chunk.first_ns[StreamedIndex(type)] != INT64_MAX;
    });
    if (!has_work && !chunk.has_untimed_events) continue;
    SH_ASSIGN_OR_RETURN(RecordCursor cursor, ReadChunk(chunk, buffer));
    while (const RecordHeader* record = cursor.Next()) {
      const bool is_event = record->type == RecordType::kCudaEvent;
      if (!is_event && std::find(std::begin(kWork), std::end(kWork), record->type) == std::end(kWork)) continue;
      const std::optional<Span> span = UsableSpan(record);
      if (is_event && chunk.has_untimed_events) {
        if (!span.has_value()) {
          CountLoss(LossCounter::kKernelWithoutLaunch);
          continue;
        }
        int64_t& first_ns = chunk.first_ns[StreamedIndex(RecordType::kCudaEvent)];
        first_ns = std::min(first_ns, span->start_ns);
      }
      if (!span.has_value()) continue;
      if (record->type == RecordType::kKernel) work_.Take(*RecordAs<KernelRecord>(record));
      if (const auto* copy = RecordAs<CopyRecord>(record); record->type == RecordType::kCopy && !copy->has_call_times) {
        work_.Take(*copy);
      }
      if (record->type == RecordType::kMemset) work_.Take(*RecordAs<MemsetRecord>(record));
    }
  }
  return absl::OkStatus();
}

void ProcessSpool::CountWorkLosses() {
  if (const Occurrences& work = work_.work_without_launch(); work.count > 0) {
    CountLoss(LossCounter::kKernelWithoutLaunch, work.count, work.first_ns, work.last_ns);
  }
  if (const Occurrences& violations = work_.violations(); violations.count > 0) {
    CountLoss(LossCounter::kClockViolation, violations.count, violations.first_ns, violations.last_ns);
  }
  // Light sees calls only, and nothing of what a graph does.
  if (header().mode == Mode::kLight && graph_launches_.count > 0) {
    CountLoss(LossCounter::kGraphLevelOnly, graph_launches_.count, graph_launches_.first_ns, graph_launches_.last_ns);
  }
  // After a kill what follows the last delivered time is unknown, not lost. The recorder's own count leaves out what a
  // graph captured; the launches found without work give the interval.
  const auto missing =
      static_cast<int64_t>(header().launches_seen.load()) - static_cast<int64_t>(header().kernels_seen.load());
  if (!is_clean() || header().mode == Mode::kLight || missing <= 0) return;
  const Occurrences launches = work_.LaunchesWithoutWork();
  if (launches.count == 0) return CountLoss(LossCounter::kLaunchWithoutKernel, missing);
  CountLoss(LossCounter::kLaunchWithoutKernel, missing, launches.first_ns, launches.last_ns);
}

}  // namespace stallhound::capture::spool
