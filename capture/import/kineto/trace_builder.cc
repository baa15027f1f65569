#include "capture/import/kineto/trace_builder.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace stallhound::capture {
namespace {

constexpr std::pair<std::string_view, EventCategory> kCategories[] = {
    {"kernel", EventCategory::kKernel},
    {"gpu_memcpy", EventCategory::kCopy},
    {"memcpy", EventCategory::kCopy},
    {"gpu_memset", EventCategory::kMemset},
    {"memset", EventCategory::kMemset},
    {"cuda_runtime", EventCategory::kRuntime},
    {"runtime", EventCategory::kRuntime},
    {"hip_runtime", EventCategory::kRuntime},
    {"cuda_driver", EventCategory::kDriver},
    {"cuda_sync", EventCategory::kSync},
    {"cuda_event", EventCategory::kCudaEvent},
    {"cpu_op", EventCategory::kOperator},
    {"operator", EventCategory::kOperator},
    {"user_annotation", EventCategory::kAnnotation},
    {"gpu_user_annotation", EventCategory::kGpuAnnotation},
    {"python_function", EventCategory::kPythonFunction},
    {"overhead", EventCategory::kOverhead},
    {"cpu_instant_event", EventCategory::kInstant},
    {"hardware_counters", EventCategory::kHardwareCounter},
    {"cuda_profiler_range", EventCategory::kProfilerRange},
    {"trace", EventCategory::kSkipped},
};

constexpr size_t kMaxUnknownCategories = 32;
// 1e14 us: three years. No event lasts that long; such a duration is an absolute time.
constexpr int64_t kMaxDurationNs = kEpochScaleNs;
constexpr uint64_t kMostBytes = uint64_t{1} << 48;  // what an address of a GPU can reach

bool IsGpuWork(EventCategory category) {
  return category == EventCategory::kKernel || category == EventCategory::kCopy || category == EventCategory::kMemset;
}

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kWaitSuffix = "Synchronize";

// Classes whose calls submit or record what other rows are joined with.
bool IsJoined(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kKernelLaunch:
    case ApiClass::kGraphLaunch:
    case ApiClass::kCopyBlocking:
    case ApiClass::kCopyAsync:
    case ApiClass::kMemset:
    case ApiClass::kEventRecord:
      return true;
    default:
      return false;
  }
}

}  // namespace

EventCategory ParseCategory(std::string_view category) {
  std::string lower(category);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, value] : kCategories) {
    if (name == lower) return value;
  }
  return EventCategory::kUnknown;
}

absl::Status TraceBuilder::OnEvent(const KinetoEvent& event) {
  ++rows_.event_count;
  const bool read =
      event.phase == 'X' || event.phase == 'M' || event.phase == 'i' || event.phase == 'I' || event.phase == 'C';
  if (!read) {
    ++(event.phase == '\0' ? rows_.without_phase_count : rows_.unread_phase_count);
    return absl::OkStatus();
  }
  CountOddities(event);
  if (event.phase == 'M') {
    OnMetadata(event);
    return absl::OkStatus();
  }
  const EventCategory category = CategoryOf(event);
  if (category == EventCategory::kSkipped) return absl::OkStatus();
  if (event.phase != 'X') {
    OnInstant(event, category);
  } else if (category == EventCategory::kUnknown) {
    CountUnknown(event);
  } else {
    ++rows_.known_count;
    OnComplete(event, category);
  }
  return status_;
}

EventCategory TraceBuilder::CategoryOf(const KinetoEvent& event) {
  // Events of one category come in runs.
  if (event.category == last_category_) return last_category_value_;
  last_category_ = std::string(event.category);
  last_category_value_ = ParseCategory(event.category);
  return last_category_value_;
}

void TraceBuilder::CountOddities(const KinetoEvent& event) {
  if (event.bare_count > 0)
    rows_.losses.Add(LossCounter::kForgivenJson, event.bare_count, event.bare_token.substr(0, 32));
  if (event.bad_value_count > 0)
    rows_.losses.Add(LossCounter::kBadValue, event.bad_value_count, event.name.substr(0, 64));
}

