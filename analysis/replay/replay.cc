#include "analysis/replay/replay.h"

#include <algorithm>

namespace stallhound::analysis {
namespace {

constexpr int64_t kNever = INT64_MIN / 4;

// One instant, in the recording and in the replay.
struct Instant {
  int64_t recorded_ns = kNever;
  int64_t replayed_ns = kNever;
};

void Raise(Instant& instant, const Instant& other) {
  instant.recorded_ns = std::max(instant.recorded_ns, other.recorded_ns);
  instant.replayed_ns = std::max(instant.replayed_ns, other.replayed_ns);
}

// Something happens when the host has come so far and the GPU too, each `lag_ns` later.
struct Cause {
  Instant at;
  int64_t lag_ns;
};

// When the replay sees what the recording saw at `recorded_ns`. A lag is never longer than recorded; what no lag
// explains stays with the cause that came last in the recording.
int64_t ReplayedAt(Cause host, Cause gpu, int64_t recorded_ns) {
  host.lag_ns = std::min(host.lag_ns, recorded_ns - host.at.recorded_ns);
  gpu.lag_ns = std::min(gpu.lag_ns, recorded_ns - gpu.at.recorded_ns);
  const int64_t host_ns = host.at.recorded_ns + host.lag_ns;
  const int64_t gpu_ns = gpu.at.recorded_ns + gpu.lag_ns;
  Cause& last = host_ns >= gpu_ns ? host : gpu;
  last.lag_ns += recorded_ns - std::max(host_ns, gpu_ns);
  return std::max(host.at.replayed_ns + host.lag_ns, gpu.at.replayed_ns + gpu.lag_ns);
}

class Replayer {
 public:
  Replayer(const ReplayModel& model, const std::vector<char>& is_removed)
      : model_(model),
        is_removed_(is_removed),
        threads_(model.threads.size()),
        streams_(model.streams.size()),
        events_(model.event_count),
        group_ends_(model.group_count),
        starts_(model.spans.size()) {
    result_.span_ns.resize(model.spans.size());
    result_.recorded_span_ns.resize(model.spans.size());
  }

  ReplayResult Run() {
    ForEachInOrder(
        model_, [this](const ReplayMark& mark) { OnMark(mark); }, [this](size_t i) { OnWork(model_.works[i]); });
    result_.end_ns = kNever;
    for (const Thread& thread : threads_) result_.end_ns = std::max(result_.end_ns, thread.at.replayed_ns);
    for (const Stream& stream : streams_) result_.end_ns = std::max(result_.end_ns, stream.end.replayed_ns);
    return std::move(result_);
  }

 private:
  struct Thread {
    Instant at;                  // where its last item left it
    int64_t inside_ns = kNever;  // recorded end of the wait that it is in
  };
  struct Stream {
    Instant end;
    std::vector<int64_t> start_ns;  // ring: replayed starts of the last submissions
    size_t next = 0;
    int64_t last_host_ns = kNever;
    uint32_t group = kNoTarget;  // of the thread that last submitted to it
  };

  // Host work up to `host_ns`.
  static void Advance(Thread& thread, int64_t host_ns) {
    if (thread.at.recorded_ns == kNever) {
      thread.at = {host_ns, host_ns};
    } else if (host_ns > thread.at.recorded_ns) {
      thread.at.replayed_ns += host_ns - thread.at.recorded_ns;
      thread.at.recorded_ns = host_ns;
    }
  }

  Instant EndOf(uint32_t set) const {
    Instant end;
    if (set == kNoTarget) return end;
    for (const uint32_t stream : model_.stream_sets[set]) Raise(end, streams_[stream].end);
    return end;
  }

  // Blocks the thread while the stream's queue is full. Returns where the start goes.
  size_t Enqueue(Stream& stream, Thread& thread, const ReplayWork& work) {
    const auto limit = static_cast<size_t>(model_.queue_limit);
    if (work.host_ns == stream.last_host_ns) return stream.next == 0 ? limit - 1 : stream.next - 1;  // a graph's node
    stream.last_host_ns = work.host_ns;
    if (stream.start_ns.empty()) stream.start_ns.resize(limit, kNever);
    const size_t slot = stream.next;
    stream.next = slot + 1 == limit ? 0 : slot + 1;
    thread.at.replayed_ns = std::max(thread.at.replayed_ns, stream.start_ns[slot]);
    return slot;
  }

