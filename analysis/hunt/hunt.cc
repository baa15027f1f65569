#include "analysis/hunt/hunt.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "analysis/hunt/catalogue/catalogue.h"
#include "analysis/hunt/device_idle.h"
#include "analysis/hunt/directory.h"
#include "analysis/hunt/enclosing.h"
#include "analysis/hunt/forward.h"
#include "analysis/hunt/gpu_work.h"
#include "analysis/hunt/host_functions.h"
#include "analysis/hunt/measured.h"
#include "analysis/hunt/overheads.h"
#include "analysis/hunt/own_time.h"
#include "analysis/hunt/rank_delays.h"
#include "analysis/hunt/sites.h"
#include "analysis/hunt/stalls.h"
#include "analysis/hunt/sync_points.h"
#include "analysis/hunt/tee_visitor.h"
#include "analysis/replay/model.h"
#include "analysis/replay/recoverable.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

bool CostsMore(const Site& a, const Site& b) {
  const auto key = [](const Site& site) {
    return std::tuple(-site.recoverable_ns.value_or(0), -site.cost.idle_ns.value_or(0),
                      -site.cost.blocked_ns.value_or(0), !IsSyncPoint(site.kind), -site.count);
  };
  return key(a) < key(b);
}

int64_t ToleranceOf(const std::vector<ProcessSummary>& processes) {
  int64_t tolerance_ns = 0;
  for (const ProcessSummary& process : processes) {
    tolerance_ns = std::max(tolerance_ns, process.gpu_clock_error_ns.value_or(0));
  }
  return tolerance_ns;
}

struct Found {
  const std::vector<SyncPoint>& points;
  const std::vector<PointCost>& costs;  // by point; empty: not recorded, or no points
  bool has_costs = false;               // the GPU side is recorded
  const MeasuredSpans& spans;
  const EnclosingRanges& ranges;
};

bool Has(const capture::CaptureReader& reader, capture::Table table) {
  return reader.info().recorded.test(static_cast<size_t>(table));
}

bool IsPartMeasured(const HuntReport& report, const HuntOptions& options) {
  return report.range || !options.spans.empty() || (report.steps && report.steps->source != StepSource::kNone);
}

// Stalls that are no sync points count only if they blocked.
bool IsLeftOut(const SyncPoint& point, const std::optional<Stall>& stall, HuntReport& report) {
  if (IsSyncPoint(point.kind) || stall) return false;
  if (point.kind == SiteKind::kQueueFull) {
    ++report.back_pressure->count;
    report.back_pressure->blocked_ns += point.end_ns - point.start_ns;
  }
  return true;
}

// Points inside the spans, as sites and totals by kind. Returns the site of each point, -1 for none.
std::vector<int32_t> Gather(const Found& found, bool keep_waits, SiteBuilder& builder, HuntReport& report) {
  const auto& [points, costs, has_costs, spans, ranges] = found;
  std::vector<int32_t> site_of_point(points.size(), -1);
  report.costs_complete = has_costs;
  report.totals.resize(kSiteKindCount);
  for (int kind = 0; kind < kSiteKindCount; ++kind) report.totals[kind].kind = static_cast<SiteKind>(kind);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!spans.Find(points[i].process_id, points[i].start_ns)) continue;
    const PointCost cost = costs.empty() ? PointCost() : costs[i];
    const std::optional<Stall>& stall = cost.stall;
    if (IsLeftOut(points[i], stall, report)) continue;
    const size_t site = builder.Add(points[i], cost, ranges.Of(i));
    site_of_point[i] = static_cast<int32_t>(site);
    if (keep_waits) {
      report.waits.push_back({site, points[i].start_ns, points[i].end_ns,
                              stall ? std::optional(stall->blocked_ns) : std::nullopt,
                              stall ? stall->idle_ns : std::nullopt});
    }
    KindTotal& total = report.totals[static_cast<size_t>(points[i].kind)];
    ++total.count;
    total.call_ns += points[i].end_ns - points[i].start_ns;
    AddCost(total.cost, cost);
    report.costs_complete = report.costs_complete && !cost.is_unknown;
    if (report.sync_point_count) *report.sync_point_count += IsSyncPoint(points[i].kind);
  }
  for (KindTotal& total : report.totals) {
    total.count_per_occurrence = static_cast<double>(total.count) / static_cast<double>(report.occurrence_count);
    total.cost = has_costs ? CostOf(total.cost) : Cost();
  }
  if (!report.sync_point_count) report.totals.clear();
  return site_of_point;
}

