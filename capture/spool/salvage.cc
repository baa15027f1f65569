#include "capture/spool/salvage.h"

#include <optional>

#include "capture/api/api_class.h"
#include "capture/spool/activity_decode.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

// The layout comes from a file that may be damaged: every field must lie in its record.
bool IsSane(const ActivityLayout& layout) {
  using u8 = uint8_t;
  using u16 = uint16_t;
  using u32 = uint32_t;
  using u64 = uint64_t;
  using i32 = int32_t;
  using ptr = uint64_t;
  bool is_sane = layout.cupti_version != 0;
#define FIELD(name, type) is_sane = is_sane && (at.name == kAbsent || at.name + sizeof(type) <= at.bytes);
#define KIND(name, fields)                  \
  {                                         \
    const auto& at = layout.name;           \
    is_sane = is_sane && at.bytes % 8 == 0; \
    fields                                  \
  }
  SH_ACTIVITY_LAYOUT(KIND)
#undef KIND
#undef FIELD
  return is_sane;
}

// Calls that the recorder takes in callbacks (record/cupti/api_table.h): written when they returned, so not lost.
bool HasCallback(ApiClass api_class) {
  return MaySyncHost(api_class) || api_class == ApiClass::kCopyAsync || api_class == ApiClass::kQuery ||
         api_class == ApiClass::kStreamOrderedAllocate || api_class == ApiClass::kStreamOrderedFree;
}

class Salvager {
 public:
  Salvager(const ActivityLayout& layout, Dictionary& dictionary) : layout_(layout), dictionary_(dictionary) {}

  void Take(const RawActivity& raw) {
    switch (raw.kind) {
      case kActivityConcurrentKernel:
        return TakeKernel(raw);
      case kActivityMemcpy:
      case kActivityMemcpy2:
        return TakeWork(DecodeCopy(layout_, raw));
      case kActivityMemset:
        return TakeWork(DecodeMemset(layout_, raw.data));
      case kActivitySynchronization:
        return TakeWork(DecodeSync(layout_, raw.data));
      case kActivityCudaEvent:
        return Append(DecodeCudaEvent(layout_, raw.data));
      case kActivityOverhead:
        return TakeWork(DecodeOverhead(layout_, raw.data));
      case kActivityRuntime:
      case kActivityDriver:
        return TakeCall(raw);
      case kActivityStream:
        return AddToDictionary(DecodeStream(layout_, raw.data));
      case kActivityContext:
        return AddToDictionary(DecodeContext(layout_, raw.data));
      default:
        return;
    }
  }

  SalvagedRecords Finish() {
    FlushDriverCall();
    return std::move(result_);
  }

 private:
  template <typename Record>
  void Append(Record record) {
    record.header = {kRecordTypeOf<Record>, 0, sizeof(Record)};
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    result_.records.insert(result_.records.end(), bytes, bytes + sizeof(Record));
    ++result_.count;
  }
  template <typename Record>
  void AddToDictionary(Record record) {
    record.header = {kRecordTypeOf<Record>, 0, sizeof(Record)};
    dictionary_.Add(&record.header);
  }
  template <typename Record>
  void TakeWork(const Record& record) {
    if (record.start_ns > 0 && record.end_ns >= record.start_ns) Append(record);
  }

  void TakeKernel(const RawActivity& raw) {
    DecodedKernel kernel = DecodeKernel(layout_, raw.data);
    const auto name = dictionary_.pointer_names().find(kernel.name_pointer);
    kernel.shape.name = name == dictionary_.pointer_names().end() ? 0 : name->second;
    kernel.record.shape_id = dictionary_.AddShape(kernel.shape);
    TakeWork(kernel.record);
  }

  ApiClass ClassOf(const HostCallRecord& call) const { return ClassifyApi(dictionary_.ApiName(call.layer, call.cbid)); }

  // CUPTI writes an inner call before the outer one, and both have the same correlation id.
  void TakeCall(const RawActivity& raw) {
    DecodedCall call = DecodeCall(layout_, raw);
    call.record.thread_index = dictionary_.ThreadIndexOf(call.tid);
    if (call.record.thread_index == 0 || HasCallback(ClassOf(call.record))) return;
    if (raw.kind == kActivityDriver) {
      FlushDriverCall();
      driver_call_ = call.record;
      return;
    }
    if (driver_call_.has_value() && driver_call_->correlation_id == call.record.correlation_id) driver_call_.reset();
    FlushDriverCall();
    TakeWork(call.record);
  }
  void FlushDriverCall() {
    if (driver_call_.has_value()) TakeWork(*driver_call_);
    driver_call_.reset();
  }

  const ActivityLayout& layout_;
  Dictionary& dictionary_;
  std::optional<HostCallRecord> driver_call_;  // may lie inside the next runtime call
  SalvagedRecords result_;
};

}  // namespace

SalvagedRecords SalvageActivity(const ActivityLayout& layout, std::span<const uint8_t> raw, Dictionary& dictionary) {
  if (!IsSane(layout)) {
    SalvagedRecords nothing;
    nothing.has_unknown_layout = !raw.empty() && raw[0] != 0;
    return nothing;
  }
  Salvager salvager(layout, dictionary);
  ActivityCursor cursor(layout, raw.data(), raw.size());
  RawActivity record;
  while (cursor.Next(record)) salvager.Take(record);
  return salvager.Finish();
}

}  // namespace stallhound::capture::spool
