#include "analysis/hunt/sync_points.h"

#include <algorithm>

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::MemoryKind;

constexpr uint32_t kNoThread = 0xffffffffu;
constexpr int64_t kReady = 0;
constexpr int64_t kNotReady = 600;  // cudaErrorNotReady and CUDA_ERROR_NOT_READY

std::optional<SiteKind> KindOf(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kCopyBlocking:
    case ApiClass::kDeviceSync:
    case ApiClass::kStreamSync:
    case ApiClass::kEventSync:
      return SiteKind::kWait;
    case ApiClass::kDeviceAllocate:
    case ApiClass::kDeviceFree:
    case ApiClass::kHostAllocate:
    case ApiClass::kHostFree:
    case ApiClass::kHostRegister:
    case ApiClass::kHostUnregister:
    case ApiClass::kVirtualMemory:
      return SiteKind::kAllocator;
    case ApiClass::kModuleLoad:
    case ApiClass::kModuleUnload:
      return SiteKind::kLoader;
    default:
      return std::nullopt;
  }
}

WaitScope ScopeOf(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kStreamSync:
    case ApiClass::kCopyBlocking:
    case ApiClass::kCopyAsync:
      return WaitScope::kStream;
    case ApiClass::kEventSync:
      return WaitScope::kEvent;
    default:
      return WaitScope::kContext;
  }
}

bool IsLaunch(ApiClass api_class) {
  return api_class == ApiClass::kKernelLaunch || api_class == ApiClass::kGraphLaunch;
}

// Calls that end a group of copies: a wait behind them does not take the copies before them in.
bool EndsGroup(ApiClass api_class) {
  return IsLaunch(api_class) || api_class == ApiClass::kMemset || api_class == ApiClass::kStreamOrderedAllocate ||
         api_class == ApiClass::kStreamOrderedFree;
}

bool IsPageable(const PointCopy& copy) {
  return copy.source_kind == MemoryKind::kPageable || copy.target_kind == MemoryKind::kPageable;
}
bool HasHostEnd(capture::CopyDirection direction) {
  using capture::CopyDirection;
  switch (direction) {
    case CopyDirection::kArrayToArray:
    case CopyDirection::kArrayToDevice:
    case CopyDirection::kDeviceToArray:
    case CopyDirection::kDeviceToDevice:
    case CopyDirection::kPeerToPeer:
      return false;
    default:
      return true;
  }
}
// True if pageable memory cannot be ruled out.
bool IsUnknown(const PointCopy& copy) {
  if (copy.is_known && !HasHostEnd(copy.direction)) return false;
  return !copy.is_known || ((!copy.source_kind || !copy.target_kind) && !IsPageable(copy));
}

// A call that names no stream, as a blocking copy or one in an old trace, waits for the stream of its copies.
void PlaceOnStreamOfCopies(SyncPoint& point) {
  if (point.copies.empty()) return;
  const PointCopy& first = point.copies.front();
  const bool is_one_stream = std::all_of(point.copies.begin(), point.copies.end(), [&](const PointCopy& copy) {
    return copy.stream_id == first.stream_id && copy.context_id == first.context_id;
  });
  if (!is_one_stream) return;
  point.stream_id = first.stream_id;
  if (first.context_id) point.context_id = first.context_id;
}

}  // namespace

SyncPoint SyncPointFinder::PointOf(const capture::HostCallRow& call, SiteKind kind, WaitScope scope) const {
  SyncPoint point;
  point.kind = kind;
  point.scope = scope;
  point.api_class = call.api_class;
  point.process_id = call.process_id;
  point.thread_id = call.thread_id;
  point.api = call.api;
  point.start_ns = point.call_start_ns = call.start_ns;
  point.end_ns = call.end_ns;
  point.stack_id = call.stack_id;
  point.context_id = call.context_id;
  point.stream_id = call.stream_id;
  point.correlation_id = call.correlation_id;
  return point;
}

