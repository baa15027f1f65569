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
std::optional<uint64_t> GraphId(const Rows& rows, int column) {
  const std::optional<uint64_t> id = rows.MaybeUnsigned(column);
  return id && *id > 0 ? id : std::nullopt;
}

ApiClass ClassOf(const EventContext& context, const IndexedCall& call) { return context.survey.class_of_api[call.api]; }

absl::StatusOr<GpuRows> OpenKernels(const EventContext& context, bool sort) {
  return GpuRows::Open(
      context.database, context.survey.identities, kKernelTable,
      {"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
       "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId", "graphId"},
      sort);
}
constexpr int kKernelGraphNode = kExtra + 12;
constexpr int kKernelGraph = kExtra + 13;

Shapes::Key ShapeOf(const Rows& rows) {
  constexpr int kNameColumns = 3;
  Shapes::Key key;
  key[0] = Shapes::kAbsent;
  for (int i = 0; i < kNameColumns && key[0] == Shapes::kAbsent; ++i) {
    key[0] = rows.MaybeInt(kExtra + i).value_or(Shapes::kAbsent);
  }
  for (size_t i = 1; i < key.size(); ++i) {
    key[i] = rows.MaybeInt(kExtra + kNameColumns - 1 + static_cast<int>(i)).value_or(Shapes::kAbsent);
  }
  return key;
}

}  // namespace

uint32_t Shapes::Id(const Key& key) {
  if (last_id_ != UINT32_MAX && key == last_key_) return last_id_;
  const auto [it, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  last_key_ = key;
  last_id_ = it->second;
  return it->second;
}

absl::Status Shapes::Emit(Names& names, CaptureVisitor& visitor) const {
  const auto known = [](int64_t value) { return value == kAbsent ? std::nullopt : std::optional(value); };
  Emitter<KernelShapeBatch> emitter(visitor);
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    const std::optional<StringId> name = key[0] == kAbsent ? std::nullopt : names.Find(key[0]);
    KernelShapeRow row;
    row.kernel_shape_id = static_cast<uint32_t>(i);
    row.name = name ? *name : names.Intern("unknown");
    row.grid_x = known(key[1]);
    row.grid_y = known(key[2]);
    row.grid_z = known(key[3]);
    row.block_x = known(key[4]);
    row.block_y = known(key[5]);
    row.block_z = known(key[6]);
    row.registers_per_thread = known(key[7]);
    row.static_shared_bytes = known(key[8]);
    row.dynamic_shared_bytes = known(key[9]);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  return emitter.Flush();
}

absl::Status CollectShapes(const EventContext& context) {
  if (context.shapes.is_complete || !context.survey.kernels.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows, OpenKernels(context, false));
  GpuRow from;
  while (rows.Next(from)) context.shapes.Id(ShapeOf(rows.rows()));
  context.shapes.is_complete = true;
  return rows.status();
}

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
    row.stack_id = rows.callchain_id();
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitKernels(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.kernels.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows, OpenKernels(context, !context.survey.kernels.is_sorted));
  Emitter<KernelBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from)) {
    KernelRow row;
    FillGpuWork(context, from, row);
    row.kernel_shape_id = context.shapes.Id(ShapeOf(rows.rows()));
    row.graph_node_id = GraphId(rows.rows(), kKernelGraphNode);
    row.graph_id = GraphId(rows.rows(), kKernelGraph);
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
    if (call != nullptr) row.is_async = ClassOf(context, *call) != ApiClass::kCopyBlocking;
    if (operation.direction == CopyDirection::kPeerToPeer) {
      const std::optional<uint32_t> source = columns.MaybeId(kExtra + 4);
      const std::optional<uint32_t> target = columns.MaybeId(kExtra + 5);
      const std::optional<uint32_t> peer = source == from.device ? target : source;
      if (peer) row.peer_device_id = context.devices.Id(from.process_id, *peer);
    }
    row.graph_node_id = GraphId(columns, kExtra + 6);
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
    row.graph_node_id = GraphId(rows.rows(), kExtra + 3);
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
    row.graph_id = GraphId(rows.rows(), kExtra);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  return emitter.Flush();
}

absl::Status EmitSyncs(const EventContext& context, CaptureVisitor& visitor) {
  if (!context.survey.syncs.is_present) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(GpuRows rows,
                      GpuRows::Open(context.database, context.survey.identities, kSyncTable,
                                    {"eventId", "eventSyncId", "streamId"}, !context.survey.syncs.is_sorted));
  Emitter<SyncBatch> emitter(visitor);
  GpuRow from;
  while (rows.Next(from, false)) {
    const IndexedCall* call =
        from.correlation_id ? context.survey.calls.Find(from.process_id, *from.correlation_id) : nullptr;
    const std::optional<SyncType> type = call != nullptr ? SyncTypeOfCall(ClassOf(context, *call)) : std::nullopt;
    SyncRow row;
    row.start_ns = from.start_ns - context.zero_ns;
    row.end_ns = from.end_ns - context.zero_ns;
    row.process_id = from.process_id;
    row.type = type ? *type : SyncTypeOfIds(rows.rows().MaybeInt(kExtra + 2), rows.rows().MaybeInt(kExtra));
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
