#include "capture/spool/recording_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {
namespace {

constexpr const char* kModeNames[] = {"light", "default", "full"};

// An NVTX mark of the start-up hook (python/startup): a torch profiler takes the place of the operators' ranges.
constexpr char kOperatorsYielded[] = "stallhound: operators off: a torch profiler started";

using Spools = std::vector<std::unique_ptr<ProcessSpool>>;

TableSet GpuTables() {
  return Tables({Table::kHostCall, Table::kKernel, Table::kCopy, Table::kMemset, Table::kSync, Table::kCudaEvent,
                 Table::kOverhead, Table::kGraph, Table::kStream});
}

const char* ModeName(Mode mode) { return kModeNames[static_cast<size_t>(mode)]; }

bool HasGpuSide(const FileHeader& header) {
  const GpuState state = header.gpu_state.load();
  return state == GpuState::kRecording || state == GpuState::kLost;
}

// What the process did not record because it was asked not to: no loss tells of it. A process that never initialised
// CUDA has nothing to record.
TableSet LeftOut(const FileHeader& header) {
  if (header.gpu_state.load() == GpuState::kYielded) return GpuTables();
  if (header.mode != Mode::kLight || !HasGpuSide(header)) return {};
  return Tables({Table::kKernel, Table::kMemset, Table::kCudaEvent, Table::kGraph});
}

TableSet RecordedByAll(const Spools& spools) {
  TableSet recorded = ~Tables({Table::kGraphRun, Table::kBenchmarkPoint, Table::kKernelMetric});
  bool has_gpu = false;
  for (const auto& spool : spools) {
    recorded &= ~LeftOut(spool->header());
    has_gpu = has_gpu || HasGpuSide(spool->header());
  }
  return has_gpu ? recorded : recorded & ~GpuTables();
}

// The one mode of all processes; else none, and a note that names them.
std::string ModeOf(const Spools& spools, std::vector<std::string>& notes) {
  std::map<Mode, std::vector<int64_t>> pids;
  for (const auto& spool : spools) pids[spool->header().mode].push_back(spool->header().pid);
  if (pids.size() == 1) return ModeName(pids.begin()->first);
  std::vector<std::string> modes;
  for (const auto& [mode, of_mode] : pids) {
    modes.push_back(fmt::format("{} {} in mode {}", of_mode.size() == 1 ? "process" : "processes",
                                fmt::join(of_mode, ", "), ModeName(mode)));
  }
  notes.push_back(
      fmt::format("the processes were recorded in different modes: {}; what one of them did not record is "
                  "unknown for all together (hint: report on the spools of each mode alone)",
                  fmt::join(modes, ", ")));
  return "";
}

void NoteGpuState(const FileHeader& header, std::vector<std::string>& notes) {
  const auto note = [&](const std::string& text) { notes.push_back(fmt::format("process {}: {}", header.pid, text)); };
  switch (header.gpu_state.load()) {
    case GpuState::kNotInitialised:
      return note("the program never initialised CUDA; only NVTX ranges were recorded");
    case GpuState::kNoCupti:
      return note("no usable CUPTI was found; the GPU side was not recorded");
    case GpuState::kOtherHolder:
      return note("another profiler held CUPTI; the GPU side was not recorded");
    case GpuState::kLost:
      return note("GPU side lost: another profiler took CUPTI over while the program ran");
    case GpuState::kYielded:
      return note("CUPTI was left to another profiler, as asked; the GPU side was not recorded");
    case GpuState::kFailed:
      return note(fmt::format("CUPTI failed with error {}; the GPU side was not recorded", header.cupti_error.load()));
    case GpuState::kRecording:
      return;
  }
}

void NoteOperators(const ProcessSpool& spool, std::vector<std::string>& notes) {
  int64_t operator_count = 0;
  int64_t yield_count = 0;
  for (const RangeRecord& range : spool.ranges()) {
    operator_count += range.is_operator != 0;
    yield_count += range.event == RangeEvent::kMark && spool.dictionary().String(range.name) == kOperatorsYielded;
  }
  const int64_t pid = spool.header().pid;
  if (operator_count == 0) {
    notes.push_back(
        fmt::format("process {}: operators were asked for and none was recorded: it imported no torch with CUDA, or "
                    "its Python did not load the start-up hook",
                    pid));
  }
  if (yield_count > 0) {
    notes.push_back(fmt::format("process {}: a torch profiler ran {} times; meanwhile no operators were recorded", pid,
                                yield_count));
  }
}

}  // namespace

void RecordingUuid::Add(const FileHeader& header) {
  for (size_t i = 0; i < sizeof bytes_; ++i) bytes_[i] = static_cast<uint8_t>(bytes_[i] ^ header.uuid[i]);
}

std::string RecordingUuid::Text() const { return fmt::format("{:02x}", fmt::join(bytes_, "")); }

CaptureInfo InfoOf(const Spools& spools) {
  CaptureInfo info;
  const FileHeader& first = spools.front()->header();
  info.format = "spool";
  info.format_version = fmt::format("{}", first.version);
  const char* version = first.recorder_version;
  info.producer = "stallhound " + std::string(version, strnlen(version, sizeof first.recorder_version));
  info.mode = ModeOf(spools, info.notes);
  info.recorded = RecordedByAll(spools);
  RecordingUuid uuid;
  int64_t start_ns = INT64_MAX;
  for (const auto& spool : spools) {
    const FileHeader& header = spool->header();
    uuid.Add(header);
    start_ns =
        std::min(start_ns, TimeDifference(header.open_realtime_ns,
                                          TimeDifference(header.open_ns, std::min(header.open_ns, spool->first_ns()))));
    NoteGpuState(header, info.notes);
    if (header.operators != 0) NoteOperators(*spool, info.notes);
  }
  info.uuid = uuid.Text();
  info.epoch_ns = start_ns;
  return info;
}

}  // namespace stallhound::capture::spool
