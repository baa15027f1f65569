#include "capture/spool/dimensions.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "capture/spool/range_pairs.h"
#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {
namespace {

constexpr int64_t kMostDevices = 64;  // that the recorder describes

// The last that was written under the key: what is known at the end counts.
std::string_view ValueOf(const Dictionary& dictionary, std::string_view key) {
  const std::vector<KeyValueRecord>& pairs = dictionary.key_values();
  const auto found = std::find_if(pairs.rbegin(), pairs.rend(),
                                  [&](const KeyValueRecord& pair) { return dictionary.String(pair.key) == key; });
  return found == pairs.rend() ? std::string_view() : dictionary.String(found->value);
}

StreamFlag FlagOf(uint32_t raw) {
  return raw <= static_cast<uint32_t>(StreamFlag::kPerThread) ? static_cast<StreamFlag>(raw) : StreamFlag::kUnknown;
}

template <typename Map>
std::vector<uint32_t> SortedKeys(const Map& map) {
  std::vector<uint32_t> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

ProcessIds Dimensions::Add(const ProcessSpool& spool, int64_t zero_ns) {
  ProcessIds ids;
  ids.process_id = static_cast<uint32_t>(processes_.size);
  ids.zero_ns = zero_ns;
  AddProcess(spool, ids);
  AddThreads(spool, ids);
  AddShapes(spool, ids);
  ids.stacks = stacks_.Add(spool.dictionary(), {.project = std::string(ValueOf(spool.dictionary(), kProjectKey)),
                                                .home = std::string(ValueOf(spool.dictionary(), kHomeKey))});
  AddEnvironment(spool, ids);
  AddStreams(spool, ids);
  AddWindows(spool, ids);
  AddLosses(spool, ids);
  if (status_.ok()) status_ = AddRanges(spool, ids);
  return ids;
}

void Dimensions::AddMissing() {
  LossRow row;
  row.counter = LossCounter::kCorruptChunk;
  row.count = 1;
  row.detail = strings_.Intern("the whole spool of a process (see the notes)");
  losses_.Append(row);
}

void Dimensions::AddProcess(const ProcessSpool& spool, const ProcessIds& ids) {
  const FileHeader& header = spool.header();
  const Dictionary& dictionary = spool.dictionary();
  ProcessRow row;
  row.process_id = ids.process_id;
  row.pid = header.pid;
  row.parent_pid = header.parent_pid;
  row.rank = ParseInteger(ValueOf(dictionary, "env.RANK"));
  const std::string_view program = ValueOf(dictionary, "process.name");
  if (!program.empty()) row.name = strings_.Intern(program);
  row.start_ns = TimeDifference(header.open_ns, ids.zero_ns);
  const int64_t end_ns = std::max({header.close_ns.load(), header.heartbeat_ns.load(), spool.last_ns()});
  if (end_ns > 0) row.end_ns = TimeDifference(end_ns, ids.zero_ns);
  row.clean_exit = spool.is_clean();
  row.gpu_clock_error_ns = spool.gpu_clock_error_ns();
  // CUPTI's callbacks are timed, NVTX's are not: where only those came, the time is unknown.
  if (const uint64_t callback_ns = header.callback_ns.load(); callback_ns > 0) {
    row.self_ns = static_cast<int64_t>(callback_ns);
  }
  processes_.Append(row);
}

void Dimensions::AddThreads(const ProcessSpool& spool, ProcessIds& ids) {
  const auto& threads = spool.dictionary().threads();
  const auto add = [&](int64_t tid, std::string_view name, std::optional<int64_t> last_ns) {
    ThreadRow row;
    row.thread_id = static_cast<uint32_t>(threads_.size);
    row.process_id = ids.process_id;
    row.tid = tid;
    if (!name.empty()) row.name = strings_.Intern(name);
    row.last_delivered_ns = last_ns;
    threads_.Append(row);
    return row.thread_id;
  };
  for (const uint32_t index : SortedKeys(threads)) {
    const ThreadRecord& thread = threads.at(index);
    std::optional<int64_t> last_ns;
    if (!spool.is_clean()) last_ns = spool.LastDelivered(index);
    if (last_ns.has_value()) last_ns = TimeDifference(*last_ns, ids.zero_ns);
    ids.threads[index] = add(thread.tid, spool.dictionary().String(thread.name), last_ns);
  }
  const bool has_unknown = std::any_of(spool.last_of_thread().begin(), spool.last_of_thread().end(),
                                       [&](const auto& entry) { return !threads.contains(entry.first); });
  const bool is_needed = has_unknown || threads.empty();
  ids.unknown_thread = is_needed ? add(0, "(unknown thread)", std::nullopt) : ids.threads.begin()->second;
}

void Dimensions::AddShapes(const ProcessSpool& spool, ProcessIds& ids) {
  const auto& shapes = spool.dictionary().shapes();
  int64_t unnamed_count = 0;
  for (const uint32_t id : SortedKeys(shapes)) {
    const ShapeRecord& shape = shapes.at(id);
    const std::string_view name = spool.dictionary().String(shape.name);
    unnamed_count += name.empty();
    KernelShapeRow row;
    row.kernel_shape_id = static_cast<uint32_t>(shapes_.size);
    row.name = strings_.Intern(name.empty() ? "(unknown kernel)" : name);
    row.grid_x = shape.grid[0];
    row.grid_y = shape.grid[1];
    row.grid_z = shape.grid[2];
    row.block_x = shape.block[0];
    row.block_y = shape.block[1];
    row.block_z = shape.block[2];
    row.registers_per_thread = shape.registers_per_thread;
    row.static_shared_bytes = shape.static_shared_bytes;
    row.dynamic_shared_bytes = shape.dynamic_shared_bytes;
    shapes_.Append(row);
    ids.shapes[id] = row.kernel_shape_id;
  }
  if (spool.unknown_shape_count() > 0) {
    KernelShapeRow row;
    row.kernel_shape_id = static_cast<uint32_t>(shapes_.size);
    row.name = strings_.Intern("(unknown kernel)");
    shapes_.Append(row);
    ids.unknown_shape = row.kernel_shape_id;
    unnamed_count += spool.unknown_shape_count();
  }
  if (unnamed_count == 0) return;
  LossRow loss;
  loss.counter = LossCounter::kUnknownString;
  loss.count = unnamed_count;
  loss.process_id = ids.process_id;
  losses_.Append(loss);
}

void Dimensions::AddEnvironment(const ProcessSpool& spool, const ProcessIds& ids) {
  const Dictionary& dictionary = spool.dictionary();
  absl::flat_hash_map<std::string_view, size_t> places;
  for (const KeyValueRecord& pair : dictionary.key_values()) {
    const std::string_view key = dictionary.String(pair.key);
    if (key == kProjectKey || key == kHomeKey) continue;
    const auto [place, is_new] = places.try_emplace(key, environment_.size);
    if (!is_new) {
      environment_.value[place->second] = strings_.Intern(dictionary.String(pair.value));
      continue;
    }
    EnvironmentRow row;
    row.process_id = ids.process_id;
    row.key = strings_.Intern(key);
    row.value = strings_.Intern(dictionary.String(pair.value));
    environment_.Append(row);
  }
  if (const uint64_t callback_count = spool.header().callback_count.load(); callback_count > 0) {
    EnvironmentRow row;
    row.process_id = ids.process_id;
    row.key = strings_.Intern("recorder.callback_ns");
    row.value = strings_.Intern(fmt::format("{}", spool.header().callback_ns.load() / callback_count));
    environment_.Append(row);
  }
  AddDevices(dictionary, ids.process_id);
}

// The fingerprint numbers GPUs by their PCI address, CUDA as it likes, and nothing recorded tells which is which: a
// value is known of each device if all GPUs share it.
void Dimensions::AddDevices(const Dictionary& dictionary, uint32_t process_id) {
  const int64_t count = std::min(ParseInteger(ValueOf(dictionary, "gpu.count")).value_or(0), kMostDevices);
  const auto value = [&](int64_t index, const char* key) {
    return ValueOf(dictionary, fmt::format("gpu.{}.{}", index, key));
  };
  const auto shared = [&](const char* key) {
    const std::string_view first = value(0, key);
    for (int64_t index = 1; index < count; ++index) {
      if (value(index, key) != first) return std::string_view();
    }
    return first;
  };
  bool has_slices = false;
  for (int64_t index = 0; index < count; ++index) has_slices = has_slices || value(index, "mig") == "1";
  DeviceRow row;
  row.process_id = process_id;
  if (const std::string_view name = shared("name"); !name.empty()) row.name = strings_.Intern(name);
  if (!has_slices) {
    row.sm_count = ParseInteger(shared("sm_count"));
    row.memory_bytes = ParseInteger(shared("memory_bytes"));
  }
  const std::string_view capability = shared("compute_capability");
  const size_t dot = capability.find('.');
  if (dot != std::string_view::npos) {
    row.compute_major = ParseInteger(capability.substr(0, dot));
    row.compute_minor = ParseInteger(capability.substr(dot + 1));
  }
  for (int64_t index = 0; index < count; ++index) {
    row.device_id = static_cast<uint32_t>(index);
    devices_.Append(row);
  }
}

void Dimensions::AddStreams(const ProcessSpool& spool, const ProcessIds& ids) {
  const Dictionary& dictionary = spool.dictionary();
  absl::flat_hash_set<uint64_t> known;
  const auto add = [&](uint32_t context_id, uint32_t stream_id, StreamFlag flag, std::optional<int64_t> priority) {
    if (!known.insert(uint64_t{context_id} << 32 | stream_id).second) return;
    StreamRow row;
    row.process_id = ids.process_id;
    row.context_id = context_id;
    row.stream_id = stream_id;
    row.flag = flag;
    row.priority = priority;
    const auto context = dictionary.contexts().find(context_id);
    if (context != dictionary.contexts().end()) row.device_id = context->second.device_id;
    streams_.Append(row);
  };
  for (const uint32_t id : SortedKeys(dictionary.contexts())) {
    add(id, dictionary.contexts().at(id).null_stream_id, StreamFlag::kNull, std::nullopt);
  }
  for (const StreamRecord& stream : dictionary.streams()) {
    add(stream.context_id, stream.stream_id, FlagOf(stream.flag), stream.priority);
  }
  for (const GraphRecord& graph : dictionary.graphs()) {
    GraphRow row;
    row.process_id = ids.process_id;
    row.graph_id = graph.graph_id;
    row.kernel_node_count = graph.kernel_node_count;
    graphs_.Append(row);
  }
}

void Dimensions::AddLosses(const ProcessSpool& spool, const ProcessIds& ids) {
  for (const LossEntry& entry : spool.losses()) {
    LossRow row;
    row.counter = entry.counter;
    row.count = entry.count;
    row.process_id = ids.process_id;
    if (entry.first_ns > 0) row.start_ns = TimeDifference(entry.first_ns, ids.zero_ns);
    if (entry.last_ns > 0) row.end_ns = TimeDifference(entry.last_ns, ids.zero_ns);
    const std::string_view detail = spool.dictionary().String(entry.detail);
    if (!detail.empty()) row.detail = strings_.Intern(detail);
    losses_.Append(row);
  }
  if (spool.header().holder[0] == '\0') return;
  LossRow row;
  row.counter = LossCounter::kHolderPresent;
  row.count = 1;
  row.process_id = ids.process_id;
  const char* holder = spool.header().holder;
  row.detail = strings_.Intern(std::string_view(holder, strnlen(holder, sizeof(FileHeader::holder))));
  losses_.Append(row);
}

// Spans without recording: from each "off" to the next "on".
void Dimensions::AddWindows(const ProcessSpool& spool, const ProcessIds& ids) {
  std::vector<WindowRecord> records = spool.windows();
  std::stable_sort(records.begin(), records.end(),
                   [](const WindowRecord& a, const WindowRecord& b) { return a.time_ns < b.time_ns; });
  std::optional<WindowRow> off;
  for (const WindowRecord& record : records) {
    const int64_t time_ns = TimeDifference(record.time_ns, ids.zero_ns);
    if (record.is_on == 0 && !off.has_value()) {
      off.emplace();
      off->start_ns = time_ns;
      off->process_id = ids.process_id;
      off->reason = strings_.Intern(spool.dictionary().String(record.reason));
    } else if (record.is_on != 0 && off.has_value()) {
      off->end_ns = time_ns;
      windows_.Append(*off);
      off.reset();
    }
  }
  if (off.has_value()) windows_.Append(*off);
}

absl::Status Dimensions::AddRanges(const ProcessSpool& spool, const ProcessIds& ids) {
  const Dictionary& dictionary = spool.dictionary();
  const RowBuilder builder(spool, ids, strings_);
  const PairedRanges paired = PairRanges(spool.ranges());
  for (const PairedRange& range : paired.ranges) {
    const RangeRecord& begin = *range.begin;
    RangeRow row;
    row.start_ns = builder.Time(begin.time_ns);
    if (range.end_ns.has_value()) row.end_ns = builder.Time(*range.end_ns);
    row.process_id = ids.process_id;
    row.thread_id = builder.ThreadOf(begin.thread_index);
    row.kind = range.kind;
    const auto domain = dictionary.domains().find(begin.domain_id);
    if (domain != dictionary.domains().end()) row.domain = strings_.Intern(dictionary.String(domain->second));
    row.name = strings_.Intern(dictionary.String(begin.name));
    if (begin.category != 0) row.category = strings_.Intern(dictionary.String(begin.category));
    if (begin.payload != kNonePayload) (begin.is_operator != 0 ? row.sequence : row.payload) = begin.payload;
    if (begin.is_operator != 0) {
      const auto stack = ids.stacks.find(static_cast<uint32_t>(begin.range_id));
      if (stack != ids.stacks.end()) row.stack_id = stack->second;
    }
    const absl::Status status = ranges_.Add(row);
    if (!status.ok()) return status;
  }
  const auto count_loss = [&](LossCounter counter, int64_t count) {
    if (count == 0) return;
    LossRow row;
    row.counter = counter;
    row.count = count;
    row.process_id = ids.process_id;
    losses_.Append(row);
  };
  count_loss(LossCounter::kUnbalancedRange, paired.unbalanced_count);
  count_loss(LossCounter::kOpenRange, paired.open_count);
  return absl::OkStatus();
}

absl::Status Dimensions::Emit(const TableSet& wanted, CaptureVisitor& visitor) {
  const auto emit = [&](Table table, const auto& batch) -> absl::Status {
    if (!wanted.test(static_cast<size_t>(table)) || batch.size == 0) return absl::OkStatus();
    return visitor.On(batch);
  };
  SH_RETURN_IF_ERROR(emit(Table::kProcess, processes_));
  SH_RETURN_IF_ERROR(emit(Table::kThread, threads_));
  SH_RETURN_IF_ERROR(emit(Table::kEnvironment, environment_));
  SH_RETURN_IF_ERROR(emit(Table::kDevice, devices_));
  SH_RETURN_IF_ERROR(emit(Table::kStream, streams_));
  SH_RETURN_IF_ERROR(emit(Table::kKernelShape, shapes_));
  SH_RETURN_IF_ERROR(emit(Table::kFrame, stacks_.frames()));
  SH_RETURN_IF_ERROR(emit(Table::kStackFrame, stacks_.stack_frames()));
  SH_RETURN_IF_ERROR(emit(Table::kGraph, graphs_));
  SH_RETURN_IF_ERROR(emit(Table::kLoss, losses_));
  SH_RETURN_IF_ERROR(emit(Table::kWindow, windows_));
  return wanted.test(static_cast<size_t>(Table::kRange)) ? ranges_.Emit(visitor) : absl::OkStatus();
}

}  // namespace stallhound::capture::spool