SyncPointFinder::SyncPointFinder(const Directory& directory, const capture::TableSet& recorded)
    : directory_(directory),
      has_launches_(recorded.test(static_cast<size_t>(capture::Table::kKernel))),
      has_copies_(recorded.test(static_cast<size_t>(capture::Table::kCopy))) {}

absl::Status SyncPointFinder::On(const capture::HostCallBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (batch.api_class[i] == ApiClass::kOther) continue;
    if (!queue_full_.empty() && batch.correlation_id[i]) OnQueueFull(batch.Get(i));
    ThreadState& thread = threads_[batch.thread_id[i]];
    // A driver call inside a runtime call is the same point; what a launch loads or allocates is one of its own.
    const bool is_inside = batch.is_nested[i] && batch.start_ns[i] < thread.outer_end_ns;
    if (is_inside && !IsLaunch(thread.outer_class)) continue;
    if (!is_inside) {
      thread.outer_end_ns = batch.end_ns[i];
      thread.outer_class = batch.api_class[i];
    }
    OnCall(batch.Get(i));
  }
  return absl::OkStatus();
}

void SyncPointFinder::AddQueueFull(const std::vector<capture::OverheadRow>& queue_full) {
  for (const capture::OverheadRow& row : queue_full) {
    SyncPoint point;
    point.kind = SiteKind::kQueueFull;
    point.scope = WaitScope::kContext;
    point.process_id = row.process_id;
    point.thread_id = row.thread_id.value_or(kNoThread);
    point.start_ns = point.call_start_ns = row.start_ns;
    point.end_ns = row.end_ns;
    if (row.correlation_id) queue_full_[{row.process_id, *row.correlation_id}].push_back(points_.size());
    points_.push_back(point);
  }
}

// The call that waited for room in its queue.
void SyncPointFinder::OnQueueFull(const capture::HostCallRow& call) {
  const auto it = queue_full_.find({call.process_id, *call.correlation_id});
  if (it == queue_full_.end()) return;
  for (const size_t index : it->second) {
    SyncPoint& point = points_[index];
    point.thread_id = call.thread_id;
    point.api = call.api;
    point.api_class = call.api_class;
    point.stack_id = call.stack_id;
    point.context_id = call.context_id;
    point.stream_id = call.stream_id;
  }
}

void SyncPointFinder::OnCall(const capture::HostCallRow& call) {
  ThreadState& thread = threads_[call.thread_id];
  if (call.api_class == ApiClass::kQuery) return OnQuery(call, thread);
  EndSpin(thread);
  if (call.api_class == ApiClass::kEventRecord && call.event_handle) {
    event_records_[{call.process_id, *call.event_handle}] = {call.process_id, call.context_id, call.stream_id,
                                                             call.start_ns};
    return;
  }
  if (call.api_class == ApiClass::kStreamWaitEvent) return OnStreamWait(call);
  if (call.api_class == ApiClass::kCopyAsync) {
    thread.pending.push_back(async_copies_.size());
    async_copies_.push_back({PointOf(call, SiteKind::kPageableCopy, WaitScope::kStream)});
    return;
  }
  const std::optional<SiteKind> kind = KindOf(call.api_class);
  if (kind == SiteKind::kWait && call.api_class != ApiClass::kCopyBlocking) return OnSync(call, thread);
  if (kind.has_value() || EndsGroup(call.api_class)) thread.pending.clear();
  if (kind.has_value()) points_.push_back(PointOf(call, *kind, ScopeOf(call.api_class)));
}

// A wait takes in what its own Python instruction copied: copies of a loop's last steps are not the wait behind the
// loop. Native code often copies and waits in two functions; what was launched between tells them apart, and where that
// is not recorded the caller stands for it.
bool SyncPointFinder::HaveOneCaller(std::optional<uint32_t> copy_stack, std::optional<uint32_t> wait_stack) const {
  const auto copy = copy_stack ? directory_.CallerFrame(*copy_stack) : std::nullopt;
  const auto wait = wait_stack ? directory_.CallerFrame(*wait_stack) : std::nullopt;
  if (copy == wait) return true;
  return has_launches_ && !directory_.IsPythonFrame(copy) && !directory_.IsPythonFrame(wait);
}

