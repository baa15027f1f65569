#pragma once

// When a call that waited returns after the awaited work has ended. A call that ends long after that did something
// else: it was not the GPU that it was slow for.

#include <cstdint>
#include <vector>

#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/report.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

enum class AwaitingKind : uint8_t { kSync, kCopy, kOther };

// The call of a point in which the awaited work ended: a wait's sync, or a copy that it takes in.
struct AwaitingCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  AwaitingKind kind = AwaitingKind::kOther;
};
AwaitingCall FindAwaitingCall(const SyncPoint& point, int64_t awaited_end_ns, int64_t tolerance_ns);

int64_t LimitFor(AwaitingKind kind, const ReturnLimits& limits);

// The constants of report.h, or four times the median delay of calls that surely waited, at most ten times the
// constant: syncs and copies in which the awaited work ended at least 100 us after the entry, if there are eight or
// more.
ReturnLimits MeasureReturnLimits(const std::vector<SyncPoint>& points, const std::vector<PointWork>& work,
                                 int64_t tolerance_ns);

}  // namespace stallhound::analysis
