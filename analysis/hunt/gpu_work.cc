#include "analysis/hunt/gpu_work.h"

#include <algorithm>

namespace stallhound::analysis {

void DeviceWork::Add(Source source, int64_t submitted_ns, const Interval& time, const std::optional<Launch>& launch) {
  busy_[source].Add(time.start_ns, time.end_ns, launch);
  last_any_.Add(submitted_ns, time.end_ns);
  if (source < kComputeCount) last_compute_.Add(submitted_ns, time.end_ns);
  extent_ = {std::min(extent_.start_ns, time.start_ns), std::max(extent_.end_ns, time.end_ns)};
}

DeviceWork::Sources DeviceWork::SourcesOf(WorkKind kind) const {
  Sources sources;
  const size_t wanted = kind == WorkKind::kAny ? kCount : kComputeCount;
  for (size_t source = 0; source < wanted; ++source) {
    if (!busy_[source].empty()) sources.push_back(&busy_[source]);
  }
  return sources;
}

Gaps DeviceWork::IdleIn(const Interval& span, WorkKind kind) const { return GapsIn(SourcesOf(kind), span); }

void DeviceWork::ForEachGap(const Interval& span, absl::FunctionRef<void(const Gap&)> visit) const {
  analysis::ForEachGap(SourcesOf(WorkKind::kAny), span, visit);
}

GpuWork::GpuWork(const GpuWorkInputs& inputs)
    : inputs_(inputs), wait_sets_(inputs.directory), feeds_(inputs.points, inputs.occurrences) {}

capture::TableSet GpuWork::WantedEvents() {
  using capture::Table;
  return capture::Tables({Table::kKernelShape, Table::kSync, Table::kCudaEvent});
}

capture::TableSet GpuWork::WantedWork() {
  using capture::Table;
  return capture::Tables({Table::kKernel, Table::kCopy, Table::kMemset, Table::kGraphRun});
}

absl::Status GpuWork::On(const capture::KernelShapeBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (IsCollectiveKernel(inputs_.strings.Get(batch.name[i]))) {
      collective_names_[batch.kernel_shape_id[i]] = batch.name[i];
    }
  }
  return absl::OkStatus();
}

absl::Status GpuWork::On(const capture::SyncBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!batch.event_id[i]) continue;
    if (batch.type[i] == capture::SyncType::kStreamWaitEvent) {
      if (!batch.stream_id[i]) continue;
      waits_for_event_.push_back(
          {{batch.process_id[i], batch.context_id[i], batch.stream_id[i], batch.start_ns[i]}, *batch.event_id[i]});
    } else if (batch.correlation_id[i]) {
      event_of_sync_[{batch.process_id[i], *batch.correlation_id[i]}] = *batch.event_id[i];
    }
  }
  return absl::OkStatus();
}

absl::Status GpuWork::On(const capture::CudaEventBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    event_records_[{batch.process_id[i], batch.event_id[i]}].push_back(
        {batch.time_ns[i], batch.context_id[i], batch.stream_id[i]});
  }
  return absl::OkStatus();
}

template <typename Batch>
std::optional<Launch> LaunchOf(const Batch& batch, size_t i) {
  if (!batch.launch_start_ns[i] || !batch.launch_end_ns[i]) return std::nullopt;
  // The GPU's clock has an error.
  return Launch{std::max<int64_t>(batch.start_ns[i] - *batch.launch_start_ns[i], 0),
                std::max<int64_t>(*batch.launch_end_ns[i] - *batch.launch_start_ns[i], 0)};
}

