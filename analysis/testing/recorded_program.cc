#include "analysis/testing/recorded_program.h"

#include <algorithm>

namespace stallhound::analysis {

using capture::FrameKind;

RecordedProgram::RecordedProgram() {
  capture::ProcessRow process;
  process.pid = 4711;
  process.start_ns = 0;
  process.clean_exit = true;
  capture_.Add(process);
  Thread(0, 4711, "main");
}

void RecordedProgram::SetClockError(int64_t clock_error_ns) {
  capture_.mutable_process().front().gpu_clock_error_ns = clock_error_ns;
}

uint64_t RecordedProgram::Call(const CallSpec& call) {
  capture::HostCallRow row;
  row.start_ns = call.start_ns;
  row.end_ns = call.end_ns;
  row.process_id = call.process_id;
  row.thread_id = call.thread_id;
  row.api = capture_.Intern(capture::NormalizeApiName(call.api));
  row.api_class = capture::ClassifyApi(call.api);
  row.layer = call.api.starts_with("cuda") ? capture::ApiLayer::kRuntime : capture::ApiLayer::kDriver;
  row.is_nested = call.is_nested;
  row.correlation_id = next_correlation_id_++;
  row.return_value = call.return_value;
  row.stack_id = call.stack_id;
  row.context_id = call.context_id;
  row.stream_id = call.stream_id;
  row.event_handle = call.event;
  capture_.Add(row);
  launches_[*row.correlation_id] = {call.start_ns, call.end_ns, call.thread_id};
  capture_.mutable_info().end_ns = std::max(capture_.info().end_ns, call.end_ns);
  return *row.correlation_id;
}

template <typename Row>
Row RecordedProgram::WorkRow(const WorkSpec& work) {
  Row row;
  row.start_ns = work.start_ns;
  row.end_ns = work.end_ns;
  row.process_id = work.process_id;
  row.device_id = work.device_id;
  row.context_id = work.context_id;
  row.stream_id = work.stream_id;
  row.correlation_id = work.correlation_id;
  if (const auto it = launches_.find(work.correlation_id); it != launches_.end()) {
    row.launch_start_ns = it->second.start_ns;
    row.launch_end_ns = it->second.end_ns;
    row.launch_thread_id = it->second.thread_id;
  }
  capture_.mutable_info().end_ns = std::max(capture_.info().end_ns, work.end_ns);
  return row;
}

void RecordedProgram::Kernel(const WorkSpec& work, std::string_view name) {
  const auto [it, is_new] =
      shapes_.try_emplace({std::string(name), work.grid_x}, static_cast<uint32_t>(shapes_.size()));
  if (is_new) {
    capture::KernelShapeRow shape;
    shape.kernel_shape_id = it->second;
    shape.name = capture_.Intern(name);
    shape.grid_x = work.grid_x;
    shape.grid_y = shape.grid_z = 1;
    shape.block_x = 32;
    shape.block_y = shape.block_z = 1;
    capture_.Add(shape);
  }
  auto row = WorkRow<capture::KernelRow>(work);
  row.kernel_shape_id = it->second;
  capture_.Add(row);
}

void RecordedProgram::Copy(const WorkSpec& work, const CopySpec& copy) {
  auto row = WorkRow<capture::CopyRow>(work);
  row.direction = copy.direction;
  row.source_kind = copy.source_kind;
  row.target_kind = copy.target_kind;
  row.bytes = copy.bytes;
  if (!copy.has_gpu_times) row.end_ns.reset();
  capture_.Add(row);
}

void RecordedProgram::Memset(const WorkSpec& work, uint64_t bytes) {
  auto row = WorkRow<capture::MemsetRow>(work);
  row.bytes = bytes;
  capture_.Add(row);
}

void RecordedProgram::Range(std::string_view name, int64_t start_ns, std::optional<int64_t> end_ns,
                            capture::RangeKind kind, uint32_t process_id) {
  capture::RangeRow row;
  row.process_id = process_id;
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.kind = kind;
  row.name = capture_.Intern(name);
  capture_.Add(row);
}

void RecordedProgram::Operator(const OperatorSpec& spec) {
  capture::RangeRow row;
  row.process_id = spec.process_id;
  row.thread_id = spec.thread_id;
  row.start_ns = spec.start_ns;
  row.end_ns = spec.end_ns;
  row.kind = capture::RangeKind::kOperator;
  row.name = capture_.Intern(spec.name);
  row.sequence = spec.sequence;
  row.stack_id = spec.stack_id;
  capture_.Add(row);
}

void RecordedProgram::Process(uint32_t process_id, int64_t rank) {
  capture::ProcessRow row;
  row.process_id = process_id;
  row.pid = 4711 + process_id;
  row.rank = rank;
  capture_.Add(row);
}

void RecordedProgram::QueueFull(uint64_t correlation_id, int64_t start_ns, int64_t end_ns, uint32_t process_id) {
  capture::OverheadRow row;
  row.process_id = process_id;
  row.start_ns = start_ns;
  row.end_ns = end_ns;
  row.kind = capture::OverheadKind::kCommandBufferFull;
  row.correlation_id = correlation_id;
  capture_.Add(row);
}

void RecordedProgram::Thread(uint32_t thread_id, int64_t tid, std::string_view name, uint32_t process_id) {
  capture::ThreadRow row;
  row.process_id = process_id;
  row.thread_id = thread_id;
  row.tid = tid;
  row.name = capture_.Intern(name);
  capture_.Add(row);
}

void RecordedProgram::Stream(uint32_t stream_id, capture::StreamFlag flag) {
  capture::StreamRow row;
  row.context_id = 1;
  row.stream_id = stream_id;
  row.flag = flag;
  capture_.Add(row);
}

uint32_t RecordedProgram::FrameId(const std::string& key, capture::FrameRow frame) {
  const auto [it, is_new] = frames_.try_emplace(key, static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frame.frame_id = it->second;
    capture_.Add(frame);
  }
  return it->second;
}

uint32_t RecordedProgram::PythonStack(const std::vector<std::pair<std::string, int64_t>>& frames) {
  const uint32_t stack_id = next_stack_id_++;
  uint32_t depth = 0;
  for (const auto& [file, line] : frames) {
    capture::FrameRow frame;
    frame.kind = FrameKind::kPython;
    frame.function = capture_.Intern("step");
    frame.file = capture_.Intern(file);
    frame.line = line;
    frame.is_user = !file.starts_with("site-packages/");
    capture_.Add(capture::StackFrameRow{stack_id, depth++, FrameId(file + ":" + std::to_string(line), frame)});
  }
  return stack_id;
}

uint32_t RecordedProgram::NativeStack(const std::vector<std::string>& functions) {
  const uint32_t stack_id = next_stack_id_++;
  uint32_t depth = 0;
  for (const std::string& function : functions) {
    capture::FrameRow frame;
    frame.kind = FrameKind::kNative;
    frame.function = capture_.Intern(function);
    frame.module = capture_.Intern("libtorch_cuda.so");
    capture_.Add(capture::StackFrameRow{stack_id, depth++, FrameId(function, frame)});
  }
  return stack_id;
}

uint64_t SimulatedProgram::Call(CallSpec call, int64_t end_ns) {
  call.start_ns = now_ns_;
  call.end_ns = now_ns_ = end_ns;
  call.thread_id = thread_id_;
  return recorded_.Call(call);
}

void SimulatedProgram::Launch(uint32_t stream_id, int64_t duration_ns) {
  Stream& stream = streams_[stream_id];
  int64_t submitted_ns = now_ns_;
  if (queue_limit_ && stream.start_ns.size() >= *queue_limit_) {
    submitted_ns = std::max(submitted_ns, stream.start_ns[stream.start_ns.size() - *queue_limit_]);
  }
  const uint64_t id = Call({.api = "cudaLaunchKernel", .stream_id = stream_id}, submitted_ns + kLaunchNs);
  const int64_t start_ns = std::max(now_ns_ + kStartNs, stream.end_ns);
  stream.end_ns = start_ns + duration_ns;
  stream.start_ns.push_back(start_ns);
  recorded_.Kernel({.correlation_id = id, .start_ns = start_ns, .end_ns = stream.end_ns, .stream_id = stream_id});
}

void SimulatedProgram::Wait(uint32_t stream_id, std::optional<uint32_t> stack_id) {
  Call({.api = "cudaStreamSynchronize", .stream_id = stream_id, .stack_id = stack_id},
       std::max(now_ns_, streams_[stream_id].end_ns) + kReturnNs);
}

void SimulatedProgram::ReadBack(uint32_t stream_id, int copy_count) {
  int64_t& end_ns = streams_[stream_id].end_ns;
  for (int i = 0; i < copy_count; ++i) {
    const int64_t start_ns = std::max(now_ns_ + kLaunchNs + kStartNs, end_ns);
    end_ns = start_ns + kCopyNs;
    const uint64_t id = Call({.api = "cudaMemcpyAsync", .stream_id = stream_id}, end_ns + kReturnNs);
    recorded_.Copy({.correlation_id = id, .start_ns = start_ns, .end_ns = end_ns, .stream_id = stream_id}, {});
  }
  Call({.api = "cudaStreamSynchronize", .stream_id = stream_id}, now_ns_ + kShortCallNs);
}

void SimulatedProgram::RecordEvent(uint64_t event, uint32_t stream_id) {
  event_end_ns_[event] = streams_[stream_id].end_ns;
  Call({.api = "cudaEventRecord", .stream_id = stream_id, .event = event}, now_ns_ + kShortCallNs);
}

void SimulatedProgram::StreamWaitEvent(uint32_t stream_id, uint64_t event) {
  int64_t& end_ns = streams_[stream_id].end_ns;
  end_ns = std::max(end_ns, event_end_ns_[event]);
  Call({.api = "cudaStreamWaitEvent", .stream_id = stream_id, .event = event}, now_ns_ + kShortCallNs);
}

}  // namespace stallhound::analysis
