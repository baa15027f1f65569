#include "analysis/hunt/directory.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace stallhound::analysis {
namespace {

using capture::LossCounter;

template <typename Batch, typename Row>
absl::Status Keep(const Batch& batch, std::vector<Row>& rows) {
  for (size_t i = 0; i < batch.size; ++i) rows.push_back(batch.Get(i));
  return absl::OkStatus();
}

// What a loss of this kind puts in doubt.
bool AffectsCosts(LossCounter counter) { return capture::Info(counter).severity != capture::LossSeverity::kNote; }
bool AffectsCounts(LossCounter counter) {
  switch (counter) {
    case LossCounter::kZeroTime:
    case LossCounter::kLaunchWithoutKernel:
    case LossCounter::kGraphLevelOnly:
      return false;
    default:
      return AffectsCosts(counter);
  }
}

// cudaStreamSynchronize, cuMemcpyAsync: the call itself, not who made it.
bool IsCudaFunction(const std::optional<std::string>& function) {
  if (!function || function->compare(0, 2, "cu") != 0) return false;
  const size_t word = function->compare(0, 4, "cuda") == 0 ? 4 : 2;
  return word < function->size() && (*function)[word] >= 'A' && (*function)[word] <= 'Z';
}

bool Touches(const capture::LossRow& loss, const std::vector<Span>& spans) {
  if (!loss.start_ns.has_value() && !loss.end_ns.has_value()) return true;
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    if (loss.process_id.has_value() && *loss.process_id != span.process_id) return false;
    return loss.start_ns.value_or(INT64_MIN) <= span.end_ns && loss.end_ns.value_or(INT64_MAX) >= span.start_ns;
  });
}

}  // namespace

Directory::Directory(const capture::CaptureReader& reader, std::optional<std::string> range)
    : reader_(reader), range_(std::move(range)) {
  const size_t mark = range_ ? range_->rfind('#') : std::string::npos;
  if (mark == std::string::npos) return;
  Numbered numbered{.name = range_->substr(0, mark)};
  if (absl::SimpleAtoi(range_->substr(mark + 1), &numbered.number) && numbered.number > 0) {
    numbered_ = std::move(numbered);
  }
}

capture::TableSet Directory::Wanted() {
  using capture::Table;
  return capture::Tables({Table::kProcess, Table::kThread, Table::kEnvironment, Table::kDevice, Table::kStream,
                          Table::kFrame, Table::kStackFrame, Table::kRange, Table::kLoss});
}

absl::Status Directory::On(const capture::ProcessBatch& batch) { return Keep(batch, processes_); }
absl::Status Directory::On(const capture::ThreadBatch& batch) { return Keep(batch, threads_); }
absl::Status Directory::On(const capture::DeviceBatch& batch) { return Keep(batch, devices_); }
absl::Status Directory::On(const capture::StreamBatch& batch) { return Keep(batch, streams_); }
absl::Status Directory::On(const capture::FrameBatch& batch) { return Keep(batch, frames_); }
absl::Status Directory::On(const capture::LossBatch& batch) { return Keep(batch, losses_); }

absl::Status Directory::On(const capture::EnvironmentBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    EnvironmentEntry entry{Text(batch.key[i]), Text(batch.value[i])};
    const bool is_known = std::any_of(environment_.begin(), environment_.end(), [&](const EnvironmentEntry& other) {
      return other.key == entry.key && other.value == entry.value;
    });
    if (!is_known) environment_.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

absl::Status Directory::On(const capture::StackFrameBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) stacks_[batch.stack_id[i]].push_back(batch.frame_id[i]);
  return absl::OkStatus();
}

bool Directory::IsWanted(const std::string& name) const {
  if (!range_.has_value()) return false;
  if (name == *range_) return true;
  // Profilers number their steps: "ProfilerStep#7" is an occurrence of "ProfilerStep".
  const size_t mark = name.rfind('#');
  return mark != std::string::npos && name.substr(0, mark) == *range_ &&
         name.find_first_not_of("0123456789", mark + 1) == std::string::npos;
}

