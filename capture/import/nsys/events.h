#pragma once

// The second pass: the event tables of an export as rows of a capture, in time order and joined with their calls.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <vector>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/dimensions.h"
#include "capture/import/nsys/names.h"
#include "capture/import/nsys/survey.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// Kernel shapes by first sight; ids stay the same over several reads.
class Shapes {
 public:
  // Name id, grid, block, registers, static and dynamic shared memory; kAbsent where the export does not say.
  using Key = std::array<int64_t, 10>;
  static constexpr int64_t kAbsent = INT64_MIN;

  uint32_t Id(const Key& key);
  absl::Status Emit(Names& names, CaptureVisitor& visitor) const;
  bool is_complete = false;  // all kernels were looked at

 private:
  absl::flat_hash_map<Key, uint32_t> ids_;
  std::vector<Key> keys_;
  Key last_key_{};
  uint32_t last_id_ = UINT32_MAX;
};

// What every event reader needs; refers to parts of the one reader that owns them all.
struct EventContext {
  Database& database;
  Names& names;
  Survey& survey;
  const Devices& devices;
  Shapes& shapes;
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

// Looks at every kernel, so that Shapes::Emit gives all shapes.
absl::Status CollectShapes(const EventContext& context);

}  // namespace stallhound::capture::nsys
