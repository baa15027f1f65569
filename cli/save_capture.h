#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "cli/console.h"
#include "cli/open_recording.h"

namespace stallhound::cli {

// Writes a recording made of spools into the home and returns the capture's path. A capture of the same recording is
// replaced, unless the spools are now cut, damaged or not closed and were not then: it stays, with a warning. Shows
// progress; Cancelled after Ctrl-C. Errors also: those of WriteCaptureFile.
absl::StatusOr<std::string> SaveCapture(const std::string& home, OpenedRecording& recording, Console& console);

}  // namespace stallhound::cli
