#include "analysis/hunt/stalls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/hunt/return_limits.h"

namespace stallhound::analysis {
namespace {

bool IsQueueFull(const SyncPoint& point) { return point.kind == SiteKind::kQueueFull; }

bool Blocked(const SyncPoint& point, int64_t awaited_end_ns, const ReturnLimits& limits, int64_t tolerance_ns) {
  if (point.end_ns - point.start_ns < kStallMinimumNs || awaited_end_ns <= point.start_ns) return false;
  const AwaitingCall call = FindAwaitingCall(point, awaited_end_ns, tolerance_ns);
  // Without a query that was ready, a spin gave up.
  if (point.kind == SiteKind::kQuerySpin && !point.poll_ns) return false;
  const int64_t limit_ns = point.poll_ns.value_or(LimitFor(call.kind, limits));
  const int64_t delay_ns = call.end_ns - awaited_end_ns;
  return delay_ns >= -tolerance_ns && delay_ns <= limit_ns + tolerance_ns;
}

bool MayHaveBlocked(const SyncPoint& point, const PointWork& work) {
  return !work.is_awaited_known && point.end_ns - point.start_ns >= kStallMinimumNs;
}

// A full queue holds the host up; it is a stall if meanwhile a device that the thread feeds ran dry, or the stream that
// it feeds next.
bool Starved(const StallInputs& inputs, size_t index) {
  const SyncPoint& point = inputs.points[index];
  if (point.end_ns - point.start_ns < kStallMinimumNs) return false;
  for (const uint32_t device : inputs.gpu.DevicesOf(point)) {
    const Gaps gaps = inputs.gpu.devices()[device]->IdleIn({point.start_ns, point.end_ns}, WorkKind::kAny);
    if (gaps.longest_ns >= kStallMinimumNs) return true;
  }
  const std::optional<NextWork>& next = inputs.work[index].next;
  if (!next) return false;
  const int64_t dry_ns = inputs.gpu.LastEndOfNextStream(index, *next).value_or(point.start_ns);
  return point.end_ns - std::max(dry_ns, point.start_ns) >= kStallMinimumNs;
}

// Until when a stall held the host up for the GPU's sake.
int64_t BlockedUntil(const StallInputs& inputs, size_t index) {
  const SyncPoint& point = inputs.points[index];
  if (IsQueueFull(point)) return point.end_ns;
  return std::min(*inputs.work[index].awaited_end_ns, point.end_ns);
}

// Gives idle time to stalls, in the order in which their awaited work ended.
class Charger {
 public:
  explicit Charger(const StallInputs& inputs) : inputs_(inputs), charged_(inputs.gpu.devices().size()) {
    for (auto& claimed : claimed_until_ns_) claimed.assign(charged_.size(), INT64_MIN);
  }

  void Charge(size_t index, Stall& stall) {
    const std::optional<NextWork>& next = inputs_.work[index].next;
    if (!next) return;
    stall.idle_ns = 0;
    stall.idle_compute_ns = 0;
    for (const uint32_t device : inputs_.gpu.DevicesOf(inputs_.points[index])) {
      ChargeDevice(index, device, *next, stall);
      const Interval compute = Claim(index, device, next->start_ns, WorkKind::kCompute);
      const int64_t idle_ns = IdleIn(device, compute, WorkKind::kCompute);
      *stall.idle_compute_ns += idle_ns - std::min(idle_ns, OwnIn(index, *next, compute));
    }
  }

  std::vector<std::vector<Interval>> TakeCharged() { return std::move(charged_); }

