#include "capture/import/kineto/trace_join.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

// Counts what the joins find: work without launches and the reverse, rows at impossible times.
class JoinCounter : public CaptureVisitor {
 public:
  explicit JoinCounter(JoinedTrace& trace) : trace_(trace), finder_(&trace.rows.launches) {}

  absl::Status On(const KernelBatch& batch) override {
    trace_.rows.untimed.kernels += CountOutliers(batch);
    Join(batch);
    return absl::OkStatus();
  }
  absl::Status On(const CopyBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (trace_.axis.IsOutlier(batch.start_ns[i])) ++trace_.rows.untimed.copies[batch.direction[i]];
    }
    CountOutliers(batch);
    Join(batch);
    return absl::OkStatus();
  }
  absl::Status On(const MemsetBatch& batch) override {
    trace_.rows.untimed.memsets += CountOutliers(batch);
    Join(batch);
    return absl::OkStatus();
  }

  int64_t without_launch_count() const { return without_launch_count_; }
  int64_t outlier_count() const { return outlier_count_; }

 private:
  template <typename Batch>
  int64_t CountOutliers(const Batch& batch) {
    const auto count = std::count_if(batch.start_ns.begin(), batch.start_ns.end(),
                                     [this](int64_t start_ns) { return trace_.axis.IsOutlier(start_ns); });
    outlier_count_ += count;
    return count;
  }

  template <typename Batch>
  void Join(const Batch& batch) {
    for (const std::optional<uint64_t>& correlation : batch.correlation_id) {
      LaunchCall* launch = correlation ? finder_.Find(*correlation, false) : nullptr;
      if (launch != nullptr) launch->has_work = 1;
      if (launch == nullptr) ++without_launch_count_;
    }
  }

  JoinedTrace& trace_;
  LaunchFinder finder_;
  int64_t without_launch_count_ = 0;
  int64_t outlier_count_ = 0;
};

// Calls at impossible times have no row either.
class OutlierCallCounter : public CaptureVisitor {
 public:
  explicit OutlierCallCounter(JoinedTrace& trace) : trace_(trace) {}
  absl::Status On(const HostCallBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!trace_.axis.IsOutlier(batch.start_ns[i])) continue;
      ++outlier_count_;
      ++(batch.layer[i] == ApiLayer::kRuntime ? trace_.rows.untimed.runtime_calls : trace_.rows.untimed.driver_calls);
    }
    return absl::OkStatus();
  }
  absl::Status On(const RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!trace_.axis.IsOutlier(batch.start_ns[i])) continue;
      ++outlier_count_;
      if (batch.kind[i] == RangeKind::kOperator) ++trace_.rows.untimed.cpu_ops;
      if (batch.kind[i] == RangeKind::kStep) ++trace_.rows.untimed.steps;
    }
    return absl::OkStatus();
  }
  int64_t outlier_count() const { return outlier_count_; }

 private:
  JoinedTrace& trace_;
  int64_t outlier_count_ = 0;
};

bool IsHostSync(SyncType type) {
  return type == SyncType::kEventSynchronize || type == SyncType::kStreamSynchronize ||
         type == SyncType::kContextSynchronize;
}

// Correlations of waits, by calls and by CUPTI's records: a record without its call is a wait that no row shows.
class WaitJoiner : public CaptureVisitor {
 public:
  absl::Status On(const SyncBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (IsHostSync(batch.type[i]) && batch.correlation_id[i]) records_.insert(*batch.correlation_id[i]);
    }
    return absl::OkStatus();
  }
  // After the records.
  absl::Status On(const HostCallBatch& batch) override {
    for (const std::optional<uint64_t>& correlation : batch.correlation_id) {
      if (correlation) records_.erase(*correlation);
    }
    return absl::OkStatus();
  }
  int64_t without_call_count() const { return static_cast<int64_t>(records_.size()); }

 private:
  absl::flat_hash_set<uint64_t> records_;
};

absl::Status CountWaits(TraceRows& rows) {
  WaitJoiner waits;
  SH_RETURN_IF_ERROR(rows.syncs.Emit(waits));
  if (waits.without_call_count() == 0) return absl::OkStatus();
  SH_RETURN_IF_ERROR(rows.host_calls.Emit(waits));
  rows.losses.Add(LossCounter::kSyncWithoutCall, waits.without_call_count());
  return absl::OkStatus();
}

