#include "analysis/counts/counts.h"

#include <algorithm>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/forward.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/sites.h"
#include "analysis/hunt/sync_points.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::Table;

void Raise(std::optional<int64_t>& count, int64_t by = 1) { count = count.value_or(0) + by; }

// Zero for every kind of event that the recording holds; the others stay unknown.
EventCounts ZeroCounts(const capture::TableSet& recorded) {
  EventCounts counts;
  const auto has = [&](Table table) { return recorded.test(static_cast<size_t>(table)); };
  if (has(Table::kKernel)) counts.kernel_count = 0;
  if (has(Table::kMemset)) {
    counts.memset_count = 0;
    counts.memset_bytes = 0;
  }
  if (has(Table::kCopy)) counts.copies.emplace();
  if (!has(Table::kHostCall)) return counts;
  counts.sync_points.emplace();
  counts.sync_points->fill(0);
  for (auto* count : {&counts.device_allocate_count, &counts.device_free_count, &counts.host_allocate_count,
                      &counts.host_free_count, &counts.host_register_count, &counts.virtual_memory_count,
                      &counts.stream_ordered_count, &counts.graph_launch_count}) {
    *count = 0;
  }
  return counts;
}

std::optional<int64_t>* CallCount(EventCounts& counts, ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kGraphLaunch:
      return &counts.graph_launch_count;
    case ApiClass::kDeviceAllocate:
      return &counts.device_allocate_count;
    case ApiClass::kDeviceFree:
      return &counts.device_free_count;
    case ApiClass::kHostAllocate:
      return &counts.host_allocate_count;
    case ApiClass::kHostFree:
      return &counts.host_free_count;
    case ApiClass::kHostRegister:
    case ApiClass::kHostUnregister:
      return &counts.host_register_count;
    case ApiClass::kVirtualMemory:
      return &counts.virtual_memory_count;
    case ApiClass::kStreamOrderedAllocate:
    case ApiClass::kStreamOrderedFree:
      return &counts.stream_ordered_count;
    default:
      return nullptr;
  }
}

void Sum(std::optional<int64_t>& total, const std::optional<int64_t>& part) {
  if (part.has_value()) Raise(total, *part);
}

void AddCounts(EventCounts& total, const EventCounts& part) {
  Sum(total.kernel_count, part.kernel_count);
  Sum(total.graph_launch_count, part.graph_launch_count);
  Sum(total.memset_count, part.memset_count);
  if (part.memset_bytes) total.memset_bytes = total.memset_bytes.value_or(0) + *part.memset_bytes;
  Sum(total.device_allocate_count, part.device_allocate_count);
  Sum(total.device_free_count, part.device_free_count);
  Sum(total.host_allocate_count, part.host_allocate_count);
  Sum(total.host_free_count, part.host_free_count);
  Sum(total.host_register_count, part.host_register_count);
  Sum(total.virtual_memory_count, part.virtual_memory_count);
  Sum(total.stream_ordered_count, part.stream_ordered_count);
  if (part.sync_points && total.sync_points) {
    for (size_t kind = 0; kind < part.sync_points->size(); ++kind)
      (*total.sync_points)[kind] += (*part.sync_points)[kind];
  }
  if (!part.copies || !total.copies) return;
  for (const CopySummary& copies : *part.copies) {
    const auto same = std::find_if(total.copies->begin(), total.copies->end(), [&](const CopySummary& other) {
      return other.direction == copies.direction && other.source_kind == copies.source_kind &&
             other.target_kind == copies.target_kind;
    });
    if (same == total.copies->end()) {
      total.copies->push_back(copies);
    } else {
      same->count += copies.count;
      same->bytes += copies.bytes;
    }
  }
}

// Counts calls and GPU work into the spans that their host calls lie in, and lets the finder of sync points see the
// same read.
class Counter : public capture::CaptureVisitor {
 public:
  Counter(std::vector<CountsSpan>& spans, const MeasuredSpans& measured, SyncPointFinder& finder)
      : spans_(spans), measured_(measured), finder_(finder) {}