  void OnWork(const ReplayWork& work) {
    Stream& stream = streams_[work.stream];
    Instant before = stream.end;
    if (const uint32_t set = model_.streams[work.stream].waits_for_set; set != kNoTarget) Raise(before, EndOf(set));
    Instant start{work.start_ns, 0};
    if (work.thread == kNoThread) {
      const bool is_first = before.recorded_ns == kNever;
      start.replayed_ns = work.start_ns + (is_first ? 0 : before.replayed_ns - before.recorded_ns);
    } else {
      Thread& thread = threads_[work.thread];
      if (work.host_ns >= thread.inside_ns) Advance(thread, work.host_ns);
      const size_t slot = Enqueue(stream, thread, work);
      start.replayed_ns = ReplayedAt({{work.host_ns, thread.at.replayed_ns}, model_.launch_delay_ns},
                                     {before, model_.work_gap_ns}, work.start_ns);
      stream.start_ns[slot] = start.replayed_ns;
      // What the full queue cost in the recording, it costs by Enqueue in the replay.
      if (work.blocked_at != 0) thread.at.recorded_ns += work.call_ns - model_.launch_call_ns;
    }
    const auto duration_ns = static_cast<int64_t>(work.duration_ns);
    const Instant end{start.recorded_ns + duration_ns, start.replayed_ns + duration_ns};
    Raise(stream.end, end);
    if (work.thread != kNoThread) stream.group = model_.threads[work.thread].group;
    if (stream.group != kNoTarget) Raise(group_ends_[stream.group], end);
  }

  void OnMark(const ReplayMark& mark) {
    switch (mark.kind) {
      case MarkKind::kHandOver:
        return OnHandOver(mark);
      case MarkKind::kBoundary:
        return OnBoundary(mark);
      case MarkKind::kEnter:
        Advance(threads_[mark.thread], mark.host_ns);
        threads_[mark.thread].inside_ns = mark.end_ns;
        return;
      case MarkKind::kStreamWait:
        for (const uint32_t i : model_.stream_sets[mark.target]) Raise(streams_[i].end, events_[mark.event]);
        return;
      case MarkKind::kRecord:
        events_[mark.event] = EndOf(mark.target);
        return;
      case MarkKind::kWait:
        return OnWait(mark);
    }
  }

  void OnHandOver(const ReplayMark& mark) {
    Thread& thread = threads_[mark.thread];
    const Instant& cause = threads_[mark.target].at;
    const int64_t handed_ns = cause.replayed_ns + mark.host_ns - cause.recorded_ns;
    thread.at = {mark.host_ns, std::max(thread.at.replayed_ns, handed_ns)};
  }

  void OnWait(const ReplayMark& mark) {
    Thread& thread = threads_[mark.thread];
    if (thread.inside_ns == kNever) Advance(thread, mark.host_ns);
    thread.inside_ns = kNever;
    const bool is_removed =
        !is_removed_.empty() && mark.point >= 0 && is_removed_[static_cast<size_t>(mark.point)] != 0;
    if (!is_removed) {
      Instant awaited = mark.event != kNoTarget ? events_[mark.event] : EndOf(mark.target);
      if (!WaitedFor(awaited.recorded_ns, thread.at.recorded_ns, mark)) awaited = Instant();
      thread.at.replayed_ns = ReplayedAt({thread.at, model_.wait_call_ns}, {awaited, model_.return_ns}, mark.end_ns);
    }
    thread.at.recorded_ns = std::max(thread.at.recorded_ns, mark.end_ns);
  }

  // False if the recording shows that the call returned before the work ended, or need not have waited.
  bool WaitedFor(int64_t awaited_ns, int64_t start_ns, const ReplayMark& mark) const {
    if (awaited_ns > mark.end_ns + model_.tolerance_ns) return false;
    return !mark.only_if_blocked ||
           (awaited_ns > start_ns && mark.end_ns - awaited_ns <= kStallReturnNs + model_.tolerance_ns);
  }

  // When all is done that the group of threads has submitted before the instant, on the host and on the GPU.
  Instant Frontier(const ReplayMark& mark) const {
    const uint32_t group = model_.spans[mark.target].group;
    const Thread* latest = nullptr;
    for (size_t i = 0; i < threads_.size(); ++i) {
      if (model_.threads[i].group != group || threads_[i].at.recorded_ns == kNever) continue;
      if (latest == nullptr || threads_[i].at.recorded_ns > latest->at.recorded_ns) latest = &threads_[i];
    }
    Instant frontier{mark.host_ns, mark.host_ns};
    if (latest != nullptr) {
      const int64_t host_ns = mark.host_ns - latest->at.recorded_ns;
      frontier.replayed_ns = latest->at.replayed_ns + std::max<int64_t>(host_ns, 0);
    }
    Raise(frontier, group_ends_[group]);
    return frontier;
  }

  void OnBoundary(const ReplayMark& mark) {
    const Instant frontier = Frontier(mark);
    if (mark.point == 0) {
      starts_[mark.target] = frontier;
    } else {
      result_.span_ns[mark.target] = frontier.replayed_ns - starts_[mark.target].replayed_ns;
      result_.recorded_span_ns[mark.target] = frontier.recorded_ns - starts_[mark.target].recorded_ns;
    }
  }

  const ReplayModel& model_;
  const std::vector<char>& is_removed_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<Instant> events_;
  std::vector<Instant> group_ends_;  // of GPU work, by the group of threads that submitted it
  std::vector<Instant> starts_;      // frontier at the start of each span
  ReplayResult result_;
};

}  // namespace

ReplayResult Replay(const ReplayModel& model, const std::vector<char>& is_removed) {
  return Replayer(model, is_removed).Run();
}

}  // namespace stallhound::analysis