absl::Status CountJoins(JoinedTrace* trace) {
  TraceRows& rows = trace->rows;
  SH_RETURN_IF_ERROR(CountWaits(rows));
  JoinCounter counter(*trace);
  SH_RETURN_IF_ERROR(rows.kernels.Emit(counter));
  SH_RETURN_IF_ERROR(rows.copies.Emit(counter));
  SH_RETURN_IF_ERROR(rows.memsets.Emit(counter));
  rows.losses.Add(LossCounter::kZeroTime, counter.outlier_count(), "time of another scale than the trace's");
  rows.losses.Add(LossCounter::kKernelWithoutLaunch, counter.without_launch_count());
  if (rows.times.epoch_count > 0 && rows.times.relative_count > 0) {
    OutlierCallCounter calls(*trace);
    SH_RETURN_IF_ERROR(rows.host_calls.Emit(calls));
    SH_RETURN_IF_ERROR(rows.ranges.Emit(calls));
    rows.losses.Add(LossCounter::kBadValue, calls.outlier_count(), "time of another scale than the trace's");
  }
  if (rows.kernels.size() == 0) return absl::OkStatus();
  const int64_t without_kernel =
      std::count_if(rows.launches.begin(), rows.launches.end(), [](const LaunchCall& launch) {
        const auto api_class = static_cast<ApiClass>(launch.api_class);
        return !launch.has_work && (api_class == ApiClass::kKernelLaunch || api_class == ApiClass::kGraphLaunch);
      });
  rows.losses.Add(LossCounter::kLaunchWithoutKernel, without_kernel);
  return absl::OkStatus();
}

// Moves event records from where the GPU reached them to their calls.
class EventJoiner : public CaptureVisitor {
 public:
  explicit EventJoiner(TraceRows& rows) : rows_(rows), finder_(&rows.launches) {}
  absl::Status On(const CudaEventBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      CudaEventRow row = batch.Get(i);
      const LaunchCall* call = row.correlation_id ? finder_.Find(*row.correlation_id, true) : nullptr;
      if (call != nullptr) row.time_ns = call->start_ns;
      SH_RETURN_IF_ERROR(rows_.cuda_events.Add(row));
    }
    return absl::OkStatus();
  }

 private:
  TraceRows& rows_;
  LaunchFinder finder_;
};

// cudaEventRecord calls: from cuda_event records, else from the sync records that wait for them.
absl::Status JoinEvents(TraceRows* rows) {
  if (rows->gpu_events.size() > 0) {
    EventJoiner joiner(*rows);
    return rows->gpu_events.Emit(joiner);
  }
  LaunchFinder finder(&rows->launches);
  for (const AwaitedRecord& record : rows->awaited) {
    const LaunchCall* call = finder.Find(record.correlation_id, true);
    if (call == nullptr) continue;
    CudaEventRow row;
    row.time_ns = call->start_ns;
    row.stream_id = record.stream_id;
    row.event_id = record.event_id;
    row.correlation_id = record.correlation_id;
    SH_RETURN_IF_ERROR(rows->cuda_events.Add(row));
  }
  return absl::OkStatus();
}

void CompleteThreads(JoinedTrace* trace) {
  TraceRows& rows = trace->rows;
  trace->gpu_process_id = rows.gpu_process_id.value_or(0);
  if (rows.processes.empty()) rows.processes.emplace_back();
  rows.processes[trace->gpu_process_id].rank = trace->top_level.rank;
  for (ThreadRow& thread : rows.threads) {
    const int64_t pid = rows.processes[thread.process_id].pid;
    if (rows.is_gpu_thread[thread.thread_id]) {
      thread.process_id = trace->gpu_process_id;
      thread.name = rows.names.strings().Intern(absl::StrCat("GPU stream ", thread.tid));
    } else if (const auto it = rows.thread_names.find({pid, thread.tid}); it != rows.thread_names.end()) {
      thread.name = it->second;
    }
  }
  for (StreamRow& stream : rows.streams) stream.process_id = trace->gpu_process_id;
}

void PublishNames(JoinedTrace* trace) {
  const StringTable& names = trace->rows.names.strings();
  trace->public_ids.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names.Get(static_cast<StringId>(i));
    trace->public_ids.push_back(trace->strings.Intern(HidePrivate(name, trace->top_level.private_words)));
  }
}

}  // namespace

TimeAxis MakeTimeAxis(const TimeSpan& times, std::optional<int64_t> base_ns) {
  TimeAxis axis;
  axis.since_epoch = times.epoch_count > times.relative_count;
  const std::optional<int64_t> min_ns = axis.since_epoch ? times.epoch_min_ns : times.relative_min_ns;
  const std::optional<int64_t> max_ns = axis.since_epoch ? times.epoch_max_ns : times.relative_max_ns;
  if (!min_ns) return axis;
  axis.origin_ns = *min_ns;
  axis.end_ns = *max_ns - *min_ns;
  if (axis.since_epoch) {
    axis.epoch_ns = axis.origin_ns;
  } else if (base_ns) {
    axis.epoch_ns = *base_ns + axis.origin_ns;
  }
  return axis;
}

LaunchCall* LaunchFinder::Find(uint64_t correlation_id, bool records) {
  const auto before = [](const LaunchCall& launch, uint64_t id) { return launch.correlation_id < id; };
  // GPU work comes nearly in the order of its launches.
  constexpr size_t kNear = 8;
  size_t i = hint_;
  for (size_t step = 0; step < kNear && i < launches_.size() && launches_[i].correlation_id < correlation_id; ++step)
    ++i;
  const bool found = i < launches_.size() && launches_[i].correlation_id >= correlation_id &&
                     (i == 0 || launches_[i - 1].correlation_id < correlation_id);
  if (!found) {
    i = static_cast<size_t>(std::lower_bound(launches_.begin(), launches_.end(), correlation_id, before) -
                            launches_.begin());
  }
  hint_ = i;
  for (; i < launches_.size() && launches_[i].correlation_id == correlation_id; ++i) {
    const bool is_record = static_cast<ApiClass>(launches_[i].api_class) == ApiClass::kEventRecord;
    if (is_record == records) return &launches_[i];
  }
  return nullptr;
}

