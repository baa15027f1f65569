#include "capture/import/nsys/events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "capture/import/nsys/emitter.h"
#include "capture/import/nsys/sync_type.h"

namespace stallhound::capture::nsys {
namespace {

constexpr int kExtra = GpuRows::kFirstExtra;

// The columns that all GPU work shares. Returns the call that asked for it, or null.
template <typename Row>
const IndexedCall* FillGpuWork(const EventContext& context, const GpuRow& from, Row& row) {
  row.start_ns = from.start_ns - context.zero_ns;
  row.end_ns = from.end_ns - context.zero_ns;
  row.process_id = from.process_id;
  row.device_id = context.devices.Id(from.process_id, *from.device);
  row.context_id = from.context_id;
  row.stream_id = *from.stream_id;
  row.correlation_id = from.correlation_id;
  if (!from.correlation_id) return nullptr;
  const IndexedCall* call = context.survey.calls.Find(from.process_id, *from.correlation_id);
  if (call == nullptr) return nullptr;
  row.launch_start_ns = call->start_ns - context.zero_ns;
  row.launch_end_ns = call->end_ns - context.zero_ns;
  row.launch_thread_id = call->thread_id;
  return call;
}

// Graph and node ids; 0 is Nsight's "none".
void GetGraphId(const Rows& rows, int column, std::optional<uint64_t>& id) {
  rows.GetUnsigned(column, id);
  if (rows.Int(column) == 0) id.reset();
}

}  // namespace

absl::Status EmitHostCalls(const EventContext& context, CaptureVisitor& visitor) {
  const TableSurvey& table = context.survey.runtime;
  if (!table.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(CallRows rows,
                      CallRows::Open(context.database, context.survey.identities, context.names, !table.is_sorted));
  Emitter<HostCallBatch> emitter(visitor);
  CallRow from;
  HostCallRow row;
  while (rows.Next(from)) {
    row.start_ns = from.start_ns - context.zero_ns;
    row.end_ns = from.end_ns - context.zero_ns;
    row.process_id = from.process_id;
    row.thread_id = from.thread_id;
    row.api = from.name.api;
    row.api_class = from.name.api_class;
    row.layer = from.name.layer;
    row.is_nested = from.is_nested;
    row.correlation_id = from.correlation_id;
    row.return_value = rows.return_value();
    rows.GetCallchainId(row.stack_id);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitKernels(const EventContext& context, CaptureVisitor& visitor) {
  const TableSurvey& table = context.survey.kernels;
  if (!table.is_present) return absl::OkStatus();
  std::vector<const char*> columns = {"graphNodeId", "graphId"};
  constexpr int kShape = kExtra + 2;
  // In storage order the survey's shapes can be used, and their ten columns need not be read again.
  if (!table.is_sorted) columns.insert(columns.end(), std::begin(Shapes::kColumns), std::end(Shapes::kColumns));
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(context.database, context.survey.identities, kKernelTable, columns,
                                                  !table.is_sorted));
  Emitter<KernelBatch> emitter(visitor);
  GpuRow from;
  for (int64_t i = 0; i < table.row_count && rows.Next(from); ++i) {
    KernelRow row;
    FillGpuWork(context, from, row);
    row.kernel_shape_id = table.is_sorted ? context.survey.shapes.OfKernel(i)
                                          : context.survey.shapes.Id(Shapes::KeyOf(rows.rows(), kShape));
    GetGraphId(rows.rows(), kExtra, row.graph_node_id);
    GetGraphId(rows.rows(), kExtra + 1, row.graph_id);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitCopies(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.copies.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(context.database, context.survey.identities, kCopyTable,
                                                  {"bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId",
                                                   "dstDeviceId", "graphNodeId"},
                                                  !context.survey.copies.is_sorted));
  Emitter<CopyBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from)) {
    const Rows& columns = rows.rows();
    CopyRow row;
    const IndexedCall* call = FillGpuWork(context, from, row);
    const CopyOperation operation = context.survey.enums.Copy(columns.Int(kExtra + 1));
    row.direction = operation.direction;
    row.bytes = columns.MaybeUnsigned(kExtra).value_or(0);
    row.source_kind = context.survey.enums.Memory(columns.MaybeInt(kExtra + 2));
    row.target_kind = context.survey.enums.Memory(columns.MaybeInt(kExtra + 3));
    if (operation.is_migration) row.source_kind = row.target_kind = MemoryKind::kManaged;
    if (call != nullptr) row.is_async = context.survey.ClassOf(*call) != ApiClass::kCopyBlocking;
    if (operation.direction == CopyDirection::kPeerToPeer) {
      const std::optional<uint32_t> source = columns.MaybeId(kExtra + 4);
      const std::optional<uint32_t> target = columns.MaybeId(kExtra + 5);
      const std::optional<uint32_t> peer = source == from.device ? target : source;
      if (peer) row.peer_device_id = context.devices.Id(from.process_id, *peer);
    }
    GetGraphId(columns, kExtra + 6, row.graph_node_id);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitMemsets(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.memsets.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows,
                      GpuRows::Open(context.database, context.survey.identities, kMemsetTable,
                                    {"bytes", "value", "memKind", "graphNodeId"}, !context.survey.memsets.is_sorted));
  Emitter<MemsetBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from)) {
    MemsetRow row;
    FillGpuWork(context, from, row);
    row.bytes = rows.rows().MaybeUnsigned(kExtra).value_or(0);
    row.value = rows.rows().MaybeInt(kExtra + 1);
    row.memory_kind = context.survey.enums.Memory(rows.rows().MaybeInt(kExtra + 2));
    GetGraphId(rows.rows(), kExtra + 3, row.graph_node_id);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitGraphRuns(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.graphs.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(context.database, context.survey.identities, kGraphTable, {"graphId"},
                                                  !context.survey.graphs.is_sorted));
  Emitter<GraphRunBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from)) {
    GraphRunRow row;
    FillGpuWork(context, from, row);
    GetGraphId(rows.rows(), kExtra, row.graph_id);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitSyncs(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.syncs.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(context.database, context.survey.identities, kSyncTable,
                                                  {"eventId", "eventSyncId"}, !context.survey.syncs.is_sorted));
  Emitter<SyncBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from, false)) {
    const IndexedCall* call =
        from.correlation_id ? context.survey.calls.Find(from.process_id, *from.correlation_id) : nullptr;
    const std::optional<SyncType> type = call != nullptr ? SyncTypeOfCall(context.survey.ClassOf(*call)) : std::nullopt;
    SyncRow row;
    row.start_ns = from.start_ns - context.zero_ns;
    row.end_ns = from.end_ns - context.zero_ns;
    row.process_id = from.process_id;
    row.type = type ? *type : SyncTypeOfIds(rows.rows().MaybeInt(GpuRows::kStream), rows.rows().MaybeInt(kExtra));
    row.context_id = from.context_id;
    row.stream_id = from.stream_id;
    row.event_id = rows.rows().MaybeId(kExtra);
    row.event_sync_id = rows.rows().MaybeUnsigned(kExtra + 1);
    row.correlation_id = from.correlation_id;
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

}  // namespace stallhound::capture::nsys