absl::Status Directory::On(const capture::RangeBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    has_operators_ = has_operators_ || batch.sequence[i].has_value();
    has_ranges_ = has_ranges_ || batch.kind[i] != capture::RangeKind::kMark;
    if (batch.kind[i] == capture::RangeKind::kOperator || batch.kind[i] == capture::RangeKind::kMark ||
        batch.kind[i] == capture::RangeKind::kPythonFunction) {
      continue;
    }
    const auto key = static_cast<uint32_t>(batch.name[i]);
    const auto [it, is_new] = ranges_.try_emplace(key);
    RangeTotals& totals = it->second;
    if (is_new) {
      range_order_.push_back(key);
      totals.summary.name = Text(batch.name[i]);
      totals.summary.is_measured = IsWanted(totals.summary.name);
    }
    const int64_t end_ns = batch.end_ns[i].value_or(reader_.info().end_ns);
    ++totals.summary.occurrence_count;
    totals.summary.total_ns += end_ns - batch.start_ns[i];
    int64_t& last_end_ns = totals.last_end_ns.try_emplace(batch.process_id[i], INT64_MIN).first->second;
    totals.summary.is_overlapping = totals.summary.is_overlapping || batch.start_ns[i] < last_end_ns;
    last_end_ns = std::max(last_end_ns, end_ns);
    const bool is_numbered = numbered_ && totals.summary.name == numbered_->name;
    if (!totals.summary.is_measured && !is_numbered) continue;
    const Span span{batch.process_id[i], batch.start_ns[i], end_ns, batch.thread_id[i]};
    if (totals.summary.is_measured) occurrences_.push_back(span);
    if (is_numbered) numbered_->occurrences.push_back(span);
  }
  return absl::OkStatus();
}

absl::Status Directory::NoSuchRange() const {
  if (TakesNumber()) {
    return absl::NotFoundError(
        fmt::format("counting inside range {}: no process has so many occurrences of {} ({} in "
                    "all)",
                    *range_, numbered_->name, numbered_->occurrences.size()));
  }
  std::vector<std::string> names;
  for (const uint32_t key : range_order_) names.push_back(ranges_.at(key).summary.name);
  if (names.size() > 12) names.resize(12);
  return absl::NotFoundError(fmt::format("counting inside range {}: the recording has no such range; it has {}",
                                         *range_, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::vector<Span> Directory::NumberedSpans() const {
  std::vector<Span> all = numbered_->occurrences;
  std::stable_sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  absl::flat_hash_map<uint32_t, uint64_t> seen_count;  // by process
  std::erase_if(all, [&](const Span& span) { return ++seen_count[span.process_id] != numbered_->number; });
  return all;
}

absl::StatusOr<std::vector<Span>> Directory::MeasuredSpans() const {
  std::vector<Span> spans = TakesNumber() ? NumberedSpans() : occurrences_;
  if (range_.has_value() && spans.empty()) return NoSuchRange();
  if (!range_.has_value()) {
    for (const auto& process : processes_) spans.push_back({process.process_id, INT64_MIN, INT64_MAX});
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.process_id, a.start_ns) < std::pair(b.process_id, b.start_ns);
  });
  return spans;
}

std::optional<std::string> Directory::Text(std::optional<capture::StringId> id) const {
  return id.has_value() ? std::optional(Text(*id)) : std::nullopt;
}

void Directory::Describe(CaptureSummary& capture, std::vector<RangeSummary>& ranges,
                         std::vector<ProcessSummary>& processes, std::vector<DeviceSummary>& devices,
                         std::vector<EnvironmentEntry>& environment) const {
  const capture::CaptureInfo& info = reader_.info();
  capture = {info.uuid, info.format, info.format_version, info.producer, info.mode, info.end_ns};
  for (const uint32_t key : range_order_) {
    ranges.push_back(ranges_.at(key).summary);
    if (TakesNumber() && ranges.back().name == numbered_->name) ranges.back().is_measured = true;
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const RangeSummary& a, const RangeSummary& b) { return a.total_ns > b.total_ns; });
  for (const auto& row : processes_) {
    ProcessSummary summary{row.pid, row.rank, std::nullopt, row.clean_exit, row.gpu_clock_error_ns, row.self_ns};
    if (row.start_ns && row.end_ns) summary.duration_ns = *row.end_ns - *row.start_ns;
    processes.push_back(summary);
  }
  for (const auto& row : devices_) {
    const bool is_known = std::any_of(devices.begin(), devices.end(), [&](const DeviceSummary& other) {
      return other.device_id == row.device_id && other.name == Text(row.name);
    });
    if (!is_known) devices.push_back({row.device_id, Text(row.name), row.sm_count, row.memory_bytes});
  }
  environment = environment_;
}

