#pragma once

// What can be said of a surveyed export before its events are read.

#include <absl/status/statusor.h>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/survey.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// Which tables are recorded: Nsight leaves empty tables out, so an absent one is empty unless a call asked for its
// work.
absl::StatusOr<CaptureInfo> Describe(Database& database, const Survey& survey);

}  // namespace stallhound::capture::nsys
