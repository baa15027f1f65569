#include "capture/export/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "capture/enum_names.h"

namespace stallhound::capture {
namespace {

constexpr std::string_view kDirections[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                            "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::string_view kMemories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                          "Array",   "Managed",  "Device Static", "Managed Static"};

std::string_view MemoryName(std::optional<MemoryKind> kind) {
  const auto index = static_cast<size_t>(kind.value_or(MemoryKind::kUnknown));
  return index < std::size(kMemories) ? kMemories[index] : kMemories[0];
}

// As Kineto names copies; tools read the memory kinds from there.
std::string CopyName(CopyDirection direction, std::optional<MemoryKind> source, std::optional<MemoryKind> target) {
  const auto index = static_cast<size_t>(direction);
  return fmt::format("Memcpy {} ({} -> {})", index < std::size(kDirections) ? kDirections[index] : kDirections[0],
                     MemoryName(source), MemoryName(target));
}

std::string_view RangeCategory(RangeKind kind) { return kind == RangeKind::kOperator ? "cpu_op" : "user_annotation"; }

bool HasWork(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kKernelLaunch:
    case ApiClass::kGraphLaunch:
    case ApiClass::kCopyAsync:
    case ApiClass::kCopyBlocking:
    case ApiClass::kMemset:
      return true;
    default:
      return false;
  }
}

uint64_t FlowId(uint32_t process_id, uint64_t correlation_id) {
  constexpr int kCorrelationBits = 48;
  return (uint64_t{process_id} + 1) << kCorrelationBits | (correlation_id & ((uint64_t{1} << kCorrelationBits) - 1));
}

}  // namespace

TableSet Timeline::Dimensions() {
  return Tables(
      {Table::kProcess, Table::kThread, Table::kDevice, Table::kKernelShape, Table::kFrame, Table::kStackFrame});
}

TableSet Timeline::Events() {
  return Tables({Table::kHostCall, Table::kKernel, Table::kCopy, Table::kMemset, Table::kGraphRun, Table::kRange,
                 Table::kOverhead, Table::kWindow});
}

bool Timeline::IsWanted(int64_t start_ns, int64_t end_ns) const {
  if (!options_.window) return true;
  return start_ns < options_.window->end_ns && end_ns >= options_.window->start_ns;
}

absl::Status Timeline::AddExtraTracks() {
  for (size_t i = 0; i < options_.extra_tracks.size(); ++i) {
    for (const ExtraSlice& extra : options_.extra_tracks[i].slices) {
      if (!IsWanted(extra.start_ns, extra.end_ns)) continue;
      std::vector<Argument> arguments;
      for (const auto& [name, value] : extra.arguments) arguments.push_back({name, std::string_view(value)});
      const TrackKey key = {Group::kAnalysis, 0, static_cast<uint32_t>(i), Content::kExtra};
      SH_RETURN_IF_ERROR(tracks_.Add(key, {.start_ns = extra.start_ns,
                                           .end_ns = extra.end_ns,
                                           .name = extra.name,
                                           .category = "stallhound",
                                           .arguments = arguments}));
    }
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const KernelShapeBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) shapes_[batch.kernel_shape_id[i]] = batch.Get(i);
  return absl::OkStatus();
}

absl::Status Timeline::On(const FrameBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!batch.is_user[i]) continue;
    std::string& place = places_[batch.frame_id[i]];
    if (batch.file[i]) place = Text(*batch.file[i]);
    if (batch.file[i] && batch.line[i]) place += fmt::format(":{}", *batch.line[i]);
    if (batch.function[i]) place += fmt::format("{}{}", place.empty() ? "" : " ", Text(*batch.function[i]));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const StackFrameBatch& batch) {
  // Innermost first: the first user frame of a stack stays.
  for (size_t i = 0; i < batch.size; ++i) {
    if (places_.contains(batch.frame_id[i])) stack_places_.try_emplace(batch.stack_id[i], batch.frame_id[i]);
  }
  return absl::OkStatus();
}