std::vector<LossSummary> Directory::Losses(const std::vector<Span>& spans) const {
  std::vector<LossSummary> summaries;
  for (const auto& row : losses_) {
    const capture::LossCounterInfo& info = capture::Info(row.counter);
    LossSummary summary{info.id,      info.meaning, info.severity, row.count,
                        std::nullopt, row.start_ns, row.end_ns,    Text(row.detail)};
    if (row.process_id.has_value()) {
      if (const auto* process = Process(*row.process_id)) summary.pid = process->pid;
    }
    const bool touches = Touches(row, spans);
    summary.affects_counts = touches && AffectsCounts(row.counter);
    summary.affects_costs = touches && AffectsCosts(row.counter);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<Frame> Directory::Stack(uint32_t stack_id) const {
  std::vector<Frame> frames;
  const auto it = stacks_.find(stack_id);
  if (it == stacks_.end()) return frames;
  for (const uint32_t frame_id : it->second) {
    if (frame_id >= frames_.size()) continue;
    const capture::FrameRow& row = frames_[frame_id];
    frames.push_back(
        {row.kind, Text(row.function), Text(row.file), row.line, Text(row.module), row.module_offset, row.is_user});
  }
  return frames;
}

std::optional<uint32_t> Directory::CallerFrame(uint32_t stack_id) const {
  const auto it = stacks_.find(stack_id);
  if (it == stacks_.end() || it->second.empty()) return std::nullopt;
  for (const uint32_t frame_id : it->second) {
    if (frame_id < frames_.size() && !IsCudaFunction(Text(frames_[frame_id].function))) return frame_id;
  }
  return it->second.front();
}

bool Directory::IsPythonFrame(std::optional<uint32_t> frame_id) const {
  return frame_id && *frame_id < frames_.size() && frames_[*frame_id].kind == capture::FrameKind::kPython;
}

std::string Directory::ThreadName(uint32_t thread_id) const {
  for (const auto& row : threads_) {
    if (row.thread_id != thread_id) continue;
    const std::optional<std::string> name = Text(row.name);
    return name.has_value() ? fmt::format("{} (tid {})", *name, row.tid) : fmt::format("tid {}", row.tid);
  }
  return "unknown thread";
}

const capture::ProcessRow* Directory::Process(uint32_t process_id) const {
  for (const auto& row : processes_) {
    if (row.process_id == process_id) return &row;
  }
  return nullptr;
}

std::optional<capture::StreamFlag> Directory::FlagOf(uint32_t process_id, uint32_t context_id,
                                                     uint32_t stream_id) const {
  for (const auto& row : streams_) {
    if (row.process_id == process_id && row.context_id == context_id && row.stream_id == stream_id) return row.flag;
  }
  return std::nullopt;
}

bool Directory::IsNullStream(uint32_t process_id, uint32_t context_id, uint32_t stream_id) const {
  return FlagOf(process_id, context_id, stream_id) == capture::StreamFlag::kNull;
}

bool Directory::IsNonBlocking(uint32_t process_id, uint32_t context_id, uint32_t stream_id) const {
  return FlagOf(process_id, context_id, stream_id) == capture::StreamFlag::kNonBlocking;
}

}  // namespace stallhound::analysis