  absl::Status On(const capture::HostCallBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (batch.is_nested[i]) continue;
      EventCounts* counts = At(batch.process_id[i], batch.start_ns[i]);
      std::optional<int64_t>* count = counts == nullptr ? nullptr : CallCount(*counts, batch.api_class[i]);
      if (count != nullptr && count->has_value()) Raise(*count);
    }
    return finder_.On(batch);
  }
  absl::Status On(const capture::KernelBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (EventCounts* counts = AtLaunch(batch, i)) Raise(counts->kernel_count);
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::MemsetBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      EventCounts* counts = AtLaunch(batch, i);
      if (counts == nullptr) continue;
      Raise(counts->memset_count);
      counts->memset_bytes = counts->memset_bytes.value_or(0) + batch.bytes[i];
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::CopyBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      EventCounts* counts = AtLaunch(batch, i);
      if (counts == nullptr || !counts->copies) continue;
      PointCopy copy;
      copy.direction = batch.direction[i];
      copy.source_kind = batch.source_kind[i];
      copy.target_kind = batch.target_kind[i];
      copy.bytes = batch.bytes[i];
      AddCopy(*counts->copies, copy);
    }
    return finder_.On(batch);
  }

  int64_t unplaced_count() const { return unplaced_count_; }

 private:
  EventCounts* At(uint32_t process_id, int64_t time_ns) {
    const std::optional<size_t> span = measured_.Find(process_id, time_ns);
    return span ? &spans_[*span].counts : nullptr;
  }
  // Ranges own what is submitted in them; without its launch, GPU work counts for a whole process only.
  template <typename Batch>
  EventCounts* AtLaunch(const Batch& batch, size_t i) {
    if (batch.launch_start_ns[i]) return At(batch.process_id[i], *batch.launch_start_ns[i]);
    const std::optional<size_t> span = measured_.Find(batch.process_id[i], batch.start_ns[i]);
    if (span && spans_[*span].start_ns == INT64_MIN) return &spans_[*span].counts;
    ++unplaced_count_;
    return nullptr;
  }

  std::vector<CountsSpan>& spans_;
  const MeasuredSpans& measured_;
  SyncPointFinder& finder_;
  int64_t unplaced_count_ = 0;
};

std::vector<CountsSpan> MakeSpans(const Directory& directory, const std::vector<Span>& occurrences,
                                  const EventCounts& zero) {
  std::vector<CountsSpan> spans;
  for (const Span& occurrence : occurrences) {
    CountsSpan span;
    if (const capture::ProcessRow* process = directory.Process(occurrence.process_id)) {
      span.pid = process->pid;
      span.rank = process->rank;
    }
    const bool is_next = !spans.empty() && spans.back().pid == span.pid;
    span.index = is_next ? spans.back().index + 1 : 0;
    span.start_ns = occurrence.start_ns;
    span.end_ns = occurrence.end_ns;
    span.counts = zero;
    spans.push_back(std::move(span));
  }
  return spans;
}

// A whole process lasts from its start to the last instant known of it; where neither is recorded, as the recording.
void BoundProcesses(const Directory& directory, const std::vector<Span>& occurrences, int64_t recording_end_ns,
                    std::vector<CountsSpan>& spans) {
  for (size_t i = 0; i < spans.size(); ++i) {
    const capture::ProcessRow* process = directory.Process(occurrences[i].process_id);
    if (spans[i].start_ns == INT64_MIN) spans[i].start_ns = process != nullptr ? process->start_ns.value_or(0) : 0;
    if (spans[i].end_ns != INT64_MAX) continue;
    spans[i].end_ns = process != nullptr ? process->end_ns.value_or(recording_end_ns) : recording_end_ns;
  }
}

void AddEvents(const SyncPoint& point, SiteEvents& events) {
  for (const PointCopy& copy : point.copies) {
    if (!copy.is_known) continue;
    ++events.copy_count;
    events.copy_bytes += copy.bytes;
  }
  events.allocate_count +=
      point.api_class == ApiClass::kDeviceAllocate || point.api_class == ApiClass::kHostAllocate ? 1 : 0;
}

