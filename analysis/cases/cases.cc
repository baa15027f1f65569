#include "analysis/cases/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/cases/case_events.h"
#include "analysis/cases/case_kernels.h"
#include "analysis/gate/counts.h"
#include "analysis/hunt/hunt.h"
#include "base/stats/samples.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::Table;
using store::EventKind;

constexpr EventKind kCopyKinds[] = {EventKind::kHostToDevice, EventKind::kDeviceToHost, EventKind::kDeviceToDevice,
                                    EventKind::kHostToHost, EventKind::kPeerToPeer};
constexpr EventKind kCallKinds[] = {EventKind::kWait,   EventKind::kPageableCopy,     EventKind::kAllocator,
                                    EventKind::kLoader, EventKind::kDeviceAllocation, EventKind::kHostAllocation};

// The kinds of which a recording can tell that there were none.
std::vector<EventKind> RecordedKinds(const capture::TableSet& recorded) {
  const auto has = [&](Table table) { return recorded.test(static_cast<size_t>(table)); };
  std::vector<EventKind> kinds;
  if (has(Table::kKernel)) kinds.push_back(EventKind::kKernel);
  if (has(Table::kKernel) && has(Table::kHostCall)) kinds.push_back(EventKind::kGraphLaunch);
  if (has(Table::kHostCall)) kinds.insert(kinds.end(), std::begin(kCallKinds), std::end(kCallKinds));
  if (has(Table::kCopy)) kinds.insert(kinds.end(), std::begin(kCopyKinds), std::end(kCopyKinds));
  if (has(Table::kMemset)) kinds.push_back(EventKind::kMemset);
  return kinds;
}

bool HasBytes(EventKind kind) {
  return kind == EventKind::kMemset ||
         std::find(std::begin(kCopyKinds), std::end(kCopyKinds), kind) != std::end(kCopyKinds);
}

std::optional<std::string> MemoryText(const std::optional<capture::MemoryKind>& kind) {
  return kind ? std::optional<std::string>(MemoryKindName(*kind)) : std::nullopt;
}

// What one case is made of, with the window found in it.
struct Evaluation {
  const CaseEvents& events;
  std::vector<CaseKernel> kernels;
  gate::WindowCounts window;

  bool IsCounted(int64_t iteration) const { return iteration >= window.first_iteration; }
};

// Kernels decide where the window starts, too: an iteration that tries another one is no steady one. In the order in
// which EventCounts and Kernels take them.
gate::RecordedCounts ToRecordedCounts(const CaseEvents& events, const std::vector<CaseKernel>& kernels) {
  gate::RecordedCounts recorded;
  recorded.iterations = events.marks;
  for (const auto& [key, series] : events.events) {
    const std::string name = fmt::format("{}:{} {}", store::Text(key.kind), MemoryText(key.source_kind).value_or("?"),
                                         MemoryText(key.target_kind).value_or("?"));
    recorded.series.push_back({name, series.counts});
    recorded.series.push_back({"bytes of " + name, series.bytes});
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    recorded.series.push_back(
        {fmt::format("kernel {}", i), CallsByIteration(kernels[i].calls, events.iterations.size())});
  }
  return recorded;
}

std::vector<store::EventCount> EventCounts(const Evaluation& evaluation, const std::vector<EventKind>& recorded_kinds) {
  std::vector<store::EventCount> counts;
  size_t next = 0;
  for (const auto& [key, series] : evaluation.events.events) {
    const gate::CountRange count = evaluation.window.counts[next++].per_iteration;
    const gate::CountRange bytes = evaluation.window.counts[next++].per_iteration;
    if (count.max == 0) continue;
    store::EventCount row;
    row.kind = key.kind;
    row.source_memory = MemoryText(key.source_kind);
    row.target_memory = MemoryText(key.target_kind);
    row.min_count = count.min;
    row.max_count = count.max;
    if (HasBytes(key.kind)) {
      row.min_bytes = bytes.min;
      row.max_bytes = bytes.max;
    }
    counts.push_back(row);
  }
  for (const EventKind kind : recorded_kinds) {
    const bool occurs = std::any_of(counts.begin(), counts.end(), [&](const auto& row) { return row.kind == kind; });
    if (occurs) continue;
    store::EventCount none;
    none.kind = kind;
    if (HasBytes(kind)) none.min_bytes = none.max_bytes = 0;
    counts.push_back(none);
  }
  return counts;
}