template <typename Batch>
void GpuWork::AddBatch(const Batch& batch, DeviceWork::Source source) {
  PrepareOnce();
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<int64_t> end_ns = batch.end_ns[i];
    if (!end_ns) continue;
    const Interval time{batch.start_ns[i], *end_ns};
    Stream& stream = StreamOf({batch.process_id[i], batch.device_id[i], batch.context_id[i], batch.stream_id[i]});
    const int64_t submitted_ns = batch.launch_start_ns[i].value_or(time.start_ns);
    DeviceWork::Source own_source = source;
    if constexpr (requires { batch.kernel_shape_id; }) {
      const auto collective = collective_names_.find(batch.kernel_shape_id[i]);
      if (collective != collective_names_.end()) {
        own_source = DeviceWork::kCollectives;
        collectives_.Add(collective->second, {stream.device, submitted_ns, time});
      }
    }
    devices_[stream.device]->Add(own_source, submitted_ns, time, LaunchOf(batch, i));
    if (stream.last_ends) stream.last_ends->Add(submitted_ns, time.end_ns);
    if (batch.launch_start_ns[i]) {
      WaitSets::Add(stream.lanes, submitted_ns, time.end_ns);
    } else {
      WaitSets::AddUnknown(stream.lanes, time.start_ns, time.end_ns);
    }
    feeds_.Add({batch.process_id[i], batch.launch_thread_id[i], batch.launch_start_ns[i], time.start_ns, stream.device,
                static_cast<uint32_t>(&stream - streams_.data())});
  }
}

absl::Status GpuWork::On(const capture::KernelBatch& batch) {
  AddBatch(batch, DeviceWork::kKernels);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::CopyBatch& batch) {
  AddBatch(batch, DeviceWork::kCopies);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::MemsetBatch& batch) {
  AddBatch(batch, DeviceWork::kMemsets);
  return absl::OkStatus();
}
absl::Status GpuWork::On(const capture::GraphRunBatch& batch) {
  AddBatch(batch, DeviceWork::kGraphRuns);
  return absl::OkStatus();
}

std::optional<GpuWork::EventRecord> GpuWork::LatestRecord(Pair event, int64_t time_ns) const {
  const auto records = event_records_.find(event);
  if (records == event_records_.end()) return std::nullopt;
  const auto later = std::upper_bound(records->second.begin(), records->second.end(), time_ns,
                                      [](int64_t time, const EventRecord& record) { return time < record.time_ns; });
  return later == records->second.begin() ? std::nullopt : std::optional(*std::prev(later));
}

// The record that an event is asked for: by CUPTI's event ids, else by the handle that host calls name.
void GpuWork::PreparePoint(size_t index) {
  const SyncPoint& point = inputs_.points[index];
  Instants& instants = instants_[point.process_id];
  instants.returns_ns.push_back(point.end_ns);
  if (point.kind == SiteKind::kQueueFull) {
    instants.queue_full_ns.push_back(point.start_ns);
    return;
  }
  StreamMoment until{point.process_id, point.context_id, std::nullopt, point.call_start_ns};
  if (point.scope == WaitScope::kStream) until.stream_id = point.stream_id;
  if (point.scope == WaitScope::kEvent) {
    std::optional<EventRecord> record;
    const auto event = event_of_sync_.find({point.process_id, point.correlation_id.value_or(0)});
    if (event != event_of_sync_.end()) record = LatestRecord({point.process_id, event->second}, point.call_start_ns);
    if (!record && point.event) record = {point.event->time_ns, point.event->context_id, point.event->stream_id};
    if (!record || !record->stream_id) return unknown_waits_.push_back(index);
    until = {point.process_id, record->context_id ? record->context_id : point.context_id, record->stream_id,
             record->time_ns};
  }
  wait_sets_.AddPoint(index, until, point.end_ns);
}

// Events and their syncs are all known when the first work comes.
void GpuWork::PrepareOnce() {
  if (is_prepared_) return;
  is_prepared_ = true;
  for (size_t i = 0; i < inputs_.points.size(); ++i) PreparePoint(i);
  for (auto& [process, instants] : instants_) {
    std::sort(instants.returns_ns.begin(), instants.returns_ns.end());
    std::sort(instants.queue_full_ns.begin(), instants.queue_full_ns.end());
  }
  for (const StreamWait& wait : inputs_.stream_waits) wait_sets_.AddStreamWait(wait);
  for (const auto& [waiting, event] : waits_for_event_) {
    const std::optional<EventRecord> record = LatestRecord({waiting.process_id, event}, waiting.time_ns);
    if (!record || !record->stream_id) continue;
    wait_sets_.AddStreamWait({waiting,
                              {waiting.process_id, record->context_id ? record->context_id : waiting.context_id,
                               record->stream_id, record->time_ns}});
  }
  waits_for_event_ = {};
  event_records_.clear();
  wait_sets_.Prepare();
}

