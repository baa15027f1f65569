#include "analysis/replay/model.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <tuple>

#include "analysis/replay/calibrate.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;

// A copy from pageable memory of at most so much is staged before the call returns: it need not wait for the stream
// (CUDA runtime API, "API synchronization behavior").
constexpr uint64_t kStagedBytes = 64 << 10;

uint64_t ContextKey(uint32_t process_id, uint32_t context_id) { return uint64_t{process_id} << 32 | context_id; }

bool OnlyIfBlocked(const SyncPoint& point) {
  if (point.kind == SiteKind::kAllocator || point.kind == SiteKind::kLoader) return true;
  return point.kind == SiteKind::kPageableCopy && !point.copies.empty() &&
         point.copies.front().direction == capture::CopyDirection::kHostToDevice &&
         point.copies.front().bytes <= kStagedBytes;
}

void SortMarks(std::vector<ReplayMark>& marks) {
  std::stable_sort(marks.begin(), marks.end(), [](const ReplayMark& a, const ReplayMark& b) {
    return std::tie(a.host_ns, a.kind) < std::tie(b.host_ns, b.kind);
  });
}

}  // namespace

uint32_t ModelBuilder::EventIndex(const EventKey& key) {
  const auto [it, is_new] = events_.try_emplace(key, model_.event_count);
  model_.event_count += is_new;
  return it->second;
}

uint16_t ModelBuilder::ThreadIndex(uint32_t process_id, uint32_t thread_id) {
  const auto [it, is_new] = threads_.try_emplace({process_id, thread_id}, static_cast<uint16_t>(model_.threads.size()));
  if (is_new) model_.threads.push_back({process_id});
  is_too_wide_ = is_too_wide_ || model_.threads.size() >= kNoThread;
  return it->second;
}

uint16_t ModelBuilder::StreamIndex(uint32_t process_id, uint32_t context_id, uint32_t stream_id) {
  const auto [it, is_new] = streams_.try_emplace({ContextKey(process_id, context_id), stream_id},
                                                 static_cast<uint16_t>(model_.streams.size()));
  if (is_new) model_.streams.push_back({process_id, context_id, stream_id});
  is_too_wide_ = is_too_wide_ || model_.streams.size() > UINT16_MAX;
  return it->second;
}

absl::Status ModelBuilder::On(const capture::HostCallBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const ApiClass api_class = batch.api_class[i];
    if (api_class != ApiClass::kEventRecord && api_class != ApiClass::kStreamWaitEvent) continue;
    if (!batch.event_handle[i] || batch.is_nested[i]) continue;
    const MarkKind kind = api_class == ApiClass::kEventRecord ? MarkKind::kRecord : MarkKind::kStreamWait;
    if (kind == MarkKind::kStreamWait && !batch.stream_id[i]) continue;
    event_calls_.push_back({kind, batch.start_ns[i], batch.process_id[i], batch.context_id[i].value_or(0),
                            batch.stream_id[i], EventIndex({batch.process_id[i], true, *batch.event_handle[i]})});
  }
  return absl::OkStatus();
}

absl::Status ModelBuilder::On(const capture::SyncBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!batch.event_id[i]) continue;
    const uint32_t event = EventIndex({batch.process_id[i], false, *batch.event_id[i]});
    if (batch.type[i] == capture::SyncType::kStreamWaitEvent && batch.stream_id[i]) {
      event_calls_.push_back({MarkKind::kStreamWait, batch.start_ns[i], batch.process_id[i],
                              batch.context_id[i].value_or(0), batch.stream_id[i], event});
    } else if (batch.correlation_id[i]) {
      event_of_sync_[{batch.process_id[i], *batch.correlation_id[i]}] = event;
    }
  }
  return absl::OkStatus();
}

absl::Status ModelBuilder::On(const capture::CudaEventBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    event_calls_.push_back({MarkKind::kRecord, batch.time_ns[i], batch.process_id[i], batch.context_id[i].value_or(0),
                            batch.stream_id[i], EventIndex({batch.process_id[i], false, batch.event_id[i]})});
  }
  return absl::OkStatus();
}

