#pragma once

// How well steps are found in a recording whose ranges are hidden, compared with the steps that its ranges mark.

#include <absl/status/statusor.h>

#include <string>

#include "capture/reader.h"

namespace stallhound::analysis {

// A recording without its ranges.
class HiddenRanges : public capture::CaptureReader {
 public:
  explicit HiddenRanges(capture::CaptureReader& reader) : reader_(reader), info_(reader.info()) {}
  const capture::CaptureInfo& info() const override { return info_; }
  const capture::StringTable& strings() const override { return reader_.strings(); }
  absl::Status Read(const capture::TableSet& wanted, capture::CaptureVisitor& visitor) override {
    capture::TableSet shown = wanted;
    return reader_.Read(shown.reset(static_cast<size_t>(capture::Table::kRange)), visitor);
  }

 private:
  capture::CaptureReader& reader_;
  capture::CaptureInfo info_;
};

// The steady steps of the first process that has some.
struct StepMeasure {
  int64_t step_count = 0;  // steady ones; 0: none found
  int64_t period_ns = 0;
  int64_t sync_point_count = 0;  // of a step, median
  std::string how;               // "nvtx ProfilerStep#", "sequence", or why none was found
};

struct HiddenSteps {
  StepMeasure marked;
  StepMeasure found;
  bool period_agrees() const {
    const int64_t difference_ns = marked.period_ns - found.period_ns;
    return 20 * (difference_ns < 0 ? -difference_ns : difference_ns) <= marked.period_ns;
  }
  bool counts_agree() const { return marked.sync_point_count == found.sync_point_count; }
};

// Errors: those of the reader.
absl::StatusOr<HiddenSteps> CompareHiddenSteps(capture::CaptureReader& reader);

}  // namespace stallhound::analysis