 private:
  void ChargeDevice(size_t index, uint32_t device, const NextWork& next, Stall& stall) {
    const Interval span = Claim(index, device, next.start_ns, WorkKind::kAny);
    if (span.end_ns <= span.start_ns) return;
    charged_[device].push_back(span);
    const SyncPoint& point = inputs_.points[index];
    const int64_t until_ns = BlockedUntil(inputs_, index);
    // What recording took of the host in a part made the device idle for as long, no longer than it was.
    const auto add = [&](int64_t start_ns, int64_t end_ns, int64_t& part_ns) {
      const Interval part = Intersection({start_ns, end_ns}, span);
      const int64_t idle_ns = IdleIn(device, part, WorkKind::kAny);
      const int64_t own_ns = std::min(idle_ns, OwnIn(index, next, part));
      part_ns += idle_ns - own_ns;
      stall.own_ns += own_ns;
      *stall.idle_ns += idle_ns - own_ns;
    };
    add(INT64_MIN, until_ns, stall.idle_blocked_ns);
    add(until_ns, point.end_ns, stall.idle_return_ns);
    add(point.end_ns, next.launch_ns, stall.idle_host_ns);
    add(next.launch_ns, INT64_MAX, stall.idle_launch_ns);
  }

  // Host time of the recorder from the end of the awaited work to the next work, which one launch submits.
  int64_t OwnIn(size_t index, const NextWork& next, const Interval& span) const {
    if (!inputs_.own.is_known()) return 0;
    const SyncPoint& point = inputs_.points[index];
    const Interval waiting = Intersection(span, {BlockedUntil(inputs_, index), next.launch_ns});
    const bool has_launch =
        span.start_ns <= next.launch_ns && next.launch_ns < span.end_ns && next.launch_ns < next.start_ns;
    return inputs_.own.In(point.thread_id, waiting) + (has_launch ? kOwnLaunchNs : 0);
  }

  // From where the device has no more of what it had been given, at the latest from the end of the awaited work, to the
  // next work; less what belongs to a stall before.
  Interval Claim(size_t index, uint32_t device, int64_t next_start_ns, WorkKind kind) {
    const SyncPoint& point = inputs_.points[index];
    int64_t start_ns = point.start_ns;
    if (!IsQueueFull(point)) {
      const int64_t dry_ns = inputs_.gpu.LastEnd(index, device, kind).value_or(INT64_MIN);
      start_ns = std::max(start_ns, std::min(dry_ns, BlockedUntil(inputs_, index)));
    }
    int64_t& claimed_ns = claimed_until_ns_[static_cast<size_t>(kind)][device];
    const Interval span{std::max(start_ns, claimed_ns), next_start_ns};
    claimed_ns = std::max(claimed_ns, span.end_ns);
    return span;
  }

  int64_t IdleIn(uint32_t device, const Interval& span, WorkKind kind) const {
    return inputs_.gpu.devices()[device]->IdleIn(span, kind).total_ns;
  }

  const StallInputs& inputs_;
  std::vector<std::vector<Interval>> charged_;
  std::array<std::vector<int64_t>, 2> claimed_until_ns_;  // by kind of work and device
};

}  // namespace

Stalls FindStalls(const StallInputs& inputs) {
  Stalls stalls;
  stalls.by_point.resize(inputs.points.size());
  stalls.limits = MeasureReturnLimits(inputs.points, inputs.work, inputs.tolerance_ns);
  std::vector<size_t> order;
  for (size_t i = 0; i < inputs.points.size(); ++i) {
    const std::optional<int64_t>& end_ns = inputs.work[i].awaited_end_ns;
    const bool is_stall = IsQueueFull(inputs.points[i])
                              ? Starved(inputs, i)
                              : end_ns && Blocked(inputs.points[i], *end_ns, stalls.limits, inputs.tolerance_ns);
    if (is_stall) order.push_back(i);
    stalls.by_point[i].is_unknown = !is_stall && MayHaveBlocked(inputs.points[i], inputs.work[i]);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return BlockedUntil(inputs, a) < BlockedUntil(inputs, b); });
  Charger charger(inputs);
  for (const size_t index : order) {
    Stall& stall = stalls.by_point[index].stall.emplace();
    stall.blocked_ns = BlockedUntil(inputs, index) - inputs.points[index].start_ns;
    charger.Charge(index, stall);
  }
  stalls.charged = charger.TakeCharged();
  return stalls;
}

}  // namespace stallhound::analysis
