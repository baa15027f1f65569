#pragma once

// The second pass: the event tables of an export as rows of a capture, in time order and joined with their calls.

#include <absl/status/status.h>

#include <cstdint>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/dimensions.h"
#include "capture/import/nsys/names.h"
#include "capture/import/nsys/survey.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// What every event reader needs; refers to parts of the one reader that owns them all.
struct EventContext {
  Database& database;
  Names& names;
  Survey& survey;
  const Devices& devices;
  int64_t zero_ns = 0;  // the capture's time zero in the export's time
};

// Each reads one table of the export and gives its rows to the visitor. Errors: DataLoss, and the visitor's.
absl::Status EmitHostCalls(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitKernels(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitCopies(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitMemsets(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitGraphRuns(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitSyncs(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitRanges(const EventContext& context, CaptureVisitor& visitor);
// These two hold all their rows (48 and 40 bytes each) to bring them into order.
absl::Status EmitCudaEvents(const EventContext& context, CaptureVisitor& visitor);
absl::Status EmitOverheads(const EventContext& context, CaptureVisitor& visitor);

}  // namespace stallhound::capture::nsys
