#include "capture/spool/row_builder.h"

#include <fmt/format.h>

#include "capture/api/api_class.h"

namespace stallhound::capture::spool {
namespace {

std::optional<uint32_t> Known(uint32_t value) { return value == kNone32 ? std::nullopt : std::optional(value); }
std::optional<uint64_t> Known(uint64_t value) { return value == kNone64 ? std::nullopt : std::optional(value); }
template <typename T>
std::optional<uint64_t> NonZero(T value) {
  return value == 0 ? std::nullopt : std::optional<uint64_t>(value);
}

template <typename Enum>
Enum EnumOf(uint32_t value, Enum last) {
  return value <= static_cast<uint32_t>(last) ? static_cast<Enum>(value) : Enum{};
}

// CUpti_ActivityOverheadKind: 1, then multiples of 1 << 16.
OverheadKind OverheadOf(uint32_t raw) {
  if (raw == 1) return OverheadKind::kDriverCompiler;
  switch (raw >> 16) {
    case 1:
      return OverheadKind::kBufferFlush;
    case 2:
      return OverheadKind::kInstrumentation;
    case 3:
      return OverheadKind::kResource;
    case 4:
      return OverheadKind::kModuleLoading;
    case 5:
      return OverheadKind::kLazyFunctionLoading;
    case 6:
      return OverheadKind::kCommandBufferFull;
    case 7:
      return OverheadKind::kActivityBufferRequest;
    case 8:
      return OverheadKind::kUvmInit;
    default:
      return OverheadKind::kUnknown;
  }
}

}  // namespace

const RowBuilder::Api& RowBuilder::ApiOf(const HostCallRecord& call) {
  const uint64_t key = uint64_t{call.layer} << 32 | call.cbid;
  const auto [it, is_new] = apis_.try_emplace(key);
  if (is_new) {
    const std::string_view text = spool_.dictionary().ApiName(call.layer, call.cbid);
    it->second.name =
        text.empty()
            ? strings_.Intern(fmt::format("(unknown {} call {})", call.layer == 0 ? "runtime" : "driver", call.cbid))
            : strings_.Intern(NormalizeApiName(text));
    it->second.api_class = ClassifyApi(text);
  }
  return it->second;
}

uint32_t RowBuilder::ThreadOf(uint32_t thread_index) const {
  const auto it = ids_.threads.find(thread_index);
  return it == ids_.threads.end() ? ids_.unknown_thread : it->second;
}

bool RowBuilder::Build(const RecordHeader* record, HostCallRow& row) {
  const auto* call = RecordAs<HostCallRecord>(record);
  if (call == nullptr) return false;
  const Api& api = ApiOf(*call);
  row.start_ns = Time(call->start_ns);
  row.end_ns = Time(call->end_ns);
  row.process_id = ids_.process_id;
  row.thread_id = ThreadOf(call->thread_index);
  row.api = api.name;
  row.api_class = api.api_class;
  row.layer = call->layer == 0 ? ApiLayer::kRuntime : ApiLayer::kDriver;
  row.is_nested = call->depth > 0;
  row.correlation_id = NonZero(call->correlation_id);
  row.return_value = call->return_value;
  row.stack_id.reset();
  if (const auto stack = ids_.stacks.find(call->stack_id); stack != ids_.stacks.end()) row.stack_id = stack->second;
  row.context_id = Known(call->context_id);
  row.stream_id = Known(call->stream_id);
  row.event_handle = Known(call->event_handle);
  row.bytes = Known(call->bytes);
  row.address = Known(call->address);
  return true;
}

// The columns that kernels, copies and memsets share.
template <typename Record, typename Row>
void RowBuilder::BuildWork(const Record& record, Row& row) const {
  row.start_ns = Time(record.start_ns);
  row.end_ns = Time(record.end_ns);
  row.process_id = ids_.process_id;
  row.device_id = record.device_id;
  row.context_id = record.context_id;
  row.stream_id = record.stream_id;
  row.correlation_id = NonZero(record.correlation_id);
  row.graph_id = NonZero(record.graph_id);
  row.graph_node_id = NonZero(record.graph_node_id);
  row.launch_start_ns.reset();
  row.launch_end_ns.reset();
  row.launch_thread_id.reset();
  if (const Launch* launch = spool_.launches().Find(record.correlation_id)) {
    row.launch_start_ns = Time(launch->start_ns);
    row.launch_end_ns = Time(launch->end_ns());
    row.launch_thread_id = ThreadOf(launch->thread_index);
  }
}

bool RowBuilder::Build(const RecordHeader* record, KernelRow& row) {
  const auto* kernel = RecordAs<KernelRecord>(record);
  if (kernel == nullptr) return false;
  const auto shape = ids_.shapes.find(kernel->shape_id);
  BuildWork(*kernel, row);
  row.kernel_shape_id = shape == ids_.shapes.end() ? ids_.unknown_shape : shape->second;
  return true;
}

bool RowBuilder::Build(const RecordHeader* record, CopyRow& row) {
  const auto* copy = RecordAs<CopyRecord>(record);
  if (copy == nullptr) return false;
  BuildWork(*copy, row);
  if (copy->has_call_times != 0) row.end_ns.reset();
  row.direction = EnumOf(copy->direction, CopyDirection::kPeerToPeer);
  row.source_kind = EnumOf(copy->source_kind, MemoryKind::kManagedStatic);
  row.target_kind = EnumOf(copy->target_kind, MemoryKind::kManagedStatic);
  if (row.source_kind == MemoryKind::kUnknown) row.source_kind.reset();
  if (row.target_kind == MemoryKind::kUnknown) row.target_kind.reset();
  row.bytes = copy->bytes;
  row.is_async = copy->is_async != 0;
  row.peer_device_id = Known(copy->peer_device_id);
  return true;
}

bool RowBuilder::Build(const RecordHeader* record, MemsetRow& row) {
  const auto* memset = RecordAs<MemsetRecord>(record);
  if (memset == nullptr) return false;
  BuildWork(*memset, row);
  row.bytes = memset->bytes;
  row.value = memset->value;
  row.memory_kind = EnumOf(memset->memory_kind, MemoryKind::kManagedStatic);
  return true;
}

bool RowBuilder::Build(const RecordHeader* record, SyncRow& row) {
  const auto* sync = RecordAs<SyncRecord>(record);
  if (sync == nullptr) return false;
  row.start_ns = Time(sync->start_ns);
  row.end_ns = Time(sync->end_ns);
  row.process_id = ids_.process_id;
  row.type = EnumOf(sync->type, SyncType::kContextSynchronize);
  row.context_id = Known(sync->context_id);
  row.stream_id = Known(sync->stream_id);
  row.event_id.reset();
  if (sync->event_id != kNone32) row.event_id = sync->event_id;
  row.event_sync_id = Known(sync->event_sync_id);
  row.correlation_id = NonZero(sync->correlation_id);
  row.return_value = sync->return_value;
  return true;
}

bool RowBuilder::Build(const RecordHeader* record, CudaEventRow& row) {
  const auto* event = RecordAs<CudaEventRecord>(record);
  if (event == nullptr) return false;
  const std::optional<int64_t> time_ns = spool_.EventTime(*event);
  if (!time_ns.has_value()) return false;
  row.time_ns = Time(*time_ns);
  row.process_id = ids_.process_id;
  row.context_id = Known(event->context_id);
  row.stream_id = Known(event->stream_id);
  row.event_id = event->event_id;
  row.event_sync_id = Known(event->event_sync_id);
  row.correlation_id = NonZero(event->correlation_id);
  return true;
}

bool RowBuilder::Build(const RecordHeader* record, OverheadRow& row) {
  const auto* overhead = RecordAs<OverheadRecord>(record);
  if (overhead == nullptr) return false;
  row.start_ns = Time(overhead->start_ns);
  row.end_ns = Time(overhead->end_ns);
  row.process_id = ids_.process_id;
  row.thread_id.reset();
  const uint32_t thread_index = spool_.dictionary().ThreadIndexOf(overhead->tid);
  if (thread_index != 0) row.thread_id = ThreadOf(thread_index);
  row.kind = OverheadOf(overhead->kind);
  row.correlation_id = NonZero(overhead->correlation_id);
  return true;
}

}  // namespace stallhound::capture::spool