void TraceBuilder::CountUnknown(const KinetoEvent& event) {
  rows_.losses.Add(LossCounter::kUnknownEvent, 1, event.category.substr(0, 64));
  const std::string category(event.category.substr(0, 64));
  const auto it = rows_.unknown_categories.find(category);
  if (it != rows_.unknown_categories.end()) {
    ++it->second;
  } else if (rows_.unknown_categories.size() < kMaxUnknownCategories) {
    rows_.unknown_categories.emplace(category, 1);
  }
}

// Of processes and threads only numbers are kept: names given to processes hold machines in traces of many hosts.
void TraceBuilder::OnMetadata(const KinetoEvent& event) {
  if (event.name != "thread_name" || event.meta_name.empty() || rows_.thread_names.size() >= kMaxThreadNames) return;
  rows_.thread_names[{SystemId(event.pid), SystemId(event.tid)}] = rows_.names.Text(event.meta_name);
}

void TraceBuilder::OnInstant(const KinetoEvent& event, EventCategory category) {
  if (event.phase != 'C' && event.name == "[memory]") category = EventCategory::kInstant;
  const bool counter = category == EventCategory::kHardwareCounter;
  if (category != EventCategory::kInstant && !counter) return;
  ++rows_.known_count;
  if (!event.start_ns) return rows_.losses.Add(LossCounter::kMissingField, 1, "ts");
  RangeRow row;
  row.start_ns = *event.start_ns;
  row.end_ns = row.start_ns;
  row.thread_id = ThreadOf(event, counter);
  row.kind = RangeKind::kMark;
  row.name = rows_.names.Text(event.name);
  row.category = rows_.names.Text(counter ? "hardware_counters" : "cpu_instant_event");
  if (counter) row.payload = event.counter_value;
  if (!counter && event.Has(KinetoArg::kMemoryBytes))
    row.payload = static_cast<int64_t>(event.Get(KinetoArg::kMemoryBytes));
  rows_.times.Add(row.start_ns, row.start_ns);
  Keep(rows_.ranges, row);
}

std::optional<TraceBuilder::Times> TraceBuilder::TimesOf(const KinetoEvent& event, bool on_gpu) {
  if (!event.start_ns || !event.duration_ns) {
    if (!event.has_start || !event.has_duration) {
      rows_.losses.Add(LossCounter::kMissingField, 1, event.has_start ? "dur" : "ts");
    }
    return std::nullopt;
  }
  const int64_t start_ns = *event.start_ns;
  const int64_t duration_ns = *event.duration_ns;
  if (duration_ns < 0) {
    rows_.losses.Add(LossCounter::kNegativeDuration, 1, event.name.substr(0, 64));
    return std::nullopt;
  }
  if (duration_ns >= kMaxDurationNs) {
    rows_.losses.Add(LossCounter::kBadValue, 1, "dur");
    return std::nullopt;
  }
  if (on_gpu && start_ns == 0 && duration_ns == 0) return std::nullopt;
  rows_.fractional_times |= start_ns % 1000 != 0;
  rows_.times.Add(start_ns, start_ns + duration_ns);
  return Times{start_ns, start_ns + duration_ns};
}

void TraceBuilder::OnComplete(const KinetoEvent& event, EventCategory category) {
  const std::optional<Times> times = TimesOf(event, IsGpuWork(category));
  if (!times) return OnUntimed(event, category);
  switch (category) {
    case EventCategory::kKernel:
      return OnKernel(event, *times);
    case EventCategory::kCopy:
      return OnCopy(event, *times);
    case EventCategory::kMemset:
      return OnMemset(event, *times);
    case EventCategory::kRuntime:
      return OnCall(event, *times, ApiLayer::kRuntime);
    case EventCategory::kDriver:
      return OnCall(event, *times, ApiLayer::kDriver);
    case EventCategory::kSync:
      return OnSync(event, *times);
    case EventCategory::kCudaEvent:
      return OnCudaEvent(event, *times);
    case EventCategory::kOverhead:
      return OnOverhead(event, *times);
    default:
      return OnRange(event, *times, category);
  }
}

