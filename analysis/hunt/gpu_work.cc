#include "analysis/hunt/gpu_work.h"

#include <algorithm>

namespace stallhound::analysis {
namespace {

uint64_t DeviceKey(uint32_t process_id, uint32_t device_id) { return uint64_t{process_id} << 32 | device_id; }

// The first entry not before `time_ns`, searched from where the last search ended: work comes nearly in order.
template <typename Entries>
size_t SeekFrom(const Entries& entries, size_t cursor, int64_t time_ns) {
  while (cursor > 0 && entries[cursor - 1].first >= time_ns) --cursor;
  while (cursor < entries.size() && entries[cursor].first < time_ns) ++cursor;
  return cursor;
}

}  // namespace

void BusyTime::Add(int64_t start_ns, int64_t end_ns) {
  if (!busy_.empty() && start_ns <= busy_.back().end_ns) {
    busy_.back().end_ns = std::max(busy_.back().end_ns, end_ns);
  } else {
    busy_.push_back({start_ns, end_ns});
  }
}

void BusyTime::Merge(const BusyTime& other) {
  if (other.busy_.empty()) return;
  std::vector<Interval> all;
  all.reserve(busy_.size() + other.busy_.size());
  std::merge(busy_.begin(), busy_.end(), other.busy_.begin(), other.busy_.end(), std::back_inserter(all),
             [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  busy_.clear();
  for (const Interval& interval : all) Add(interval.start_ns, interval.end_ns);
}

std::vector<Interval> BusyTime::GapsIn(const Interval& span) const {
  std::vector<Interval> gaps;
  int64_t free_ns = span.start_ns;
  auto it = std::lower_bound(busy_.begin(), busy_.end(), span.start_ns,
                             [](const Interval& busy, int64_t time_ns) { return busy.end_ns <= time_ns; });
  for (; it != busy_.end() && it->start_ns < span.end_ns; ++it) {
    if (it->start_ns > free_ns) gaps.push_back({free_ns, it->start_ns});
    free_ns = std::max(free_ns, it->end_ns);
  }
  if (free_ns < span.end_ns) gaps.push_back({free_ns, span.end_ns});
  return gaps;
}

GpuWork::GpuWork(const Directory& directory, const std::vector<SyncPoint>& points)
    : directory_(directory), points_(points) {}

capture::TableSet GpuWork::WantedEvents() {
  return capture::Tables({capture::Table::kSync, capture::Table::kCudaEvent});
}

capture::TableSet GpuWork::WantedWork() {
  using capture::Table;
  return capture::Tables({Table::kKernel, Table::kCopy, Table::kMemset, Table::kGraphRun});
}

absl::Status GpuWork::On(const capture::SyncBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (batch.event_id[i] && batch.correlation_id[i]) {
      event_of_sync_[{batch.process_id[i], *batch.correlation_id[i]}] = *batch.event_id[i];
    }
  }
  return absl::OkStatus();
}

absl::Status GpuWork::On(const capture::CudaEventBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    event_records_[{batch.process_id[i], batch.event_id[i]}].push_back({batch.time_ns[i], batch.stream_id[i]});
  }
  return absl::OkStatus();
}

template <typename Batch>
void GpuWork::AddBatch(const Batch& batch, capture::Table table) {
  for (size_t i = 0; i < batch.size; ++i) {
    busy_[DeviceKey(batch.process_id[i], batch.device_id[i])][table].Add(batch.start_ns[i], batch.end_ns[i]);
    Add({batch.start_ns[i], batch.end_ns[i], batch.process_id[i], batch.device_id[i], batch.context_id[i],
         batch.stream_id[i], batch.launch_start_ns[i], batch.launch_thread_id[i]});
  }
}

absl::Status GpuWork::On(const capture::KernelBatch& batch) {
  AddBatch(batch, capture::Table::kKernel);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::CopyBatch& batch) {
  AddBatch(batch, capture::Table::kCopy);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::MemsetBatch& batch) {
  AddBatch(batch, capture::Table::kMemset);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::GraphRunBatch& batch) {
  AddBatch(batch, capture::Table::kGraphRun);
  return absl::OkStatus();
}

// Events and their syncs are all known when the first work comes.
void GpuWork::PrepareOnce() {
  if (is_prepared_) return;
  is_prepared_ = true;
  for (size_t i = 0; i < points_.size(); ++i) {
    AddWaiter(i, points_[i]);
    returns_[points_[i].thread_id].ends.emplace_back(points_[i].end_ns, i);
  }
  for (auto& [key, waiters] : waiters_) {
    std::sort(waiters.limits.begin(), waiters.limits.end());
    waiters.last_end_ns.assign(waiters.limits.size(), INT64_MIN);
  }
  for (auto& [key, returns] : returns_) {
    std::sort(returns.ends.begin(), returns.ends.end());
    returns.next.resize(returns.ends.size());
  }
}

// The record that an event sync waits for: by CUPTI's event ids, else by the handle that host calls name.
std::optional<GpuWork::EventRecord> GpuWork::LatestRecord(const SyncPoint& point) const {
  const auto event = event_of_sync_.find({point.process_id, point.correlation_id.value_or(0)});
  const auto records =
      event == event_of_sync_.end() ? event_records_.end() : event_records_.find({point.process_id, event->second});
  std::optional<EventRecord> latest;
  if (records != event_records_.end()) {
    const auto later =
        std::upper_bound(records->second.begin(), records->second.end(), point.call_start_ns,
                         [](int64_t time_ns, const EventRecord& record) { return time_ns < record.time_ns; });
    if (later != records->second.begin()) latest = *std::prev(later);
  }
  if (!latest && point.event_recorded_ns) latest = {*point.event_recorded_ns, point.stream_id};
  return latest;
}

void GpuWork::AddWaiter(size_t index, const SyncPoint& point) {
  const uint32_t context_id = point.context_id.value_or(0);
  const uint64_t context = ContextKey(point.process_id, context_id);
  int64_t limit_ns = point.call_start_ns;
  std::optional<uint32_t> stream_id = point.scope == WaitScope::kStream ? point.stream_id : std::nullopt;
  if (point.scope == WaitScope::kEvent) {
    const std::optional<EventRecord> record = LatestRecord(point);
    if (!record || !record->stream_id) return;
    limit_ns = record->time_ns;
    stream_id = record->stream_id;
  }
  const bool is_all = !stream_id || directory_.IsNullStream(point.process_id, context_id, *stream_id);
  waiters_[{context, is_all ? kAllStreams : *stream_id}].limits.emplace_back(limit_ns, index);
}

void GpuWork::AddToWaiters(Waiters& waiters, int64_t launch_ns, int64_t end_ns) {
  waiters.cursor = SeekFrom(waiters.limits, waiters.cursor, launch_ns);
  if (waiters.cursor == waiters.limits.size()) return;
  int64_t& last_end_ns = waiters.last_end_ns[waiters.cursor];
  last_end_ns = std::max(last_end_ns, end_ns);
}

// The work follows the latest point that had returned when it was submitted.
void GpuWork::AddToReturns(Returns& returns, int64_t launch_ns, int64_t start_ns) {
  returns.cursor = SeekFrom(returns.ends, returns.cursor, launch_ns + 1);
  if (returns.cursor == 0) return;
  PointWork& next = returns.next[returns.cursor - 1];
  if (next.next_launch_ns && *next.next_launch_ns <= launch_ns) return;
  next.next_launch_ns = launch_ns;
  next.next_work_start_ns = start_ns;
}

void GpuWork::Add(const Work& work) {
  PrepareOnce();
  const int64_t launch_ns = work.launch_ns.value_or(work.start_ns);
  const uint64_t context = ContextKey(work.process_id, work.context_id.value_or(0));
  // A call whose context is not recorded waits for what its process submitted.
  const uint64_t unknown = ContextKey(work.process_id, 0);
  for (const uint64_t waiting : {context, unknown}) {
    for (const uint32_t stream_id : {work.stream_id, kAllStreams}) {
      const auto it = waiters_.find({waiting, stream_id});
      if (it != waiters_.end()) AddToWaiters(it->second, launch_ns, work.end_ns);
    }
  }
  if (!work.thread_id) return;
  devices_of_thread_[*work.thread_id].insert(DeviceKey(work.process_id, work.device_id));
  if (const auto it = returns_.find(*work.thread_id); it != returns_.end()) {
    AddToReturns(it->second, launch_ns, work.start_ns);
  }
}

std::vector<PointWork> GpuWork::Finish() {
  PrepareOnce();
  std::vector<PointWork> work(points_.size());
  for (auto& [key, waiters] : waiters_) {
    int64_t last_end_ns = INT64_MIN;
    for (size_t i = 0; i < waiters.limits.size(); ++i) {
      last_end_ns = std::max(last_end_ns, waiters.last_end_ns[i]);
      if (last_end_ns != INT64_MIN) work[waiters.limits[i].second].awaited_end_ns = last_end_ns;
    }
  }
  for (auto& [thread, returns] : returns_) {
    PointWork next;
    for (size_t i = returns.ends.size(); i-- > 0;) {
      if (returns.next[i].next_launch_ns) next = returns.next[i];
      work[returns.ends[i].second].next_launch_ns = next.next_launch_ns;
      work[returns.ends[i].second].next_work_start_ns = next.next_work_start_ns;
    }
  }
  for (auto& [device, tables] : busy_) {
    for (auto& [table, busy] : tables) {
      any_[device].Merge(busy);
      const bool is_compute = table == capture::Table::kKernel || table == capture::Table::kGraphRun;
      if (is_compute) compute_[device].Merge(busy);
      busy = {};
    }
  }
  return work;
}

std::vector<Interval> GpuWork::IdleIn(uint32_t thread_id, const Interval& span, bool compute) const {
  const auto devices = devices_of_thread_.find(thread_id);
  if (devices == devices_of_thread_.end() || span.end_ns <= span.start_ns) return {};
  const auto& unions = compute ? compute_ : any_;
  std::vector<Interval> gaps;
  for (const uint64_t device : devices->second) {
    const auto busy = unions.find(device);
    const std::vector<Interval> own = busy == unions.end() ? std::vector{span} : busy->second.GapsIn(span);
    gaps.insert(gaps.end(), own.begin(), own.end());
  }
  if (devices->second.size() < 2) return gaps;
  std::sort(gaps.begin(), gaps.end(), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  BusyTime joined;
  for (const Interval& gap : gaps) joined.Add(gap.start_ns, gap.end_ns);
  return joined.intervals();
}

}  // namespace stallhound::analysis
