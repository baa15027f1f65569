#include "capture/spool/salvage.h"

#include "capture/spool/activity_decode.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

class Salvager {
 public:
  Salvager(const ActivityLayout& layout, Dictionary& dictionary) : layout_(layout), dictionary_(dictionary) {
    for (const auto& [index, thread] : dictionary.threads()) thread_of_tid_[static_cast<uint32_t>(thread.tid)] = index;
  }

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
      default:
        return;
    }
  }

  SalvagedRecords Finish() { return std::move(result_); }

 private:
  template <typename Record>
  void Append(Record record) {
    record.header = {kRecordTypeOf<Record>, 0, sizeof(Record)};
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    result_.records.insert(result_.records.end(), bytes, bytes + sizeof(Record));
    ++result_.count;
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

  void TakeCall(const RawActivity& raw) {
    DecodedCall call = DecodeCall(layout_, raw);
    const auto thread = thread_of_tid_.find(call.tid);
    if (thread == thread_of_tid_.end()) return;
    call.record.thread_index = thread->second;
    TakeWork(call.record);
  }

  const ActivityLayout& layout_;
  Dictionary& dictionary_;
  absl::flat_hash_map<uint32_t, uint32_t> thread_of_tid_;
  SalvagedRecords result_;
};

}  // namespace

SalvagedRecords SalvageActivity(const ActivityLayout& layout, std::span<const uint8_t> raw, Dictionary& dictionary) {
  Salvager salvager(layout, dictionary);
  ActivityCursor cursor(layout, raw.data(), raw.size());
  RawActivity record;
  while (cursor.Next(record)) salvager.Take(record);
  return salvager.Finish();
}

}  // namespace stallhound::capture::spool
