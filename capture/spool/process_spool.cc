#include "capture/spool/process_spool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "capture/api/api_class.h"
#include "capture/spool/salvage.h"
#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {
namespace {

uint64_t StreamKey(uint32_t context_id, uint32_t stream_id) { return uint64_t{context_id} << 32 | stream_id; }

// When records of a streamed kind begin and end.
struct Span {
  int64_t start_ns;
  int64_t end_ns;
};

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

std::optional<Span> SpanOf(const RecordHeader* record) {
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

bool IsLaunch(ApiClass api_class) {
  return api_class == ApiClass::kKernelLaunch || api_class == ApiClass::kGraphLaunch ||
         api_class == ApiClass::kCopyAsync || api_class == ApiClass::kCopyBlocking || api_class == ApiClass::kMemset;
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
    } else if (chunk.kind == ChunkKind::kActivity) {
      SH_RETURN_IF_ERROR(Salvage(chunk));
    }
  }
  if (file_->corrupt_chunk_count() > 0) CountLoss(LossCounter::kCorruptChunk, file_->corrupt_chunk_count());
  if (file_->is_truncated()) CountLoss(LossCounter::kSpoolTruncated);
  if (!is_clean()) CountLoss(LossCounter::kKilled);
  return CheckGpuWork();
}

void ProcessSpool::LoadHeaderLosses() {
  for (int i = 0; i < static_cast<int>(LossCounter::kCount); ++i) {
    const LossSlot& slot = header().losses[i];
    const auto count = static_cast<int64_t>(slot.count.load());
    if (count > 0) losses_.push_back({static_cast<LossCounter>(i), count, slot.first_ns.load(), slot.last_ns.load()});
  }
}

void ProcessSpool::CountLoss(LossCounter counter, int64_t count) {
  for (LossEntry& entry : losses_) {
    if (entry.counter != counter || entry.detail != 0) continue;
    entry.count += count;
    return;
  }
  // Nothing later than the last heartbeat is known of a process that was killed.
  const int64_t from = counter == LossCounter::kKilled ? header().heartbeat_ns.load() : 0;
  losses_.push_back({counter, count, from, 0});
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
  if (record->type == RecordType::kLoss) {
    const auto* loss = RecordAs<LossRecord>(record);
    if (loss == nullptr || loss->counter >= static_cast<uint32_t>(LossCounter::kCount)) {
      return CountLoss(LossCounter::kCorruptRecord);
    }
    losses_.push_back({static_cast<LossCounter>(loss->counter), static_cast<int64_t>(loss->count), loss->start_ns,
                       loss->end_ns, loss->detail});
    return;
  }
  const std::optional<Span> span = SpanOf(record);
  if (!span.has_value()) return CountLoss(LossCounter::kCorruptRecord);
  Note(span->start_ns, span->end_ns);
  if (record->type == RecordType::kRange) return ranges_.push_back(*RecordAs<RangeRecord>(record));
  if (record->type == RecordType::kWindow) return windows_.push_back(*RecordAs<WindowRecord>(record));
  int64_t& first_ns = chunk.first_ns[StreamedIndex(record->type)];
  first_ns = std::min(first_ns, span->start_ns);
  if (record->type == RecordType::kHostCall) IndexCall(*RecordAs<HostCallRecord>(record));
  if (record->type == RecordType::kSync) {
    const auto& sync = *RecordAs<SyncRecord>(record);
    syncs_[StreamKey(sync.context_id, sync.stream_id)].push_back(sync);
  }
}

void ProcessSpool::IndexCall(const HostCallRecord& call) {
  int64_t& last_ns = last_of_thread_[call.thread_index];
  last_ns = std::max(last_ns, call.end_ns);
  if (call.correlation_id == 0 || call.thread_index == 0 || !IsLaunch(ClassOf(call))) return;
  const int64_t duration_ns = std::clamp<int64_t>(TimeDifference(call.end_ns, call.start_ns), 0, UINT32_MAX);
  launches_.Add(call.correlation_id, {call.start_ns, static_cast<uint32_t>(duration_ns), call.thread_index});
}

void ProcessSpool::Note(int64_t start_ns, int64_t end_ns) {
  if (start_ns > 0) first_ns_ = std::min(first_ns_, start_ns);
  last_ns_ = std::max(last_ns_, end_ns);
}

ApiClass ProcessSpool::ClassOf(const HostCallRecord& call) const {
  const uint64_t key = uint64_t{call.layer} << 32 | call.cbid;
  const auto [it, is_new] = classes_.try_emplace(key, ApiClass::kOther);
  if (is_new) {
    const auto name = dictionary_.api_names().find(key);
    if (name != dictionary_.api_names().end()) it->second = ClassifyApi(dictionary_.String(name->second));
  }
  return it->second;
}

// Measures the error of the GPU clock: work cannot start before its launch was entered, nor end after the first sync
// behind the launch has returned. Counts work whose launch is not there.
absl::Status ProcessSpool::CheckGpuWork() {
  for (auto& [key, syncs] : syncs_) {
    std::erase_if(syncs, [](const SyncRecord& sync) {
      return sync.return_value != 0 || (sync.type != static_cast<uint32_t>(SyncType::kStreamSynchronize) &&
                                        sync.type != static_cast<uint32_t>(SyncType::kContextSynchronize));
    });
    std::sort(syncs.begin(), syncs.end(),
              [](const SyncRecord& a, const SyncRecord& b) { return a.start_ns < b.start_ns; });
  }
  int64_t orphan_count = 0;
  int64_t violation_count = 0;
  const auto check = [&](const auto& work) {
    const Launch* launch = launches_.Find(work.correlation_id);
    if (launch == nullptr) {
      ++orphan_count;
      return;
    }
    int64_t error_ns = std::max<int64_t>(TimeDifference(launch->start_ns, work.start_ns), 0);
    const int64_t launched_ns = TimeDifference(launch->start_ns, -int64_t{launch->duration_ns});
    for (uint32_t stream_id : {work.stream_id, kNone32}) {
      const auto syncs = syncs_.find(StreamKey(work.context_id, stream_id));
      if (syncs == syncs_.end()) continue;
      const auto sync =
          std::lower_bound(syncs->second.begin(), syncs->second.end(), launched_ns,
                           [](const SyncRecord& record, int64_t time_ns) { return record.start_ns < time_ns; });
      if (sync != syncs->second.end()) error_ns = std::max(error_ns, TimeDifference(work.end_ns, sync->end_ns));
    }
    violation_count += error_ns > 0;
    gpu_clock_error_ns_ = std::max(gpu_clock_error_ns_.value_or(0), error_ns);
  };
  std::vector<uint8_t> buffer;
  for (const IndexedChunk& chunk : chunks_) {
    const bool has_work = chunk.first_ns[StreamedIndex(RecordType::kKernel)] != INT64_MAX;
    if (!has_work) continue;
    SH_ASSIGN_OR_RETURN(RecordCursor cursor, ReadChunk(chunk, buffer));
    while (const RecordHeader* record = cursor.Next()) {
      if (record->type != RecordType::kKernel) continue;
      if (const auto* kernel = RecordAs<KernelRecord>(record)) check(*kernel);
    }
  }
  syncs_.clear();
  if (orphan_count > 0 && header().mode != Mode::kLight) CountLoss(LossCounter::kKernelWithoutLaunch, orphan_count);
  if (violation_count > 0) CountLoss(LossCounter::kClockViolation, violation_count);
  return absl::OkStatus();
}

}  // namespace stallhound::capture::spool
