#pragma once

// Spools as one recording: a CaptureReader over the files of one or many processes.

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <memory>
#include <string>

#include "capture/reader.h"

namespace stallhound::capture {

// Opens spool files, and all spools in folders. Files that end early or are damaged are read as far as they go, with
// typed loss counters. Processes of one machine are aligned by CLOCK_MONOTONIC_RAW, others by their wall clocks. Stacks
// are symbolized here; paths are shown relative to the working folder and the home of the recorded process. Memory: 16
// bytes a launch, the ranges, the dictionary; the events stay in the files, which must not change while the reader
// lives. Errors: NotFound (nothing there), InvalidArgument (no spool), DataLoss (not even a header); a file of a folder
// that cannot be opened is a loss and a note of CaptureInfo, as long as another one can.
absl::StatusOr<std::unique_ptr<CaptureReader>> OpenSpools(absl::Span<const std::string> paths);

// CaptureInfo::uuid of the recording that OpenSpools makes of these paths, from the files' headers alone. Files that
// can't be opened are left out. Errors: NotFound (nothing there).
absl::StatusOr<std::string> SpoolsUuid(absl::Span<const std::string> paths);

// True if the file starts like a spool.
bool IsSpool(const std::string& path);

}  // namespace stallhound::capture
