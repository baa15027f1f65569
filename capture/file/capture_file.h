#pragma once

// A recording kept as one SQLite file: written once, then only read. Anyone can query it (tables of capture/schema.h,
// views v_<table> with texts instead of numbers); OpenCaptureFile gives it to the analyses.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "capture/reader.h"

namespace stallhound::capture {

inline constexpr char kCaptureFileSuffix[] = ".stallhound";

// Called now and then with the number of rows written; false cancels the write.
using WriteProgress = std::function<bool(uint64_t row_count)>;

// Writes all tables of `reader` to `path`: under a temporary name in the same folder, without a journal, synced, then
// renamed, so that `path` either is a whole capture or does not change. An existing file is
// replaced; the mode is 0600, that of spools. Cost: about 1.5 us a row; memory does not grow with the rows. Errors:
// Cancelled, ResourceExhausted (disk full), those of the reader and of opening files; no temporary file is left behind.
absl::Status WriteCaptureFile(CaptureReader& reader, const std::string& path, const WriteProgress& progress = {});

// Opens a capture for reading; strings are loaded, rows are streamed by Read. Errors: NotFound, InvalidArgument (no
// SQLite file, no capture), FailedPrecondition (written by a newer version; no regular file; changes in a -wal or
// -journal beside it), DataLoss (damaged; Read: a value outside its enumeration). Leaves no file beside it.
absl::StatusOr<std::unique_ptr<CaptureReader>> OpenCaptureFile(const std::string& path);

// The checksum of its content that a capture states, in hex; equal contents have equal ones. Errors: as
// OpenCaptureFile; DataLoss if it states none.
absl::StatusOr<std::string> CaptureChecksum(const std::string& path);

// When the recording began (CLOCK_REALTIME, ns), nullopt if the capture does not say. Errors: as OpenCaptureFile. Reads
// nothing else of it.
absl::StatusOr<std::optional<int64_t>> CaptureStart(const std::string& path);

// True if the file starts as a SQLite database marked as a capture. False if it can't be read or
// is no regular file.
bool IsCaptureFile(const std::string& path);

}  // namespace stallhound::capture