bool SyncPointFinder::BelongsToWait(const AsyncCopy& copy, const SyncPoint& wait) const {
  const SyncPoint& point = copy.point;
  if (!HaveOneCaller(point.stack_id, wait.stack_id)) return false;
  if (wait.event && wait.event->time_ns < point.call_start_ns) return false;  // recorded before the copy
  if (!point.stream_id || !wait.stream_id) return true;
  const uint32_t context_id = wait.context_id.value_or(0);
  if (directory_.IsNullStream(wait.process_id, context_id, *wait.stream_id)) {
    return !directory_.IsNonBlocking(point.process_id, context_id, *point.stream_id);
  }
  return point.stream_id == wait.stream_id && (!point.context_id || point.context_id == wait.context_id);
}

void SyncPointFinder::OnSync(const capture::HostCallRow& call, ThreadState& thread) {
  SyncPoint wait = PointOf(call, SiteKind::kWait, ScopeOf(call.api_class));
  if (wait.scope == WaitScope::kEvent) ResolveEvent(call, wait);
  if (wait.event) wait.stream_id = wait.event->stream_id;
  for (const size_t index : thread.pending) {
    if (BelongsToWait(async_copies_[index], wait)) async_copies_[index].wait = static_cast<int64_t>(points_.size());
  }
  thread.pending.clear();
  points_.push_back(wait);
}

void SyncPointFinder::ResolveEvent(const capture::HostCallRow& call, SyncPoint& point) const {
  if (!call.event_handle) return;
  const auto recorded = event_records_.find({call.process_id, *call.event_handle});
  if (recorded != event_records_.end()) point.event = recorded->second;
}

void SyncPointFinder::OnStreamWait(const capture::HostCallRow& call) {
  if (!call.event_handle || !call.stream_id) return;
  const auto recorded = event_records_.find({call.process_id, *call.event_handle});
  if (recorded == event_records_.end()) return;
  stream_waits_.push_back({{call.process_id, call.context_id, call.stream_id, call.start_ns}, recorded->second});
}

void SyncPointFinder::OnQuery(const capture::HostCallRow& call, ThreadState& thread) {
  const uint64_t target = call.event_handle.value_or(call.stream_id.value_or(0));
  Spin& spin = thread.spin;
  if (spin.count > 0 && spin.target != target) EndSpin(thread);
  if (call.return_value != kNotReady) {
    if (spin.count > 0 && call.return_value == kReady) spin.point.poll_ns = call.end_ns - spin.last_start_ns;
    return EndSpin(thread);
  }
  if (spin.count == 0) {
    spin.start_ns = call.start_ns;
    spin.target = target;
    spin.point = PointOf(call, SiteKind::kQuerySpin, call.event_handle ? WaitScope::kEvent : WaitScope::kStream);
    ResolveEvent(call, spin.point);
  }
  ++spin.count;
  spin.last_start_ns = call.start_ns;
  spin.end_ns = call.end_ns;
}

void SyncPointFinder::EndSpin(ThreadState& thread) {
  Spin& spin = thread.spin;
  if (spin.count >= kQuerySpinMinimumCount && spin.end_ns - spin.start_ns >= kQuerySpinMinimumNs) {
    spin.point.end_ns = spin.point.poll_ns ? spin.last_start_ns + *spin.point.poll_ns : spin.end_ns;
    points_.push_back(spin.point);
  }
  spin.count = 0;
}

