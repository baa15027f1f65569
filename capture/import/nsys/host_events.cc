#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capture/import/nsys/emitter.h"
#include "capture/import/nsys/events.h"

namespace stallhound::capture::nsys {
namespace {

// PyTorch's emit_nvtx writes "aten::add, seq = 45357, op_id = 990795, sizes = [[2, 3]]": the operator and what differs
// from call to call. Returns the operator, or the whole text if it is another one's.
std::string_view OperatorName(std::string_view text) {
  for (const std::string_view part : {", seq = ", ", op_id = ", ", sizes = "}) {
    if (const size_t end = text.find(part); end != std::string_view::npos) text = text.substr(0, end);
  }
  return text;
}

// Ranges repeat their domain and category; both are looked up once in a row.
class RangeLabels {
 public:
  explicit RangeLabels(const Survey& survey) : survey_(survey) {}

  void Fill(int64_t global_tid, int64_t domain, int64_t category, RangeRow& row) {
    const int64_t pid = GlobalPid(global_tid);
    const std::tuple<int64_t, int64_t, int64_t> key = {pid, domain, category};
    if (!has_key_ || key_ != key) {
      has_key_ = true;
      key_ = key;
      const auto domain_it = survey_.domains.find({pid, domain});
      domain_ = domain_it != survey_.domains.end() ? std::optional(domain_it->second) : std::nullopt;
      const auto category_it = survey_.categories.find(key);
      category_ = category_it != survey_.categories.end() ? std::optional(category_it->second) : std::nullopt;
    }
    row.domain = domain_;
    row.category = category_;
  }

