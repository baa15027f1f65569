#include "analysis/hunt/rank_delays.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cmath>
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
    if (!inputs.costs[i].stall) continue;
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

// How a rank spent a span of time.
struct Spent {
  std::map<int32_t, int64_t> stalls_ns;  // by site
  int64_t work_ns = 0;                   // of the device, outside of stalls
};

void AddWork(const DeviceWork& device, const Interval& span, Spent& spent) {
  if (span.end_ns <= span.start_ns) return;
  spent.work_ns += span.end_ns - span.start_ns - device.IdleIn(span, WorkKind::kAny).total_ns;
}

Spent SpentIn(const std::vector<StallTime>& stalls, const DeviceWork& device, const Interval& span) {
  Spent spent;
  int64_t covered_ns = span.start_ns;
  auto stall = std::upper_bound(stalls.begin(), stalls.end(), span.start_ns,
                                [](int64_t time_ns, const StallTime& one) { return time_ns < one.time.end_ns; });
  for (; stall != stalls.end() && stall->time.start_ns < span.end_ns; ++stall) {
    const Interval part = Intersection(stall->time, span);
    AddWork(device, {covered_ns, part.start_ns}, spent);
    spent.stalls_ns[stall->site] += part.end_ns - part.start_ns;
    covered_ns = part.end_ns;
  }
  AddWork(device, {covered_ns, span.end_ns}, spent);
  return spent;
}

// Shares out `wait_ns` among what the late rank spent more on than the waiting one.
void AddCauses(const Spent& late, const Spent& waiting, int64_t wait_ns, Delay& delay) {
  std::map<int32_t, int64_t> more_ns;
  int64_t all_ns = 0;
  for (const auto& [site, ns] : late.stalls_ns) {
    const auto same = waiting.stalls_ns.find(site);
    more_ns[site] = std::max<int64_t>(ns - (same == waiting.stalls_ns.end() ? 0 : same->second), 0);
    all_ns += more_ns[site];
  }
  int64_t left_ns = wait_ns;
  for (const auto& [site, ns] : more_ns) {
    const double share =
        std::min(1.0, static_cast<double>(wait_ns) / static_cast<double>(std::max<int64_t>(all_ns, 1)));
    const int64_t part_ns = std::min<int64_t>(left_ns, std::llround(static_cast<double>(ns) * share));
    delay.causes_ns[{DelayKind::kStall, site}] += part_ns;
    left_ns -= part_ns;
  }
  const int64_t work_ns = std::min(left_ns, std::max<int64_t>(late.work_ns - waiting.work_ns, 0));
  delay.causes_ns[{DelayKind::kDeviceWork, -1}] += work_ns;
  delay.causes_ns[{DelayKind::kHost, -1}] += left_ns - work_ns;
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

class DelayFinder {
 public:
  explicit DelayFinder(const RankDelayInputs& inputs) : inputs_(inputs), stalls_(StallTimes(inputs)) {}

  // In time order.
  void Add(const std::vector<RankCollective>& match) {
    const RankCollective& late = *std::max_element(match.begin(), match.end(), [](const auto& a, const auto& b) {
      return std::pair(a.time.start_ns, a.rank) < std::pair(b.time.start_ns, b.rank);
    });
    for (const RankCollective& waiting : match) {
      if (waiting.time.start_ns < late.time.start_ns && IsMeasured(waiting)) AddDelay(waiting, late);
    }
    for (const RankCollective& part : match) met_ns_[part.rank] = part.time.end_ns;
  }

  std::vector<RankDelay> Finish() const {
    std::vector<RankDelay> described;
    for (const auto& [ranks, delay] : delays_) described.push_back(Describe(inputs_, ranks, delay));
    std::stable_sort(described.begin(), described.end(),
                     [](const RankDelay& a, const RankDelay& b) { return a.wait_ns > b.wait_ns; });
    return described;
  }

 private:
  bool IsMeasured(const RankCollective& part) const {
    return inputs_.spans.Find(inputs_.gpu.devices()[part.rank]->process_id(), part.submitted_ns).has_value();
  }

  void AddDelay(const RankCollective& waiting, const RankCollective& late) {
    const int64_t wait_ns = late.time.start_ns - waiting.time.start_ns;
    Delay& delay = delays_[{waiting.rank, late.rank}];
    ++delay.collective_count;
    delay.wait_ns += wait_ns;
    AddCauses(SpentBefore(late, waiting.time.start_ns), SpentBefore(waiting, waiting.time.start_ns), wait_ns, delay);
  }

  // From the rank's last collective on, else from `first_ns` on.
  Spent SpentBefore(const RankCollective& part, int64_t first_ns) const {
    static const std::vector<StallTime> kNoStalls;
    const auto met = met_ns_.find(part.rank);
    const auto stalls = stalls_.find(part.rank);
    return SpentIn(stalls == stalls_.end() ? kNoStalls : stalls->second, *inputs_.gpu.devices()[part.rank],
                   {met == met_ns_.end() ? first_ns : met->second, part.time.start_ns});
  }

  const RankDelayInputs& inputs_;
  const absl::flat_hash_map<uint32_t, std::vector<StallTime>> stalls_;
  absl::flat_hash_map<uint32_t, int64_t> met_ns_;
  std::map<std::pair<uint32_t, uint32_t>, Delay> delays_;  // by waiting and late device
};

}  // namespace

std::vector<RankDelay> FindRankDelays(const RankDelayInputs& inputs) {
  DelayFinder finder(inputs);
  for (const std::vector<RankCollective>& match : inputs.gpu.matched_collectives()) finder.Add(match);
  return finder.Finish();
}

}  // namespace stallhound::analysis