absl::Status SyncPointFinder::On(const capture::CopyBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!batch.correlation_id[i].has_value()) continue;
    copies_[{batch.process_id[i], *batch.correlation_id[i]}] = {.correlation_id = *batch.correlation_id[i],
                                                                .direction = batch.direction[i],
                                                                .source_kind = batch.source_kind[i],
                                                                .target_kind = batch.target_kind[i],
                                                                .bytes = batch.bytes[i],
                                                                .context_id = batch.context_id[i],
                                                                .stream_id = batch.stream_id[i],
                                                                .is_known = true,
                                                                .end_ns = batch.end_ns[i]};
  }
  return absl::OkStatus();
}

absl::Status SyncPointFinder::On(const capture::SyncBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (batch.type[i] != capture::SyncType::kStreamSynchronize) continue;
    if (!batch.stream_id[i] || !batch.correlation_id[i]) continue;
    sync_streams_[{batch.process_id[i], *batch.correlation_id[i]}] = {batch.context_id[i], *batch.stream_id[i]};
  }
  return absl::OkStatus();
}

void SyncPointFinder::PlaceOnStream(SyncPoint& point) const {
  if (point.scope != WaitScope::kStream || point.stream_id) return;
  const auto sync = sync_streams_.find({point.process_id, point.correlation_id.value_or(0)});
  if (sync == sync_streams_.end()) return PlaceOnStreamOfCopies(point);
  point.stream_id = sync->second.stream_id;
  if (sync->second.context_id) point.context_id = sync->second.context_id;
}

// Decides what an asynchronous copy is, now that its memory kinds are known.
void SyncPointFinder::Resolve(AsyncCopy& async_copy) {
  SyncPoint& point = async_copy.point;
  PointCopy copy;
  const auto it = copies_.find({point.process_id, point.correlation_id.value_or(0)});
  if (point.correlation_id.has_value() && it != copies_.end()) copy = it->second;
  copy.call_start_ns = point.call_start_ns;
  copy.call_end_ns = point.end_ns;
  const bool is_pageable = IsPageable(copy);
  if (async_copy.wait >= 0) {
    if (!is_pageable && !IsUnknown(copy)) return;
    SyncPoint& wait = points_[static_cast<size_t>(async_copy.wait)];
    if (is_pageable) wait.start_ns = std::min(wait.start_ns, point.start_ns);
    if (copy.is_known) wait.copies.push_back(copy);
    return;
  }
  if (is_pageable) {
    point.copies.push_back(copy);
    points_.push_back(std::move(point));
  } else if (copy.is_known ? IsUnknown(copy) : !has_copies_) {
    ++unknown_kind_copy_count_;
  }
}

std::vector<SyncPoint> SyncPointFinder::Finish() {
  for (auto& [id, thread] : threads_) EndSpin(thread);
  const size_t call_count = points_.size();
  for (AsyncCopy& copy : async_copies_) Resolve(copy);
  for (size_t i = 0; i < call_count; ++i) {
    SyncPoint& point = points_[i];
    if (!point.correlation_id.has_value()) continue;
    const auto own = copies_.find({point.process_id, *point.correlation_id});
    const bool is_taken_in = std::any_of(point.copies.begin(), point.copies.end(), [&](const PointCopy& copy) {
      return copy.correlation_id == *point.correlation_id;
    });
    if (own == copies_.end() || is_taken_in) continue;
    PointCopy& copy = point.copies.emplace_back(own->second);
    copy.call_start_ns = point.call_start_ns;
    copy.call_end_ns = point.end_ns;
  }
  for (SyncPoint& point : points_) PlaceOnStream(point);
  unplaced_queue_full_count_ = static_cast<int64_t>(std::erase_if(points_, [](const SyncPoint& point) {
    return point.kind == SiteKind::kQueueFull && point.thread_id == kNoThread;
  }));
  std::stable_sort(points_.begin(), points_.end(),
                   [](const SyncPoint& a, const SyncPoint& b) { return a.start_ns < b.start_ns; });
  async_copies_.clear();
  copies_.clear();
  sync_streams_.clear();
  return std::move(points_);
}

}  // namespace stallhound::analysis