GpuWork::Stream& GpuWork::StreamOf(const StreamId& id) {
  if (!streams_.empty() && last_stream_.first == id) return streams_[last_stream_.second];
  const auto [it, is_new] = stream_index_.try_emplace(id, static_cast<uint32_t>(streams_.size()));
  last_stream_ = {id, it->second};
  if (!is_new) return streams_[it->second];
  const auto& [process_id, device_id, context_id, stream_id] = id;
  const Instants& instants = instants_[process_id];
  const auto [device, is_new_device] =
      device_index_.try_emplace({process_id, device_id}, static_cast<uint32_t>(devices_.size()));
  if (is_new_device) devices_.push_back(std::make_unique<DeviceWork>(process_id, device_id, instants.returns_ns));
  Stream& stream = streams_.emplace_back();
  stream.device = device->second;
  stream.lanes = wait_sets_.LanesOf(process_id, context_id, stream_id);
  if (!instants.queue_full_ns.empty()) stream.last_ends.emplace(instants.queue_full_ns);
  return stream;
}

std::vector<PointWork> GpuWork::Finish() {
  PrepareOnce();
  matches_ = collectives_.Match();
  for (const std::vector<RankCollective>& match : matches_) {
    const int64_t last_start_ns = LastStart(match);
    for (const RankCollective& part : match) {
      devices_[part.rank]->busy_[DeviceWork::kTogether].Add(last_start_ns, part.time.end_ns);
    }
  }
  for (const auto& device : devices_) {
    device->last_any_.Close();
    device->last_compute_.Close();
  }
  for (Stream& stream : streams_) {
    if (stream.last_ends) stream.last_ends->Close();
  }
  feeds_.Close();
  const std::vector<std::optional<int64_t>> awaited = wait_sets_.Finish(inputs_.points.size());
  std::vector<PointWork> work(inputs_.points.size());
  for (size_t i = 0; i < work.size(); ++i) {
    work[i] = {.awaited_end_ns = awaited[i], .next = feeds_.NextAfter(i)};
    // A copy is part of what its own call waits for, whenever the driver submitted it.
    for (const PointCopy& copy : inputs_.points[i].copies) {
      if (copy.end_ns) work[i].awaited_end_ns = std::max(work[i].awaited_end_ns.value_or(INT64_MIN), *copy.end_ns);
    }
  }
  for (const size_t point : unknown_waits_) work[point].is_awaited_known = false;
  return work;
}

namespace {

// For work that another process submitted according to the recording: what it left is not known at this one's points.
constexpr int64_t kNeverDry = INT64_MAX;

size_t IndexOf(const std::vector<int64_t>& instants_ns, int64_t time_ns) {
  return static_cast<size_t>(std::lower_bound(instants_ns.begin(), instants_ns.end(), time_ns) - instants_ns.begin());
}

}  // namespace

std::optional<int64_t> GpuWork::LastEnd(size_t point, uint32_t device, WorkKind kind) const {
  const SyncPoint& at = inputs_.points[point];
  if (devices_[device]->process_id() != at.process_id) return kNeverDry;
  return devices_[device]->LastEnd(IndexOf(instants_.at(at.process_id).returns_ns, at.end_ns), kind);
}

std::optional<int64_t> GpuWork::LastEndOfNextStream(size_t point, const NextWork& next) const {
  const SyncPoint& at = inputs_.points[point];
  const std::optional<LastEnds>& last_ends = streams_[next.stream].last_ends;
  if (!last_ends || devices_[streams_[next.stream].device]->process_id() != at.process_id) return kNeverDry;
  return last_ends->At(IndexOf(instants_.at(at.process_id).queue_full_ns, at.start_ns));
}

}  // namespace stallhound::analysis