template <typename Batch>
absl::Status ModelBuilder::AddBatch(const Batch& batch) {
  // Untouched room costs no memory; doubling would.
  model_.works.reserve(options_.max_work_count + 1);
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<int64_t> end_ns = batch.end_ns[i];
    if (!end_ns || (model_.cut_ns && batch.start_ns[i] >= *model_.cut_ns)) continue;
    ReplayWork work;
    const uint32_t process_id = batch.process_id[i];
    work.start_ns = batch.start_ns[i];
    work.duration_ns = static_cast<uint64_t>(std::max<int64_t>(*end_ns - batch.start_ns[i], 0));
    work.stream = StreamIndex(process_id, batch.context_id[i].value_or(0), batch.stream_id[i]);
    if (batch.launch_start_ns[i] && batch.launch_thread_id[i]) {
      work.host_ns = *batch.launch_start_ns[i];
      const int64_t call_ns = batch.launch_end_ns[i].value_or(work.host_ns) - work.host_ns;
      work.call_ns = static_cast<uint32_t>(std::clamp<int64_t>(call_ns, 0, UINT32_MAX));
      work.thread = ThreadIndex(process_id, *batch.launch_thread_id[i]);
    } else {
      has_unknown_launches_ = true;
    }
    model_.works.push_back(work);
    if (model_.works.size() > options_.max_work_count) Shorten();
  }
  return absl::OkStatus();
}

absl::Status ModelBuilder::On(const capture::KernelBatch& batch) { return AddBatch(batch); }
absl::Status ModelBuilder::On(const capture::CopyBatch& batch) { return AddBatch(batch); }
absl::Status ModelBuilder::On(const capture::MemsetBatch& batch) { return AddBatch(batch); }
absl::Status ModelBuilder::On(const capture::GraphRunBatch& batch) { return AddBatch(batch); }

// Gives the last tenth of what is held away: tables come one after the other, so that later ones need room as well.
void ModelBuilder::Shorten() {
  std::vector<ReplayWork>& works = model_.works;
  const auto limit = works.begin() + static_cast<ptrdiff_t>(works.size() * 9 / 10);
  std::nth_element(works.begin(), limit, works.end(),
                   [](const ReplayWork& a, const ReplayWork& b) { return a.start_ns < b.start_ns; });
  const int64_t cut_ns = limit->start_ns;
  model_.cut_ns = cut_ns;
  std::erase_if(works, [cut_ns](const ReplayWork& work) { return work.start_ns >= cut_ns; });
}

uint32_t ModelBuilder::StreamSet(const EventCall& call, bool is_wait) {
  const bool is_null = call.stream_id && directory_.IsNullStream(call.process_id, call.context_id, *call.stream_id);
  const bool is_all = !call.stream_id || (is_wait && is_null);
  const uint64_t rule = is_all ? uint64_t{1} << 32 | is_null : *call.stream_id;
  const auto [it, is_new] = sets_.try_emplace({ContextKey(call.process_id, call.context_id), rule},
                                              static_cast<uint32_t>(model_.stream_sets.size()));
  if (!is_new) return it->second;
  std::vector<uint32_t>& set = model_.stream_sets.emplace_back();
  for (uint32_t i = 0; i < model_.streams.size(); ++i) {
    const ReplayModel::Stream& stream = model_.streams[i];
    const bool is_in_context = stream.process_id == call.process_id &&
                               (call.context_id == 0 || stream.context_id == 0 || stream.context_id == call.context_id);
    if (!is_in_context || (!is_all && stream.stream_id != *call.stream_id)) continue;
    if (is_null && is_all && directory_.IsNonBlocking(stream.process_id, stream.context_id, stream.stream_id)) continue;
    set.push_back(i);
  }
  return it->second;
}

// Work on the legacy stream waits for all blocking streams of its context, and theirs for it.
void ModelBuilder::LinkLegacyStreams() {
  for (uint32_t i = 0; i < model_.streams.size(); ++i) {
    const ReplayModel::Stream null = model_.streams[i];
    if (!directory_.IsNullStream(null.process_id, null.context_id, null.stream_id)) continue;
    const uint32_t all = StreamSet({MarkKind::kWait, 0, null.process_id, null.context_id, null.stream_id, 0}, true);
    if (model_.stream_sets[all].size() < 2) continue;
    const uint32_t own = StreamSet({MarkKind::kWait, 0, null.process_id, null.context_id, null.stream_id, 0}, false);
    for (const uint32_t stream : model_.stream_sets[all]) {
      model_.streams[stream].waits_for_set = stream == i ? all : own;
    }
  }
}

