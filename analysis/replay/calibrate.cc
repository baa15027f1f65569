#include "analysis/replay/calibrate.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

namespace stallhound::analysis {
namespace {

constexpr int64_t kNever = INT64_MIN / 4;

// Launches to one stream that the driver takes before the call blocks; on current drivers 1,024.
constexpr int64_t kDriverQueueLimit = 1'024;
// A launch blocked by a full queue lasts at least this, and that many times the median;
constexpr int64_t kBlockedLaunchNs = 50'000;
constexpr int64_t kBlockedLaunchRatio = 10;
// so many submissions had not started on its stream.
constexpr int64_t kFullQueueMinimum = 256;

// A thread wakes another if both are quiet around that instant: the one that is woken before it, the other one behind
// it, each for at least this and this many times the time between them.
constexpr int64_t kQuietNs = 200'000;
constexpr int64_t kQuietRatio = 4;

// The median of a part of all samples, evenly spread over them.
class MedianSample {
 public:
  void Add(int64_t value_ns) {
    if (seen_count_++ % stride_ != 0) return;
    values_ns_.push_back(value_ns);
    if (values_ns_.size() < kMaxCount) return;
    for (size_t i = 0; 2 * i < values_ns_.size(); ++i) values_ns_[i] = values_ns_[2 * i];
    values_ns_.resize(kMaxCount / 2);
    stride_ *= 2;
  }
  std::optional<int64_t> Median() {
    if (values_ns_.empty()) return std::nullopt;
    const auto middle = values_ns_.begin() + static_cast<ptrdiff_t>(values_ns_.size() / 2);
    std::nth_element(values_ns_.begin(), middle, values_ns_.end());
    return *middle;
  }

 private:
  static constexpr size_t kMaxCount = 1 << 16;
  std::vector<int64_t> values_ns_;
  uint64_t seen_count_ = 0;
  uint64_t stride_ = 1;
};

// Finds which thread woke which.
class HandOverFinder {
 public:
  explicit HandOverFinder(const ReplayModel& model) : model_(model), threads_(model.threads.size()) {}

  // The thread begins something that ends at `end_ns` (an instant for a submission).
  void OnItem(uint16_t thread_index, int64_t host_ns, int64_t end_ns) {
    Thread& thread = threads_[thread_index];
    const int64_t quiet_ns = host_ns - thread.end_ns;
    for (const Candidate& candidate : thread.candidates) {
      if (quiet_ns < std::max(kQuietNs, kQuietRatio * candidate.delay_ns)) continue;
      found_.push_back(candidate.mark);
      Join(candidate.mark.thread, candidate.mark.target);
    }
    thread.candidates.clear();
    if (quiet_ns >= kQuietNs) FindCause(thread_index, host_ns);
    thread.end_ns = std::max(thread.end_ns, end_ns);
  }

  // What the thread does lasts longer than it seemed.
  void Extend(uint16_t thread_index, int64_t end_ns) {
    threads_[thread_index].end_ns = std::max(threads_[thread_index].end_ns, end_ns);
  }

  // The marks; `groups`: by thread, the first of those that woke each other.
  std::vector<ReplayMark> Finish(std::vector<uint32_t>& groups) {
    groups.clear();
    for (uint32_t i = 0; i < threads_.size(); ++i) {
      for (const Candidate& candidate : threads_[i].candidates) found_.push_back(candidate.mark);
      groups.push_back(GroupOf(i));
    }
    return std::move(found_);
  }

 private:
  struct Candidate {
    ReplayMark mark;
    int64_t delay_ns;
  };
  struct Thread {
    int64_t end_ns = kNever;
    std::vector<Candidate> candidates;  // threads it may have woken by what it did last
    std::optional<uint32_t> joined;     // an earlier thread of its group
  };

  uint32_t GroupOf(uint32_t thread) const {
    while (threads_[thread].joined) thread = *threads_[thread].joined;
    return thread;
  }
  void Join(uint32_t a, uint32_t b) {
    a = GroupOf(a);
    b = GroupOf(b);
    if (a != b) threads_[std::max(a, b)].joined = std::min(a, b);
  }

  void FindCause(uint16_t thread_index, int64_t host_ns) {
    const Thread& thread = threads_[thread_index];
    size_t cause = threads_.size();
    int64_t latest_ns = thread.end_ns;
    for (size_t i = 0; i < threads_.size(); ++i) {
      const int64_t end_ns = threads_[i].end_ns;
      const bool is_same_process = model_.threads[i].process_id == model_.threads[thread_index].process_id;
      if (!is_same_process || end_ns <= latest_ns || end_ns > host_ns) continue;
      cause = i;
      latest_ns = end_ns;
    }
    if (cause == threads_.size()) return;
    const int64_t delay_ns = host_ns - latest_ns;
    if (host_ns - thread.end_ns < kQuietRatio * delay_ns) return;
    ReplayMark mark;
    mark.kind = MarkKind::kHandOver;
    mark.host_ns = host_ns;
    mark.thread = thread_index;
    mark.target = static_cast<uint32_t>(cause);
    // A thread that did nothing before was started by another.
    if (thread.end_ns == kNever) {
      found_.push_back(mark);
    } else {
      threads_[cause].candidates.push_back({mark, delay_ns});
    }
  }

  const ReplayModel& model_;
  std::vector<Thread> threads_;
  std::vector<ReplayMark> found_;
};

class Calibration {
 public:
  explicit Calibration(ReplayModel& model)
      : model_(model),
        hand_overs_(model),
        streams_(model.streams.size()),
        event_end_ns_(model.event_count, kNever),
        entered_ns_(model.threads.size(), kNever) {}