absl::Status CheckIsHuntable(const capture::CaptureReader& reader) {
  const bool has_events = Has(reader, capture::Table::kHostCall) || Has(reader, capture::Table::kKernel) ||
                          Has(reader, capture::Table::kCopy) || Has(reader, capture::Table::kRange);
  if (has_events || !Has(reader, capture::Table::kBenchmarkPoint)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("hunting in a recording of {}: it holds benchmark results only, no call, kernel or range (hint: run "
                  "the benchmark under `stallhound hunt --`)",
                  reader.info().producer));
}

// Replays the recording without each site.
void AddRecoverable(const ReplayModel& model, const std::vector<int32_t>& site_of_point, HuntReport& report) {
  std::vector<int64_t> first_order_ns;
  for (const Site& site : report.sites) {
    const int64_t blocked_ns = site.cost.blocked_ns.value_or(0);
    first_order_ns.push_back(std::min(blocked_ns, site.cost.idle_ns.value_or(0)) + site.call_ns - blocked_ns);
  }
  Recoverable recoverable = EstimateRecoverable(model, site_of_point, first_order_ns);
  for (size_t i = 0; i < report.sites.size(); ++i) {
    if (report.sites[i].cost.stall_count) report.sites[i].recoverable_ns = recoverable.sites[i].recoverable_ns;
    report.sites[i].recoverable_is_first_order = recoverable.sites[i].is_first_order;
  }
  report.recoverable_all_ns = recoverable.all_ns;
  for (RecoverableGroup& group : recoverable.groups) {
    report.groups.push_back({std::move(group.sites), group.recoverable_ns});
  }
  const std::vector<std::string> notes = ReplayNotes(model, recoverable);
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
}

// The most expensive first; waits follow their sites.
void SortSites(HuntReport& report) {
  std::vector<size_t> order(report.sites.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return CostsMore(report.sites[a], report.sites[b]); });
  std::vector<size_t> rank(order.size());
  std::vector<Site> sorted;
  sorted.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted.push_back(std::move(report.sites[order[i]]));
  }
  report.sites = std::move(sorted);
  for (Wait& wait : report.waits) wait.site = rank[wait.site];
  for (SiteGroup& group : report.groups) {
    for (size_t& site : group.sites) site = rank[site];
  }
  for (RankDelay& delay : report.rank_delays) {
    for (DelayCause& cause : delay.causes) {
      if (cause.site) cause.site = rank[*cause.site];
    }
  }
}

void Explain(std::vector<Site>& sites) {
  for (Site& site : sites) {
    if (const CatalogueEntry* entry = BuiltInCatalogue().Match(site)) site.catalogue_id = entry->id;
  }
}

struct GpuSide {  // empty: not recorded
  std::unique_ptr<GpuWork> gpu;
  std::vector<PointWork> work;   // by point
  std::vector<PointCost> costs;  // by point
};

// All that recording took of the host, and of the sites the idle that it caused.
void AddRecorder(const OwnTime& own, const GpuSide& side, const std::vector<int32_t>& site_of_point,
                 HuntReport& report) {
  if (!own.is_known()) return;
  report.recorder.emplace();
  report.recorder->own_ns = own.total_ns();
  if (side.gpu == nullptr) return;
  int64_t idle_ns = 0;
  for (size_t i = 0; i < side.costs.size(); ++i) {
    if (side.costs[i].stall && site_of_point[i] >= 0) idle_ns += side.costs[i].stall->own_ns;
  }
  report.recorder->idle_ns = idle_ns;
}