void TraceBuilder::OnUntimed(const KinetoEvent& event, EventCategory category) {
  if (IsGpuWork(category)) rows_.losses.Add(LossCounter::kZeroTime, 1, event.name.substr(0, 64));
  UntimedCounts& untimed = rows_.untimed;
  if (category == EventCategory::kKernel) ++untimed.kernels;
  if (category == EventCategory::kCopy) ++untimed.copies[rows_.names.Memory(event.name).direction];
  if (category == EventCategory::kMemset) ++untimed.memsets;
  if (category == EventCategory::kOperator) ++untimed.cpu_ops;
  if (category == EventCategory::kAnnotation && event.name.starts_with(kStepPrefix)) ++untimed.steps;
  if (category != EventCategory::kRuntime && category != EventCategory::kDriver) return;
  ++(category == EventCategory::kRuntime ? untimed.runtime_calls : untimed.driver_calls);
  const std::string_view api = rows_.names.strings().Get(rows_.names.Api(event.name).api);
  if (api.size() > kWaitSuffix.size() && api.substr(api.size() - kWaitSuffix.size()) == kWaitSuffix) {
    ++untimed.host_waits[std::string(api)];
  }
}

void TraceBuilder::OnKernel(const KinetoEvent& event, Times times) {
  KernelRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.device_id = DeviceOf(event);
  row.context_id = event.FindId(KinetoArg::kContext);
  row.stream_id = StreamOf(event);
  row.kernel_shape_id = ShapeOf(event);
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  row.graph_id = event.Find(KinetoArg::kGraphId);
  row.graph_node_id = event.Find(KinetoArg::kGraphNodeId);
  // 0 is the exporter's "not from a graph".
  if (row.graph_node_id == 0u) row.graph_node_id.reset();
  if (!row.graph_node_id && row.graph_id == 0u) row.graph_id.reset();
  NoteStream(row.context_id, row.stream_id, row.device_id);
  Keep(rows_.kernels, row);
}

uint64_t TraceBuilder::BytesOf(const KinetoEvent& event) {
  const std::optional<uint64_t> bytes = event.Find(KinetoArg::kBytes);
  if (bytes && *bytes <= kMostBytes) return *bytes;
  rows_.losses.Add(LossCounter::kMissingField, 1, "bytes");
  if (bytes) rows_.losses.Add(LossCounter::kBadValue, 1, "bytes");
  return 0;
}

void TraceBuilder::OnCopy(const KinetoEvent& event, Times times) {
  const MemoryName& name = rows_.names.Memory(event.name);
  CopyRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.device_id = DeviceOf(event);
  row.context_id = event.FindId(KinetoArg::kContext);
  row.stream_id = StreamOf(event);
  row.direction = name.direction;
  row.source_kind = name.source_kind;
  row.target_kind = name.target_kind;
  row.bytes = BytesOf(event);
  row.peer_device_id = event.FindId(KinetoArg::kToDevice);
  if (row.peer_device_id == row.device_id) row.peer_device_id = event.FindId(KinetoArg::kFromDevice);
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  row.graph_id = event.Find(KinetoArg::kGraphId);
  row.graph_node_id = event.Find(KinetoArg::kGraphNodeId);
  NoteStream(row.context_id, row.stream_id, row.device_id);
  Keep(rows_.copies, row);
}

void TraceBuilder::OnMemset(const KinetoEvent& event, Times times) {
  MemsetRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.device_id = DeviceOf(event);
  row.context_id = event.FindId(KinetoArg::kContext);
  row.stream_id = StreamOf(event);
  row.bytes = BytesOf(event);
  row.memory_kind = rows_.names.Memory(event.name).target_kind;
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  row.graph_id = event.Find(KinetoArg::kGraphId);
  row.graph_node_id = event.Find(KinetoArg::kGraphNodeId);
  NoteStream(row.context_id, row.stream_id, row.device_id);
  Keep(rows_.memsets, row);
}