void ModelBuilder::AddPoint(const SyncPoint& point, int32_t index) {
  if (point.kind == SiteKind::kQueueFull) return;  // the replay has queues of its own
  ReplayMark mark;
  mark.thread = ThreadIndex(point.process_id, point.thread_id);
  mark.point = index;
  mark.end_ns = point.end_ns;
  if (point.start_ns < point.call_start_ns) {
    mark.kind = MarkKind::kEnter;
    mark.host_ns = point.start_ns;
    model_.marks.push_back(mark);
  }
  mark.kind = MarkKind::kWait;
  mark.host_ns = point.call_start_ns;
  mark.only_if_blocked = OnlyIfBlocked(point);
  const uint32_t context_id = point.context_id.value_or(0);
  EventCall call{MarkKind::kWait, 0, point.process_id, context_id, point.stream_id, 0};
  if (point.scope == WaitScope::kContext) call.stream_id.reset();
  if (point.scope != WaitScope::kEvent) {
    mark.target = StreamSet(call, true);
  } else if (const auto event = event_of_sync_.find({point.process_id, point.correlation_id.value_or(0)});
             event != event_of_sync_.end() && is_recorded_[event->second]) {
    mark.event = event->second;
    is_awaited_[mark.event] = true;
  } else if (point.event) {
    // By handle the finder has said which record it was; an event of its own stands for it.
    mark.event = model_.event_count++;
    ReplayMark record;
    record.kind = MarkKind::kRecord;
    record.host_ns = point.event->time_ns;
    record.target = StreamSet(
        {MarkKind::kRecord, 0, point.process_id, point.event->context_id.value_or(0), point.event->stream_id, 0}, true);
    record.event = mark.event;
    model_.marks.push_back(record);
  }
  model_.marks.push_back(mark);
}

// Records that nothing waits for are left out: most events only take times.
void ModelBuilder::AddEventCalls() {
  for (const EventCall& call : event_calls_) {
    if (call.kind == MarkKind::kStreamWait) is_awaited_[call.event] = true;
  }
  for (const EventCall& call : event_calls_) {
    if (!is_awaited_[call.event]) continue;
    ReplayMark mark;
    mark.kind = call.kind;
    mark.host_ns = call.time_ns;
    mark.event = call.event;
    mark.target = StreamSet(call, call.kind == MarkKind::kRecord);
    model_.marks.push_back(mark);
  }
  event_calls_.clear();
  event_calls_.shrink_to_fit();
}

// A span is that of the group of its thread, else of each group of its process.
void ModelBuilder::AddSpan(const Span& span, uint32_t unit) {
  const auto thread = span.thread_id ? threads_.find({span.process_id, *span.thread_id}) : threads_.end();
  std::vector<bool> is_added(model_.group_count);
  for (const ReplayModel::Thread& other : model_.threads) {
    const bool is_of_span = thread == threads_.end() ? other.process_id == span.process_id
                                                     : other.group == model_.threads[thread->second].group;
    if (!is_of_span || is_added[other.group]) continue;
    is_added[other.group] = true;
    ReplayMark mark;
    mark.kind = MarkKind::kBoundary;
    mark.target = static_cast<uint32_t>(model_.spans.size());
    mark.host_ns = span.start_ns;
    mark.point = 0;
    model_.marks.push_back(mark);
    mark.host_ns = span.end_ns;
    mark.point = 1;
    model_.marks.push_back(mark);
    model_.spans.push_back({other.group, unit});
  }
}

void ModelBuilder::AddSpans(const std::vector<Span>& spans) {
  Span whole{0, INT64_MAX, INT64_MIN};
  for (const ReplayWork& work : model_.works) {
    whole.start_ns = std::min(whole.start_ns, work.host_ns);
    whole.end_ns = std::max(whole.end_ns, work.start_ns + static_cast<int64_t>(work.duration_ns));
  }
  for (const ReplayMark& mark : model_.marks) {
    whole.start_ns = std::min(whole.start_ns, mark.host_ns);
    whole.end_ns = std::max({whole.end_ns, mark.host_ns, mark.end_ns});
  }
  int64_t counted_ns = INT64_MIN;  // spans of one process may overlap: each instant counts once
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    if (i > 0 && spans[i - 1].process_id != span.process_id) counted_ns = INT64_MIN;
    const capture::ProcessRow* process = directory_.Process(span.process_id);
    int64_t end_ns = span.end_ns;
    if (end_ns == INT64_MAX) end_ns = process != nullptr && process->end_ns ? *process->end_ns : whole.end_ns;
    end_ns = std::min(end_ns, model_.cut_ns.value_or(INT64_MAX));
    const int64_t start_ns = std::max({span.start_ns, whole.start_ns, counted_ns});
    if (start_ns >= end_ns) continue;
    counted_ns = end_ns;
    AddSpan({span.process_id, start_ns, end_ns, span.thread_id}, static_cast<uint32_t>(i));
  }
}

