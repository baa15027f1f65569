#include "record/cupti/transcriber.h"

#include <string.h>

namespace stallhound::record {
namespace {

using capture::ApiClass;
using capture::LossCounter;
using capture::spool::ActivityCursor;
using capture::spool::DecodedCall;
using capture::spool::DecodedKernel;
using capture::spool::DeliveredActivity;
using capture::spool::RawActivity;

constexpr uint32_t kMostDevices = 4096;
constexpr int64_t kDayNs = int64_t{86400} * 1'000'000'000;

ApiTable::Layer LayerOf(const DecodedCall& call) { return static_cast<ApiTable::Layer>(call.record.layer); }

bool Contains(const DecodedCall& outer, const DecodedCall& inner) {
  return outer.tid == inner.tid && outer.record.correlation_id == inner.record.correlation_id &&
         outer.record.start_ns <= inner.record.start_ns && outer.record.end_ns >= inner.record.end_ns;
}

}  // namespace

void Transcriber::Configure(const CuptiApi& api, const capture::spool::ActivityLayout* layout) noexcept {
  api_ = api;
  layout_ = layout;
}

bool Transcriber::Drain(bool is_final) noexcept {
  is_final_ = is_final;
  for (DeliveredActivity delivered = writer_.NextDelivered(); delivered.chunk != nullptr;
       delivered = writer_.NextDelivered()) {
    if (layout_ != nullptr && !is_checked_ && delivered.bytes != 0) {
      is_checked_ = true;
      if (!IsSane(delivered)) layout_ = nullptr;
    }
    if (layout_ != nullptr) Transcribe(delivered);
    writer_.Recycle(delivered);
  }
  return layout_ != nullptr;
}

// CUPTI's own walk through the buffer must meet our records one by one.
bool Transcriber::IsSane(const DeliveredActivity& delivered) noexcept {
  ActivityCursor cursor(*layout_, delivered.body, delivered.bytes);
  CUpti_Activity* record = nullptr;
  uint8_t* body = const_cast<uint8_t*>(delivered.body);
  while (api_.get_next_record(body, delivered.bytes, &record) == CUPTI_SUCCESS) {
    RawActivity raw;
    if (!cursor.Next(raw) || raw.data != reinterpret_cast<const uint8_t*>(record) || !IsPlausible(raw)) return false;
  }
  return true;
}

bool Transcriber::IsPlausible(const RawActivity& raw) const noexcept {
  const int64_t now_ns = writer_.NowNs();
  switch (raw.kind) {
    case capture::spool::kActivityConcurrentKernel: {
      const DecodedKernel kernel = DecodeKernel(*layout_, raw.data);
      return kernel.record.device_id < kMostDevices && kernel.name_pointer != 0 && kernel.shape.block[0] != 0 &&
             kernel.shape.block[0] <= 1024 && kernel.record.start_ns <= kernel.record.end_ns;
    }
    case capture::spool::kActivityRuntime:
    case capture::spool::kActivityDriver: {
      const DecodedCall call = DecodeCall(*layout_, raw);
      return call.record.start_ns <= call.record.end_ns && call.record.end_ns <= now_ns + kDayNs &&
             call.record.cbid < ApiTable::kMaxId;
    }
    case capture::spool::kActivitySynchronization: {
      const capture::spool::SyncRecord sync = DecodeSync(*layout_, raw.data);
      return sync.start_ns <= sync.end_ns && sync.type <= 4;
    }
    default:
      return true;
  }
}

void Transcriber::Transcribe(const DeliveredActivity& delivered) noexcept {
  ActivityCursor cursor(*layout_, delivered.body, delivered.bytes);
  RawActivity raw;
  while (cursor.Next(raw)) {
    Write(raw);
    // A driver call that waits for its runtime call is not written yet; a kill in between would lose only that.
    writer_.MarkTranscribed(delivered, static_cast<uint32_t>(cursor.offset()));
  }
  FlushDriverCall();
  if (cursor.is_damaged()) writer_.CountLoss(LossCounter::kCorruptRecord);
}

bool Transcriber::HasTimes(int64_t start_ns, int64_t end_ns) noexcept {
  if (start_ns != 0 && end_ns != 0) return true;
  if (!is_final_) writer_.CountLoss(LossCounter::kZeroTime);
  return false;
}

template <typename Record>
void Transcriber::WriteWork(Record& record) noexcept {
  if (HasTimes(record.start_ns, record.end_ns)) writer_.Append(record, record.end_ns);
}

void Transcriber::Write(const RawActivity& raw) noexcept {
  switch (raw.kind) {
    case capture::spool::kActivityConcurrentKernel:
      return WriteKernel(raw);
    case capture::spool::kActivityRuntime:
    case capture::spool::kActivityDriver:
      return WriteCall(raw);
    case capture::spool::kActivityMemcpy:
    case capture::spool::kActivityMemcpy2: {
      capture::spool::CopyRecord copy = DecodeCopy(*layout_, raw);
      return WriteWork(copy);
    }
    case capture::spool::kActivityMemset: {
      capture::spool::MemsetRecord record = DecodeMemset(*layout_, raw.data);
      return WriteWork(record);
    }
    case capture::spool::kActivitySynchronization: {
      capture::spool::SyncRecord sync = DecodeSync(*layout_, raw.data);
      writer_.Append(sync, sync.end_ns);
      return;
    }
    case capture::spool::kActivityCudaEvent: {
      capture::spool::CudaEventRecord event = DecodeCudaEvent(*layout_, raw.data);
      writer_.Append(event, writer_.NowNs());
      return;
    }
    case capture::spool::kActivityOverhead: {
      capture::spool::OverheadRecord overhead = DecodeOverhead(*layout_, raw.data);
      writer_.Append(overhead, overhead.end_ns);
      return;
    }
    case capture::spool::kActivityStream: {
      capture::spool::StreamRecord stream = DecodeStream(*layout_, raw.data);
      writer_.AddDictionary(stream);
      return;
    }
    case capture::spool::kActivityContext: {
      capture::spool::ContextRecord context = DecodeContext(*layout_, raw.data);
      writer_.AddDictionary(context);
      return;
    }
  }
}

uint32_t Transcriber::NameOf(uint64_t pointer) noexcept {
  if (pointer == 0) return 0;
  const uint32_t name = writer_.InternString(reinterpret_cast<const char*>(pointer));
  if (names_generation_ != writer_.generation()) {
    names_generation_ = writer_.generation();
    memset(known_names_, 0, sizeof(known_names_));
  }
  KnownName& known = known_names_[(pointer * 0x9e3779b97f4a7c15ull) >> 52];
  if (known.pointer != pointer || known.name != name) {
    known = {pointer, name};
    capture::spool::PointerNameRecord record{};
    record.pointer = pointer;
    record.name = name;
    writer_.AddDictionary(record);
  }
  return name;
}

void Transcriber::WriteKernel(const RawActivity& raw) noexcept {
  DecodedKernel kernel = DecodeKernel(*layout_, raw.data);
  if (kernel.record.graph_id == 0) writer_.header().kernels_seen.fetch_add(1, std::memory_order_relaxed);
  if (!HasTimes(kernel.record.start_ns, kernel.record.end_ns)) return;
  kernel.shape.name = NameOf(kernel.name_pointer);
  kernel.record.shape_id = writer_.Intern(kernel.shape);
  writer_.Append(kernel.record, kernel.record.end_ns);
}

// CUPTI writes an inner call before the outer one, and both have the same correlation id: the runtime's is enough.
void Transcriber::WriteCall(const RawActivity& raw) noexcept {
  DecodedCall call = DecodeCall(*layout_, raw);
  const ApiEntry& entry = table_.Get(LayerOf(call), call.record.cbid);
  if (entry.has_callback) return;  // its callbacks recorded it, with its stack
  if (raw.kind == capture::spool::kActivityDriver) {
    FlushDriverCall();
    driver_call_ = call;
    has_driver_call_ = true;
    return;
  }
  if (has_driver_call_ && Contains(call, driver_call_)) has_driver_call_ = false;
  FlushDriverCall();
  AppendCall(call);
}

void Transcriber::FlushDriverCall() noexcept {
  if (!has_driver_call_) return;
  has_driver_call_ = false;
  AppendCall(driver_call_);
}

void Transcriber::AppendCall(DecodedCall& call) noexcept {
  const ApiTable::Layer layer = LayerOf(call);
  const ApiEntry& entry = table_.Get(layer, call.record.cbid);
  call.record.thread_index = writer_.ThreadIndexOf(call.tid);
  if (entry.name != nullptr) calls_.names().Note(layer, call.record.cbid, entry.name);
  if (entry.api_class == ApiClass::kKernelLaunch && call.record.return_value == 0 &&
      !calls_.capture_times().Contains(call.record.start_ns)) {
    writer_.header().launches_seen.fetch_add(1, std::memory_order_relaxed);
  }
  writer_.Append(call.record, call.record.end_ns);
}

}  // namespace stallhound::record
