#include "record/cupti/host_calls.h"

#include <string.h>

namespace stallhound::record {
namespace {

using capture::ApiClass;
using capture::spool::HostCallRecord;
using capture::spool::kNone32;
using capture::spool::kNone64;

constexpr int32_t kNotReady = 600;  // cudaErrorNotReady, CUDA_ERROR_NOT_READY
constexpr uint32_t kMaxDepth = 12;

// A spin on a query would fill the spool: beyond the first ones of a run only one in so many ns is written, enough to
// see that the run went on. The stack is taken once, when the run is long enough to be a stall.
constexpr uint32_t kQueriesWritten = 32;
constexpr uint32_t kQueryOfStack = 16;
constexpr int64_t kQueryIntervalNs = 20'000;

// A sync of an idle GPU takes 1 to 5 us on an H200; one that takes longer than this has waited for work.
constexpr int64_t kSurelyBlockedNs = 100'000;

int32_t ReturnValue(const CUpti_CallbackData& data) {
  return data.functionReturnValue == nullptr ? 0 : *static_cast<const int32_t*>(data.functionReturnValue);
}

bool IsCopy(ApiClass api_class) { return api_class == ApiClass::kCopyAsync || api_class == ApiClass::kCopyBlocking; }

bool IsSync(ApiClass api_class) {
  return api_class == ApiClass::kDeviceSync || api_class == ApiClass::kStreamSync || api_class == ApiClass::kEventSync;
}

}  // namespace

struct HostCalls::PendingCall {
  int64_t start_ns;
  uint32_t key;  // layer and id
  uint32_t correlation_id;
  uint32_t stack_id;
  bool has_copy;  // a call inside it wrote the copy
};

struct HostCalls::ThreadCalls {
  uint32_t epoch;
  uint32_t depth;
  PendingCall pending[kMaxDepth];
  // The run of queries that were not ready, of one handle by one function.
  uint64_t query_handle;
  int64_t query_written_ns;
  uint32_t query_key;
  uint32_t query_count;
};

void ApiNames::Note(ApiTable::Layer layer, uint32_t cbid, const char* name) noexcept {
  const uint64_t generation = writer_.generation();
  uint64_t noted = generation_.load(std::memory_order_relaxed);
  if (noted != generation && generation_.compare_exchange_strong(noted, generation)) {
    for (auto& words : noted_) {
      for (auto& word : words) word.store(0, std::memory_order_relaxed);
    }
  }
  std::atomic<uint64_t>& word = noted_[layer][cbid / 64];
  const uint64_t bit = uint64_t{1} << (cbid % 64);
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return;
  if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  capture::spool::ApiNameRecord record{};
  record.layer = layer;
  record.cbid = cbid;
  record.name = writer_.InternString(name);
  writer_.AddDictionary(record);
}

void HostCalls::Configure(const CuptiApi& api, bool counts_launches, bool has_work_records) noexcept {
  api_ = api;
  counts_launches_ = counts_launches;
  has_work_records_ = has_work_records;
}

void HostCalls::SetRecording(bool recording) noexcept {
  if (recording_.exchange(recording, std::memory_order_relaxed) != recording) epoch_.fetch_add(1);
}

HostCalls::ThreadCalls* HostCalls::Calls() noexcept {
  static_assert(sizeof(ThreadCalls) <= 512, "SpoolWriter::ThreadMemory gives 512 bytes");
  ThreadCalls* calls = static_cast<ThreadCalls*>(writer_.ThreadMemory());
  if (calls == nullptr) return nullptr;
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  if (calls->epoch != epoch) {
    calls->epoch = epoch;
    calls->depth = 0;
    calls->query_count = 0;
  }
  return calls;
}

void HostCalls::OnCall(ApiTable::Layer layer, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  const int64_t now_ns = writer_.NowNs();
  const ApiEntry& entry = table_.Get(layer, cbid);
  const bool is_exit = data.callbackSite == CUPTI_API_EXIT;
  switch (entry.role) {
    case CallRole::kBeginCapture:
      if (is_exit && ReturnValue(data) == 0) capture_times_.Begin(now_ns);
      return;
    case CallRole::kEndCapture:
      if (is_exit) capture_times_.End(now_ns);
      return;
    case CallRole::kProfilerStart:
    case CallRole::kProfilerStop:
      // Started before and stopped after the call, as the window promises. A driver call within the runtime's is the
      // same request again, which changes nothing.
      if (is_exit && hooks_.on_profiler != nullptr) {
        hooks_.on_profiler(hooks_.context, entry.role == CallRole::kProfilerStart);
      }
      return;
    case CallRole::kOrdinary:
      break;
  }
  if (!recording_.load(std::memory_order_relaxed) || entry.name == nullptr) return;
  const uint32_t key = layer * ApiTable::kMaxId + cbid;
  if (is_exit) {
    Exit(entry, key, data, now_ns);
  } else {
    Enter(entry, key, data, now_ns);
  }
  capture::spool::FileHeader& header = writer_.header();
  header.callback_count.fetch_add(1, std::memory_order_relaxed);
  header.callback_ns.fetch_add(static_cast<uint64_t>(writer_.NowNs() - now_ns), std::memory_order_relaxed);
}

void HostCalls::Enter(const ApiEntry& entry, uint32_t key, const CUpti_CallbackData& data, int64_t now_ns) noexcept {
  ThreadCalls* calls = Calls();
  if (calls == nullptr || calls->depth == kMaxDepth) return;
  PendingCall& pending = calls->pending[calls->depth];
  pending = {now_ns, key, data.correlationId, 0, false};
  // Taken at entry, where it costs nothing if the call waits for the GPU anyway. A nested call has its caller's stack.
  if (calls->depth > 0) pending.stack_id = calls->pending[calls->depth - 1].stack_id;
  if (entry.has_stack && pending.stack_id == 0) pending.stack_id = TakeStack();
  ++calls->depth;
}

void HostCalls::Exit(const ApiEntry& entry, uint32_t key, const CUpti_CallbackData& data, int64_t now_ns) noexcept {
  ThreadCalls* calls = Calls();
  if (calls == nullptr) return;
  uint32_t depth = calls->depth;
  while (depth > 0 &&
         (calls->pending[depth - 1].key != key || calls->pending[depth - 1].correlation_id != data.correlationId)) {
    --depth;
  }
  if (depth == 0) return;  // entered before recording began
  const PendingCall pending = calls->pending[--depth];
  calls->depth = depth;

  HostCallRecord record{};
  record.start_ns = pending.start_ns;
  record.end_ns = now_ns;
  record.thread_index = writer_.ThreadIndex();
  record.correlation_id = data.correlationId;
  record.cbid = key % ApiTable::kMaxId;
  record.layer = static_cast<uint16_t>(key / ApiTable::kMaxId);
  record.depth = static_cast<uint16_t>(depth);
  record.stack_id = pending.stack_id;
  record.return_value = ReturnValue(data);
  const CallDetails details = ReadCallDetails(entry.parameters, data.functionParams, record.return_value == 0);
  if (IsEventCall(entry.api_class) && capture_times_.Contains(record.start_ns)) return;  // it orders nothing yet
  const uint64_t handle = details.event != kNone64 ? details.event : reinterpret_cast<uintptr_t>(details.stream);
  if (!IsWorthWriting(*calls, entry, record, handle)) return;
  if (entry.api_class == ApiClass::kHostFunction && IsCaptured(entry, record, details.stream)) return;
  record.context_id = data.contextUid == 0 ? kNone32 : data.contextUid;
  record.stream_id = details.has_stream ? StreamId(entry, data, details.stream) : kNone32;
  record.event_handle = details.event;
  record.bytes = details.bytes;
  record.address = details.address;
  names_.Note(static_cast<ApiTable::Layer>(record.layer), record.cbid, entry.name);
  Count(entry, record);
  writer_.Append(record, now_ns);
  if (!has_work_records_ && IsCopy(entry.api_class)) WriteCopies(entry, record, data, details.stream, *calls);
}

bool HostCalls::IsCaptured(const ApiEntry& entry, const HostCallRecord& call, const void* handle) noexcept {
  if (!capture_times_.Contains(call.start_ns)) return false;
  auto stream = static_cast<CUstream>(const_cast<void*>(handle));
  if (stream == nullptr && entry.is_per_thread_stream) stream = CU_STREAM_PER_THREAD;
  // The legacy stream cannot be captured.
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (api_.is_capturing != nullptr && api_.is_capturing(stream, &status) != CUDA_SUCCESS) return false;
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// The driver's call says what is copied from where. A call of the runtime that was made without one, or a driver call
// that says nothing, is a copy of which only that is known.
void HostCalls::WriteCopies(const ApiEntry& entry, const HostCallRecord& call, const CUpti_CallbackData& data,
                            const void* stream, ThreadCalls& calls) noexcept {
  const bool is_known = entry.copy != nullptr && data.functionParams != nullptr;
  const bool is_written = !is_known && (call.depth > 0 || calls.pending[call.depth].has_copy);
  if (is_written || call.return_value != 0 || IsCaptured(entry, call, stream)) return;
  if (!is_known) return WriteCopy(entry, call, data, {.bytes = kNone64, .peer_device_id = kNone32});
  if (call.depth > 0) calls.pending[call.depth - 1].has_copy = true;
  const size_t count = CountCopies(*entry.copy, data.functionParams);
  for (size_t i = 0; i < count; ++i) {
    WriteCopy(entry, call, data, ReadCopy(*entry.copy, data.functionParams, i, api_.get_pointer_attributes));
  }
}

void HostCalls::WriteCopy(const ApiEntry& entry, const HostCallRecord& call, const CUpti_CallbackData& data,
                          const CopyFacts& facts) noexcept {
  const uint64_t bytes = facts.bytes != kNone64 ? facts.bytes : call.bytes;
  if (bytes == 0) return;
  capture::spool::CopyRecord copy{};
  copy.start_ns = call.start_ns;
  copy.end_ns = call.end_ns;
  copy.has_call_times = 1;
  copy.correlation_id = call.correlation_id;
  const bool has_device = data.context != nullptr && api_.get_device_id(data.context, &copy.device_id) == CUPTI_SUCCESS;
  copy.context_id = call.context_id;
  copy.stream_id = call.stream_id != kNone32 ? call.stream_id : StreamId(entry, data, nullptr);
  copy.bytes = bytes == kNone64 ? 0 : bytes;
  copy.direction = static_cast<uint8_t>(facts.direction);
  copy.source_kind = static_cast<uint8_t>(facts.source_kind);
  copy.target_kind = static_cast<uint8_t>(facts.target_kind);
  copy.is_async = entry.api_class == ApiClass::kCopyAsync;
  copy.peer_device_id = facts.peer_device_id;
  if (bytes == kNone64 || !has_device || copy.stream_id == kNone32)
    writer_.CountLoss(capture::LossCounter::kMissingField);
  writer_.Append(copy, call.end_ns);
}

bool HostCalls::IsWorthWriting(ThreadCalls& calls, const ApiEntry& entry, HostCallRecord& record,
                               uint64_t handle) noexcept {
  const uint32_t key = record.layer * ApiTable::kMaxId + record.cbid;
  if (entry.api_class != ApiClass::kQuery) {
    calls.query_count = 0;
    return true;
  }
  if (record.depth > 0) return false;  // the runtime's call says the same
  if (record.return_value != kNotReady) {
    calls.query_count = 0;
    return true;
  }
  if (calls.query_handle != handle || calls.query_key != key) calls.query_count = 0;
  calls.query_handle = handle;
  calls.query_key = key;
  ++calls.query_count;
  if (calls.query_count == kQueryOfStack) record.stack_id = TakeStack();
  if (calls.query_count > kQueriesWritten && record.end_ns - calls.query_written_ns < kQueryIntervalNs) return false;
  calls.query_written_ns = record.end_ns;
  return true;
}

bool HostCalls::LeavesRecords(const ApiEntry& entry, const HostCallRecord& record) noexcept {
  if (!has_work_records_) return false;
  if (IsSync(entry.api_class)) return record.end_ns - record.start_ns >= kSurelyBlockedNs;
  const bool has_bytes = record.bytes != kNone64 && record.bytes > 0;
  return IsCopy(entry.api_class) && has_bytes && !capture_times_.Contains(record.start_ns);
}

void HostCalls::Count(const ApiEntry& entry, const HostCallRecord& record) noexcept {
  if (record.return_value != 0 || record.depth > 0) return;
  if (LeavesRecords(entry, record)) evidence_count_.fetch_add(1, std::memory_order_relaxed);
  if (counts_launches_ && entry.api_class == ApiClass::kKernelLaunch && !capture_times_.Contains(record.start_ns)) {
    writer_.header().launches_seen.fetch_add(1, std::memory_order_relaxed);
  }
}

uint32_t HostCalls::StreamId(const ApiEntry& entry, const CUpti_CallbackData& data, const void* stream) noexcept {
  if (api_.get_stream_id == nullptr || data.context == nullptr) return kNone32;
  // cudaStreamLegacy and cudaStreamPerThread are numbers, not streams.
  const uintptr_t handle = reinterpret_cast<uintptr_t>(stream);
  bool is_per_thread = entry.is_per_thread_stream;
  if (handle == 1) is_per_thread = false;
  if (handle == 2) is_per_thread = true;
  CUstream named = handle <= 2 ? nullptr : static_cast<CUstream>(const_cast<void*>(stream));
  uint32_t stream_id = 0;
  if (api_.get_stream_id(data.context, named, is_per_thread ? 1 : 0, &stream_id) != CUPTI_SUCCESS) return kNone32;
  return stream_id;
}

}  // namespace stallhound::record