void Timeline::AddPlace(std::optional<uint32_t> stack_id, std::vector<Argument>& arguments) const {
  if (!stack_id) return;
  const auto stack = stack_places_.find(*stack_id);
  if (stack == stack_places_.end()) return;
  const std::string& place = places_.at(stack->second);
  if (!place.empty()) arguments.push_back({"line", std::string_view(place)});
}

absl::Status Timeline::On(const HostCallBatch& batch) {
  const bool has_work = reader_.info().mode != "light";  // light has no times of the GPU, so nothing to point at
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i])) continue;
    arguments.clear();
    Slice slice{.start_ns = batch.start_ns[i],
                .end_ns = batch.end_ns[i],
                .name = Text(batch.api[i]),
                .category = batch.layer[i] == ApiLayer::kRuntime ? "cuda_runtime" : "cuda_driver"};
    if (batch.correlation_id[i]) {
      arguments.push_back({"correlation", static_cast<int64_t>(*batch.correlation_id[i])});
      // A call inside another has its correlation id: the arrow begins at the outer one.
      if (has_work && HasWork(batch.api_class[i]) && !batch.is_nested[i])
        slice.flow_id = FlowId(batch.process_id[i], *batch.correlation_id[i]);
    }
    if (batch.return_value[i] && *batch.return_value[i] != 0) arguments.push_back({"result", *batch.return_value[i]});
    if (batch.bytes[i]) arguments.push_back({"bytes", static_cast<int64_t>(*batch.bytes[i])});
    AddPlace(batch.stack_id[i], arguments);
    slice.arguments = arguments;
    SH_RETURN_IF_ERROR(tracks_.Add({Group::kProcess, batch.process_id[i], batch.thread_id[i], Content::kCalls}, slice));
  }
  return absl::OkStatus();
}

template <typename Batch>
absl::Status Timeline::AddGpuWork(const Batch& batch, size_t i, Content content, Slice slice,
                                  std::vector<Argument>& arguments) {
  const std::optional<int64_t> end_ns = batch.end_ns[i];
  if (!end_ns) {
    ++untimed_copy_count_;
    return absl::OkStatus();
  }
  slice.start_ns = batch.start_ns[i];
  slice.end_ns = *end_ns;
  arguments.push_back({"device", int64_t{batch.device_id[i]}});
  arguments.push_back({"stream", int64_t{batch.stream_id[i]}});
  if (batch.correlation_id[i]) {
    arguments.push_back({"correlation", static_cast<int64_t>(*batch.correlation_id[i])});
    slice.flow_id = FlowId(batch.process_id[i], *batch.correlation_id[i]);
    slice.is_flow_end = true;
  }
  slice.arguments = arguments;
  return tracks_.Add({Group::kDevice, batch.device_id[i], batch.stream_id[i], content}, slice);
}