struct CostInputs {
  const Directory& directory;
  const SyncPointFinder& finder;
  const std::vector<SyncPoint>& points;
  const std::vector<Span>& occurrences;
  const MeasuredSpans& spans;
  const OwnTime& own;
  const Overheads& overheads;
  bool is_part_measured = false;
};

// Reads the GPU side, for `model` too: the stalls by point, and what the report says of them all.
absl::StatusOr<GpuSide> ReadCosts(capture::CaptureReader& reader, const CostInputs& inputs, ModelBuilder& model,
                                  HuntReport& report) {
  GpuSide side;
  side.gpu = std::make_unique<GpuWork>(GpuWorkInputs{inputs.directory, reader.strings(), inputs.points,
                                                     inputs.finder.stream_waits(),
                                                     inputs.is_part_measured ? &inputs.spans : nullptr});
  TeeVisitor events(*side.gpu, model, ModelBuilder::WantedEvents());
  SH_RETURN_IF_ERROR(reader.Read(GpuWork::WantedEvents() | ModelBuilder::WantedEvents(), events));
  TeeVisitor works(*side.gpu, model, ModelBuilder::WantedWork());
  SH_RETURN_IF_ERROR(reader.Read(GpuWork::WantedWork() | ModelBuilder::WantedWork(), works));
  side.work = side.gpu->Finish();
  Stalls stalls = FindStalls({inputs.points, side.work, *side.gpu, ToleranceOf(report.processes), inputs.own});
  report.return_limits = stalls.limits;
  report.device_idle =
      MeasureDeviceIdle({*side.gpu, inputs.occurrences, stalls.charged, inputs.points, inputs.overheads.loading});
  side.costs = std::move(stalls.by_point);
  return side;
}

void AddRankDelays(const RankDelayInputs& inputs, HuntReport& report) {
  report.rank_delays = FindRankDelays(inputs);
  if (inputs.gpu.rank_count() > 1 && inputs.gpu.matched_collectives().empty()) {
    report.notes.push_back("the collectives of the ranks do not match one by one: who waited for whom is unknown");
  }
}

absl::Status ReadOverheads(capture::CaptureReader& reader, Overheads& overheads, SyncPointFinder& finder,
                           HuntReport& report) {
  if (!Has(reader, capture::Table::kOverhead)) return absl::OkStatus();
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({capture::Table::kOverhead}), overheads));
  finder.AddQueueFull(overheads.queue_full);
  report.back_pressure.emplace();
  return absl::OkStatus();
}

// What each point lies in, and the forwards of backwards.
absl::StatusOr<EnclosingRanges> ReadRanges(capture::CaptureReader& reader, const Directory& directory,
                                           std::vector<SyncPoint>& points) {
  EnclosingRanges enclosing(reader.strings(), points);
  ForwardFinder forwards(directory, points);
  if (!points.empty() && directory.has_ranges()) {
    const capture::TableSet ranges = capture::Tables({capture::Table::kRange});
    TeeVisitor both(enclosing, forwards, ranges);
    SH_RETURN_IF_ERROR(reader.Read(ranges, both));
  }
  enclosing.Finish();
  SH_RETURN_IF_ERROR(forwards.Finish(reader));
  return enclosing;
}

void ForgetZeros(HuntReport& report) {
  report.sync_point_count.reset();
  report.totals.clear();
  report.device_idle.reset();
  report.back_pressure.reset();
  report.recorder.reset();
}

void AddLosses(std::vector<LossSummary> losses, const capture::CaptureInfo& info, HuntReport& report) {
  report.losses = std::move(losses);
  report.counts_complete = report.sync_point_count.has_value();
  for (const LossSummary& loss : report.losses) {
    report.counts_complete = report.counts_complete && !loss.affects_counts;
    report.costs_complete = report.costs_complete && !loss.affects_costs;
  }
  if (IsEmptied(info, report.counts_complete)) ForgetZeros(report);
}