 private:
  const Survey& survey_;
  bool has_key_ = false;
  std::tuple<int64_t, int64_t, int64_t> key_;
  std::optional<StringId> domain_;
  std::optional<StringId> category_;
};

enum RangeColumn { kStart, kEnd, kType, kTid, kText, kTextId, kDomain, kCategory, kInt64, kUint64, kInt32, kUint32 };

RangeKind KindOf(int64_t event_type) {
  if (event_type == kNvtxMark) return RangeKind::kMark;
  return event_type == kNvtxStartEnd ? RangeKind::kStartEnd : RangeKind::kPushPop;
}

void FillRangeName(const EventContext& context, const Rows& rows, RangeRow& row) {
  std::optional<StringId> stored;
  std::optional<std::string_view> text = rows.MaybeText(kText);
  if (!text && rows.IsInt(kTextId)) stored = context.names.Find(rows.Int(kTextId));
  if (stored) text = context.names.Text(*stored);
  const std::string_view name = OperatorName(text.value_or(""));
  if (text && name.size() < text->size()) row.kind = RangeKind::kOperator;
  row.name = stored && name.size() == text->size() ? *stored : context.names.Intern(name);
}

absl::Status AddOverheads(const EventContext& context, const char* table, std::vector<OverheadRow>& result) {
  if (!context.database.Has(table, "start")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows,
                      context.database.Select(table, {"start", "end", "globalTid", "nameId", "correlationId"}));
  while (rows.Next()) {
    const std::optional<int64_t> start_ns = Time(rows, 0);
    const std::optional<int64_t> end_ns = Time(rows, 1);
    // The profiler's own start-up lies before everything it recorded.
    if (!start_ns || !end_ns || *end_ns < context.zero_ns || *end_ns < *start_ns) continue;
    const std::optional<StringId> name = context.names.Find(rows.Int(3));
    OverheadRow row;
    row.start_ns = std::max(*start_ns, context.zero_ns) - context.zero_ns;
    row.end_ns = *end_ns - context.zero_ns;
    if (rows.IsInt(2)) {
      row.thread_id = context.survey.identities.ThreadId(rows.Int(2));
      row.process_id = context.survey.identities.threads()[*row.thread_id].process_id;
    } else {
      row.process_id = context.survey.identities.ProcessId(std::nullopt);
    }
    row.kind = OverheadByName(name ? context.names.Text(*name) : "");
    row.correlation_id = rows.MaybeUnsigned(4);
    result.push_back(row);
  }
  return rows.status();
}

template <typename Batch, typename Row>
absl::Status EmitAll(const std::vector<Row>& rows, CaptureVisitor& visitor) {
  Emitter<Batch> emitter(visitor);
  for (const Row& row : rows) SH_RETURN_IF_ERROR(emitter.Add(row));
  return emitter.Flush();
}

}  // namespace

absl::Status EmitRanges(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.ranges.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(
      Rows rows,
      context.database.Select(kNvtxTable,
                              {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "category",
                               "int64Value", "uint64Value", "int32Value", "uint32Value"},
                              kNvtxRanges, context.survey.ranges.is_sorted ? RowOrder::kStorage : RowOrder::kByStart));
  Emitter<RangeBatch> emitter(visitor);
  RangeLabels labels(context.survey);
  while (rows.Next()) {
    if (!IsTime(rows, kStart) || !rows.IsInt(kTid)) continue;
    RangeRow row;
    row.kind = KindOf(rows.Int(kType));
    row.start_ns = rows.Int(kStart) - context.zero_ns;
    if (IsTime(rows, kEnd)) row.end_ns = std::max(rows.Int(kEnd) - context.zero_ns, row.start_ns);
    if (row.kind == RangeKind::kMark) row.end_ns = row.start_ns;
    row.thread_id = context.survey.identities.ThreadId(rows.Int(kTid));
    row.process_id = context.survey.identities.threads()[row.thread_id].process_id;
    FillRangeName(context, rows, row);
    labels.Fill(rows.Int(kTid), rows.Int(kDomain), rows.Int(kCategory), row);
    for (int column = kInt64; column <= kUint32 && !row.payload; ++column) row.payload = rows.MaybeInt(column);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitOverheads(const EventContext& context, CaptureVisitor& visitor) {
  std::vector<OverheadRow> overheads;
  SH_RETURN_IF_ERROR(AddOverheads(context, kOverheadTable, overheads));
  SH_RETURN_IF_ERROR(AddOverheads(context, kProfilerTable, overheads));
  std::stable_sort(overheads.begin(), overheads.end(),
                   [](const OverheadRow& a, const OverheadRow& b) { return a.start_ns < b.start_ns; });
  return EmitAll<OverheadBatch>(overheads, visitor);
}

absl::Status EmitCudaEvents(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.database.Has(kCudaEventTable, "eventId")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows,
                      context.database.Select(kCudaEventTable, {"timestamp", "contextId", "streamId", "correlationId",
                                                                "globalPid", "eventId", "eventSyncId"}));
  std::vector<CudaEventRow> events;
  while (rows.Next()) {
    CudaEventRow row;
    row.process_id = context.survey.identities.ProcessId(rows.MaybeInt(4));
    row.correlation_id = rows.MaybeUnsigned(3);
    const IndexedCall* call =
        row.correlation_id ? context.survey.calls.Find(row.process_id, *row.correlation_id) : nullptr;
    const std::optional<uint64_t> event = rows.MaybeUnsigned(5);
    // The recorded time is the GPU's, and old versions have none; what counts is when the host asked.
    const std::optional<int64_t> time_ns = call != nullptr ? std::optional(call->start_ns) : Time(rows, 0);
    if (!event || !time_ns) continue;
    row.time_ns = *time_ns - context.zero_ns;
    row.context_id = rows.MaybeId(1);
    row.stream_id = rows.MaybeId(2);
    row.event_id = *event;
    row.event_sync_id = rows.MaybeUnsigned(6);
    events.push_back(row);
  }
  SH_RETURN_IF_ERROR(rows.status());
  std::stable_sort(events.begin(), events.end(),
                   [](const CudaEventRow& a, const CudaEventRow& b) { return a.time_ns < b.time_ns; });
  return EmitAll<CudaEventBatch>(events, visitor);
}

}  // namespace stallhound::capture::nsys
