#pragma once

// What `export` takes from a hunt: a track of host waits, and the window around one finding.

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hunt/report.h"
#include "capture/export/export.h"

namespace stallhound::cli {

// One track of all stalls with their line and GPU idle, one of the idle itself: from the end of the awaited work on.
// `report` was made with keep_waits.
std::vector<capture::ExtraTrack> WaitTracks(const analysis::HuntReport& report);

// The costliest wait of a finding in the middle of `window_ns`. `finding` is its number in the hunt's report ("1" or
// "#1": the most expensive site). Errors: InvalidArgument (no number), NotFound (fewer sites; the message says how
// many).
absl::StatusOr<capture::ExportWindow> WindowAround(const analysis::HuntReport& report, const std::string& finding,
                                                   int64_t window_ns);

}  // namespace stallhound::cli
