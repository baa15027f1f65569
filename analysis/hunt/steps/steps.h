#pragma once

// The steady state of a recording, found by itself: the steps of a loop, which of them are warm-up, how long one is.

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/steps/segments.h"
#include "analysis/hunt/steps/summary.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Which steps to measure.
struct StepSelection {
  // Numbers of the first and last step, from 1, warm-up counted; without, all that are steady.
  std::optional<std::pair<int64_t, int64_t>> numbers;
  // Leave out this many steps at the beginning instead of those that look like warm-up.
  std::optional<int64_t> skip_count;
};

// The steps of one process.
struct ProcessSteps {
  uint32_t process_id = 0;
  StepSource source = StepSource::kNone;
  std::string range;              // kNvtx: its name, numbers as "#"
  std::vector<Segment> segments;  // all steps, by time
  int64_t period_ns = 0;          // median from start to start of neighbouring steady steps
  double explained_ratio = 0;
  std::string reason;  // kNone: why
};

// Steps of all processes that submit work, wait or have ranges. Reads ranges, host calls and GPU work once. A step owns
// all that any thread of its process submits between its start and end. Memory: 12 bytes a kernel, 16 a range, 64 a
// step. Cost: n log n. Errors: those of the reader.
absl::StatusOr<std::vector<ProcessSteps>> FindSteps(capture::CaptureReader& reader);

struct MeasuredSteps {
  std::vector<Span> spans;  // by process and start; empty: no steady state
  StepsSummary summary;
};

// Finds the steps and picks the measured ones; reads host calls and overhead once more for the one-off costs. Errors:
// NotFound (`numbers` or `skip_count` leave no step, or there is no steady state to number), and those of FindSteps.
absl::StatusOr<MeasuredSteps> MeasureSteps(capture::CaptureReader& reader, const StepSelection& selection);

// The spans to measure: with a selection those of the steps, and `summary` is set, else those of the directory, which
// has been read. Without a steady state they are the directory's too. Errors: those of both.
absl::StatusOr<std::vector<Span>> ChooseSpans(capture::CaptureReader& reader, const Directory& directory,
                                              const std::optional<StepSelection>& selection,
                                              std::optional<StepsSummary>& summary);

}  // namespace stallhound::analysis