absl::Status JoinTrace(JoinedTrace* trace) {
  TraceRows& rows = trace->rows;
  trace->axis = MakeTimeAxis(rows.times, trace->top_level.base_ns);
  std::sort(rows.launches.begin(), rows.launches.end(), [](const LaunchCall& a, const LaunchCall& b) {
    return std::tie(a.correlation_id, a.start_ns) < std::tie(b.correlation_id, b.start_ns);
  });
  SH_RETURN_IF_ERROR(CountJoins(trace));
  SH_RETURN_IF_ERROR(JoinEvents(&rows));
  SH_RETURN_IF_ERROR(JoinStacks(&rows, &trace->stacks));
  CompleteThreads(trace);
  rows.losses.Add(LossCounter::kForgivenJson, rows.names.forgiven_count(), "escapes or bytes in names");
  PublishNames(trace);
  return absl::OkStatus();
}

template <typename Batch, typename Fix>
absl::Status TraceEmitter::Give(const Batch& batch, Fix&& fix) {
  Batch out;
  for (size_t i = 0; i < batch.size; ++i) {
    auto row = batch.Get(i);
    int64_t& start_ns = [&row]() -> int64_t& {
      if constexpr (requires { row.start_ns; }) {
        return row.start_ns;
      } else {
        return row.time_ns;
      }
    }();
    const bool outlier = trace_.axis.IsOutlier(start_ns);
    fix(row);
    if (outlier) continue;
    start_ns -= trace_.axis.origin_ns;
    if constexpr (requires { *row.end_ns; }) {
      *row.end_ns -= trace_.axis.origin_ns;
    } else if constexpr (requires { row.end_ns; }) {
      row.end_ns -= trace_.axis.origin_ns;
    }
    out.Append(row);
  }
  return out.size == 0 ? absl::OkStatus() : target_.On(out);
}

template <typename Row>
void TraceEmitter::JoinLaunch(Row& row) {
  row.process_id = trace_.gpu_process_id;
  const LaunchCall* launch = row.correlation_id ? finder_.Find(*row.correlation_id, false) : nullptr;
  if (launch == nullptr) return;
  row.process_id = trace_.rows.threads[launch->thread_id].process_id;
  row.launch_start_ns = launch->start_ns - trace_.axis.origin_ns;
  row.launch_end_ns = *row.launch_start_ns + launch->duration_ns;
  row.launch_thread_id = launch->thread_id;
  if constexpr (requires { row.is_async; }) {
    row.is_async = static_cast<ApiClass>(launch->api_class) != ApiClass::kCopyBlocking;
  }
}

absl::Status TraceEmitter::On(const RangeBatch& batch) {
  return Give(batch, [this](RangeRow& row) {
    row.process_id = trace_.rows.threads[row.thread_id].process_id;
    row.name = trace_.Public(row.name);
    if (row.category) row.category = trace_.Public(*row.category);
    if (row.kind == RangeKind::kOperator) row.payload.reset();
  });
}

absl::Status TraceEmitter::On(const HostCallBatch& batch) {
  outer_.resize(trace_.rows.threads.size());
  return Give(batch, [this](HostCallRow& row) {
    if (TakesStack(row.api_class)) row.stack_id = trace_.rows.stack_calls[next_stack_++].stack_id;
    OuterCall& outer = outer_[row.thread_id];
    row.is_nested = row.end_ns <= outer.end_ns && row.start_ns >= outer.start_ns && row.start_ns < outer.end_ns;
    if (!row.is_nested) outer = {row.start_ns, row.end_ns};
    row.api = trace_.Public(row.api);
  });
}

absl::Status TraceEmitter::On(const KernelBatch& batch) {
  return Give(batch, [this](KernelRow& row) { JoinLaunch(row); });
}

absl::Status TraceEmitter::On(const CopyBatch& batch) {
  return Give(batch, [this](CopyRow& row) { JoinLaunch(row); });
}

absl::Status TraceEmitter::On(const MemsetBatch& batch) {
  return Give(batch, [this](MemsetRow& row) { JoinLaunch(row); });
}

absl::Status TraceEmitter::On(const SyncBatch& batch) {
  return Give(batch, [this](SyncRow& row) { row.process_id = trace_.gpu_process_id; });
}

absl::Status TraceEmitter::On(const CudaEventBatch& batch) {
  return Give(batch, [this](CudaEventRow& row) { row.process_id = trace_.gpu_process_id; });
}

absl::Status TraceEmitter::On(const OverheadBatch& batch) {
  return Give(batch, [this](OverheadRow& row) { row.process_id = trace_.gpu_process_id; });
}

}  // namespace stallhound::capture
