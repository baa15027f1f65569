#include "analysis/hunt/rank_delays.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stallhound::analysis {
namespace {

struct StallTime {
  Interval time;
  int32_t site = -1;
};

struct Delay {
  int64_t collective_count = 0;
  int64_t wait_ns = 0;
  std::map<std::pair<DelayKind, int32_t>, int64_t> causes_ns;  // by kind and site
};

// By device: the stalls of threads that feed it, apart from each other, in time order.
absl::flat_hash_map<uint32_t, std::vector<StallTime>> StallTimes(const RankDelayInputs& inputs) {
  absl::flat_hash_map<uint32_t, std::vector<StallTime>> times;
  for (size_t i = 0; i < inputs.points.size(); ++i) {
    if (!inputs.stalls[i]) continue;
    const SyncPoint& point = inputs.points[i];
    const int64_t end_ns = inputs.work[i].next ? inputs.work[i].next->start_ns : point.end_ns;
    for (const uint32_t device : inputs.gpu.DevicesOf(point)) {
      std::vector<StallTime>& of_device = times[device];
      const int64_t start_ns =
          of_device.empty() ? point.start_ns : std::max(point.start_ns, of_device.back().time.end_ns);
      if (end_ns > start_ns) of_device.push_back({{start_ns, end_ns}, inputs.site_of_point[i]});
    }
  }
  return times;
}

// What lies in no stall: the device's work, else the host.
void AddOther(const DeviceWork& late, const Interval& span, Delay& delay) {
  if (span.end_ns <= span.start_ns) return;
  const int64_t idle_ns = late.IdleIn(span, WorkKind::kAny).total_ns;
  delay.causes_ns[{DelayKind::kHost, -1}] += idle_ns;
  delay.causes_ns[{DelayKind::kDeviceWork, -1}] += span.end_ns - span.start_ns - idle_ns;
}

void AddCauses(const std::vector<StallTime>& stalls, const DeviceWork& late, const Interval& wait, Delay& delay) {
  int64_t covered_ns = wait.start_ns;
  auto stall = std::upper_bound(stalls.begin(), stalls.end(), wait.start_ns,
                                [](int64_t time_ns, const StallTime& one) { return time_ns < one.time.end_ns; });
  for (; stall != stalls.end() && stall->time.start_ns < wait.end_ns; ++stall) {
    const Interval part = Intersection(stall->time, wait);
    AddOther(late, {covered_ns, part.start_ns}, delay);
    delay.causes_ns[{DelayKind::kStall, stall->site}] += part.end_ns - part.start_ns;
    covered_ns = part.end_ns;
  }
  AddOther(late, {covered_ns, wait.end_ns}, delay);
}

CollectiveRank RankOf(const RankDelayInputs& inputs, uint32_t device) {
  const DeviceWork& work = *inputs.gpu.devices()[device];
  const capture::ProcessRow* process = inputs.directory.Process(work.process_id());
  if (process == nullptr) return {0, std::nullopt, work.device_id()};
  return {process->pid, process->rank, work.device_id()};
}

RankDelay Describe(const RankDelayInputs& inputs, const std::pair<uint32_t, uint32_t>& ranks, const Delay& delay) {
  RankDelay described{RankOf(inputs, ranks.first), RankOf(inputs, ranks.second), delay.collective_count, delay.wait_ns};
  for (const auto& [cause, wait_ns] : delay.causes_ns) {
    if (wait_ns == 0) continue;
    const auto& [kind, site] = cause;
    described.causes.push_back({kind, site < 0 ? std::nullopt : std::optional<size_t>(site), wait_ns});
  }
  std::stable_sort(described.causes.begin(), described.causes.end(),
                   [](const DelayCause& a, const DelayCause& b) { return a.wait_ns > b.wait_ns; });
  return described;
}

}  // namespace

std::vector<RankDelay> FindRankDelays(const RankDelayInputs& inputs) {
  std::map<std::pair<uint32_t, uint32_t>, Delay> delays;  // by waiting and late device
  const absl::flat_hash_map<uint32_t, std::vector<StallTime>> stalls = StallTimes(inputs);
  static const std::vector<StallTime> kNoStalls;
  for (const std::vector<RankCollective>& match : inputs.gpu.matched_collectives()) {
    const RankCollective& late = *std::max_element(match.begin(), match.end(), [](const auto& a, const auto& b) {
      return std::pair(a.time.start_ns, a.rank) < std::pair(b.time.start_ns, b.rank);
    });
    const DeviceWork& late_device = *inputs.gpu.devices()[late.rank];
    for (const RankCollective& waiting : match) {
      const uint32_t process = inputs.gpu.devices()[waiting.rank]->process_id();
      if (waiting.time.start_ns == late.time.start_ns || !inputs.spans.Find(process, waiting.submitted_ns)) continue;
      Delay& delay = delays[{waiting.rank, late.rank}];
      ++delay.collective_count;
      delay.wait_ns += late.time.start_ns - waiting.time.start_ns;
      const auto found = stalls.find(late.rank);
      AddCauses(found == stalls.end() ? kNoStalls : found->second, late_device,
                {waiting.time.start_ns, late.time.start_ns}, delay);
    }
  }
  std::vector<RankDelay> described;
  for (const auto& [ranks, delay] : delays) described.push_back(Describe(inputs, ranks, delay));
  std::stable_sort(described.begin(), described.end(),
                   [](const RankDelay& a, const RankDelay& b) { return a.wait_ns > b.wait_ns; });
  return described;
}

}  // namespace stallhound::analysis
