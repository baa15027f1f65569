#include "analysis/hunt/device_idle.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stallhound::analysis {
namespace {

constexpr int64_t kShownNs = 50'000;  // as 0.1 ms

// The measured time of a process, in order, without overlaps.
std::vector<Interval> MeasuredTime(const std::vector<Span>& spans, uint32_t process_id) {
  std::vector<Interval> measured;
  for (const Span& span : spans) {
    if (span.process_id != process_id) continue;
    const int64_t start_ns = measured.empty() ? span.start_ns : std::max(span.start_ns, measured.back().end_ns);
    if (start_ns < span.end_ns) measured.push_back({start_ns, span.end_ns});
  }
  return measured;
}

// When each process loaded code, on any thread.
using LoadingTimes = absl::flat_hash_map<uint32_t, BusyTime>;

LoadingTimes FindLoadingTimes(const DeviceIdleInputs& inputs) {
  std::vector<std::pair<uint32_t, Interval>> loads;
  for (const SyncPoint& point : inputs.points) {
    if (point.kind == SiteKind::kLoader) loads.push_back({point.process_id, {point.start_ns, point.end_ns}});
  }
  for (const capture::OverheadRow& row : inputs.loading) {
    loads.push_back({row.process_id, {row.start_ns, row.end_ns}});
  }
  std::sort(loads.begin(), loads.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.start_ns) < std::pair(b.first, b.second.start_ns);
  });
  LoadingTimes times;
  for (const auto& [process_id, load] : loads) times[process_id].Add(load.start_ns, load.end_ns);
  return times;
}

int64_t WithoutLoading(const Interval& time, const BusyTime* loading) {
  if (time.end_ns <= time.start_ns) return 0;
  return loading == nullptr ? time.end_ns - time.start_ns : GapsIn({&loading, 1}, time).total_ns;
}

void AddGap(const Gap& gap, const BusyTime* loading, DeviceIdle& idle) {
  const auto& [time, next] = gap;
  const int64_t length_ns = time.end_ns - time.start_ns;
  idle.no_wait_ns += length_ns;
  if (next == nullptr || !next->launch) {
    idle.unknown_ns += length_ns;
    return;
  }
  const int64_t launch_ns = next->start_ns - next->launch->lead_ns;
  if (launch_ns + next->launch->call_ns <= time.start_ns) {
    idle.queued_ns += length_ns;
    return;
  }
  const int64_t host_ns = WithoutLoading(Intersection(time, {INT64_MIN, launch_ns}), loading);
  const int64_t submitting_ns = WithoutLoading(Intersection(time, {launch_ns, INT64_MAX}), loading);
  idle.host_ns += host_ns;
  idle.launch_ns += submitting_ns;
  idle.loader_ns += length_ns - host_ns - submitting_ns;
}

}  // namespace

DeviceIdle MeasureDeviceIdle(const DeviceIdleInputs& inputs) {
  const LoadingTimes loading_times = FindLoadingTimes(inputs);
  DeviceIdle idle;
  for (size_t device = 0; device < inputs.charged.size(); ++device) {
    const DeviceWork& work = *inputs.gpu.devices()[device];
    const auto found = loading_times.find(work.process_id());
    const BusyTime* loading = found == loading_times.end() ? nullptr : &found->second;
    const auto add = [&](const Gap& gap) { AddGap(gap, loading, idle); };
    const std::vector<Interval>& charged = inputs.charged[device];
    auto next = charged.begin();
    for (const Interval& measured : MeasuredTime(inputs.spans, work.process_id())) {
      const Interval span = Intersection(measured, work.extent());
      idle.total_ns += work.IdleIn(span, WorkKind::kAny).total_ns;
      int64_t start_ns = span.start_ns;
      while (next != charged.end() && next->end_ns <= span.start_ns) ++next;
      for (auto it = next; it != charged.end() && it->start_ns < span.end_ns; ++it) {
        work.ForEachGap({start_ns, it->start_ns}, add);
        start_ns = std::max(start_ns, it->end_ns);
      }
      work.ForEachGap({start_ns, span.end_ns}, add);
    }
  }
  return idle;
}

std::string DeviceIdleNote(const DeviceIdle& idle) {
  const auto ms = [](int64_t ns) { return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6); };
  std::vector<std::pair<int64_t, const char*>> causes = {{idle.host_ns, "host-bound"},
                                                         {idle.launch_ns, "launch-bound"},
                                                         {idle.loader_ns, "loader"},
                                                         {idle.queued_ns, "between queued work"},
                                                         {idle.unknown_ns, "unknown"}};
  std::erase_if(causes, [](const auto& cause) { return cause.first < kShownNs; });
  std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::string split = absl::StrJoin(causes, ", ", [&](std::string* out, const auto& cause) {
    out->append(fmt::format("{} {}", cause.second, ms(cause.first)));
  });
  return fmt::format("GPU idle {} in the measured time: {} belong to stalls, {} follow no wait{}", ms(idle.total_ns),
                     ms(idle.total_ns - idle.no_wait_ns), ms(idle.no_wait_ns), split.empty() ? "" : " (" + split + ")");
}

}  // namespace stallhound::analysis