  void Run() {
    ForEachInOrder(
        model_, [this](const ReplayMark& mark) { OnMark(mark); }, [this](size_t i) { OnWork(model_.works[i]); });
    model_.launch_delay_ns = launch_delay_.Median().value_or(0);
    model_.work_gap_ns = work_gap_.Median().value_or(0);
    model_.return_ns = return_.Median().value_or(0);
    model_.wait_call_ns = wait_call_.Median().value_or(model_.return_ns);
    FindBlockedLaunches();
    std::vector<uint32_t> groups;
    const std::vector<ReplayMark> found = hand_overs_.Finish(groups);
    for (size_t i = 0; i < groups.size(); ++i) model_.threads[i].group = groups[i];
    model_.group_count = static_cast<uint32_t>(groups.size());
    model_.marks.insert(model_.marks.end(), found.begin(), found.end());
  }

 private:
  struct Stream {
    int64_t end_ns = kNever;
    std::deque<int64_t> queued_start_ns;  // of submissions that had not started at the latest one
    int64_t last_host_ns = kNever;
  };

  int64_t EndOf(uint32_t set) const {
    int64_t end_ns = kNever;
    if (set == kNoTarget) return end_ns;
    for (const uint32_t stream : model_.stream_sets[set]) end_ns = std::max(end_ns, streams_[stream].end_ns);
    return end_ns;
  }

  void OnWork(ReplayWork& work) {
    Stream& stream = streams_[work.stream];
    const int64_t before_ns = std::max(stream.end_ns, EndOf(model_.streams[work.stream].waits_for_set));
    if (work.thread != kNoThread) {
      if (work.host_ns >= entered_ns_[work.thread]) hand_overs_.OnItem(work.thread, work.host_ns, work.host_ns);
      if (before_ns <= work.host_ns) {
        launch_delay_.Add(work.start_ns - work.host_ns);
      } else if (before_ns >= work.host_ns + work.call_ns + kStallReturnNs) {
        work_gap_.Add(work.start_ns - before_ns);
      }
      if (work.host_ns != stream.last_host_ns) OnSubmission(work, stream);
      stream.last_host_ns = work.host_ns;
    }
    stream.end_ns = std::max(stream.end_ns, work.start_ns + static_cast<int64_t>(work.duration_ns));
  }

  void OnSubmission(ReplayWork& work, Stream& stream) {
    std::deque<int64_t>& queued = stream.queued_start_ns;
    while (!queued.empty() && queued.front() <= work.host_ns) queued.pop_front();
    const auto queued_count = static_cast<int64_t>(queued.size());
    if (queued_count >= kFullQueueMinimum) {
      work.blocked_at = static_cast<uint16_t>(std::min<int64_t>(queued_count, UINT16_MAX));
    } else if (work.call_ns > 0) {
      launch_call_.Add(work.call_ns);
    }
    queued.push_back(work.start_ns);
    most_queued_count_ = std::max(most_queued_count_, queued_count + 1);
  }

  // Of the launches into a long queue: those that took long.
  void FindBlockedLaunches() {
    model_.launch_call_ns = launch_call_.Median().value_or(0);
    const int64_t long_ns = std::max(kBlockedLaunchNs, kBlockedLaunchRatio * model_.launch_call_ns);
    MedianSample blocked_at;
    for (ReplayWork& work : model_.works) {
      if (work.call_ns < long_ns) work.blocked_at = 0;
      if (work.blocked_at != 0) blocked_at.Add(work.blocked_at);
    }
    model_.queue_limit = blocked_at.Median().value_or(std::max(most_queued_count_, kDriverQueueLimit));
  }

  void OnMark(const ReplayMark& mark) {
    switch (mark.kind) {
      case MarkKind::kEnter:
        hand_overs_.OnItem(mark.thread, mark.host_ns, mark.host_ns);
        entered_ns_[mark.thread] = mark.end_ns;
        break;
      case MarkKind::kRecord:
        event_end_ns_[mark.event] = EndOf(mark.target);
        break;
      case MarkKind::kStreamWait:
        for (const uint32_t i : model_.stream_sets[mark.target]) {
          streams_[i].end_ns = std::max(streams_[i].end_ns, event_end_ns_[mark.event]);
        }
        break;
      case MarkKind::kWait:
        OnWait(mark);
        break;
      case MarkKind::kHandOver:
      case MarkKind::kBoundary:
        break;
    }
  }

  void OnWait(const ReplayMark& mark) {
    const int64_t awaited_ns = mark.event != kNoTarget ? event_end_ns_[mark.event] : EndOf(mark.target);
    if (awaited_ns > mark.host_ns && awaited_ns <= mark.end_ns && mark.end_ns - awaited_ns <= kStallReturnNs) {
      return_.Add(mark.end_ns - awaited_ns);
    } else if (awaited_ns <= mark.host_ns && !mark.only_if_blocked) {
      wait_call_.Add(mark.end_ns - mark.host_ns);
    }
    if (entered_ns_[mark.thread] == mark.end_ns) {
      hand_overs_.Extend(mark.thread, mark.end_ns);
    } else {
      hand_overs_.OnItem(mark.thread, mark.host_ns, mark.end_ns);
    }
    entered_ns_[mark.thread] = kNever;
  }

  ReplayModel& model_;
  HandOverFinder hand_overs_;
  std::vector<Stream> streams_;
  std::vector<int64_t> event_end_ns_;
  std::vector<int64_t> entered_ns_;  // by thread: end of the wait that it is in
  int64_t most_queued_count_ = 0;
  MedianSample launch_delay_;
  MedianSample work_gap_;
  MedianSample return_;
  MedianSample wait_call_;
  MedianSample launch_call_;
};

}  // namespace

void Calibrate(ReplayModel& model) { Calibration(model).Run(); }

}  // namespace stallhound::analysis
