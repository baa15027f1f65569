#pragma once

// What `export` takes from a hunt: a track of host waits, and the window around one finding.

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/hunt/report.h"
#include "capture/export/export.h"

namespace stallhound::cli {

// One track of all stalls with their line and GPU idle, one of the idle itself: from the end of the awaited work on.
// `report` was made with keep_waits.
std::vector<capture::ExtraTrack> WaitTracks(const analysis::HuntReport& report);

// "1" or "#1": the most expensive site of a hunt's report. Errors: InvalidArgument.
absl::StatusOr<size_t> FindingNumber(std::string_view text);

struct FindingWindow {
  capture::ExportWindow window;
  std::string finding;  // "#1 train.py:22 step"
};

// The costliest wait of a finding and the GPU idle after it, whole, with half of `window_ns` before and after. Errors:
// NotFound (fewer sites; the message says how many).
absl::StatusOr<FindingWindow> WindowAround(const analysis::HuntReport& report, size_t number, int64_t window_ns);

}  // namespace stallhound::cli