void TraceBuilder::OnCall(const KinetoEvent& event, Times times, ApiLayer layer) {
  const ApiName& name = rows_.names.Api(event.name);
  HostCallRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.thread_id = ThreadOf(event, false);
  row.process_id = rows_.threads[row.thread_id].process_id;
  row.api = name.api;
  row.api_class = name.api_class;
  row.layer = layer;
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  rows_.is_hip |= name.is_hip;
  if (!rows_.gpu_process_id) rows_.gpu_process_id = row.process_id;
  Keep(rows_.host_calls, row);
  if (TakesStack(name.api_class)) rows_.stack_calls.push_back({row.start_ns, row.thread_id, std::nullopt});
  if (!row.correlation_id || !IsJoined(name.api_class)) return;
  LaunchCall launch;
  launch.correlation_id = *row.correlation_id;
  launch.start_ns = row.start_ns;
  launch.duration_ns =
      static_cast<uint32_t>(std::min<int64_t>(row.end_ns - row.start_ns, std::numeric_limits<uint32_t>::max()));
  launch.thread_id = row.thread_id;
  launch.api_class = static_cast<uint32_t>(name.api_class);
  rows_.launches.push_back(launch);
}

void TraceBuilder::OnSync(const KinetoEvent& event, Times times) {
  SyncRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.type = ParseSyncKind(event.sync_kind.empty() ? event.name : event.sync_kind);
  if (row.type == SyncType::kUnknown) rows_.losses.Add(LossCounter::kBadValue, 1, event.sync_kind.substr(0, 64));
  row.context_id = event.FindId(KinetoArg::kContext);
  row.stream_id = event.FindId(KinetoArg::kStream);
  row.event_id = event.Find(KinetoArg::kWaitEventId);
  constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  if (row.correlation_id == kNone) row.correlation_id.reset();
  const std::optional<uint64_t> record = event.Find(KinetoArg::kWaitRecordCorrelation);
  if (row.event_id && record && *record != kNone &&
      static_cast<uint32_t>(*record) != std::numeric_limits<uint32_t>::max()) {
    rows_.awaited.insert({*row.event_id, *record, event.FindId(KinetoArg::kWaitStream)});
  }
  Keep(rows_.syncs, row);
}

void TraceBuilder::OnCudaEvent(const KinetoEvent& event, Times times) {
  if (!event.Has(KinetoArg::kEventId)) return rows_.losses.Add(LossCounter::kMissingField, 1, "event_id");
  CudaEventRow row;
  row.time_ns = times.start_ns;
  row.context_id = event.FindId(KinetoArg::kContext);
  row.stream_id = event.FindId(KinetoArg::kStream);
  row.event_id = event.Get(KinetoArg::kEventId);
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  Keep(rows_.gpu_events, row);
}

void TraceBuilder::OnOverhead(const KinetoEvent& event, Times times) {
  OverheadRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.kind = ParseOverheadName(event.name);
  if (row.kind == OverheadKind::kUnknown) rows_.losses.Add(LossCounter::kBadValue, 1, event.name.substr(0, 64));
  row.correlation_id = event.Find(KinetoArg::kCorrelation);
  Keep(rows_.overheads, row);
}

void TraceBuilder::OnRange(const KinetoEvent& event, Times times, EventCategory category) {
  RangeRow row;
  row.start_ns = times.start_ns;
  row.end_ns = times.end_ns;
  row.thread_id =
      ThreadOf(event, category == EventCategory::kGpuAnnotation || category == EventCategory::kProfilerRange);
  row.name = rows_.names.Text(event.name);
  row.kind = RangeKind::kAnnotation;
  switch (category) {
    case EventCategory::kOperator:
      row.kind = RangeKind::kOperator;
      if (!event.call_stack.empty()) {
        row.payload = static_cast<int64_t>(rows_.names.Text(event.call_stack));
        rows_.has_stacks = true;
      }
      if (event.name.starts_with(kStepPrefix)) {
        row.kind = RangeKind::kStep;
        row.payload.reset();
        ++rows_.operator_step_count;
      }
      break;
    case EventCategory::kAnnotation:
      if (event.name.starts_with(kStepPrefix)) row.kind = RangeKind::kStep;
      break;
    case EventCategory::kPythonFunction:
      row.kind = RangeKind::kPythonFunction;
      rows_.has_stacks = true;
      break;
    case EventCategory::kGpuAnnotation:
      row.category = rows_.names.Text("gpu_user_annotation");
      break;
    case EventCategory::kProfilerRange:
      row.category = rows_.names.Text("cuda_profiler_range");
      ++rows_.profiler_range_count;
      break;
    default:
      break;
  }
  Keep(rows_.ranges, row);
}