// What else waited.
void AddWaitingNotes(const HostFunctions& host_functions, HuntReport& report) {
  if (report.device_idle && report.device_idle->total_ns > 0) {
    report.notes.push_back(DeviceIdleNote(*report.device_idle));
  }
  if (host_functions.count() > 0) report.notes.push_back(host_functions.Note());
}

}  // namespace

absl::StatusOr<HuntReport> Hunt(capture::CaptureReader& reader, const HuntOptions& options) {
  SH_RETURN_IF_ERROR(CheckIsHuntable(reader));
  HuntReport report;
  report.range = options.range;
  if (Has(reader, capture::Table::kHostCall)) report.sync_point_count = 0;
  const bool has_kernels = Has(reader, capture::Table::kKernel);

  Directory directory(reader, options.range);
  SH_RETURN_IF_ERROR(reader.Read(Directory::Wanted(), directory));
  std::vector<Span> occurrences = options.spans;
  if (occurrences.empty()) {
    SH_ASSIGN_OR_RETURN(occurrences, ChooseSpans(reader, directory, options.steps, report.steps));
  }
  const MeasuredSpans spans(occurrences);
  report.occurrence_count = std::max<int64_t>(static_cast<int64_t>(occurrences.size()), 1);
  directory.Describe(report.capture, report.ranges, report.processes, report.devices, report.environment);

  SyncPointFinder finder(directory, reader.info().recorded);
  ModelBuilder model(directory);
  OwnTime own(reader, spans);
  SH_RETURN_IF_ERROR(reader.Read(OwnTime::WantedCosts(), own));
  TeeVisitor points_and_model(finder, model, ModelBuilder::WantedCalls());
  TeeVisitor points_model_and_own(points_and_model, own, OwnTime::WantedCalls());
  HostFunctions host_functions(spans);
  TeeVisitor calls(points_model_and_own, host_functions, capture::Tables({capture::Table::kHostCall}));
  Overheads overheads;
  if (has_kernels) SH_RETURN_IF_ERROR(ReadOverheads(reader, overheads, finder, report));
  using capture::Table;
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({Table::kHostCall, Table::kCopy, Table::kSync}), calls));
  own.Finish();
  std::vector<SyncPoint> points = finder.Finish();
  SH_ASSIGN_OR_RETURN(const EnclosingRanges ranges, ReadRanges(reader, directory, points));
  report.unknown_kind_copy_count = finder.unknown_kind_copy_count();
  if (report.back_pressure) report.back_pressure->unknown_count = finder.unplaced_queue_full_count();

  GpuSide side;
  if (has_kernels) {
    const CostInputs inputs{directory, finder, points,    occurrences,
                            spans,     own,    overheads, IsPartMeasured(report, options)};
    SH_ASSIGN_OR_RETURN(side, ReadCosts(reader, inputs, model, report));
  }
  SiteBuilder builder(directory, reader.strings());
  const std::vector<int32_t> site_of_point =
      Gather({points, side.costs, has_kernels, spans, ranges}, options.keep_waits, builder, report);
  report.sites = builder.Finish(has_kernels, report.occurrence_count);
  report.notes = NotesOf(reader.info(), report.ranges);
  if (has_kernels && !points.empty()) {
    AddRecoverable(model.Finish(points, occurrences, ToleranceOf(report.processes)), site_of_point, report);
  }
  if (has_kernels) {
    AddRankDelays({*side.gpu, points, side.work, side.costs, site_of_point, directory, spans}, report);
  }
  SortSites(report);
  Explain(report.sites);

  AddRecorder(own, side, site_of_point, report);
  AddLosses(directory.Losses(occurrences), reader.info(), report);
  AddWaitingNotes(host_functions, report);
  return report;
}

}  // namespace stallhound::analysis