// What a launch loads or allocates precedes its submission; what a wait copies belongs before its end.
void ModelBuilder::PlaceBesidePoints(const std::vector<SyncPoint>& points) {
  std::vector<std::vector<const SyncPoint*>> by_thread(model_.threads.size());
  for (const SyncPoint& point : points) {
    if (point.kind == SiteKind::kQueueFull) continue;
    by_thread[threads_.at({point.process_id, point.thread_id})].push_back(&point);
  }
  for (ReplayWork& work : model_.works) {
    if (work.thread == kNoThread) continue;
    const int64_t call_end_ns = work.host_ns + work.call_ns;
    const std::vector<const SyncPoint*>& own = by_thread[work.thread];
    const auto later =
        std::upper_bound(own.begin(), own.end(), call_end_ns,
                         [](int64_t time_ns, const SyncPoint* point) { return time_ns < point->start_ns; });
    if (later == own.begin()) continue;
    const SyncPoint& point = **std::prev(later);
    if (point.start_ns > work.host_ns && point.end_ns <= call_end_ns) {
      work.host_ns = point.end_ns;
      work.call_ns = static_cast<uint32_t>(call_end_ns - point.end_ns);
    } else if (work.host_ns >= point.start_ns && work.host_ns < point.end_ns) {
      work.host_ns = std::min(work.host_ns, point.call_start_ns);
      work.call_ns = 0;
    }
  }
}

// Work whose launch is not known follows its predecessor on the stream.
void ModelBuilder::PlaceUnknownLaunches() {
  std::sort(model_.works.begin(), model_.works.end(), [](const ReplayWork& a, const ReplayWork& b) {
    return std::pair(uint64_t{a.stream}, a.start_ns) < std::pair(uint64_t{b.stream}, b.start_ns);
  });
  const ReplayWork* last = nullptr;
  for (ReplayWork& work : model_.works) {
    if (work.thread == kNoThread) {
      work.host_ns = last != nullptr && last->stream == work.stream ? last->host_ns : work.start_ns;
    }
    last = &work;
  }
}

// The first call of a process that needs a context makes it: without that call, the next one would.
void ModelBuilder::KeepContextCreation() {
  absl::flat_hash_set<uint32_t> begun;  // processes
  absl::flat_hash_set<int32_t> kept;    // points
  ForEachInOrder(
      model_,
      [&](const ReplayMark& mark) {
        if (mark.kind != MarkKind::kWait || !begun.insert(model_.threads[mark.thread].process_id).second) return;
        if (mark.only_if_blocked) kept.insert(mark.point);
      },
      [&](size_t i) {
        if (model_.works[i].thread != kNoThread) begun.insert(model_.threads[model_.works[i].thread].process_id);
      });
  for (ReplayMark& mark : model_.marks) {
    if (kept.contains(mark.point)) mark.point = -1;
  }
}

ReplayModel ModelBuilder::Finish(const std::vector<SyncPoint>& points, const std::vector<Span>& spans,
                                 int64_t tolerance_ns) {
  model_.tolerance_ns = tolerance_ns;
  is_awaited_.resize(model_.event_count);
  is_recorded_.resize(model_.event_count);
  for (const EventCall& call : event_calls_) {
    if (call.kind == MarkKind::kRecord) is_recorded_[call.event] = true;
  }
  LinkLegacyStreams();
  for (size_t i = 0; i < points.size(); ++i) AddPoint(points[i], static_cast<int32_t>(i));
  AddEventCalls();
  if (is_too_wide_) return {.is_too_wide = true};
  PlaceBesidePoints(points);
  if (has_unknown_launches_) PlaceUnknownLaunches();
  std::erase_if(model_.marks, [cut_ns = model_.cut_ns.value_or(INT64_MAX)](const ReplayMark& mark) {
    return std::max(mark.host_ns, mark.end_ns) >= cut_ns;
  });
  std::sort(model_.works.begin(), model_.works.end(), [](const ReplayWork& a, const ReplayWork& b) {
    return std::tie(a.host_ns, a.start_ns) < std::tie(b.host_ns, b.start_ns);
  });
  SortMarks(model_.marks);
  KeepContextCreation();
  Calibrate(model_);
  AddSpans(spans);
  SortMarks(model_.marks);
  return std::move(model_);
}

}  // namespace stallhound::analysis
