#pragma once

// The small tables of a recording, held while its events are read: who ran, where code is, which ranges there were.

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/report.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// A span of host time in one process that is measured.
struct Span {
  uint32_t process_id = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::optional<uint32_t> thread_id = std::nullopt;  // of a range: where it started
};

// Fills itself as the visitor of a read; a subclass takes the event tables.
class Directory : public capture::CaptureVisitor {
 public:
  // `range` is a name, or NAME#7 for the 7th occurrence of NAME in each process if no range is called that itself.
  Directory(const capture::CaptureReader& reader, std::optional<std::string> range);

  static capture::TableSet Wanted();

  absl::Status On(const capture::ProcessBatch& batch) override;
  absl::Status On(const capture::ThreadBatch& batch) override;
  absl::Status On(const capture::EnvironmentBatch& batch) override;
  absl::Status On(const capture::DeviceBatch& batch) override;
  absl::Status On(const capture::StreamBatch& batch) override;
  absl::Status On(const capture::FrameBatch& batch) override;
  absl::Status On(const capture::StackFrameBatch& batch) override;
  absl::Status On(const capture::RangeBatch& batch) override;
  absl::Status On(const capture::LossBatch& batch) override;

  // After the read. The measured spans by process and start: the occurrences of the wanted range, else one span a
  // process. NotFound if the range does not occur.
  absl::StatusOr<std::vector<Span>> MeasuredSpans() const;

  // The parts of a report that do not depend on events.
  void Describe(CaptureSummary& capture, std::vector<RangeSummary>& ranges, std::vector<ProcessSummary>& processes,
                std::vector<DeviceSummary>& devices, std::vector<EnvironmentEntry>& environment) const;
  // Losses and whether they fall into the spans.
  std::vector<LossSummary> Losses(const std::vector<Span>& spans) const;

  // Frames of a stack, innermost first; empty for an unknown stack.
  std::vector<Frame> Stack(uint32_t stack_id) const;
  // The place in code that made a call: the innermost frame, of Python if there is any, that is no function of CUDA.
  std::optional<uint32_t> CallerFrame(uint32_t stack_id) const;
  bool IsPythonFrame(std::optional<uint32_t> frame_id) const;
  // Whether operators with sequence numbers were recorded.
  bool has_operators() const { return has_operators_; }
  // Whether there was any range with a length.
  bool has_ranges() const { return has_ranges_; }
  std::string ThreadName(uint32_t thread_id) const;
  const capture::ProcessRow* Process(uint32_t process_id) const;
  // True if a sync of this stream waits for all blocking streams of its context.
  bool IsNullStream(uint32_t process_id, uint32_t context_id, uint32_t stream_id) const;
  bool IsNonBlocking(uint32_t process_id, uint32_t context_id, uint32_t stream_id) const;

 private:
  struct RangeTotals {
    RangeSummary summary;
    absl::flat_hash_map<uint32_t, int64_t> last_end_ns;  // by process
  };
  // "step#7": the 7th occurrence of "step" in each process.
  struct Numbered {
    std::string name;
    uint64_t number = 0;
    std::vector<Span> occurrences;  // all of that name
  };

  std::string Text(capture::StringId id) const { return std::string(reader_.strings().Get(id)); }
  std::optional<std::string> Text(std::optional<capture::StringId> id) const;
  bool IsWanted(const std::string& name) const;
  bool TakesNumber() const { return numbered_ && occurrences_.empty() && !numbered_->occurrences.empty(); }
  std::vector<Span> NumberedSpans() const;
  absl::Status NoSuchRange() const;
  std::optional<capture::StreamFlag> FlagOf(uint32_t process_id, uint32_t context_id, uint32_t stream_id) const;

  const capture::CaptureReader& reader_;
  std::optional<std::string> range_;
  std::optional<Numbered> numbered_;
  std::vector<capture::ProcessRow> processes_;
  std::vector<capture::ThreadRow> threads_;
  std::vector<EnvironmentEntry> environment_;
  std::vector<capture::DeviceRow> devices_;
  std::vector<capture::StreamRow> streams_;
  std::vector<capture::FrameRow> frames_;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> stacks_;
  absl::flat_hash_map<uint32_t, RangeTotals> ranges_;  // by name
  std::vector<uint32_t> range_order_;
  std::vector<Span> occurrences_;
  std::vector<capture::LossRow> losses_;
  bool has_operators_ = false;
  bool has_ranges_ = false;
};

}  // namespace stallhound::analysis