absl::Status Timeline::On(const KernelBatch& batch) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i])) continue;
    const auto shape = shapes_.find(batch.kernel_shape_id[i]);
    arguments.clear();
    std::string grid;
    std::string block;
    if (shape != shapes_.end()) {
      const KernelShapeRow& row = shape->second;
      if (row.grid_x && row.grid_y && row.grid_z) {
        grid = fmt::format("[{}, {}, {}]", *row.grid_x, *row.grid_y, *row.grid_z);
        arguments.push_back({"grid", std::string_view(grid)});
      }
      if (row.block_x && row.block_y && row.block_z) {
        block = fmt::format("[{}, {}, {}]", *row.block_x, *row.block_y, *row.block_z);
        arguments.push_back({"block", std::string_view(block)});
      }
      if (row.registers_per_thread) arguments.push_back({"registers per thread", *row.registers_per_thread});
      const int64_t shared = row.static_shared_bytes.value_or(0) + row.dynamic_shared_bytes.value_or(0);
      if (row.static_shared_bytes || row.dynamic_shared_bytes) arguments.push_back({"shared memory", shared});
    }
    if (batch.graph_node_id[i]) {
      arguments.push_back({"graph node id", static_cast<int64_t>(*batch.graph_node_id[i])});
    }
    const Slice slice{.name = shape != shapes_.end() ? Text(shape->second.name) : "kernel", .category = "kernel"};
    SH_RETURN_IF_ERROR(AddGpuWork(batch, i, Content::kKernels, slice, arguments));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const CopyBatch& batch) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i].value_or(batch.start_ns[i]))) continue;
    arguments.assign({{"bytes", static_cast<int64_t>(batch.bytes[i])}});
    const std::string name = CopyName(batch.direction[i], batch.source_kind[i], batch.target_kind[i]);
    SH_RETURN_IF_ERROR(AddGpuWork(batch, i, Content::kCopies, {.name = name, .category = "gpu_memcpy"}, arguments));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const MemsetBatch& batch) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i])) continue;
    arguments.assign({{"bytes", static_cast<int64_t>(batch.bytes[i])}});
    const std::string name = fmt::format("Memset ({})", MemoryName(batch.memory_kind[i]));
    SH_RETURN_IF_ERROR(AddGpuWork(batch, i, Content::kMemsets, {.name = name, .category = "gpu_memset"}, arguments));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const GraphRunBatch& batch) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i])) continue;
    arguments.clear();
    const std::string name = batch.graph_id[i] ? fmt::format("graph {}", *batch.graph_id[i]) : "graph";
    SH_RETURN_IF_ERROR(AddGpuWork(batch, i, Content::kGraphs, {.name = name, .category = "graph"}, arguments));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const RangeBatch& batch) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < batch.size; ++i) {
    const int64_t end_ns = batch.end_ns[i].value_or(std::max(reader_.info().end_ns, batch.start_ns[i]));
    if (!IsWanted(batch.start_ns[i], end_ns)) continue;
    arguments.clear();
    if (batch.domain[i]) arguments.push_back({"domain", Text(*batch.domain[i])});
    if (batch.category[i]) arguments.push_back({"category", Text(*batch.category[i])});
    if (batch.payload[i]) arguments.push_back({"payload", *batch.payload[i]});
    const Content content = batch.kind[i] == RangeKind::kStartEnd ? Content::kFreeRanges : Content::kRanges;
    SH_RETURN_IF_ERROR(tracks_.Add({Group::kProcess, batch.process_id[i], batch.thread_id[i], content},
                                   {.start_ns = batch.start_ns[i],
                                    .end_ns = end_ns,
                                    .name = Text(batch.name[i]),
                                    .category = RangeCategory(batch.kind[i]),
                                    .arguments = arguments}));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const OverheadBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!IsWanted(batch.start_ns[i], batch.end_ns[i])) continue;
    const uint32_t thread_id = batch.thread_id[i].value_or(UINT32_MAX);
    SH_RETURN_IF_ERROR(tracks_.Add({Group::kProcess, batch.process_id[i], thread_id, Content::kOverheads},
                                   {.start_ns = batch.start_ns[i],
                                    .end_ns = batch.end_ns[i],
                                    .name = EnumName(batch.kind[i]),
                                    .category = "overhead"}));
  }
  return absl::OkStatus();
}

absl::Status Timeline::On(const WindowBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const int64_t end_ns = batch.end_ns[i].value_or(std::max(reader_.info().end_ns, batch.start_ns[i]));
    if (!IsWanted(batch.start_ns[i], end_ns)) continue;
    SH_RETURN_IF_ERROR(tracks_.Add(
        {Group::kProcess, batch.process_id[i], 0, Content::kGaps},
        {.start_ns = batch.start_ns[i], .end_ns = end_ns, .name = Text(batch.reason[i]), .category = "gap"}));
  }
  return absl::OkStatus();
}

}  // namespace stallhound::capture