void CountSites(const std::vector<SyncPoint>& points, const MeasuredSpans& measured, SiteBuilder& builder,
                CountsReport& report) {
  for (const SyncPoint& point : points) {
    const std::optional<size_t> index = measured.Find(point.process_id, point.start_ns);
    if (!index || !IsSyncPoint(point.kind)) continue;
    CountsSpan& span = report.spans[*index];
    if (span.counts.sync_points) ++(*span.counts.sync_points)[static_cast<size_t>(point.kind)];
    const size_t site = builder.Add(point, PointCost());
    if (span.site_counts.size() <= site) {
      span.site_counts.resize(site + 1);
      span.site_events.resize(site + 1);
    }
    ++span.site_counts[site];
    AddEvents(point, span.site_events[site]);
  }
  for (Site& site : builder.Finish(false, 1)) {
    report.sites.push_back({site.kind, std::move(site.apis), std::move(site.innermost_user),
                            std::move(site.native_symbol), std::move(site.forward), site.count});
  }
  for (CountsSpan& span : report.spans) {
    span.site_counts.resize(report.sites.size());
    span.site_events.resize(report.sites.size());
  }
}

}  // namespace

std::optional<int64_t> EventCounts::CopyCount(capture::CopyDirection direction) const {
  if (!copies) return std::nullopt;
  int64_t count = 0;
  for (const CopySummary& summary : *copies) count += summary.direction == direction ? summary.count : 0;
  return count;
}

std::optional<uint64_t> EventCounts::CopyBytes(capture::CopyDirection direction) const {
  if (!copies) return std::nullopt;
  uint64_t bytes = 0;
  for (const CopySummary& summary : *copies) bytes += summary.direction == direction ? summary.bytes : 0;
  return bytes;
}

std::optional<int64_t> EventCounts::SyncPoints(SiteKind kind) const {
  if (!sync_points || (kind == SiteKind::kPageableCopy && !copies)) return std::nullopt;
  return (*sync_points)[static_cast<size_t>(kind)];
}

absl::StatusOr<CountsReport> Counts(capture::CaptureReader& reader, const CountsOptions& options) {
  CountsReport report;
  report.range = options.range;
  const capture::TableSet& recorded = reader.info().recorded;

  Directory directory(reader, options.range);
  SH_RETURN_IF_ERROR(reader.Read(Directory::Wanted(), directory));
  SH_ASSIGN_OR_RETURN(const std::vector<Span> occurrences, ChooseSpans(reader, directory, options.steps, report.steps));
  const MeasuredSpans measured(occurrences);
  std::vector<RangeSummary> ranges;
  std::vector<ProcessSummary> processes;
  std::vector<DeviceSummary> devices;
  std::vector<EnvironmentEntry> environment;
  directory.Describe(report.capture, ranges, processes, devices, environment);

  const EventCounts zero = ZeroCounts(recorded);
  report.spans = MakeSpans(directory, occurrences, zero);
  SyncPointFinder finder(directory, recorded);
  Counter counter(report.spans, measured, finder);
  const capture::TableSet events =
      capture::Tables({Table::kHostCall, Table::kKernel, Table::kCopy, Table::kMemset}) & recorded;
  SH_RETURN_IF_ERROR(reader.Read(events, counter));
  report.unplaced_count = counter.unplaced_count();

  SiteBuilder builder(directory, reader.strings());
  std::vector<SyncPoint> points = finder.Finish();
  SH_RETURN_IF_ERROR(FindForwards(reader, directory, points));
  CountSites(points, measured, builder, report);

  report.total = zero;
  for (const CountsSpan& span : report.spans) AddCounts(report.total, span.counts);
  BoundProcesses(directory, occurrences, reader.info().end_ns, report.spans);
  report.losses = directory.Losses(occurrences);
  for (const LossSummary& loss : report.losses) {
    report.counts_complete = report.counts_complete && !loss.affects_counts;
  }
  if (IsEmptied(reader.info(), report.counts_complete)) {
    report.total = EventCounts();
    for (CountsSpan& span : report.spans) span.counts = EventCounts();
  }
  report.notes = NotesOf(reader.info(), ranges);
  return report;
}

}  // namespace stallhound::analysis
