#pragma once

// Finds the sync points, stalls and their cost in a recording.

#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "analysis/hunt/report.h"
#include "capture/reader.h"

namespace stallhound::analysis {

struct HuntOptions {
  // Count only inside the occurrences of ranges of this name ("NAME" or "NAME#7"); otherwise the whole recording.
  std::optional<std::string> range;
  // Fill HuntReport::waits: 56 bytes a point more.
  bool keep_waits = false;
};

// Reads every table at most once, in three reads. Memory: about 150 bytes a sync point or copy, and 2 to 12 bytes a gap
// in a device's work; nothing for each kernel. Errors: NotFound (no range of that name; the message lists those
// there are), and what the reader returns.
absl::StatusOr<HuntReport> Hunt(capture::CaptureReader& reader, const HuntOptions& options);

}  // namespace stallhound::analysis
