#include "analysis/hunt/return_limits.h"

#include <algorithm>
#include <optional>

namespace stallhound::analysis {
namespace {

constexpr int64_t kSurelyWaitedNs = 100'000;
constexpr size_t kMinimumCalls = 8;
constexpr int64_t kMediansInLimit = 4;
constexpr int64_t kMaximumRaise = 10;  // of a constant: a recording that lacks GPU work must not make its own limit

AwaitingKind KindOf(capture::ApiClass api_class) {
  switch (api_class) {
    case capture::ApiClass::kCopyBlocking:
    case capture::ApiClass::kCopyAsync:
      return AwaitingKind::kCopy;
    case capture::ApiClass::kDeviceSync:
    case capture::ApiClass::kStreamSync:
    case capture::ApiClass::kEventSync:
      return AwaitingKind::kSync;
    default:
      return AwaitingKind::kOther;
  }
}

std::optional<int64_t> MedianOf(std::vector<int64_t>& values) {
  if (values.size() < kMinimumCalls) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t LimitOf(int64_t constant_ns, std::optional<int64_t> median_ns) {
  return std::clamp(kMediansInLimit * median_ns.value_or(0), constant_ns, kMaximumRaise * constant_ns);
}

}  // namespace

AwaitingCall FindAwaitingCall(const SyncPoint& point, int64_t awaited_end_ns, int64_t tolerance_ns) {
  AwaitingCall call{point.call_start_ns, point.end_ns, KindOf(point.api_class)};
  for (const PointCopy& copy : point.copies) {
    if (copy.call_end_ns + tolerance_ns >= awaited_end_ns && copy.call_end_ns < call.end_ns) {
      call = {copy.call_start_ns, copy.call_end_ns, AwaitingKind::kCopy};
    }
  }
  return call;
}

int64_t LimitFor(AwaitingKind kind, const ReturnLimits& limits) {
  if (kind == AwaitingKind::kCopy) return limits.copy_ns;
  return kind == AwaitingKind::kSync ? limits.sync_ns : kStallReturnNs;
}

ReturnLimits MeasureReturnLimits(const std::vector<SyncPoint>& points, const std::vector<PointWork>& work,
                                 int64_t tolerance_ns) {
  std::vector<int64_t> sync_delays_ns;
  std::vector<int64_t> copy_delays_ns;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!work[i].awaited_end_ns) continue;
    const AwaitingCall call = FindAwaitingCall(points[i], *work[i].awaited_end_ns, tolerance_ns);
    const int64_t delay_ns = call.end_ns - *work[i].awaited_end_ns;
    if (delay_ns < 0 || *work[i].awaited_end_ns - call.start_ns < kSurelyWaitedNs) continue;
    if (call.kind == AwaitingKind::kCopy) copy_delays_ns.push_back(delay_ns);
    if (call.kind == AwaitingKind::kSync) sync_delays_ns.push_back(delay_ns);
  }
  ReturnLimits limits;
  limits.sync_median_ns = MedianOf(sync_delays_ns);
  limits.copy_median_ns = MedianOf(copy_delays_ns);
  limits.sync_ns = LimitOf(kStallSyncReturnNs, limits.sync_median_ns);
  limits.copy_ns = LimitOf(kStallCopyReturnNs, limits.copy_median_ns);
  return limits;
}

}  // namespace stallhound::analysis