int64_t TraceBuilder::SystemId(std::string_view token) {
  if (const std::optional<uint64_t> id = ParseWrappingInteger(token)) return static_cast<int64_t>(*id);
  return 0;
}

uint32_t TraceBuilder::ProcessOf(std::string_view pid) {
  const int64_t id = SystemId(pid);
  const auto [it, inserted] = processes_.try_emplace(id, static_cast<uint32_t>(rows_.processes.size()));
  if (inserted) {
    ProcessRow row;
    row.process_id = it->second;
    row.pid = id;
    rows_.processes.push_back(row);
  }
  return it->second;
}

uint32_t TraceBuilder::ThreadOf(const KinetoEvent& event, bool on_gpu) {
  const std::tuple<int64_t, int64_t, bool> key{SystemId(event.pid), SystemId(event.tid), on_gpu};
  const auto [it, inserted] = threads_.try_emplace(key, static_cast<uint32_t>(rows_.threads.size()));
  if (inserted) {
    ThreadRow row;
    row.thread_id = it->second;
    // On the GPU, pid and tid are device and stream; the process is the one that feeds it, known at the end.
    row.process_id = on_gpu ? 0 : ProcessOf(event.pid);
    row.tid = std::get<1>(key);
    rows_.threads.push_back(row);
    rows_.is_gpu_thread.push_back(on_gpu);
  }
  return it->second;
}

uint32_t TraceBuilder::DeviceOf(const KinetoEvent& event) {
  std::optional<uint32_t> device = event.FindId(KinetoArg::kDevice);
  if (!device) {
    rows_.losses.Add(LossCounter::kMissingField, 1, "device");
    const std::optional<uint64_t> pid = ParseWrappingInteger(event.pid);
    device = pid && *pid < 1024 ? static_cast<uint32_t>(*pid) : 0;
  }
  rows_.device_ids.insert(*device);
  return *device;
}

uint32_t TraceBuilder::StreamOf(const KinetoEvent& event) {
  if (const std::optional<uint32_t> stream = event.FindId(KinetoArg::kStream)) return *stream;
  rows_.losses.Add(LossCounter::kMissingField, 1, "stream");
  const std::optional<uint64_t> tid = ParseWrappingInteger(event.tid);
  return tid && *tid < std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(*tid) : 0;
}

void TraceBuilder::NoteStream(std::optional<uint32_t> context_id, uint32_t stream_id, uint32_t device_id) {
  if (!context_id || !streams_.try_emplace({*context_id, stream_id, device_id}, true).second) return;
  StreamRow row;
  row.context_id = *context_id;
  row.stream_id = stream_id;
  row.device_id = device_id;
  rows_.streams.push_back(row);
}

uint32_t TraceBuilder::ShapeOf(const KinetoEvent& event) {
  const auto number = [&event](KinetoArg arg) -> std::optional<int64_t> {
    const std::optional<uint32_t> value = event.FindId(arg);
    return value ? std::optional<int64_t>(*value) : std::nullopt;
  };
  KernelShapeRow row;
  row.name = rows_.names.Text(event.name);
  row.registers_per_thread = number(KinetoArg::kRegisters);
  // One number for static and dynamic memory together; of which kind it is cannot be told.
  row.dynamic_shared_bytes = number(KinetoArg::kSharedMemory);
  if (event.has_grid)
    std::tie(row.grid_x, row.grid_y, row.grid_z) = std::tie(event.grid[0], event.grid[1], event.grid[2]);
  if (event.has_block)
    std::tie(row.block_x, row.block_y, row.block_z) = std::tie(event.block[0], event.block[1], event.block[2]);
  const ShapeKey key{row.name,
                     {row.grid_x.value_or(-1), row.grid_y.value_or(-1), row.grid_z.value_or(-1),
                      row.block_x.value_or(-1), row.block_y.value_or(-1), row.block_z.value_or(-1),
                      row.registers_per_thread.value_or(-1), row.dynamic_shared_bytes.value_or(-1)}};
  const auto [it, inserted] = shapes_.try_emplace(key, static_cast<uint32_t>(rows_.shapes.size()));
  row.kernel_shape_id = it->second;
  if (inserted) rows_.shapes.push_back(row);
  return it->second;
}

}  // namespace stallhound::capture
