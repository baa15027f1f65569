#include "analysis/hunt/stalls.h"

#include <algorithm>
#include <map>

namespace stallhound::analysis {
namespace {

bool Blocked(const SyncPoint& point, const PointWork& work, int64_t tolerance_ns) {
  if (!work.awaited_end_ns || point.end_ns - point.start_ns < kStallMinimumNs) return false;
  const int64_t end_ns = *work.awaited_end_ns;
  return end_ns > point.start_ns && end_ns <= point.end_ns + tolerance_ns &&
         point.end_ns - end_ns <= kStallReturnNs + tolerance_ns;
}

// Length of the gaps inside [start, end).
int64_t LengthIn(const std::vector<Interval>& gaps, int64_t start_ns, int64_t end_ns) {
  int64_t length_ns = 0;
  for (const Interval& gap : gaps) {
    length_ns += std::max<int64_t>(std::min(gap.end_ns, end_ns) - std::max(gap.start_ns, start_ns), 0);
  }
  return length_ns;
}

}  // namespace

std::vector<std::optional<Stall>> FindStalls(const std::vector<SyncPoint>& points, const std::vector<PointWork>& work,
                                             const GpuWork& gpu, int64_t tolerance_ns) {
  std::vector<std::optional<Stall>> stalls(points.size());
  std::vector<size_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (Blocked(points[i], work[i], tolerance_ns)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return *work[a].awaited_end_ns < *work[b].awaited_end_ns; });
  std::map<uint32_t, int64_t> claimed_until_ns;  // by process
  for (const size_t index : order) {
    const SyncPoint& point = points[index];
    const PointWork& found = work[index];
    Stall& stall = stalls[index].emplace();
    stall.blocked_ns = std::min(*found.awaited_end_ns, point.end_ns) - point.start_ns;
    if (!found.next_work_start_ns) continue;
    int64_t& claimed_ns = claimed_until_ns.try_emplace(point.process_id, INT64_MIN).first->second;
    const Interval span{std::max(*found.awaited_end_ns, claimed_ns), *found.next_work_start_ns};
    const std::vector<Interval> gaps = gpu.IdleIn(point.thread_id, span, false);
    stall.idle_ns = LengthIn(gaps, span.start_ns, span.end_ns);
    stall.idle_compute_ns = LengthIn(gpu.IdleIn(point.thread_id, span, true), span.start_ns, span.end_ns);
    stall.idle_return_ns = LengthIn(gaps, span.start_ns, point.end_ns);
    stall.idle_host_ns = LengthIn(gaps, std::max(point.end_ns, span.start_ns), *found.next_launch_ns);
    stall.idle_launch_ns = LengthIn(gaps, std::max(*found.next_launch_ns, span.start_ns), span.end_ns);
    claimed_ns = std::max(claimed_ns, span.end_ns);
  }
  return stalls;
}

}  // namespace stallhound::analysis
