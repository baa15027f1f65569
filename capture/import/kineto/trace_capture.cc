#include "capture/import/kineto/trace_capture.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/content_id.h"
#include "base/status_macros.h"
#include "base/unicode.h"

namespace stallhound::capture {
namespace {

template <typename Batch, typename Rows, typename Fix>
absl::Status GiveRows(const Rows& rows, CaptureVisitor& visitor, Fix&& fix) {
  Batch batch;
  for (auto row : rows) {
    fix(row);
    batch.Append(row);
    if (batch.size < kBatchRows) continue;
    SH_RETURN_IF_ERROR(visitor.On(batch));
    batch.Clear();
  }
  return batch.size == 0 ? absl::OkStatus() : visitor.On(batch);
}

bool Wants(const TableSet& wanted, Table table) { return wanted.test(static_cast<size_t>(table)); }

}  // namespace

TraceCapture::TraceCapture(std::unique_ptr<JoinedTrace> trace, std::string_view head, uint64_t byte_count,
                           bool is_bare_list)
    : trace_(std::move(trace)), is_bare_list_(is_bare_list) {
  FillInfo(head, byte_count);
  AddNotes();
  FillTables();
}

void TraceCapture::FillTables() {
  StringTable& strings = trace_->strings;
  for (const auto& [key, version] : trace_->top_level.versions) {
    environment_.push_back({std::nullopt, strings.Intern(key), strings.Intern(absl::StrCat(version))});
  }
  std::set<uint32_t> seen = trace_->rows.device_ids;
  if (trace_->top_level.devices) {
    for (const TraceDevice& device : *trace_->top_level.devices) {
      DeviceRow row;
      row.device_id = device.id;
      if (!device.name.empty()) row.name = strings.Intern(device.name);
      row.sm_count = device.sm_count;
      row.memory_bytes = device.memory_bytes;
      row.compute_major = device.compute_major;
      row.compute_minor = device.compute_minor;
      devices_.push_back(row);
      seen.erase(device.id);
    }
  }
  for (const uint32_t id : seen) {
    devices_.emplace_back();
    devices_.back().device_id = id;
  }
  for (const auto& [counter, loss] : trace_->rows.losses.counts) {
    LossRow row;
    row.counter = counter;
    row.count = loss.count;
    if (!loss.detail.empty()) {
      row.detail = strings.Intern(HidePrivate(ReplaceInvalidUtf8(loss.detail), trace_->top_level.private_words));
    }
    losses_.push_back(row);
  }
}

void TraceCapture::FillInfo(std::string_view head, uint64_t byte_count) {
  const TraceRows& rows = trace_->rows;
  const std::string summary =
      absl::StrCat(byte_count, ":", rows.event_count, ":", trace_->axis.origin_ns, ":", trace_->axis.end_ns);
  const uint64_t first = AddFnv(AddFnv(kFnvStart, summary), head);
  info_.uuid = absl::StrFormat("%016x%016x", first, AddFnv(first, summary));
  info_.format = "kineto";
  info_.format_version = is_bare_list_ ? "bare list" : "object";
  info_.producer = "Kineto";
  info_.epoch_ns = trace_->axis.epoch_ns;
  info_.end_ns = trace_->axis.end_ns;
  info_.recorded = Tables({Table::kProcess, Table::kThread, Table::kEnvironment, Table::kDevice, Table::kStream,
                           Table::kKernelShape, Table::kLoss, Table::kRange});
  const auto record = [this](Table table, bool recorded) { info_.recorded.set(static_cast<size_t>(table), recorded); };
  const bool gpu = rows.kernels.size() + rows.copies.size() + rows.memsets.size() > 0;
  record(Table::kHostCall, rows.host_calls.size() > 0);
  record(Table::kKernel, gpu);
  record(Table::kCopy, gpu);
  record(Table::kMemset, gpu);
  record(Table::kSync, rows.syncs.size() > 0);
  record(Table::kCudaEvent, rows.cuda_events.size() > 0);
  record(Table::kOverhead, rows.overheads.size() > 0);
  record(Table::kFrame, !trace_->stacks.frames.empty());
  record(Table::kStackFrame, !trace_->stacks.frames.empty());
}

void TraceCapture::AddNotes() {
  const TraceRows& rows = trace_->rows;
  std::vector<std::string>& notes = info_.notes;
  const bool gpu = rows.kernels.size() + rows.copies.size() + rows.memsets.size() > 0;
  if (rows.known_count == 0) notes.push_back("The trace holds no events but metadata.");
  if (rows.is_hip)
    notes.push_back(
        "This is no CUDA trace: its calls are HIP's (AMD); sync points are those of the CUDA calls they mirror.");
  if (rows.profiler_range_count > 0) {
    notes.push_back(
        "GPU work was recorded as hardware counters of ranges (cuda_profiler_range): no kernel was recorded.");
  } else if (!gpu) {
    notes.push_back(
        "The trace holds no GPU activity (no kernel, copy or memset was recorded): GPU time is unknown, not zero.");
  } else if (rows.kernels.size() == 0) {
    notes.push_back("No kernel was recorded.");
  }
  if (rows.host_calls.size() == 0) notes.push_back("The trace holds no CUDA calls: sync points cannot be found in it.");
  if (gpu && rows.syncs.size() == 0) {
    notes.push_back("This trace holds no sync records: pageable stalls are inferred from call durations.");
  }
  if (trace_->stacks.python_stack_count == 0 && rows.host_calls.size() > 0) {
    notes.push_back("No Python stacks were recorded (with_stack): sites are operators, not lines.");
  } else if (trace_->stacks.python_stack_count > 0) {
    notes.push_back("Lines are those of the functions' definitions: Kineto does not record the executing line.");
  }
  if (rows.tail_bytes > 0) {
    notes.push_back(absl::StrCat("The file goes on for ", rows.tail_bytes,
                                 " bytes behind the end of its JSON document; they were not read. If they are a second "
                                 "trace, split the file."));
  }
  if (!trace_->axis.epoch_ns && rows.event_count > 0) notes.push_back("The wall clock of the recording is not known.");
}

absl::Status TraceCapture::ReadDimensions(const TableSet& wanted, CaptureVisitor& visitor) {
  const TraceRows& rows = trace_->rows;
  const auto publish = [this](std::optional<StringId>& id) {
    if (id) id = trace_->Public(*id);
  };
  const auto keep = [](auto&) {};
  if (Wants(wanted, Table::kProcess)) SH_RETURN_IF_ERROR(GiveRows<ProcessBatch>(rows.processes, visitor, keep));
  if (Wants(wanted, Table::kThread)) {
    SH_RETURN_IF_ERROR(GiveRows<ThreadBatch>(rows.threads, visitor, [&](ThreadRow& row) { publish(row.name); }));
  }
  if (Wants(wanted, Table::kEnvironment)) SH_RETURN_IF_ERROR(GiveRows<EnvironmentBatch>(environment_, visitor, keep));
  if (Wants(wanted, Table::kDevice)) SH_RETURN_IF_ERROR(GiveRows<DeviceBatch>(devices_, visitor, keep));
  if (Wants(wanted, Table::kStream)) SH_RETURN_IF_ERROR(GiveRows<StreamBatch>(rows.streams, visitor, keep));
  if (Wants(wanted, Table::kKernelShape)) {
    SH_RETURN_IF_ERROR(GiveRows<KernelShapeBatch>(
        rows.shapes, visitor, [this](KernelShapeRow& row) { row.name = trace_->Public(row.name); }));
  }
  if (Wants(wanted, Table::kFrame)) {
    SH_RETURN_IF_ERROR(GiveRows<FrameBatch>(trace_->stacks.frames, visitor, [&](FrameRow& row) {
      publish(row.function);
      publish(row.file);
    }));
  }
  if (Wants(wanted, Table::kStackFrame)) {
    SH_RETURN_IF_ERROR(GiveRows<StackFrameBatch>(trace_->stacks.stack_frames, visitor, keep));
  }
  return Wants(wanted, Table::kLoss) ? GiveRows<LossBatch>(losses_, visitor, keep) : absl::OkStatus();
}

absl::Status TraceCapture::Read(const TableSet& wanted, CaptureVisitor& visitor) {
  SH_RETURN_IF_ERROR(ReadDimensions(wanted, visitor));
  TraceRows& rows = trace_->rows;
  const auto emit = [&](Table table, auto& sorter) -> absl::Status {
    if (!Wants(wanted, table)) return absl::OkStatus();
    TraceEmitter emitter(trace_.get(), &visitor);
    return sorter.Emit(emitter);
  };
  SH_RETURN_IF_ERROR(emit(Table::kRange, rows.ranges));
  SH_RETURN_IF_ERROR(emit(Table::kHostCall, rows.host_calls));
  SH_RETURN_IF_ERROR(emit(Table::kKernel, rows.kernels));
  SH_RETURN_IF_ERROR(emit(Table::kCopy, rows.copies));
  SH_RETURN_IF_ERROR(emit(Table::kMemset, rows.memsets));
  SH_RETURN_IF_ERROR(emit(Table::kSync, rows.syncs));
  SH_RETURN_IF_ERROR(emit(Table::kCudaEvent, rows.cuda_events));
  return emit(Table::kOverhead, rows.overheads);
}

void TraceCapture::AddFacts(ImportCounts& counts) const {
  const TraceRows& rows = trace_->rows;
  const UntimedCounts& untimed = rows.untimed;
  const auto add = [](std::optional<int64_t>& count, int64_t more) {
    if (more > 0) count = count.value_or(0) + more;
  };
  add(counts.kernels, untimed.kernels);
  add(counts.memsets, untimed.memsets);
  add(counts.cpu_ops, untimed.cpu_ops + rows.operator_step_count);
  add(counts.steps, untimed.steps);
  add(counts.runtime_calls, untimed.runtime_calls);
  add(counts.driver_calls, untimed.driver_calls);
  for (const auto& [direction, count] : untimed.copies) (*counts.memcpy)[CopyDirectionName(direction)] += count;
  for (const auto& [api, count] : untimed.host_waits) (*counts.host_waits)[api] += count;
  counts.numbers.emplace_back("events", rows.event_count);
  std::optional<std::vector<std::string>> names;
  std::optional<int64_t> gpu_count;
  if (trace_->top_level.devices) {
    names.emplace();
    gpu_count = static_cast<int64_t>(trace_->top_level.devices->size());
    for (const TraceDevice& device : *trace_->top_level.devices) {
      if (std::find(names->begin(), names->end(), device.name) == names->end()) names->push_back(device.name);
    }
  }
  counts.lists.emplace_back("gpu", std::move(names));
  counts.numbers.emplace_back("gpus", gpu_count);
  for (const auto& [key, version] : trace_->top_level.versions) counts.numbers.emplace_back(key, version);
  std::string time = rows.fractional_times ? "float us" : "integer us";
  if (trace_->top_level.base_ns) time += " + baseTimeNanoseconds";
  counts.texts.emplace_back("time", time);
}

}  // namespace stallhound::capture
