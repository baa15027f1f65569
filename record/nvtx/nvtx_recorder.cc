#include "record/nvtx/nvtx_recorder.h"

#include <charconv>
#include <optional>

#include "record/nvtx/operator_text.h"

namespace stallhound::record {

using capture::LossCounter;
using capture::spool::DomainRecord;
using capture::spool::RangeEvent;
using capture::spool::RangeRecord;
using capture::spool::ThreadRecord;

void NvtxRecorder::Write(const NvtxEvent& event, RangeEvent kind, uint64_t range_id) {
  // The clock comes first for what begins, so that the recorder's own work lies inside the range, not before it.
  const int64_t now_ns = writer_.NowNs();
  // A window opens before the range that opens it is written, and closes after it.
  const bool is_end = kind == RangeEvent::kPop || kind == RangeEvent::kEnd;
  if (!is_end) TellHook(event, kind, range_id);
  if (recording_.load(std::memory_order_relaxed)) WriteRecord(event, kind, range_id, now_ns);
  if (is_end) TellHook(event, kind, range_id);
}

void NvtxRecorder::TellHook(const NvtxEvent& event, RangeEvent kind, uint64_t range_id) {
  if (hook_.on_range == nullptr) return;
  std::string_view name = event.text;
  if (event.registered != 0) strings_.Get(event.registered, name);
  hook_.on_range(hook_.context, kind, name, range_id);
}

void NvtxRecorder::WriteRecord(const NvtxEvent& event, RangeEvent kind, uint64_t range_id, int64_t now_ns) {
  const bool may_be_operator = stack_hook_.take_python != nullptr && kind == RangeEvent::kPush;
  if (may_be_operator && WriteOperator(event, now_ns)) return;
  if (!writer_.EnsureOpen()) return;
  const uint64_t generation = writer_.generation();
  RangeRecord record = {.time_ns = now_ns,
                        .thread_index = writer_.ThreadIndex(),
                        .event = kind,
                        .range_id = range_id,
                        .domain_id = DomainId(event.domain, generation),
                        .name = NameId(event, generation),
                        .category = CategoryId(event.domain, event.category, generation),
                        .is_operator = 0,
                        .payload = event.payload};
  writer_.Append(record, now_ns);
}

bool NvtxRecorder::WriteOperator(const NvtxEvent& event, int64_t now_ns) {
  const std::optional<OperatorText> text = ParseOperatorText(event.text);
  if (!text || !writer_.EnsureOpen()) return text.has_value();
  const bool has_sequence = text->sequence != capture::spool::kNonePayload;
  RangeRecord record = {.time_ns = now_ns,
                        .thread_index = writer_.ThreadIndex(),
                        .event = RangeEvent::kPush,
                        .range_id = has_sequence ? stack_hook_.take_python(stack_hook_.context) : 0,
                        .domain_id = DomainId(event.domain, writer_.generation()),
                        .name = writer_.InternString(text->name),
                        .is_operator = 1,
                        .payload = text->sequence};
  writer_.Append(record, now_ns);
  return true;
}

uint64_t NvtxRecorder::Start(const NvtxEvent& event) {
  const uint64_t range_id = last_range_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  Write(event, RangeEvent::kStart, range_id);
  return range_id;
}

uint32_t NvtxRecorder::DomainId(NvtxDomain domain, uint64_t generation) {
  if (domain == 0) return 0;
  return domains_.IdOf(domain, generation, [this](std::string_view name) {
    DomainRecord record = {.name = writer_.InternString(name)};
    return writer_.Intern(record);
  });
}

uint32_t NvtxRecorder::StringId(NvtxString handle, uint64_t generation) {
  return strings_.IdOf(handle, generation, [this](std::string_view text) { return writer_.InternString(text); });
}

uint32_t NvtxRecorder::NameId(const NvtxEvent& event, uint64_t generation) {
  if (event.registered == 0) return event.text.empty() ? 0 : writer_.InternString(event.text);
  const uint32_t id = StringId(event.registered, generation);
  if (id == 0) writer_.CountLoss(LossCounter::kUnknownString);
  return id;
}

uint32_t NvtxRecorder::CategoryId(NvtxDomain domain, uint32_t category, uint64_t generation) {
  if (category == 0) return 0;
  const TextTable::Handle name = categories_.NameOf(domain, category);
  if (name != 0) return StringId(name, generation);
  char number[16];
  const auto end = std::to_chars(number, number + sizeof(number), category).ptr;
  return writer_.InternString({number, static_cast<size_t>(end - number)});
}

NvtxDomain NvtxRecorder::CreateDomain(std::string_view name) { return domains_.Add(name); }

NvtxString NvtxRecorder::RegisterString(std::string_view text) { return strings_.Add(text); }

void NvtxRecorder::NameCategory(NvtxDomain domain, uint32_t category, std::string_view name) {
  const TextTable::Handle handle = strings_.Add(name);
  if (handle == 0 || !categories_.SetName(domain, category, handle)) writer_.CountLoss(LossCounter::kUnknownString);
}

void NvtxRecorder::NameThread(int64_t tid, std::string_view name) {
  if (!writer_.EnsureOpen()) return;
  ThreadRecord record = {.name = writer_.InternString(name), .tid = tid};
  // By the id alone, a thread that has recorded nothing yet would name the dead one that had its id.
  const bool is_caller = tid == capture::spool::CallerTid();
  record.thread_index = is_caller ? writer_.ThreadIndex() : writer_.ThreadIndexOf(tid);
  if (record.thread_index == 0) return;
  writer_.AddDictionary(record);
}

void NvtxRecorder::UnlockInChild() {
  domains_.UnlockInChild();
  strings_.UnlockInChild();
}

}  // namespace stallhound::record
