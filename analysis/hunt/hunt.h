#pragma once

// Finds the sync points, stalls and their cost in a recording.

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/report.h"
#include "analysis/hunt/steps/steps.h"
#include "capture/reader.h"

namespace stallhound::analysis {

struct HuntOptions {
  // Count only inside the occurrences of ranges of this name ("NAME" or "NAME#7"); otherwise the whole recording.
  std::optional<std::string> range;
  // Count only inside the steps found (analysis/hunt/steps); not together with `range`.
  std::optional<StepSelection> steps;
  // Count only inside these, sorted by process and start; not together with `range` or `steps`. Empty: as those say.
  std::vector<Span> spans;
  // Fill HuntReport::waits: 56 bytes a point more.
  bool keep_waits = false;
};

// Reads the calls and the GPU work once each, copies twice, ranges once more if there are any (and again if a point
// lies in the backward of an operator), then replays the recording for each site (analysis/replay). Memory: about 450
// bytes a sync point or full queue, 250 a copy or stream wait, 24 a collective kernel, 40 an event record, 4 to 12 for
// each gap in a device's work, and 32 bytes a work for the replay, at most 200 MB. Errors: NotFound (no range of that
// name; the message lists those there are), and what the reader returns.
absl::StatusOr<HuntReport> Hunt(capture::CaptureReader& reader, const HuntOptions& options);

}  // namespace stallhound::analysis