std::vector<store::KernelAggregate> Kernels(const Evaluation& evaluation) {
  std::vector<store::KernelAggregate> kernels;
  size_t next = 2 * evaluation.events.events.size();
  for (const auto& [key, calls] : evaluation.kernels) {
    const gate::CountRange count = evaluation.window.counts[next++].per_iteration;
    if (count.max == 0) continue;
    store::KernelAggregate kernel{key.name, key.grid, key.block, key.register_count, key.shared_memory_bytes};
    kernel.min_count = count.min;
    kernel.max_count = count.max;
    std::vector<double> durations;
    kernel.total_ns = 0;
    for (const KernelCall& call : calls) {
      if (!evaluation.IsCounted(call.iteration)) continue;
      *kernel.total_ns += call.duration_ns;
      durations.push_back(static_cast<double>(call.duration_ns));
    }
    kernel.median_ns = static_cast<int64_t>(stats::MedianInPlace(durations));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::optional<EventKind> StoredKind(SiteKind kind) {
  EventKind stored;
  return store::FromText(SiteKindName(kind), stored) ? std::optional(stored) : std::nullopt;
}

store::Confidence StoredConfidence(Confidence confidence) {
  store::Confidence stored = store::Confidence::kNone;
  store::FromText(ConfidenceName(confidence), stored);
  return stored;
}

absl::StatusOr<std::vector<store::SyncSite>> SyncSites(capture::CaptureReader& reader, std::vector<Span> window) {
  HuntOptions options;
  options.spans = std::move(window);
  SH_ASSIGN_OR_RETURN(const HuntReport report, Hunt(reader, options));
  std::vector<store::SyncSite> sites;
  for (const Site& site : report.sites) {
    const std::optional<EventKind> kind = StoredKind(site.kind);
    if (!kind) continue;
    store::SyncSite stored;
    stored.kind = *kind;
    if (site.innermost_user) {
      stored.file = site.innermost_user->file;
      stored.line = site.innermost_user->line;
      stored.function = site.innermost_user->function;
    }
    stored.native_symbol = site.native_symbol;
    stored.operator_name = site.operator_name;
    if (!site.apis.empty()) stored.api = site.apis.front();
    stored.count = site.count;
    stored.blocked_ns = site.cost.blocked_ns;
    stored.idle_ns = site.cost.idle_ns;
    stored.recoverable_ns = site.recoverable_ns;
    stored.confidence = StoredConfidence(site.confidence);
    sites.push_back(std::move(stored));
  }
  return sites;
}

bool IsComplete(const CaseDirectory& directory, const CaseEvents& events, const std::vector<Span>& window) {
  const std::vector<LossSummary> losses = directory.Losses(window);
  return !events.has_unplaced && std::none_of(losses.begin(), losses.end(), [](const LossSummary& loss) {
    return loss.affects_counts || loss.affects_costs;
  });
}

bool HasSyncPoint(const std::vector<store::EventCount>& counts) {
  return std::any_of(counts.begin(), counts.end(), [](const store::EventCount& count) {
    const bool is_point = count.kind == EventKind::kWait || count.kind == EventKind::kPageableCopy ||
                          count.kind == EventKind::kAllocator || count.kind == EventKind::kLoader;
    return is_point && count.max_count > 0;
  });
}

absl::StatusOr<CaseCounts> Evaluate(capture::CaptureReader& reader, const CaseDirectory& directory,
                                    const CaseEvents& events) {
  CaseCounts counts;
  counts.recorded_iteration_count = static_cast<int64_t>(events.iterations.size());
  const std::vector<EventKind> recorded_kinds = RecordedKinds(reader.info().recorded);
  if (recorded_kinds.empty() || events.iterations.empty()) return counts;
  Evaluation evaluation{events, KernelsOfCase(directory, events), {}};
  SH_ASSIGN_OR_RETURN(evaluation.window, gate::CountWindow(ToRecordedCounts(events, evaluation.kernels)));
  counts.iteration_count = evaluation.window.iteration_count;
  if (evaluation.window.problem) {
    counts.problem = gate::ReasonName(*evaluation.window.problem);
    return counts;
  }
  const std::vector<Span> window(events.iterations.begin() + evaluation.window.first_iteration,
                                 events.iterations.end());
  counts.counts_complete = IsComplete(directory, events, window);
  counts.event_counts = EventCounts(evaluation, recorded_kinds);
  counts.kernels = Kernels(evaluation);
  if (HasSyncPoint(counts.event_counts)) {
    SH_ASSIGN_OR_RETURN(counts.sync_sites, SyncSites(reader, window));
  }
  return counts;
}

}  // namespace

absl::StatusOr<CasesReport> CountCases(capture::CaptureReader& reader, std::span<const std::string> ids) {
  CasesReport report;
  CaseDirectory directory(reader, ids);
  SH_RETURN_IF_ERROR(reader.Read(CaseDirectory::Wanted(), directory));
  std::vector<RangeSummary> ranges;
  std::vector<ProcessSummary> processes;
  directory.Describe(report.capture, ranges, processes, report.devices, report.environment);

  std::vector<CaseEvents> cases = directory.EmptyCases();
  SyncPointFinder finder(directory, reader.info().recorded);
  CaseCounter counter(directory, reader.strings(), finder, cases);
  SH_RETURN_IF_ERROR(reader.Read(CaseCounter::WantedTables() & reader.info().recorded, counter));
  counter.AddPoints(finder.Finish());

  for (size_t i = 0; i < ids.size(); ++i) {
    SH_ASSIGN_OR_RETURN(CaseCounts counts, Evaluate(reader, directory, cases[i]));
    counts.id = ids[i];
    report.cases.push_back(std::move(counts));
  }
  return report;
}

}  // namespace stallhound::analysis
